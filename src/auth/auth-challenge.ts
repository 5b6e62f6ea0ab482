import type { ResponseHead } from "../net/http-request.js";

/** Why a rejected request may succeed with other credentials. */
export type ChallengeReason = "token" | "scope" | "dpop";

/**
 * Errors of the DPoP proof, which may be expired or lack the server's nonce. The token itself was not
 * checked.
 */
const DPOP_ERRORS = /\b(?:use_dpop_nonce|invalid_dpop_proof)\b/;
const INVALID_DPOP_PROOF = /\binvalid_dpop_proof\b/;

/** Limits the retries of one request to one per challenge reason. */
export class ChallengeTracker {
  readonly #tried = new Set<ChallengeReason>();

  /**
   * Returns why to retry, or undefined when the response is final. If the DPoP proof is rejected again and the
   * token was issued elsewhere, the token may be bound to another key: not all servers report that as such.
   */
  nextReason(
    head: ResponseHead,
    { issuedElsewhere = false }: { readonly issuedElsewhere?: boolean | undefined },
  ) {
    const reported = parseReason(head);
    const isStillInvalid =
      reported === "dpop" && this.#tried.has("dpop") && INVALID_DPOP_PROOF.test(getWwwAuthenticate(head));
    const reason = isStillInvalid && issuedElsewhere ? "token" : reported;
    if (reason === undefined || this.#tried.has(reason)) return undefined;
    this.#tried.add(reason);
    return reason;
  }
}

function parseReason(head: ResponseHead): ChallengeReason | undefined {
  if (head.status === 401) return DPOP_ERRORS.test(getWwwAuthenticate(head)) ? "dpop" : "token";
  return head.status === 403 ? "scope" : undefined;
}

/** Returns the `WWW-Authenticate` header, or an empty string. */
export function getWwwAuthenticate({ headers }: ResponseHead): string {
  const value = headers["www-authenticate"] ?? "";
  return typeof value === "string" ? value : value.join(", ");
}
