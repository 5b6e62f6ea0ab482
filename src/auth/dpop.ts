import type { OAuthTokens } from "../config/oauth-provider.js";
import { DpopKey } from "./dpop-key.js";

/** The header by which a server gives what the next proof has to hold. */
export const DPOP_NONCE = "dpop-nonce";

/** What a client has made for itself. It outlives connections, as the tokens do that are bound to it. */
export interface ClientKeys {
  dpop?: DpopKey;
}

/** Tokens that are bound to a key of this client (RFC 9449): when they are wanted, and what proves the key. */
export class Dpop {
  /** `true`: nothing else will do; `false`: never; `undefined`: where the server asks for it. */
  readonly #option: boolean | undefined;
  readonly #nonces = new Map<string, string>();
  readonly #keys: ClientKeys;

  constructor(option: boolean | undefined, keys: ClientKeys) {
    this.#option = option;
    this.#keys = keys;
  }

  get isRequired(): boolean {
    return this.#option === true;
  }

  /** Whether a token is to be bound, for a server that asks for that or does not. */
  isWanted(isAskedFor: boolean): boolean {
    return this.#option ?? isAskedFor;
  }

  isBound(tokens: Pick<OAuthTokens, "token_type">): boolean {
    return this.#option !== false && /^dpop$/i.test(tokens.token_type);
  }

  /** The header for one request; no other may have the same. */
  proof(method: string, address: string | URL, token?: string): string {
    const url = new URL(address);
    this.#keys.dpop ??= new DpopKey();
    return this.#keys.dpop.proof({ method, url, token, nonce: this.#nonces.get(url.origin) });
  }

  /** A token that was asked for with a proof of this key. */
  given(token: string): void {
    this.#keys.dpop?.given(token);
  }

  /** Whether it is known that a token is bound to this key, and not to that of another client or process. */
  wasGiven(token: string): boolean {
    return this.#keys.dpop?.wasGiven(token) === true;
  }

  /** Whether an answer had something to put into the next proof. */
  heard(address: string | URL, nonce: string | readonly string[] | null | undefined): boolean {
    if (typeof nonce !== "string" || nonce === "") return false;
    this.#nonces.set(new URL(address).origin, nonce);
    return true;
  }
}
