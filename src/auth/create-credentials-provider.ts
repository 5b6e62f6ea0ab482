import type { HttpOptions } from "../config/http-options.js";
import type { ServerConfig, WebAddress } from "../config/server-config.js";
import { Credentials } from "./credentials.js";
import { type ClientKeys, Dpop } from "./dpop.js";
import { OAuthFlow } from "./oauth-flow.js";
import { SideFetch } from "../net/auth-fetch.js";
import { toHttpUrl } from "../net/to-http-url.js";
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
export function openCredentialSource(
  config: ServerConfig,
  address: WebAddress<string> & HttpOptions,
  { redactor, keys }: CredentialsProviderDependencies,
): CredentialsProvider {
  const { name: server, timeouts } = config;
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
