import { describeThrown, printValue } from "../errors/sanitize-text.js";
import {
  type ParsedGrant,
  ISSUER_METADATA_SCHEMA,
  isJwt,
  type EnterpriseManagedGrant,
  type JwtSource,
} from "../config/auth-grant.js";
import type { OAuthTokens } from "../config/credential-options.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { AuthorizationServerMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { OneOffFetch } from "../net/one-off-fetch.js";
import { zodToIssues } from "../config/parse-options.js";
import { isSameIssuer } from "./issuer-validation.js";
import { isPlainObject, omitUndefined } from "../json/json.js";
import { raceAbort } from "../async/cancel-scope.js";

/** The tokens of one identity that are obtained by a grant, without a login. Kept in memory only. */
export class GrantTokenSource {
  /** The latest grant: a user's function may return another assertion each time. */
  grant: ParsedGrant;
  #tokens: OAuthTokens | undefined;

  constructor(grant: ParsedGrant) {
    this.grant = grant;
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }

  async renew(request: GrantRequest): Promise<void> {
    this.#tokens = await requestGrantTokens(this.grant, request);
  }
}

/** What a token is requested for, and how. */
interface GrantRequest {
  readonly serverUrl: URL;
  /** Where the server publishes its protected resource metadata. */
  readonly resourceMetadataUrl: URL | undefined;
  /** The scope that the server requires. */
  readonly scope: string | undefined;
  readonly fetch: OneOffFetch["fetch"];
  /** Without DPoP, for requests to the identity provider, whose tokens are not bound to a key. */
  readonly unboundFetch: OneOffFetch["fetch"];
  /** Aborts a user's function that does not return. */
  readonly signal: AbortSignal;
  /** Called with each secret before it is used, so that it is redacted. */
  readonly registerSecret: (secret: string) => void;
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * Requests tokens by a grant. There is no retry: an authorization server that rejects an assertion has
 * evaluated it.
 */
async function requestGrantTokens(grant: ParsedGrant, request: GrantRequest): Promise<OAuthTokens> {
  const { fetchToken } = await importSdk();
  const { fetch } = request;
  const metadata = await fetchIssuerMetadata(grant.issuer, fetch);
  const { resource, supportedScope } = await discoverResource(request);
  const scope = grant.scope ?? request.scope ?? supportedScope;
  const assertion =
    grant.grant === "jwt-bearer"
      ? await resolveJwt(grant.assertion, "auth.assertion", request)
      : await exchangeIdToken(grant, { audience: metadata.issuer, resource, scope }, request);
  const { clientId, clientSecret } = grant;
  const clientInformation = clientId && omitUndefined({ client_id: clientId, client_secret: clientSecret });
  const tokenParams = { grant_type: JWT_BEARER, assertion, ...omitUndefined({ scope }) };
  const client = {
    clientMetadata: {},
    clientInformation: () => clientInformation,
    prepareTokenRequest: () => new URLSearchParams(tokenParams),
  };
  // The SDK's type requires more fields than it reads: of the endpoints it uses only the token endpoint.
  const sdkMetadata = { ...metadata, token_endpoint: metadata.token_endpoint.href };
  return fetchToken(client as unknown as OAuthClientProvider, grant.issuer, {
    metadata: sdkMetadata as unknown as AuthorizationServerMetadata,
    resource,
    fetchFn: fetch,
  });
}

const importSdk = () => import("@modelcontextprotocol/sdk/client/auth.js");

/**
 * Discovers the server's resource identifier, which must match its URL, and its supported scopes. Defaults
 * to the server's URL, because a token without an audience could be used elsewhere.
 */
async function discoverResource({ serverUrl, resourceMetadataUrl, fetch }: GrantRequest) {
  const { discoverOAuthProtectedResourceMetadata, selectResourceURL } = await importSdk();
  const options = omitUndefined({ resourceMetadataUrl });
  const metadata = await discoverOAuthProtectedResourceMetadata(serverUrl, options, fetch).catch(
    () => undefined,
  );
  await selectResourceURL(serverUrl, {} as OAuthClientProvider, metadata);
  // Keep the string that the server sent: a URL object would append a slash.
  const { origin, pathname } = serverUrl;
  const { resource = `${origin}${pathname}`, scopes_supported: scopes = [] } = metadata ?? {};
  return { resource, supportedScope: scopes.length === 0 ? undefined : scopes.join(" ") };
}

type IssuerMetadata = ReturnType<(typeof ISSUER_METADATA_SCHEMA)["parse"]>;

/** The assertion is sent only to the configured issuer, so the metadata must be that issuer's. */
async function fetchIssuerMetadata(issuer: URL, fetch: OneOffFetch["fetch"]): Promise<IssuerMetadata> {
  const parsed = ISSUER_METADATA_SCHEMA.safeParse(await fetchMetadataDocument(issuer, fetch));
  if (!parsed.success) {
    const issues = zodToIssues(parsed.error).map(({ path, message }) => `${path}: ${message}`);
    throw new Error(`The metadata of the authorization server is invalid: ${issues.join("; ")}`);
  }
  if (!isSameIssuer(parsed.data.issuer, issuer.href))
    throw new Error("The metadata of the authorization server names another issuer than auth.issuer.");
  return parsed.data;
}

/** Returns the first document found at the well-known URLs. */
async function fetchMetadataDocument(issuer: URL, fetch: OneOffFetch["fetch"]): Promise<unknown> {
  const { buildDiscoveryUrls } = await importSdk();
  const { fetchWithinOrigin } = await import("@modelcontextprotocol/sdk/shared/transport.js");
  const get = fetchWithinOrigin(fetch);
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const response = await get(url, { headers: { accept: "application/json" } });
    if (response.ok) return response.json();
    if (response.status >= 500)
      throw new Error(`The authorization server returned HTTP ${response.status} for its metadata.`);
  }
  throw new Error(`No authorization server metadata found at ${issuer.href} (auth.issuer).`);
}

const TOKEN_TYPE = "urn:ietf:params:oauth:token-type";

/**
 * Exchanges a user's ID token for an identity assertion (ID-JAG) at the enterprise identity provider (RFC
 * 8693).
 */
async function exchangeIdToken(
  grant: EnterpriseManagedGrant<URL>,
  target: { readonly audience: string; readonly resource: string; readonly scope: string | undefined },
  request: GrantRequest,
): Promise<string> {
  const { tokenEndpoint, clientId, clientSecret } = grant.identityProvider;
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: `${TOKEN_TYPE}:id-jag`,
    subject_token_type: `${TOKEN_TYPE}:id_token`,
    subject_token: await resolveJwt(grant.idToken, "auth.idToken", request),
    ...omitUndefined({ ...target, client_id: clientId, client_secret: clientSecret }),
  });
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  // The request contains secrets, so redirects are not followed.
  const init = { method: "POST", headers, body, redirect: "manual" } as const;
  const response = await request.unboundFetch(tokenEndpoint, init);
  if (!response.ok) {
    const { parseErrorResponse } = await importSdk();
    const cause = await parseErrorResponse(response);
    throw new Error(`The identity provider rejected the token exchange: ${getErrorText(cause)}`, { cause });
  }
  const payload: unknown = await response.json().catch(() => undefined);
  const { access_token: idJag, issued_token_type: type } = isPlainObject(payload) ? payload : {};
  if (!isJwt(idJag) || type !== `${TOKEN_TYPE}:id-jag`)
    throw new Error("The identity provider returned no identity assertion (ID-JAG).");
  request.registerSecret(idJag);
  return idJag;
}

/** Includes the error code, because many authorization servers return only that, such as `invalid_grant`. */
export function getErrorText(error: unknown): string {
  if (!(error instanceof Error)) return printValue(error);
  const code: unknown = Reflect.get(error, "errorCode");
  const texts = [typeof code === "string" ? code : "", error.message];
  return texts.filter((text) => text !== "").join(": ");
}

/**
 * Resolves a JWT, calling the user's function if there is one. Trimmed, because JWTs read from files end
 * with a line break.
 */
async function resolveJwt(source: JwtSource, name: string, request: GrantRequest): Promise<string> {
  const { signal, registerSecret } = request;
  const value: unknown =
    typeof source === "string"
      ? source
      : await raceAbort(signal, () => source({ signal })).catch((error: unknown) => {
          const message = describeThrown(error);
          throw new Error(`The function ${name} failed: ${message}`, { cause: error });
        });
  const jwt = typeof value === "string" ? value.trim() : value;
  if (!isJwt(jwt)) throw new Error(`The function ${name} returned no valid JWT.`);
  registerSecret(jwt);
  return jwt;
}
