import type { HttpAddress, ServerConfig } from "../../config/server-config.js";
import { openCredentialSource } from "../../auth/create-credentials-provider.js";
import { AutoHttpTransport } from "./auto-http-transport.js";
import { SseTransport } from "./sse-transport.js";
import { openHttpPool } from "../../net/open-http-pool.js";
import type { SourceParts, TransportFactory } from "../transport-factory.js";

/** A legacy server names its endpoint at once: who is silent for as long as this is none. */
const MAX_ENDPOINT_MS = 5_000;

const ADVICE = 'If it speaks Streamable HTTP, its type is "http", which finds out by itself.';

/** One pool for all sessions of all identities, and what was found out about the server. */
export function openHttpSource(
  config: ServerConfig,
  address: HttpAddress,
  parts: SourceParts,
): TransportFactory {
  const { name: server, limits, timeouts } = config;
  const { kind, url, headers } = address;
  const { redactor } = parts;
  const { connectMs } = timeouts;
  const pool = openHttpPool(address, { sockets: limits.sockets, connectMs, redactor });
  const source = openCredentialSource(config, address, parts);
  const wire = { server, url, headers, pool, ...parts, maxBytes: limits.responseBytes };
  const finding = { isLegacy: false };
  const open: Record<typeof kind, TransportFactory["openTransport"]> = {
    sse: async (credentials) => new SseTransport({ ...wire, credentials, advice: ADVICE }),
    http: async (credentials, resumed) =>
      new AutoHttpTransport({
        ...wire,
        credentials,
        sessionId: resumed?.id,
        protocolVersion: resumed?.protocolVersion,
        finding,
        endpointMs: connectMs === 0 ? MAX_ENDPOINT_MS : Math.min(connectMs / 2, MAX_ENDPOINT_MS),
      }),
  };
  return {
    createCredentials: source.createCredentials,
    openTransport: open[kind],
    close: async () => {
      await Promise.all([pool.close(), source.close()]);
    },
  };
}
