import { isPlainObject, type JsonObject } from "../json/json.js";
import { type Dpop, DPOP_NONCE_HEADER } from "./dpop.js";
import type { CachedDiscovery } from "./issuer-validation.js";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";
const ISSUER_METADATA_PATH = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;
/** The algorithm of `DpopKey`. */
const ALGORITHM = "ES256";

/**
 * Requests tokens that are bound to this client's key where they are supported. That is declared in the
 * metadata of the server and of its authorization server, which pass through this function before the token
 * request or are `cached`; `isChallenged` means that the server has sent a DPoP challenge.
 */
export function withDpop(
  fetch: Fetch,
  dpop: Dpop,
  { isChallenged, cached = {} }: { readonly isChallenged: boolean; readonly cached?: CachedDiscovery },
): Fetch {
  let resourceSupportsDpop =
    isChallenged || (cached.resourceMetadata !== undefined && acceptsDpop(cached.resourceMetadata));
  let issuerSupportsDpop = cached.issuerMetadata === undefined || supportsEs256(cached.issuerMetadata);
  return async (url, init) => {
    if (init?.method === "POST" && init.body instanceof URLSearchParams) {
      const isBound = dpop.isRequired || (dpop.shouldBind(resourceSupportsDpop) && issuerSupportsDpop);
      return isBound ? await fetchWithDpop(fetch, dpop, url, init) : await fetch(url, init);
    }
    const response = await fetch(url, init);
    const { pathname } = new URL(url);
    const metadata = response.ok ? await peekJson(response) : undefined;
    if (metadata === undefined) return response;
    if (pathname.includes(RESOURCE_METADATA_PATH)) resourceSupportsDpop ||= acceptsDpop(metadata);
    if (ISSUER_METADATA_PATH.test(pathname)) issuerSupportsDpop = supportsEs256(metadata);
    return response;
  };
}

/**
 * Retries once with the nonce that the server requires in the proof; it has not processed the first
 * request.
 */
async function fetchWithDpop(
  fetch: Fetch,
  dpop: Dpop,
  url: string | URL,
  init: RequestInit,
): Promise<Response> {
  const send = async () => {
    const headers = new Headers(init.headers);
    headers.set("dpop", dpop.createProof("POST", url));
    const response = await fetch(url, { ...init, headers });
    return { response, hasNonce: dpop.storeNonce(url, response.headers.get(DPOP_NONCE_HEADER)) };
  };
  const first = await send();
  const isNonceMissing = first.hasNonce && (await peekJson(first.response))?.["error"] === "use_dpop_nonce";
  const { response } = isNonceMissing ? await send() : first;
  const body = response.ok ? await peekJson(response) : undefined;
  const { token_type: type, access_token: token } = body ?? {};
  if (typeof token === "string") dpop.registerToken(token);
  if (dpop.isRequired && typeof type === "string" && !dpop.isBound({ token_type: type }))
    throw new Error("The token is not bound to this client's key (DPoP), which the option dpop requires.");
  return response;
}

function acceptsDpop(metadata: JsonObject): boolean {
  return metadata["dpop_bound_access_tokens_required"] === true || supportsEs256(metadata);
}

function supportsEs256({ dpop_signing_alg_values_supported: algorithms }: JsonObject): boolean {
  return Array.isArray(algorithms) && algorithms.includes(ALGORITHM);
}

/** Reads a clone, so that the response can still be read. */
async function peekJson(response: Response): Promise<JsonObject | undefined> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return isPlainObject(body) ? body : undefined;
}
