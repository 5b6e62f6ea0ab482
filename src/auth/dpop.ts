import type { OAuthTokens } from "../config/credential-options.js";
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";

/** The response header with the nonce that the next proof must contain. */
export const DPOP_NONCE_HEADER = "dpop-nonce";

/** Keys that a client generated. They outlive connections, as do the tokens that are bound to them. */
export interface ClientKeys {
  dpop?: DpopKey;
}

/** DPoP (RFC 9449): decides when tokens are bound to this client's key, and creates the proofs for them. */
export class Dpop {
  /** `true`: required; `false`: never; `undefined`: when the server requests it. */
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

  /** Whether to request a bound token, given whether the server supports it. */
  shouldBind(isSupported: boolean): boolean {
    return this.#option ?? isSupported;
  }

  isBound(tokens: Pick<OAuthTokens, "token_type">): boolean {
    return this.#option !== false && /^dpop$/i.test(tokens.token_type);
  }

  /** Creates the `dpop` header of one request. A proof must not be reused. */
  createProof(method: string, address: string | URL, token?: string): string {
    const url = new URL(address);
    this.#keys.dpop ??= new DpopKey();
    return this.#keys.dpop.createProof({ method, url, token, nonce: this.#nonces.get(url.origin) });
  }

  /** Records a token that was requested with a proof of this key. */
  registerToken(token: string): void {
    this.#keys.dpop?.registerToken(token);
  }

  /** Whether a token is known to be bound to this key, not to that of another client or process. */
  isRegistered(token: string): boolean {
    return this.#keys.dpop?.isRegistered(token) === true;
  }

  /** Stores the nonce of a response for the next proof. Returns whether there was one. */
  storeNonce(address: string | URL, nonce: string | readonly string[] | null | undefined): boolean {
    if (typeof nonce !== "string" || nonce === "") return false;
    this.#nonces.set(new URL(address).origin, nonce);
    return true;
  }
}

interface DpopProofInput {
  readonly method: string;
  readonly url: URL;
  /** The last nonce that the origin of `url` sent. */
  readonly nonce: string | undefined;
  /** The access token of the request; undefined when requesting one. */
  readonly token: string | undefined;
}

/** How many registered tokens are kept; the oldest is evicted first. */
const MAX_TOKENS = 4_096;

/** A private key that never leaves the process: a stolen token cannot be used without it. */
class DpopKey {
  readonly #privateKey: KeyObject;
  readonly #header: string;
  /** The tokens that were issued to this key. */
  readonly #tokens = new Set<string>();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
    this.#privateKey = privateKey;
    this.#header = encodeSegment({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } });
  }

  registerToken(token: string): void {
    this.#tokens.add(token);
    const [oldest = ""] = this.#tokens;
    if (this.#tokens.size > MAX_TOKENS) this.#tokens.delete(oldest);
  }

  isRegistered(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** Creates a proof of possession for one request (RFC 9449, section 4.2). */
  createProof({ method, url, nonce, token }: DpopProofInput): string {
    const claims = encodeSegment({
      jti: randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: Math.floor(Date.now() / 1000),
      ...(nonce === undefined ? {} : { nonce }),
      ...(token === undefined ? {} : { ath: createHash("sha256").update(token).digest("base64url") }),
    });
    const text = `${this.#header}.${claims}`;
    const key = { key: this.#privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
  }
}

function encodeSegment(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}
