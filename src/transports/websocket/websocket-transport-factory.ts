import type { Socket } from "node:net";
import type { ServerConfig, WebSocketAddress } from "../../config/server-config.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { createCredentialsProvider, type RequestAuth } from "../../auth/credentials.js";
import { type HttpConnector, createConnector, toHttpUrl } from "../../net/http-connector.js";
import { toRequestHeaders, omitReserved } from "../http/protocol-headers.js";
import type { TransportDependencies, TransportFactory } from "../transport-factory.js";
import { CLOSE_TIMEOUT_MS, SUBPROTOCOL } from "./open-websocket.js";
import { WebSocketTransport } from "./websocket-transport.js";

/** WebSocket transports on the package `ws`. Each session has its own connection. */
export async function createWebSocketFactory(
  config: ServerConfig,
  address: WebSocketAddress,
  dependencies: TransportDependencies,
): Promise<TransportFactory> {
  const { name: server, limits, timeouts } = config;
  const { WebSocket } = await loadOptionalDependency("ws", {
    neededBy: `Server "${server}"`,
    load: () => import("ws"),
  });
  const { url, tls } = address;
  const { redactor } = dependencies;
  const { connectMs } = timeouts;
  const maxBytes = limits.responseBytes;
  const connector = createConnector(toHttpUrl(url), tls, { connectMs, redactor });
  const credentialsProvider = createCredentialsProvider(config, address, dependencies);
  const headers = toRequestHeaders(address.headers, url);
  const connect = (auth: RequestAuth | undefined) => {
    const dpop = auth?.createDpopProof?.("GET", toHttpUrl(url));
    const authHeaders = { ...auth?.headers, ...(dpop === undefined ? {} : { dpop }) };
    const options = {
      headers: { ...headers, ...omitReserved(authHeaders) },
      maxPayload: maxBytes,
      perMessageDeflate: false,
      followRedirects: false,
      closeTimeout: CLOSE_TIMEOUT_MS,
      createConnection: createConnectionFunction(url, connector),
    };
    return new WebSocket(withoutCredentials(url), [SUBPROTOCOL], options);
  };
  return {
    createCredentials: credentialsProvider.createCredentials,
    openTransport: async (credentials) =>
      new WebSocketTransport({ server, origin: url.origin, connect, credentials, maxBytes, ...dependencies }),
    close: async () => {
      await Promise.all([connector.close(), credentialsProvider.close()]);
    },
  };
}

/** User and password are sent as a header, and a WebSocket URL must not have a fragment. */
function withoutCredentials(url: URL): URL {
  return Object.assign(new URL(url), { username: "", password: "", hash: "" });
}

/** For Node's HTTP client: connects directly or through a proxy, with the TLS options of the server. */
function createConnectionFunction(url: URL, connector: HttpConnector) {
  const { protocol, host, hostname, port } = toHttpUrl(url);
  const target = { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
  return (_: unknown, onCreated: (error: Error | null, socket: Socket) => void): undefined => {
    connector.connect(target, (error, socket) => onCreated(error, socket as Socket));
  };
}
