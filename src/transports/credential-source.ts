import type { HttpOptions } from "../definitions/http-options.js";
import type { ServerSpec, WebAddress } from "../definitions/server-spec.js";
import { Credentials } from "./credentials.js";
import { Dpop } from "./dpop.js";
import { OAuthFlow } from "./oauth-flow.js";
import { SideFetch } from "./side-fetch.js";
import { toHttpUrl } from "./to-http-url.js";
import type { SourceParts, TransportSource } from "./transport-source.js";

/** Where the credentials of each identity come from; nowhere, when they are the same for everybody. */
export function openCredentialSource(
  spec: ServerSpec,
  address: WebAddress<string> & HttpOptions,
  { redactor, keys }: Pick<SourceParts, "redactor" | "keys">,
): Pick<TransportSource, "createCredentials" | "close"> {
  const { name: server, timeouts } = spec;
  const { connectMs } = timeouts;
  const { headersOf, auth } = address;
  // Tokens are asked for over HTTP, whatever they are for.
  const url = toHttpUrl(address.url);
  const fetch = new SideFetch({ server: { ...address, url }, connectMs, timeoutMs: connectMs, redactor });
  // One key for all identities: it says which client this is, and outlives whoever is let go.
  const dpop = new Dpop(address.dpop, keys);
  const createCredentials = () =>
    new Credentials({
      server,
      url,
      redactor,
      dpop,
      sources: { headersOf, auth },
      oauth: new OAuthFlow({ server, url, redactor, fetch, dpop }),
    });
  return {
    createCredentials: headersOf === undefined && auth === undefined ? undefined : createCredentials,
    close: () => fetch.close(),
  };
}
