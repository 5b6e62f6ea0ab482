import type { HttpOptions } from "../config/http-options.js";
import type { ServerConfig, WebAddress } from "../config/server-config.js";
import { Credentials } from "./credentials.js";
import { type ClientKeys, Dpop } from "./dpop.js";
import { OAuthFlow } from "./oauth-flow.js";
import { OneOffFetch } from "../net/one-off-fetch.js";
import { toHttpUrl } from "../net/http-connector.js";
import type { Redactor } from "../errors/redaction.js";

export interface CredentialsProviderDependencies {
  readonly redactor: Redactor;
  readonly keys: ClientKeys;
}

export interface CredentialsProvider {
  /** Creates the credentials of one identity. Undefined when all identities send the same headers. */
  readonly createCredentials: (() => Credentials) | undefined;
  close(): Promise<void>;
}

/** Creates the provider of per-identity credentials for a server reached over HTTP or WebSocket. */
export function createCredentialsProvider(
  config: ServerConfig,
  address: WebAddress<string> & HttpOptions,
  { redactor, keys }: CredentialsProviderDependencies,
): CredentialsProvider {
  const { name: server, timeouts } = config;
  const { connectMs } = timeouts;
  const { headersProvider, auth } = address;
  // Tokens are requested over HTTP, also for a WebSocket.
  const url = toHttpUrl(address.url);
  const fetch = new OneOffFetch({ server: { ...address, url }, connectMs, timeoutMs: connectMs, redactor });
  // One DPoP key for all identities: it identifies the client, and must outlive evicted identities.
  const dpop = new Dpop(address.dpop, keys);
  const createCredentials = () =>
    new Credentials({
      server,
      url,
      redactor,
      dpop,
      sources: { headersProvider, auth },
      oauth: new OAuthFlow({ server, url, redactor, fetch, dpop }),
    });
  return {
    createCredentials: headersProvider === undefined && auth === undefined ? undefined : createCredentials,
    close: () => fetch.close(),
  };
}
