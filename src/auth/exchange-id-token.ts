import { isJwt } from "../config/auth-grant-schema.js";
import type { EnterpriseManagedGrant } from "../config/auth-grant.js";
import { isPlainObject } from "../json/json.js";
import { type GiverOfJwts, jwtFrom } from "./resolve-jwt.js";
import type { SideFetch } from "../net/auth-fetch.js";

interface IdJagRequest extends GiverOfJwts {
  /** Who is to take it: the server's authorization server. */
  readonly audience: string;
  readonly resource: string;
  readonly scope: string | undefined;
  readonly fetch: SideFetch["fetch"];
}

const TOKEN_TYPE = "urn:ietf:params:oauth:token-type";

/** Exchanges a user's ID token for an identity assertion at the company's identity provider (RFC 8693). */
export async function fetchIdJag(grant: EnterpriseManagedGrant<URL>, request: IdJagRequest): Promise<string> {
  const { tokenEndpoint, clientId, clientSecret } = grant.identityProvider;
  const { audience, resource, scope, fetch, keepSecret } = request;
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: `${TOKEN_TYPE}:id-jag`,
    subject_token_type: `${TOKEN_TYPE}:id_token`,
    subject_token: await jwtFrom(grant.idToken, "auth.idToken", request),
    audience,
    resource,
    ...(scope === undefined ? {} : { scope }),
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
  });
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  // It is shown secrets, so it sends nobody elsewhere.
  const response = await fetch(tokenEndpoint, { method: "POST", headers, body, redirect: "manual" });
  if (!response.ok) throw await refusalOf(response);
  const answer: unknown = await response.json().catch(() => undefined);
  const { access_token: jag, issued_token_type: type } = isPlainObject(answer) ? answer : {};
  if (!isJwt(jag) || type !== `${TOKEN_TYPE}:id-jag`)
    throw new Error("The identity provider gave no identity assertion (ID-JAG).");
  keepSecret(jag);
  return jag;
}

async function refusalOf(response: Response): Promise<Error> {
  const { parseErrorResponse } = await import("@modelcontextprotocol/sdk/client/auth.js");
  const cause = await parseErrorResponse(response);
  const said = [cause.errorCode, cause.message].filter((text) => text !== "").join(": ");
  return new Error(`The identity provider refused the exchange: ${said}`, { cause });
}
