import { isPlainObject, type JsonObject } from "../json/json.js";
import { type Dpop, DPOP_NONCE } from "./dpop.js";
import type { KnownDiscovery } from "./cached-discovery.js";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const RESOURCE = "/.well-known/oauth-protected-resource";
const AUTHORIZATION_SERVER = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;
/** The one that we sign with. */
const ALGORITHM = "ES256";

/**
 * Asks for tokens that are bound to our key. Whether the server takes such tokens, and its authorization
 * server gives them, stands in their metadata, which come by here before, or are `known`. `isAskedFor`: it
 * has said so.
 */
export function withDpop(
  fetch: Fetch,
  dpop: Dpop,
  { isAskedFor, known = {} }: { readonly isAskedFor: boolean; readonly known?: KnownDiscovery },
): Fetch {
  let isTaken = isAskedFor || (known.resource !== undefined && takesBound(known.resource));
  let isGiven = known.issuer === undefined || knowsAlgorithm(known.issuer);
  return async (url, init) => {
    if (init?.method === "POST" && init.body instanceof URLSearchParams) {
      const isBound = dpop.isRequired || (dpop.isWanted(isTaken) && isGiven);
      return isBound ? await fetchBound(fetch, dpop, url, init) : await fetch(url, init);
    }
    const response = await fetch(url, init);
    const { pathname } = new URL(url);
    const metadata = response.ok ? await objectIn(response) : undefined;
    if (metadata === undefined) return response;
    if (pathname.includes(RESOURCE)) isTaken ||= takesBound(metadata);
    if (AUTHORIZATION_SERVER.test(pathname)) isGiven = knowsAlgorithm(metadata);
    return response;
  };
}

/** A server that wants its own word in the proof has done nothing yet, and is asked once more with it. */
async function fetchBound(fetch: Fetch, dpop: Dpop, url: string | URL, init: RequestInit): Promise<Response> {
  const send = async () => {
    const headers = new Headers(init.headers);
    headers.set("dpop", dpop.proof("POST", url));
    const response = await fetch(url, { ...init, headers });
    return { response, hasNonce: dpop.heard(url, response.headers.get(DPOP_NONCE)) };
  };
  const first = await send();
  const isNonceMissing = first.hasNonce && (await objectIn(first.response))?.["error"] === "use_dpop_nonce";
  const { response } = isNonceMissing ? await send() : first;
  const answer = response.ok ? await objectIn(response) : undefined;
  const { token_type: type, access_token: token } = answer ?? {};
  if (typeof token === "string") dpop.given(token);
  if (dpop.isRequired && typeof type === "string" && !dpop.isBound({ token_type: type }))
    throw new Error("The token is not bound to a key of ours (DPoP), as the definition wants it (dpop).");
  return response;
}

function takesBound(metadata: JsonObject): boolean {
  return metadata["dpop_bound_access_tokens_required"] === true || knowsAlgorithm(metadata);
}

function knowsAlgorithm({ dpop_signing_alg_values_supported: algorithms }: JsonObject): boolean {
  return Array.isArray(algorithms) && algorithms.includes(ALGORITHM);
}

/** Leaves the answer as it is, for whoever reads it next. */
async function objectIn(response: Response): Promise<JsonObject | undefined> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return isPlainObject(body) ? body : undefined;
}
