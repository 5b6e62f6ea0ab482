import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import type { ServerKind } from "./server-config.js";

interface WithSession {
  readonly session?: { readonly id?: string | undefined; readonly store?: unknown } | undefined;
  readonly identity?: unknown;
  readonly url?: URL;
  readonly headers?: unknown;
  readonly auth?: unknown;
  readonly tls?: { readonly cert?: unknown } | undefined;
  readonly dispatcher?: unknown;
  readonly fetch?: unknown;
}

/** What a session store cannot be used with. */
export function issuesOfSessionStore(kind: ServerKind, server: WithSession): ConfigIssue[] {
  const { session, identity } = server;
  if (session?.store === undefined) return [];
  const issues: ConfigIssue[] = [];
  // What is found later is looked at again then.
  if (kind !== "http" && kind !== "dynamic") {
    const message = `is for servers of kind http: a session of kind ${kind} ends with its connection`;
    issues.push({ path: "session.store", message });
  }
  if (session.id !== undefined)
    issues.push({ path: "session.id", message: "cannot stand next to session.store: give one of them" });
  const proof = proofIn(server);
  if (proof !== undefined && identity === undefined) {
    const message = `is needed, because others with another ${proof} may use the same store: identity: () => "billing" says whose sessions these are`;
    issues.push({ path: "identity", message });
  }
  return issues;
}

/** What may prove who we are, and so may differ between processes that share a store. */
function proofIn({ url, headers, auth, tls, dispatcher, fetch }: WithSession): string | undefined {
  // These need an identity with or without a store.
  if (typeof headers === "function" || typeof auth === "function") return undefined;
  if (Object.keys(headers ?? {}).length > 0) return "headers";
  if (auth !== undefined) return "auth";
  if (url !== undefined && url.username + url.password !== "") return "user in the url";
  if (tls?.cert !== undefined) return "tls.cert";
  if (dispatcher !== undefined) return "dispatcher";
  return fetch === undefined ? undefined : "fetch";
}
