import type { HttpAddress, ServerSpec } from "../definitions/server-spec.js";
import { Credentials } from "./credentials.js";
import { OAuthFlow } from "./oauth-flow.js";
import { openHttpPool } from "./open-http-pool.js";
import { SideFetch } from "./side-fetch.js";
import { StreamableHttpTransport } from "./streamable-http.js";
import type { SourceParts, TransportSource } from "./transport-source.js";

/** Streamable HTTP: one pool for all sessions of all identities. */
export function openHttpSource(
  spec: ServerSpec,
  address: HttpAddress<"http">,
  parts: SourceParts,
): TransportSource {
  const { name: server, limits, timeouts, session } = spec;
  const { url, headers, headersOf, auth } = address;
  const { redactor } = parts;
  const { sockets } = limits;
  const { connectMs } = timeouts;
  const pool = openHttpPool(address, { sockets, connectMs, redactor });
  const fetch = new SideFetch({ server: address, connectMs, timeoutMs: connectMs, redactor });
  const createCredentials = () =>
    new Credentials({
      server,
      redactor,
      sources: { headersOf, auth },
      oauth: new OAuthFlow({ server, url, redactor, fetch }),
    });
  return {
    createCredentials: headersOf === undefined && auth === undefined ? undefined : createCredentials,
    openTransport: async (credentials) =>
      new StreamableHttpTransport({
        server,
        url,
        headers,
        credentials,
        pool,
        ...parts,
        maxBytes: limits.responseBytes,
        sessionId: session.id,
        protocolVersion: session.protocolVersion,
      }),
    close: async () => {
      await Promise.all([pool.close(), fetch.close()]);
    },
  };
}
