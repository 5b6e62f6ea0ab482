import { CLIENT_INFO } from "../../config/client-info.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { HttpServerDefinition } from "../../config/server-definition.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import type { ChosenServer } from "../servers/selected-server.js";

const MOST_MS = 3_000;
const LONGEST_METADATA = 100_000;
const METADATA_PATH = "/.well-known/oauth-protected-resource";

const GREETING = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT_INFO },
};

type Ask = (url: URL, init?: RequestInit) => Promise<Response>;

/**
 * What a server that answers 401 says about how to log in: the scheme it wants, and who gives out
 * tokens. Asked without any credentials, by the same proxy and authority as the server itself, and of
 * the server's own origin only; nothing, where that does not work.
 */
export async function loginHint(
  { definition, redactor }: ChosenServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  const url = "url" in definition ? new URL(definition.url) : undefined;
  if (url === undefined || !url.protocol.startsWith("http")) return undefined;
  const bare = new URL(`${url.origin}${url.pathname}`);
  const ca = (definition as HttpServerDefinition).tls?.ca;
  const server = { url: bare, tls: ca === undefined ? undefined : { ca } };
  const { SideFetch } = await import("../../net/auth-fetch.js");
  const side = new SideFetch({ server, connectMs: MOST_MS, timeoutMs: MOST_MS, redactor });
  const limited = AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
  const ask: Ask = (address, init) => side.fetch(address, { ...init, redirect: "manual", signal: limited });
  try {
    const challenge = await challengeOf(bare, ask);
    const metadata = await metadataOf(bare, challenge, ask);
    return [schemeText(challenge), issuerText(metadata)].filter((text) => text !== "").join(" ") || undefined;
  } catch {
    return undefined;
  } finally {
    await side.close();
  }
}

async function challengeOf(url: URL, ask: Ask): Promise<string> {
  const response = await ask(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(GREETING),
  });
  return response.headers.get("www-authenticate") ?? "";
}

/** RFC 9728. What the challenge points to at another origin is not asked. */
async function metadataOf(url: URL, challenge: string, ask: Ask): Promise<JsonObject> {
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
  const path = url.pathname === "/" ? "" : url.pathname;
  const places = [named, `${METADATA_PATH}${path}`, METADATA_PATH]
    .filter((place) => place !== "" && URL.canParse(place, url.href))
    .map((place) => new URL(place, url))
    .filter(({ origin }) => origin === url.origin);
  for (const place of places) {
    const response = await ask(place);
    const text = response.ok ? await response.text() : "";
    const metadata = text.length < LONGEST_METADATA ? parsed(text) : undefined;
    if (isPlainObject(metadata)) return metadata;
  }
  return {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function schemeText(challenge: string): string {
  const [, scheme] = /^\s*([\w-]+)/.exec(challenge) ?? [];
  if (scheme === undefined) return "";
  const described = /error_description="([^"]+)"/.exec(challenge)?.[1];
  return `It asks for ${quoteServer(scheme)}${described === undefined ? "" : ` ("${quoteServer(described)}")`}.`;
}

function issuerText(metadata: JsonObject): string {
  const issuers = textsIn(metadata["authorization_servers"]);
  if (issuers.length === 0) return "";
  const scopes = textsIn(metadata["scopes_supported"]);
  return `Tokens come from ${issuers.join(", ")}${scopes.length === 0 ? "" : `, with the scopes ${scopes.join(", ")}`}.`;
}

function textsIn(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.filter((item) => typeof item === "string").map((item) => quoteServer(item));
}
