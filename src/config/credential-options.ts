import type { AuthGrant, ParsedGrant } from "./auth-grant.js";
import type { CallContext } from "./call-context.js";

/** Tokens as issued by an authorization server. Store them unchanged, including unknown fields. */
export interface OAuthTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/**
 * Stores OAuth credentials and sends users to log in. Compatible with the official SDK's
 * `OAuthClientProvider`: its providers, including those for client credentials and private key JWTs, can be
 * used unchanged. The SDK documents every method.
 */
export interface OAuthProvider {
  /** `undefined` for flows without a login, such as client credentials. */
  readonly redirectUrl: string | URL | undefined;
  readonly clientMetadata: object;
  readonly clientMetadataUrl?: string | undefined;
  state?(): string | Promise<string>;
  clientInformation(): object | undefined | Promise<object | undefined>;
  saveClientInformation?(information: never): void | Promise<void>;
  tokens(): OAuthTokens | undefined | Promise<OAuthTokens | undefined>;
  saveTokens(tokens: never): void | Promise<void>;
  /** Called with the URL where the user logs in, which is also the `authorizationUrl` of the error. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>;
  saveCodeVerifier(verifier: string): void | Promise<void>;
  codeVerifier(): string | Promise<string>;
  addClientAuthentication?(headers: Headers, params: URLSearchParams, url: never, metadata?: never): unknown;
  validateResourceURL?(serverUrl: never, resource?: string): Promise<URL | undefined>;
  invalidateCredentials?(scope: never): void | Promise<void>;
  prepareTokenRequest?(scope?: string): URLSearchParams | Promise<URLSearchParams | undefined> | undefined;
  saveDiscoveryState?(state: never): void | Promise<void>;
  discoveryState?(): object | undefined | Promise<object | undefined>;
}

/** HTTP headers by name. */
export type HeaderValues = Readonly<Record<string, string>>;

/**
 * Headers sent with every request, or a function that returns them. Headers that the protocol sets are
 * ignored.
 */
export type HeadersOption = HeaderValues | ((context: CallContext) => HeaderValues | Promise<HeaderValues>);

/** An OAuth provider, a grant, or a function that returns a bearer token, a provider or a grant. */
export type AuthOption = OAuthProvider | AuthGrant | AuthFunction;
type AuthFunction = (context: CallContext) => CallerAuth | Promise<CallerAuth>;
type CallerAuth = string | OAuthProvider | AuthGrant;

/** Identifies the caller: calls with the same identity share a session. */
export type IdentityOption = (context: CallContext) => string;

/** Credentials of requests, and the identity that they belong to. */
export interface CredentialOptions {
  /**
   * Headers sent with every request. A function is called for each request, so that a token can change
   * without a new session.
   *
   * @default {}
   */
  readonly headers?: HeadersOption;
  /** How requests are authorized: OAuth, a grant or a bearer token. */
  readonly auth?: AuthOption;
  /**
   * Bind tokens to a key of this client, so that stolen tokens are useless (DPoP, RFC 9449): always (`true`)
   * or never (`false`). For OAuth only.
   *
   * @default where the server requires it
   */
  readonly dpop?: boolean;
  /**
   * Identifies the caller: calls with the same identity share a session, others are isolated. Required when
   * `headers`, `auth` or its `idToken` is a function.
   */
  readonly identity?: IdentityOption;
}

/** Parsed credentials, in addition to constant headers. */
export interface CredentialSources {
  readonly headersProvider: Exclude<HeadersOption, HeaderValues> | undefined;
  readonly auth: Exclude<AuthOption, AuthGrant> | ParsedGrant | undefined;
}
