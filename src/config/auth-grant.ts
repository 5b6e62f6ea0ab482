/** What a function that gives a JWT is told. */
export interface JwtRequest {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** A JWT, or a function that gives one each time a token is needed. */
export type JwtSource = string | ((request: JwtRequest) => string | Promise<string>);

interface GrantOptions<Address> {
  /**
   * The authorization server that the proof is for. No other is shown it, whichever one the MCP server
   * names. As all such addresses: https, or this machine.
   */
  readonly issuer: Address;
  /** As whom we are registered there. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** The rights to ask for, with spaces between; what the MCP server says it needs when left out. */
  readonly scope?: string | undefined;
}

/** A JWT of somebody whom the authorization server trusts, such as the platform we run on (RFC 7523). */
export interface JwtBearerGrant<Address = string | URL> extends GrantOptions<Address> {
  readonly grant: "jwt-bearer";
  readonly assertion: JwtSource;
}

/**
 * A company's identity provider decides who may use which server: a user who has logged in there needs
 * no other login. Their ID token is exchanged there for a grant (ID-JAG, RFC 8693), and the grant at the
 * server's own authorization server for a token (RFC 7523).
 */
export interface EnterpriseManagedGrant<Address = string | URL> extends GrantOptions<Address> {
  readonly grant: "enterprise-managed";
  readonly clientId: string;
  /**
   * A user's. A function is not told who calls, and needs an `identity` next to `auth`: what it gives is
   * used for all calls of that identity. For many users, `auth` itself is a function.
   */
  readonly idToken: JwtSource;
  readonly identityProvider: {
    readonly tokenEndpoint: Address;
    readonly clientId: string;
    readonly clientSecret?: string | undefined;
  };
}

/** How to get a token without a login: written down, where a provider would be code. */
export type AuthGrant<Address = string | URL> = JwtBearerGrant<Address> | EnterpriseManagedGrant<Address>;

/** As code reads it. */
export type ParsedGrant = AuthGrant<URL>;

/** Told by its own key; providers and functions have none of that name. */
export function isAuthGrant<T>(auth: T): auth is Extract<T, { readonly grant: string }> {
  return typeof auth === "object" && auth !== null && "grant" in auth;
}
