import type { ResponseHead } from "./http-exchange.js";

/** Why another proof may help after a refusal: each reason is good for one more try. */
export type RefusalReason = "token" | "scope" | "key";

/** It was about the proof of the key, which may be old or lack a server's word; the token was not looked at. */
const OF_KEY = /\b(?:use_dpop_nonce|invalid_dpop_proof)\b/;

/** No reason: the refusal, or whatever it is, is the last word. */
export function reasonOfRefusal(head: ResponseHead): RefusalReason | undefined {
  if (head.status === 401) return OF_KEY.test(challengeIn(head)) ? "key" : "token";
  return head.status === 403 ? "scope" : undefined;
}

/** What a server says about the proof that it wants. */
export function challengeIn({ headers }: ResponseHead): string {
  const given = headers["www-authenticate"] ?? "";
  return typeof given === "string" ? given : given.join(", ");
}
