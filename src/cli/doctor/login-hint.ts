import { RESOURCE_METADATA_PATH } from "../../auth/issuer-validation.js";
import { CLIENT_INFO } from "../../config/message-transport.js";
import { isPlainObject, type JsonObject, toArray, tryParseJson } from "../../json/json.js";
import type { HttpServerDefinition } from "../../config/server-definition.js";
import { escapeExcerpt } from "../text-format.js";
import type { SelectedServer } from "../servers/selected-server.js";

const MAX_LOOKUP_MS = 3_000;
const MAX_METADATA_BYTES = 100_000;

const INITIALIZE_BODY = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT_INFO },
};

type FetchFn = (url: URL, init?: RequestInit) => Promise<Response>;

/**
 * Describes how to authenticate to a server that responded with 401: the scheme of its challenge and its
 * authorization servers (RFC 9728). Sends no credentials, uses the proxy and CA of the server, and contacts only its
 * origin. Returns `undefined` if the lookup fails.
 */
export async function fetchLoginHint(
  { definition, config, redactor }: SelectedServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  const url = "url" in definition ? new URL(definition.url) : undefined;
  if (url === undefined || !url.protocol.startsWith("http")) return undefined;
  const endpoint = new URL(`${url.origin}${url.pathname}`);
  const ca = (definition as HttpServerDefinition).tls?.ca;
  const server = { url: endpoint, tls: ca === undefined ? undefined : { ca } };
  const { OneOffFetch } = await import("../../net/one-off-fetch.js");
  const { AddressGuard } = await import("../../net/address-guard.js");
  const oneOffFetch = new OneOffFetch({
    server,
    connectMs: MAX_LOOKUP_MS,
    timeoutMs: MAX_LOOKUP_MS,
    redactor,
    guard: new AddressGuard(config, endpoint),
  });
  const timeoutSignal = AbortSignal.any([signal, AbortSignal.timeout(MAX_LOOKUP_MS)]);
  const fetchFn: FetchFn = (address, init) =>
    oneOffFetch.fetch(address, { ...init, redirect: "manual", signal: timeoutSignal });
  try {
    const challenge = await fetchChallenge(endpoint, fetchFn);
    const metadata = await fetchMetadata(endpoint, challenge, fetchFn);
    return (
      [describeScheme(challenge), describeIssuers(metadata)].filter((text) => text !== "").join(" ") ||
      undefined
    );
  } catch {
    return undefined;
  } finally {
    await oneOffFetch.close();
  }
}

async function fetchChallenge(url: URL, fetchFn: FetchFn): Promise<string> {
  const response = await fetchFn(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(INITIALIZE_BODY),
  });
  return response.headers.get("www-authenticate") ?? "";
}

/** Fetches the protected resource metadata (RFC 9728). URLs at another origin are ignored. */
async function fetchMetadata(url: URL, challenge: string, fetchFn: FetchFn): Promise<JsonObject> {
  const advertised = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
  const path = url.pathname === "/" ? "" : url.pathname;
  const urls = [advertised, `${RESOURCE_METADATA_PATH}${path}`, RESOURCE_METADATA_PATH]
    .filter((metadataUrl) => metadataUrl !== "" && URL.canParse(metadataUrl, url.href))
    .map((metadataUrl) => new URL(metadataUrl, url))
    .filter(({ origin }) => origin === url.origin);
  for (const metadataUrl of urls) {
    const response = await fetchFn(metadataUrl);
    const text = response.ok ? await response.text() : "";
    const metadata = text.length < MAX_METADATA_BYTES ? tryParseJson(text) : undefined;
    if (isPlainObject(metadata)) return metadata;
  }
  return {};
}

function describeScheme(challenge: string): string {
  const [, scheme] = /^\s*([\w-]+)/.exec(challenge) ?? [];
  if (scheme === undefined) return "";
  const description = /error_description="([^"]+)"/.exec(challenge)?.[1];
  return `It requires ${escapeExcerpt(scheme)}${description === undefined ? "" : ` ("${escapeExcerpt(description)}")`}.`;
}

function describeIssuers(metadata: JsonObject): string {
  const issuers = toStrings(metadata["authorization_servers"]);
  if (issuers.length === 0) return "";
  const scopes = toStrings(metadata["scopes_supported"]);
  return `Tokens are issued by ${issuers.join(", ")}${scopes.length === 0 ? "" : `; scopes: ${scopes.join(", ")}`}.`;
}

function toStrings(value: unknown): string[] {
  return toArray(value).flatMap((item) => (typeof item === "string" ? [escapeExcerpt(item)] : []));
}
