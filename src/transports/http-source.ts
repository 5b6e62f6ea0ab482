import type { HttpAddress, ServerSpec } from "../definitions/server-spec.js";
import { openCredentialSource } from "./credential-source.js";
import { openHttpPool } from "./open-http-pool.js";
import { StreamableHttpTransport } from "./streamable-http.js";
import type { SourceParts, TransportSource } from "./transport-source.js";

/** Streamable HTTP: one pool for all sessions of all identities. */
export function openHttpSource(
  spec: ServerSpec,
  address: HttpAddress<"http">,
  parts: SourceParts,
): TransportSource {
  const { name: server, limits, timeouts, session } = spec;
  const { url, headers } = address;
  const { redactor } = parts;
  const pool = openHttpPool(address, { sockets: limits.sockets, connectMs: timeouts.connectMs, redactor });
  const source = openCredentialSource(spec, address, redactor);
  return {
    createCredentials: source.createCredentials,
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
      await Promise.all([pool.close(), source.close()]);
    },
  };
}
