import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";

/** What a proof is for. */
interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
  /** What the server of that address last gave for the next proof. */
  readonly nonce: string | undefined;
  /** The access token that goes with it; none on the way to one. */
  readonly token: string | undefined;
}

/** How many tokens are remembered; the oldest is forgotten first. */
const MOST_TOKENS = 4_096;

/** A key of our own, which never leaves the process: whoever steals a token cannot use it without. */
export class DpopKey {
  readonly #privateKey: KeyObject;
  readonly #header: string;
  /** Those that were got with it. */
  readonly #tokens = new Set<string>();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
    this.#privateKey = privateKey;
    this.#header = encode({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } });
  }

  given(token: string): void {
    this.#tokens.add(token);
    const [oldest = ""] = this.#tokens;
    if (this.#tokens.size > MOST_TOKENS) this.#tokens.delete(oldest);
  }

  wasGiven(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** Proves for one request that we have the key (RFC 9449, section 4.2). */
  proof({ method, url, nonce, token }: ProvenRequest): string {
    const claims = encode({
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

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
