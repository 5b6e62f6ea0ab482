import type { Socket } from "node:net";
import type { ServerConfig, WebSocketAddress } from "../../config/server-config.js";
import { loadPeer } from "../../errors/load-optional-dependency.js";
import { openCredentialSource } from "../../auth/create-credentials-provider.js";
import type { Proof } from "../../auth/credentials.js";
import type { HttpConnector } from "../../net/http-connector.js";
import { openConnector } from "../../net/create-connector.js";
import { toSendableHeaders, withoutOwned } from "../http/protocol-headers.js";
import { toHttpUrl } from "../../net/to-http-url.js";
import type { SourceParts, TransportFactory } from "../transport-factory.js";
import { GOODBYE_MS, SUBPROTOCOL } from "./open-websocket.js";
import { WebSocketTransport } from "./websocket-transport.js";

/** WebSocket, on the package `ws`: a connection of its own for each session. */
export async function openWebSocketSource(
  config: ServerConfig,
  address: WebSocketAddress,
  parts: SourceParts,
): Promise<TransportFactory> {
  const { name: server, limits, timeouts } = config;
  const { WebSocket } = await loadPeer("ws", { neededBy: `Server "${server}"`, load: () => import("ws") });
  const { url, tls } = address;
  const { redactor } = parts;
  const { connectMs } = timeouts;
  const maxBytes = limits.responseBytes;
  const connector = openConnector(toHttpUrl(url), tls, { connectMs, redactor });
  const credentialSource = openCredentialSource(config, address, parts);
  const headers = toSendableHeaders(address.headers, url);
  const connect = (proof: Proof | undefined) => {
    const dpop = proof?.proveKey?.("GET", toHttpUrl(url));
    const own = { ...proof?.headers, ...(dpop === undefined ? {} : { dpop }) };
    const options = {
      headers: { ...headers, ...withoutOwned(own) },
      maxPayload: maxBytes,
      perMessageDeflate: false,
      followRedirects: false,
      closeTimeout: GOODBYE_MS,
      createConnection: connectorFor(url, connector),
    };
    return new WebSocket(withoutCredentials(url), [SUBPROTOCOL], options);
  };
  return {
    createCredentials: credentialSource.createCredentials,
    openTransport: async (credentials) =>
      new WebSocketTransport({ server, origin: url.origin, connect, credentials, maxBytes, ...parts }),
    close: async () => {
      await Promise.all([connector.close(), credentialSource.close()]);
    },
  };
}

/** User and password go as a header; and what opens a WebSocket has no fragment. */
function withoutCredentials(url: URL): URL {
  return Object.assign(new URL(url), { username: "", password: "", hash: "" });
}

/** Node's HTTP client takes the connection from here: straight or through a proxy, with the TLS of the definition. */
function connectorFor(url: URL, connector: HttpConnector) {
  const { protocol, host, hostname, port } = toHttpUrl(url);
  const target = { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
  return (_: unknown, onCreated: (error: Error | null, socket: Socket) => void): undefined => {
    connector.connect(target, (error, socket) => onCreated(error, socket as Socket));
  };
}
