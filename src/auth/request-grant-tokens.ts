import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { AuthorizationServerMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { ParsedGrant } from "../config/auth-grant.js";
import type { OAuthTokens } from "../config/oauth-provider.js";
import { type GiverOfJwts, jwtFrom } from "./resolve-jwt.js";
import { fetchIdJag } from "./exchange-id-token.js";
import { fetchIssuerMetadata, type IssuerMetadata } from "./issuer-metadata.js";
import type { SideFetch } from "../net/auth-fetch.js";

/** What a token is wanted for, and how it may be asked for. */
export interface GrantRequest extends GiverOfJwts {
  readonly serverUrl: URL;
  /** Where the server told about itself. */
  readonly resourceMetadataUrl: URL | undefined;
  /** The rights that the server said it needs. */
  readonly scope: string | undefined;
  readonly fetch: SideFetch["fetch"];
  /** For others than the authorization server: they have nothing to do with a key that tokens are bound to. */
  readonly plainFetch: SideFetch["fetch"];
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * Gets tokens by a grant. Asked once: an authorization server that says no to a proof has looked at it,
 * and is not asked again, nor in another way.
 */
export async function fetchGrantedTokens(grant: ParsedGrant, request: GrantRequest): Promise<OAuthTokens> {
  const { fetchToken } = await sdk();
  const { fetch } = request;
  const metadata = await fetchIssuerMetadata(grant.issuer, fetch);
  const { resource, knownScope } = await resourceOf(request);
  const scope = grant.scope ?? request.scope ?? knownScope;
  const exchange = { audience: metadata.issuer, resource, scope };
  const assertion =
    grant.grant === "jwt-bearer"
      ? await jwtFrom(grant.assertion, "auth.assertion", request)
      : await fetchIdJag(grant, { ...request, ...exchange, fetch: request.plainFetch });
  const asked = { grant_type: JWT_BEARER, assertion, ...(scope === undefined ? {} : { scope }) };
  const client = {
    clientMetadata: {},
    clientInformation: () => clientOf(grant),
    prepareTokenRequest: () => new URLSearchParams(asked),
  };
  return fetchToken(client as unknown as OAuthClientProvider, grant.issuer, {
    metadata: toSdkMetadata(metadata),
    resource,
    fetchFn: fetch,
  });
}

const sdk = () => import("@modelcontextprotocol/sdk/client/auth.js");

/** It asks for more than it reads: of the endpoints only the one for tokens. */
function toSdkMetadata({
  token_endpoint: endpoint,
  ...metadata
}: IssuerMetadata): AuthorizationServerMetadata {
  return { ...metadata, token_endpoint: endpoint.href } as unknown as AuthorizationServerMetadata;
}

/**
 * What the server calls itself, which has to fit its address; and the rights that it knows. One that does
 * not say gets tokens for its address: a token for nobody in particular could be used elsewhere.
 */
async function resourceOf({ serverUrl, resourceMetadataUrl, fetch }: GrantRequest) {
  const { discoverOAuthProtectedResourceMetadata, selectResourceURL } = await sdk();
  const place = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  const metadata = await discoverOAuthProtectedResourceMetadata(serverUrl, place, fetch).catch(
    () => undefined,
  );
  await selectResourceURL(serverUrl, {} as OAuthClientProvider, metadata);
  // As the server wrote it: a URL object would put a slash at its end.
  const { origin, pathname } = serverUrl;
  const { resource = `${origin}${pathname}`, scopes_supported: scopes = [] } = metadata ?? {};
  return { resource, knownScope: scopes.length === 0 ? undefined : scopes.join(" ") };
}

function clientOf({ clientId, clientSecret }: ParsedGrant) {
  if (clientId === undefined) return undefined;
  return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
}
