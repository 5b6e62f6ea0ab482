import { isPlainObject } from "../json/json.js";
import type { KnownDiscovery } from "./cached-discovery.js";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const RESOURCE = "/.well-known/oauth-protected-resource";
const METADATA = /^(.*?)\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/.*)?$/;

/**
 * Looks at what is read about an authorization server, which must be about that server: otherwise one
 * server could send a login, or its code, to another. `login` is what a user came back with; then it
 * must say that it comes from there, where the server says that its answers do (RFC 8414, RFC 9207).
 * `known` is not read again, and is looked at before anything is sent: throws, as the requests do.
 */
export function withIssuerCheck(
  fetch: Fetch,
  login: URLSearchParams | undefined,
  known: KnownDiscovery = {},
): Fetch {
  // Servers of the first revision with logins name no authorization server: it is looked for at their own origin.
  let isNamed = known.resource !== undefined;
  if (known.issuer !== undefined) check(known.issuer, isNamed ? known.place : undefined, login);
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.ok && new URL(url).pathname.includes(RESOURCE)) isNamed = true;
    const place = placeOf(new URL(url));
    if (place === undefined || !response.ok) return response;
    const metadata: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (isPlainObject(metadata)) check(metadata, isNamed ? place : undefined, login);
    return response;
  };
}

/** Many write a slash at the end in one place and not in the other. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}

/** Of the issuer that such a document is about; nothing for other addresses. */
function placeOf({ origin, pathname }: URL): string | undefined {
  const [, before, after = ""] = METADATA.exec(pathname) ?? [];
  return before === undefined ? undefined : `${origin}${before}${after}`;
}

function check(
  { issuer, authorization_response_iss_parameter_supported: saysIssuer }: Record<string, unknown>,
  place: string | undefined,
  login: URLSearchParams | undefined,
): void {
  if (typeof issuer !== "string") return;
  if (place !== undefined && !isSameIssuer(issuer, place))
    throw new Error("The metadata of the authorization server is about another issuer.");
  const said = login?.get("iss") ?? undefined;
  if (said !== undefined && said !== issuer)
    throw new Error("The login comes from another authorization server than the one that was asked.");
  if (login !== undefined && said === undefined && saysIssuer === true)
    throw new Error("The login does not say which authorization server it comes from (iss), as it should.");
}
