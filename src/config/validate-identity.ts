import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { isPlainObject } from "../json/json.js";

interface Identified {
  readonly headers?: unknown;
  readonly auth?: unknown;
  readonly identity?: unknown;
  readonly session?: { readonly id?: string | undefined } | undefined;
}

/** What would let two users share a session. */
export function issuesOfIdentity({ headers, auth, identity, session }: Identified): ConfigIssue[] {
  const sources = { headers, auth, "auth.idToken": isPlainObject(auth) ? auth["idToken"] : undefined };
  const byCaller = Object.entries(sources).find(([, value]) => typeof value === "function");
  if (byCaller !== undefined && identity === undefined) {
    const message = `is needed, because ${byCaller[0]} depends on the caller: identity: (context) => string tells whose session a call belongs to`;
    return [{ path: "identity", message }];
  }
  if (identity !== undefined && session?.id !== undefined)
    return [{ path: "session.id", message: "one session cannot be pinned for several identities" }];
  return [];
}
