import type { OAuthTokens } from "../config/credential-options.js";
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { type JsonObject, omitUndefined } from "../json/json.js";
import {
  type CachedDiscovery,
  type Fetch,
  peekJson,
  RESOURCE_METADATA_PATH,
  toIssuerUrl,
} from "./issuer-validation.js";

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

  /**
   * Creates the `dpop` header of one request (RFC 9449, section 4.2). A proof must not be reused. There is no
   * `token` when one is requested.
   */
  createProof(method: string, address: string | URL, token?: string): string {
    const url = new URL(address);
    this.#keys.dpop ??= new DpopKey();
    const hash = token === undefined ? undefined : createHash("sha256").update(token).digest("base64url");
    return this.#keys.dpop.sign({
      jti: randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: Math.floor(Date.now() / 1000),
      ...omitUndefined({ nonce: this.#nonces.get(url.origin), ath: hash }),
    });
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

  /** Returns the claims as a signed JWT. */
  sign(claims: object): string {
    const text = `${this.#header}.${encodeSegment(claims)}`;
    const key = { key: this.#privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
  }
}

function encodeSegment(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

/** The algorithm of `DpopKey`. */
const ALGORITHM = "ES256";

/**
 * Requests tokens that are bound to this client's key where they are supported. That is declared in the
 * metadata of the server and of its authorization server, which pass through this function before the token
 * request or are `cached`; `isChallenged` means that the server has sent a DPoP challenge.
 */
export function withDpop(
  fetch: Fetch,
  dpop: Dpop,
  { isChallenged, cached = {} }: { readonly isChallenged: boolean; readonly cached?: CachedDiscovery },
): Fetch {
  let resourceSupportsDpop =
    isChallenged || (cached.resourceMetadata !== undefined && acceptsDpop(cached.resourceMetadata));
  let issuerSupportsDpop = cached.issuerMetadata === undefined || supportsEs256(cached.issuerMetadata);
  return async (url, init) => {
    if (init?.method === "POST" && init.body instanceof URLSearchParams) {
      const isBound = dpop.isRequired || (dpop.shouldBind(resourceSupportsDpop) && issuerSupportsDpop);
      return isBound ? await fetchWithDpop(fetch, dpop, url, init) : await fetch(url, init);
    }
    const response = await fetch(url, init);
    const target = new URL(url);
    const metadata = response.ok ? await peekJson(response) : undefined;
    if (metadata === undefined) return response;
    if (target.pathname.includes(RESOURCE_METADATA_PATH)) resourceSupportsDpop ||= acceptsDpop(metadata);
    if (toIssuerUrl(target) !== undefined) issuerSupportsDpop = supportsEs256(metadata);
    return response;
  };
}

/**
 * Retries once with the nonce that the server requires in the proof; it has not processed the first
 * request.
 */
async function fetchWithDpop(
  fetch: Fetch,
  dpop: Dpop,
  url: string | URL,
  init: RequestInit,
): Promise<Response> {
  const send = async () => {
    const headers = new Headers(init.headers);
    headers.set("dpop", dpop.createProof("POST", url));
    const response = await fetch(url, { ...init, headers });
    return { response, hasNonce: dpop.storeNonce(url, response.headers.get(DPOP_NONCE_HEADER)) };
  };
  const first = await send();
  const isNonceMissing = first.hasNonce && (await peekJson(first.response))?.["error"] === "use_dpop_nonce";
  const { response } = isNonceMissing ? await send() : first;
  const body = response.ok ? await peekJson(response) : undefined;
  const { token_type: type, access_token: token } = body ?? {};
  if (typeof token === "string") dpop.registerToken(token);
  if (dpop.isRequired && typeof type === "string" && !dpop.isBound({ token_type: type }))
    throw new Error("The token is not bound to this client's key (DPoP), which the option dpop requires.");
  return response;
}

function acceptsDpop(metadata: JsonObject): boolean {
  return metadata["dpop_bound_access_tokens_required"] === true || supportsEs256(metadata);
}

function supportsEs256({ dpop_signing_alg_values_supported: algorithms }: JsonObject): boolean {
  return Array.isArray(algorithms) && algorithms.includes(ALGORITHM);
}
