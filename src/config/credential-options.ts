import type { AuthGrant, ParsedGrant } from "./auth-grant.js";
import type { CallContext } from "./call-context.js";

/** Tokens as issued by an authorization server. Store them unchanged, including unknown fields. */
export interface OAuthTokens {
  /** The token that requests are sent with. */
  readonly access_token: string;
  /** How the token is used: `Bearer` or `DPoP`. */
  readonly token_type: string;
  /** Obtains the next access token without a login. */
  readonly refresh_token?: string | undefined;
  /** The lifetime of the access token in seconds, from when it was issued. */
  readonly expires_in?: number | undefined;
  /** The scopes that were granted, separated by spaces. */
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
  /** Describes this client for dynamic registration. */
  readonly clientMetadata: object;
  /** The URL of this client's metadata document, for authorization servers that accept it as a client id. */
  readonly clientMetadataUrl?: string | undefined;
  /** Returns the `state` parameter of a login. */
  state?(): string | Promise<string>;
  /** Returns the id and secret of this client; `undefined` before it is registered. */
  clientInformation(): object | undefined | Promise<object | undefined>;
  /** Stores the id and secret after dynamic registration. Without it, clients are not registered. */
  saveClientInformation?(information: never): void | Promise<void>;
  /** Returns the stored tokens; `undefined` before the first login. */
  tokens(): OAuthTokens | undefined | Promise<OAuthTokens | undefined>;
  /** Stores tokens after a login or a refresh. */
  saveTokens(tokens: never): void | Promise<void>;
  /** Called with the URL where the user logs in, which is also the `authorizationUrl` of the error. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>;
  /** Stores the PKCE verifier of a login until its code is exchanged. */
  saveCodeVerifier(verifier: string): void | Promise<void>;
  /** Returns the PKCE verifier of the current login. */
  codeVerifier(): string | Promise<string>;
  /** Authenticates this client in a token request, instead of with its id and secret. */
  addClientAuthentication?(headers: Headers, params: URLSearchParams, url: never, metadata?: never): unknown;
  /** Decides which resource tokens are requested for; throws for a server that must not receive them. */
  validateResourceURL?(serverUrl: never, resource?: string): Promise<URL | undefined>;
  /** Removes stored credentials that the authorization server has rejected. */
  invalidateCredentials?(scope: never): void | Promise<void>;
  /** Returns the parameters of a token request, for grants other than the authorization code. */
  prepareTokenRequest?(scope?: string): URLSearchParams | Promise<URLSearchParams | undefined> | undefined;
  /** Stores which authorization server was discovered, for the exchange of the code. */
  saveDiscoveryState?(state: never): void | Promise<void>;
  /** Returns what `saveDiscoveryState` has stored. */
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
  /**
   * How requests are authorized: OAuth, a grant or a bearer token.
   *
   * @default none
   */
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
   *
   * @default all callers share one session
   */
  readonly identity?: IdentityOption;
}

/** Parsed credentials, in addition to constant headers. */
export interface CredentialSources {
  readonly headersProvider: Exclude<HeadersOption, HeaderValues> | undefined;
  readonly auth: Exclude<AuthOption, AuthGrant> | ParsedGrant | undefined;
}
