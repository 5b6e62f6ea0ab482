import type { HttpAddress, ServerConfig } from "../../config/server-config.js";
import { createCredentialsProvider } from "../../auth/credentials.js";
import { AutoHttpTransport } from "./auto-http-transport.js";
import { SseTransport } from "./sse-transport.js";
import { openHttpPool } from "../../net/http-pool.js";
import type { TransportDependencies, TransportFactory } from "../transport-factory.js";

/** An SSE server sends its endpoint at once: a server that takes longer is not one. */
const MAX_ENDPOINT_TIMEOUT_MS = 5_000;

const SSE_HINT = 'If it supports Streamable HTTP, use the type "http", which detects the transport.';

/** All sessions of all identities share one connection pool and the detected transport. */
export function createHttpFactory(
  config: ServerConfig,
  address: HttpAddress,
  dependencies: TransportDependencies,
): TransportFactory {
  const { name: server, limits, timeouts } = config;
  const { kind, url, headers } = address;
  const { redactor } = dependencies;
  const { connectMs } = timeouts;
  const pool = openHttpPool(address, { sockets: limits.sockets, connectMs, redactor });
  const credentialsProvider = createCredentialsProvider(config, address, dependencies);
  const clientOptions = { server, url, headers, pool, ...dependencies, maxBytes: limits.responseBytes };
  const detected = { isSse: false };
  const openers: Record<typeof kind, TransportFactory["openTransport"]> = {
    sse: async (credentials) => new SseTransport({ ...clientOptions, credentials, hint: SSE_HINT }),
    http: async (credentials, resumed) =>
      new AutoHttpTransport({
        ...clientOptions,
        credentials,
        sessionId: resumed?.id,
        protocolVersion: resumed?.protocolVersion,
        detected,
        endpointTimeoutMs:
          connectMs === 0 ? MAX_ENDPOINT_TIMEOUT_MS : Math.min(connectMs / 2, MAX_ENDPOINT_TIMEOUT_MS),
      }),
  };
  return {
    createCredentials: credentialsProvider.createCredentials,
    openTransport: openers[kind],
    close: async () => {
      await Promise.all([pool.close(), credentialsProvider.close()]);
    },
  };
}
