import type { ResponseHead } from "../net/http-request.js";

/** Why another proof may help after a refusal. */
export type RefusalReason = "token" | "scope" | "key";

/** It was about the proof of the key, which may be old or lack a server's word; the token was not looked at. */
const OF_KEY = /\b(?:use_dpop_nonce|invalid_dpop_proof)\b/;
const WRONG_KEY = /\binvalid_dpop_proof\b/;

/** The refusals of one request: each reason is good for one more try. */
export class Refusals {
  readonly #tried = new Set<RefusalReason>();

  /**
   * No reason: the refusal, or whatever it is, is the last word. A key that stays wrong may be the token's
   * fault, where that was not given to this key: not all servers tell the two apart.
   */
  reasonOf(head: ResponseHead, { isForeign = false }: { readonly isForeign?: boolean | undefined }) {
    const told = reasonIn(head);
    const staysWrong = told === "key" && this.#tried.has("key") && WRONG_KEY.test(challengeIn(head));
    const reason = staysWrong && isForeign ? "token" : told;
    if (reason === undefined || this.#tried.has(reason)) return undefined;
    this.#tried.add(reason);
    return reason;
  }
}

function reasonIn(head: ResponseHead): RefusalReason | undefined {
  if (head.status === 401) return OF_KEY.test(challengeIn(head)) ? "key" : "token";
  return head.status === 403 ? "scope" : undefined;
}

/** What a server says about the proof that it wants. */
export function challengeIn({ headers }: ResponseHead): string {
  const given = headers["www-authenticate"] ?? "";
  return typeof given === "string" ? given : given.join(", ");
}
