import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { verifiedJwt } from "./jwt.js";

interface Proven {
  readonly url: string;
  readonly token?: string;
  /** The key that the token is bound to. */
  readonly key?: string | undefined;
}

const hash = (text: string) => createHash("sha256").update(text).digest("base64url");

/** What a server does that binds tokens to keys: looks at every proof, and takes each once. */
export class DpopCheck {
  /** What it wants to find in a proof; given out with a refusal. */
  nonce: string | undefined;
  /** What it asks for when there is no token. */
  scheme = "DPoP";
  resourceMetadata: object = {};
  serverMetadata: object = { dpop_signing_alg_values_supported: ["ES256"] };
  /** How many more proofs with a token it takes for bad ones. */
  rejections = 0;
  /** How many more proofs with a token it answers with another nonce, whatever the token is. */
  nonceRequests = 0;
  /** What it calls a token that is bound to another key. */
  mismatch = "invalid_token";
  /** All that were good, by address. */
  readonly proofs: string[] = [];
  readonly #seen = new Set<unknown>();

  /** The key that a proof is signed with; none without a proof. */
  keyOf(request: IncomingMessage): string | undefined {
    const jwk = this.#proofIn(request)?.header["jwk"];
    return jwk === undefined ? undefined : JSON.stringify(jwk);
  }

  /** What is wrong with a request; a token that is bound to no key needs no proof. */
  refusalOf(request: IncomingMessage, { url, token, key }: Proven): string | undefined {
    if (request.headers["dpop"] === undefined) return key === undefined ? undefined : "invalid_dpop_proof";
    const { header, claims } = this.#proofIn(request) ?? { header: {}, claims: {} };
    const isGood =
      header["typ"] === "dpop+jwt" &&
      claims["htm"] === request.method &&
      claims["htu"] === url &&
      Math.abs(Number(claims["iat"]) - Date.now() / 1000) < 60 &&
      claims["ath"] === (token === undefined ? undefined : hash(token)) &&
      !this.#seen.has(claims["jti"]);
    if (!isGood) return "invalid_dpop_proof";
    this.#seen.add(claims["jti"]);
    if (token !== undefined && this.rejections > 0) {
      this.rejections -= 1;
      return "invalid_dpop_proof";
    }
    if (token !== undefined && this.nonceRequests > 0) {
      this.nonceRequests -= 1;
      return "use_dpop_nonce";
    }
    if (key !== undefined && key !== this.keyOf(request)) return this.mismatch;
    if (claims["nonce"] !== this.nonce) return "use_dpop_nonce";
    this.proofs.push(url);
    return undefined;
  }

  #proofIn({ headers }: IncomingMessage) {
    const proof = headers["dpop"];
    return typeof proof === "string" ? verifiedJwt(proof) : undefined;
  }
}
