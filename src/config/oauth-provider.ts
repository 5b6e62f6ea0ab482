/** Tokens as an authorization server gives them; keep them as they are, unknown fields included. */
export interface OAuthTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/**
 * Where OAuth credentials are kept, and how a user is sent to log in. The shape of the official SDK's
 * `OAuthClientProvider`: its providers, for client credentials and private key JWTs too, fit as they
 * are. The SDK's documentation describes every method.
 */
export interface OAuthProvider {
  /** `undefined` where nobody logs in, such as with client credentials. */
  readonly redirectUrl: string | URL | undefined;
  readonly clientMetadata: object;
  readonly clientMetadataUrl?: string | undefined;
  state?(): string | Promise<string>;
  clientInformation(): object | undefined | Promise<object | undefined>;
  saveClientInformation?(information: never): void | Promise<void>;
  tokens(): OAuthTokens | undefined | Promise<OAuthTokens | undefined>;
  saveTokens(tokens: never): void | Promise<void>;
  /** Called with the address where the user logs in; it also comes as the failure's `authorizationUrl`. */
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
