import type { AuthGrant, ParsedGrant } from "./auth-grant.js";
import type { CallContext } from "./call-context.js";
import type { OAuthProvider } from "./oauth-provider.js";

export type HeaderValues = Readonly<Record<string, string>>;

/** Sent with every request. Headers that the protocol owns are left out. */
export type HeadersOption = HeaderValues | ((context: CallContext) => HeaderValues | Promise<HeaderValues>);

/** An OAuth provider, or what to get tokens for; or a function that gives a bearer token or one of those. */
export type AuthOption = OAuthProvider | AuthGrant | AuthFunction;
type AuthFunction = (context: CallContext) => CallerAuth | Promise<CallerAuth>;
type CallerAuth = string | OAuthProvider | AuthGrant;

/** Whose session a call belongs to. */
export type IdentityOption = (context: CallContext) => string;

/** Who asks, and what proves it. */
export interface CredentialOptions {
  /** A function is asked for every request, so that a token may change without a new session. */
  readonly headers?: HeadersOption;
  readonly auth?: AuthOption;
  /**
   * Tokens that are bound to a key of this client, so that nobody else can use them (DPoP, RFC 9449):
   * where the server asks for them when left out, always (`true`), never (`false`). For OAuth only.
   */
  readonly dpop?: boolean;
  /**
   * Needed as soon as `headers`, `auth` or its `idToken` is a function: calls with the same identity share a session,
   * all others are kept apart.
   */
  readonly identity?: IdentityOption;
}

/** Credentials as code reads them, next to the headers that never change. */
export interface CredentialSources {
  readonly headersOf: Exclude<HeadersOption, HeaderValues> | undefined;
  readonly auth: Exclude<AuthOption, AuthGrant> | ParsedGrant | undefined;
}
