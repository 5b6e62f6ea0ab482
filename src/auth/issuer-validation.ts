import { isPlainObject, type JsonObject } from "../json/json.js";
import type { OAuthProvider } from "../config/credential-options.js";

/** The `fetch` of requests to authorization servers. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";
const METADATA_PATH = /^(.*?)\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/.*)?$/;

/**
 * Validates that the metadata of an authorization server names that server as issuer (RFC 8414); otherwise
 * one server could redirect a login, or its code, to another. The `iss` of `callbackParams`, the parameters
 * of a login's redirect, must match it, and is required if the server declares that it sends one (RFC 9207).
 * Metadata in `cached` is not fetched again, so it is validated here.
 *
 * @throws if the cached metadata is invalid; the returned function rejects for fetched metadata.
 */
export function withIssuerValidation(
  fetch: Fetch,
  callbackParams: URLSearchParams | undefined,
  cached: CachedDiscovery = {},
): Fetch {
  // Servers of protocol revision 2025-03-26 publish no resource metadata; their own origin is used as the
  // authorization server.
  let hasResourceMetadata = cached.resourceMetadata !== undefined;
  if (cached.issuerMetadata !== undefined)
    assertIssuer(cached.issuerMetadata, hasResourceMetadata ? cached.issuerUrl : undefined, callbackParams);
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.ok && new URL(url).pathname.includes(RESOURCE_METADATA_PATH)) hasResourceMetadata = true;
    const issuerUrl = toIssuerUrl(new URL(url));
    if (issuerUrl === undefined || !response.ok) return response;
    const metadata = await peekJson(response);
    if (metadata !== undefined)
      assertIssuer(metadata, hasResourceMetadata ? issuerUrl : undefined, callbackParams);
    return response;
  };
}

/** Reads a clone, so that the response can still be read. Returns undefined if it is not a JSON object. */
export async function peekJson(response: Response): Promise<JsonObject | undefined> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return isPlainObject(body) ? body : undefined;
}

/** Ignores a trailing slash, which many servers use inconsistently. */
export function isSameIssuer(a: string, b: string): boolean {
  return a.replace(/\/$/, "") === b.replace(/\/$/, "");
}

/** Converts the URL of a metadata document to its issuer; undefined for other URLs. */
export function toIssuerUrl({ origin, pathname }: URL): string | undefined {
  const [, before, after = ""] = METADATA_PATH.exec(pathname) ?? [];
  return before === undefined ? undefined : `${origin}${before}${after}`;
}

function assertIssuer(
  { issuer, authorization_response_iss_parameter_supported: returnsIss }: Record<string, unknown>,
  issuerUrl: string | undefined,
  callbackParams: URLSearchParams | undefined,
): void {
  if (typeof issuer !== "string") return;
  if (issuerUrl !== undefined && !isSameIssuer(issuer, issuerUrl))
    throw new Error("The metadata of the authorization server names another issuer.");
  const iss = callbackParams?.get("iss") ?? undefined;
  if (iss !== undefined && iss !== issuer)
    throw new Error(
      "The login response comes from another authorization server than the one it was requested from (iss).",
    );
  if (callbackParams !== undefined && iss === undefined && returnsIss === true)
    throw new Error(
      "The login response does not name its authorization server (iss), which this server requires.",
    );
}

/** The discovery state that an OAuth provider stored. The SDK does not fetch it again. */
export interface CachedDiscovery {
  readonly issuerUrl?: string;
  readonly resourceMetadata?: JsonObject | undefined;
  readonly issuerMetadata?: JsonObject | undefined;
}

export async function readCachedDiscovery(provider: OAuthProvider): Promise<CachedDiscovery> {
  const state = toPlainObject(await provider.discoveryState?.());
  const { authorizationServerUrl: url, resourceMetadata, authorizationServerMetadata } = state ?? {};
  const issuerUrl = url instanceof URL ? url.href : url;
  // Like the SDK, ignore a state without this URL.
  if (typeof issuerUrl !== "string" || issuerUrl === "") return {};
  return {
    issuerUrl,
    resourceMetadata: toPlainObject(resourceMetadata),
    issuerMetadata: toPlainObject(authorizationServerMetadata),
  };
}

function toPlainObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
