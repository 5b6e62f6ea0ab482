import { z } from "zod";
import { isPlaceholder, MADE_FROM_MISSING, urlSchema } from "./http-options.js";
import { strictObject } from "./parse-options.js";
import { receivedArray } from "./received-schemas.js";

/** What a `JwtSource` function receives. */
export interface JwtRequest {
  /** Aborted when no request waits for the token any more. */
  readonly signal: AbortSignal;
}

/** A JWT, or a function that returns one each time a token is requested. */
export type JwtSource = string | ((request: JwtRequest) => string | Promise<string>);

interface GrantOptions<Address> {
  /**
   * The authorization server that accepts the JWT, an https or loopback URL. The JWT is sent to no other
   * server, whichever authorization server the MCP server advertises.
   */
  readonly issuer: Address;
  /** The id of this client at the issuer. */
  readonly clientId?: string | undefined;
  /** The secret of this client at the issuer. */
  readonly clientSecret?: string | undefined;
  /**
   * The scopes to request, separated by spaces.
   *
   * @default the scopes that the MCP server advertises
   */
  readonly scope?: string | undefined;
}

/**
 * Exchanges a JWT that the authorization server trusts, such as that of a workload identity, for a token
 * (RFC 7523).
 */
export interface JwtBearerGrant<Address = string | URL> extends GrantOptions<Address> {
  /** Selects this grant. */
  readonly grant: "jwt-bearer";
  /** The JWT to exchange. */
  readonly assertion: JwtSource;
}

/**
 * Enterprise-managed authorization: the company's identity provider decides who may use which server, so
 * that users need no further login. The user's ID token is exchanged there for a grant (ID-JAG, RFC 8693),
 * and the grant at the authorization server of the MCP server for a token (RFC 7523).
 */
export interface EnterpriseManagedGrant<Address = string | URL> extends GrantOptions<Address> {
  /** Selects this grant. */
  readonly grant: "enterprise-managed";
  /** The id of this client at the issuer. */
  readonly clientId: string;
  /**
   * The ID token of the user. A function does not receive the caller and requires `identity` next to
   * `auth`: its token is used for all calls of that identity. For many users, make `auth` a function.
   */
  readonly idToken: JwtSource;
  /** Where the ID token is exchanged. */
  readonly identityProvider: {
    readonly tokenEndpoint: Address;
    readonly clientId: string;
    readonly clientSecret?: string | undefined;
  };
}

/** How to obtain tokens without a login, as data instead of an `OAuthProvider`. */
export type AuthGrant<Address = string | URL> = JwtBearerGrant<Address> | EnterpriseManagedGrant<Address>;

/** A grant after parsing. */
export type ParsedGrant = AuthGrant<URL>;

/** Grants are recognized by their key `grant`, which providers and functions do not have. */
export function isAuthGrant<T>(auth: T): auth is Extract<T, { readonly grant: string }> {
  return typeof auth === "object" && auth !== null && "grant" in auth;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*(?:\.[\w-]*\.[\w-]*)?$/;

/** Whether a string has the form of a JWT, signed or encrypted. */
export function isJwt(text: unknown): text is string {
  return typeof text === "string" && JWT.test(text);
}

/** The URL of an endpoint that receives secrets. */
const httpsOrLoopbackUrl = urlSchema("https:", "http:").refine(
  ({ protocol, hostname }) => protocol === "https:" || LOOPBACK.test(hostname),
  { error: "expected https:// because secrets are sent there" },
);
const nonEmptyString = z.string().min(1);
const credentialString = nonEmptyString.refine((text) => !isPlaceholder(text), {
  error: MADE_FROM_MISSING,
});
const jwt = z.custom<JwtSource>((value) => typeof value === "function" || isJwt(value), {
  error: "expected a JWT, or a function that returns one",
});

const clientFields = {
  clientId: credentialString,
  clientSecret: credentialString.optional(),
};
const commonFields = {
  issuer: httpsOrLoopbackUrl,
  scope: nonEmptyString.optional(),
};

/** The schema of an `AuthGrant`, built when it is first used. */
export const AUTH_GRANT_SCHEMA = z.lazy(() => {
  const jwtBearer = strictObject({
    grant: z.literal("jwt-bearer"),
    ...commonFields,
    ...clientFields,
    clientId: nonEmptyString.optional(),
    assertion: jwt,
  }).refine(({ clientId, clientSecret }) => clientId !== undefined || clientSecret === undefined, {
    path: ["clientId"],
    error: "is required with clientSecret",
  });

  const enterpriseManaged = strictObject({
    grant: z.literal("enterprise-managed"),
    ...commonFields,
    ...clientFields,
    idToken: jwt,
    identityProvider: strictObject({ tokenEndpoint: httpsOrLoopbackUrl, ...clientFields }),
  });

  return z.discriminatedUnion("grant", [jwtBearer, enterpriseManaged], {
    error: 'expected an object with a grant of "jwt-bearer" or "enterprise-managed"',
  }) satisfies z.ZodType<ParsedGrant>;
});

/**
 * The part of an issuer's metadata that grants need. Looser than the SDK's schema: an issuer that only
 * exchanges JWTs has no authorization endpoint.
 */
export const ISSUER_METADATA_SCHEMA = z.looseObject({
  issuer: nonEmptyString,
  token_endpoint: httpsOrLoopbackUrl,
  token_endpoint_auth_methods_supported: receivedArray(nonEmptyString).optional(),
});
