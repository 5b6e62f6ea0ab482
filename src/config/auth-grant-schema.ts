import { z } from "zod";
import { addressOf } from "./url-schema.js";
import type { JwtSource, ParsedGrant } from "./auth-grant.js";
import { closedObject } from "./strict-object.js";

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*(?:\.[\w-]*\.[\w-]*)?$/;

/** Whether a text has the form of a JWT, signed or encrypted. */
export function isJwt(text: unknown): text is string {
  return typeof text === "string" && JWT.test(text);
}

/** Of somebody who is shown secrets. */
const safeAddress = addressOf("https:", "http:").refine(
  ({ protocol, hostname }) => protocol === "https:" || LOOPBACK.test(hostname),
  { error: "expected https://: secrets are sent there" },
);
const text = z.string().min(1);
const jwt = z.custom<JwtSource>((value) => typeof value === "function" || isJwt(value), {
  error: "expected a JWT, or a function that gives one",
});

const client = {
  clientId: text,
  clientSecret: text.optional(),
};
const common = {
  issuer: safeAddress,
  scope: text.optional(),
};

const jwtBearer = closedObject({
  grant: z.literal("jwt-bearer"),
  ...common,
  ...client,
  clientId: text.optional(),
  assertion: jwt,
}).refine(({ clientId, clientSecret }) => clientId !== undefined || clientSecret === undefined, {
  path: ["clientId"],
  error: "is missing: a secret belongs to a client",
});

const enterpriseManaged = closedObject({
  grant: z.literal("enterprise-managed"),
  ...common,
  ...client,
  idToken: jwt,
  identityProvider: closedObject({ tokenEndpoint: safeAddress, ...client }),
});

/** What is written for `auth` in the place of a provider. */
export const AUTH_GRANT = z.discriminatedUnion("grant", [jwtBearer, enterpriseManaged], {
  error: 'expected one that has a grant of "jwt-bearer" or "enterprise-managed"',
}) satisfies z.ZodType<ParsedGrant>;

/**
 * What an issuer says of itself, as much of it as a grant needs: who only gives tokens for proofs has no
 * place for logins.
 */
export const ISSUER_METADATA = z.looseObject({
  issuer: text,
  token_endpoint: safeAddress,
  token_endpoint_auth_methods_supported: z.array(text).optional(),
});
