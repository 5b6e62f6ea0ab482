import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { toText } from "../http/body-readers.js";
import type { JsonObject } from "../../json/json.js";
import { invalidResponseError, responseTooLargeError, type RpcRequest, toJsonText } from "../json-rpc.js";
import { BaseTransport, type PendingRequest, type WireRequest } from "../pending-requests.js";
import type {
  Transport,
  TransportFactory,
  TransportDependencies,
  TransportRequestOptions,
} from "../transport.js";
import { StaleSocketGuard } from "../../net/idle-socket-reaper.js";
import { CLOSE_TIMEOUT_MS, openWebSocket, SUBPROTOCOL, type OpenWebSocketOptions } from "./open-websocket.js";
import { setImmediate } from "node:timers";
import { createCredentialsProvider, type RequestAuth } from "../../auth/credentials.js";
import type { ServerConfig, WebSocketAddress } from "../../config/server-config.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { AddressGuard } from "../../net/address-guard.js";
import { HttpConnector, toHttpUrl } from "../../net/http-connector.js";
import { toRequestHeaders, omitReserved } from "../http/protocol-headers.js";

interface WebSocketTransportOptions extends OpenWebSocketOptions {
  readonly maxBytes: number;
}

class WebSocketRequest implements WireRequest {
  wasSent = false;
}

const NORMAL_CLOSURE = 1000;
const MAX_UNREAD_PONG_BYTES = 1024 * 1024;

/** Codes of `ws` for a frame, a message or a number of fragments over the limit. */
const TOO_LARGE_CODES: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_TOO_MANY_BUFFERED_PARTS",
]);

/**
 * One WebSocket for one session. Responses are matched by id and may arrive in any order. When the
 * connection is lost, all pending requests fail at once: those that were written with an unknown outcome,
 * the others as not sent.
 */
class WebSocketTransport extends BaseTransport<WebSocketRequest> implements Transport {
  readonly canListenInBackground = true;
  readonly #options: WebSocketTransportOptions;
  readonly #staleGuard = new StaleSocketGuard();
  #socket: WebSocket | undefined;
  #heartbeat: Heartbeat | undefined;
  #isOpen = false;

  constructor(options: WebSocketTransportOptions) {
    super(options);
    this.#options = options;
  }

  async start(): Promise<void> {
    const connection = await openWebSocket(this.#options, (socket) => this.#attach(socket));
    if (!this.isClosed) this.#heartbeat = this.#startHeartbeat(connection);
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    const text = toJsonText(message, this.#options.server);
    if (this.isClosed) return Promise.reject(this.#notSentError("it was closed"));
    const pending = this.pending.add(message, options);
    const wire = new WebSocketRequest();
    pending.wire = wire;
    this.#staleGuard.afterPoll(() => {
      if (pending.isSettled) return;
      if (this.#socket === undefined || this.#socket.readyState !== this.#socket.OPEN) {
        this.#onConnectionLost("it was closed");
        return;
      }
      wire.wasSent = true;
      this.#socket.send(text);
    });
    pending.attach();
    return pending.response;
  }

  /** Resolves when the message was written. On a lost connection it is dropped. */
  notify(message: JsonRpcMessage): Promise<void> {
    const text = toJsonText(message, this.#options.server);
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    return new Promise((resolve) => socket.send(text, () => resolve()));
  }

  async close(reason: McpRuntimeError): Promise<void> {
    if (!this.end(() => reason)) return;
    this.#heartbeat?.stop();
    if (this.#socket !== undefined) await closeSocket(this.#socket, this.#options.clock);
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket;
    socket.once("open", () => {
      this.#isOpen = true;
    });
    socket.on("message", (data) => this.#onText(toText(data as Buffer)));
    socket.on("ping", (data) => this.#onPing(socket, data));
    socket.on("error", (error) => this.#onError(error));
    socket.once("close", (code, reason) => this.#onClosed(code, String(reason)));
    // The transport was closed while the credentials were being obtained.
    if (this.isClosed) socket.terminate();
  }

  /** A server that sends pings and does not read the pongs would fill the memory. */
  #onPing(socket: WebSocket, data: Buffer): void {
    if (socket.bufferedAmount <= MAX_UNREAD_PONG_BYTES) socket.pong(data, undefined, () => undefined);
    else this.#onConnectionLost("it sent pings without reading the responses");
  }

  #startHeartbeat(connection: Socket): Heartbeat {
    return new Heartbeat({
      clock: this.#options.clock,
      bytesReceived: () => connection.bytesRead,
      ping: () => this.#socket?.ping(undefined, undefined, () => undefined),
      onTimeout: () => this.#onConnectionLost("it did not respond to a ping"),
    });
  }

  /** Text and binary frames are treated alike: some servers send JSON in binary frames. */
  #onText(text: string): void {
    this.#staleGuard.markActive();
    this.pending.receive(text);
  }

  /** A request that was never sent is not cancelled on the server. */
  override onCancelled(request: PendingRequest<WebSocketRequest>): void {
    if (request.wire?.wasSent === true) this.oncancel?.(request.toCancelNotification());
  }

  override onFailure(failure: McpRuntimeError): void {
    this.#failAll("a message could not be used", failure, failure);
  }

  #onError(error: Error): void {
    const code = String(Reflect.get(error, "code"));
    if (TOO_LARGE_CODES.has(code)) this.#failAll("a message was too large", this.#oversizedError());
    else if (code.startsWith("WS_ERR_")) {
      const reason = `it violates the WebSocket protocol (${code})`;
      this.#failAll(reason, invalidResponseError(this.#options, reason));
    } else this.#onConnectionLost(code);
  }

  #onClosed(code: number, reason: string): void {
    const quoted = this.#options.redactor.excerpt(reason);
    this.#onConnectionLost(`closed with code ${code}${quoted === "" ? "" : `, "${quoted}"`}`);
  }

  #onConnectionLost(reason: string): void {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} was lost (${reason}). It may have run the request.`;
    this.#failAll(reason, new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true }));
  }

  /** Settles every request before `onclose` is called, with what the server has done. */
  #failAll(reason: string, failure: McpRuntimeError, cause?: McpRuntimeError): void {
    if (!this.#isOpen) return;
    const wasOpen = this.end(({ wire }) => (wire?.wasSent === true ? failure : this.#notSentError(reason)));
    if (!wasOpen) return;
    this.#heartbeat?.stop();
    this.#socket?.terminate();
    this.onclose?.(cause);
  }

  #notSentError(reason: string): McpRuntimeError {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} was lost (${reason}). The request was not sent.`;
    return new McpRuntimeError("not-sent", text, { server });
  }

  /** The message was not read, so it is unknown whose response it was. */
  #oversizedError(): McpRuntimeError {
    const { server, maxBytes } = this.#options;
    if (this.pending.size < 2) return responseTooLargeError(server, maxBytes);
    const text = `Server "${server}" sent a message of more than ${maxBytes} bytes, which closed the connection for all ${this.pending.size} pending requests. Request less data, or raise limits.responseBytes.`;
    return new McpRuntimeError("too-large", text, { server, outcomeUnknown: true });
  }
}

async function closeSocket(socket: WebSocket, clock: Clock): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  const cancelTimer = clock.after(CLOSE_TIMEOUT_MS, () => socket.terminate());
  if (socket.readyState === socket.CONNECTING) socket.terminate();
  else socket.close(NORMAL_CLOSURE);
  await closed;
  cancelTimer();
}

/** How often the server is pinged, and how long it has to send anything. */
const PING_INTERVAL_MS = 30_000;

interface HeartbeatOptions {
  readonly clock: Clock;
  readonly bytesReceived: () => number;
  readonly ping: () => void;
  readonly onTimeout: () => void;
}

/**
 * Detects a silently dropped connection: an unplugged cable, a suspended machine, a NAT timeout. Any
 * received byte counts as activity, so a long message that is still arriving keeps its connection open.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #cancelTimer: () => void;
  /** The bytes that had been received when the last ping was sent. */
  #receivedAtPing: number | undefined;
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#cancelTimer = this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #schedule(): () => void {
    return this.#options.clock.after(PING_INTERVAL_MS, () => this.#tick());
  }

  #tick(): void {
    if (!this.#isSilent) this.#ping();
    // In a process that was busy or suspended, timers fire before pending input has been read.
    else setImmediate(() => this.#evaluate());
  }

  #evaluate(): void {
    if (this.#isStopped) return;
    if (this.#isSilent) this.#options.onTimeout();
    else this.#ping();
  }

  #ping(): void {
    this.#receivedAtPing = this.#options.bytesReceived();
    this.#options.ping();
    this.#cancelTimer = this.#schedule();
  }

  get #isSilent(): boolean {
    return this.#options.bytesReceived() === this.#receivedAtPing;
  }
}

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
  const httpUrl = toHttpUrl(url);
  const guard = new AddressGuard(config, httpUrl);
  const connector = new HttpConnector({
    origin: httpUrl,
    tls,
    connectMs,
    redactor,
    checkAddress: guard.checkFor(httpUrl, "server"),
    onConnected: (ip) => guard.onConnected(ip),
  });
  const credentialsProvider = createCredentialsProvider(config, address, { ...dependencies, guard });
  const headers = toRequestHeaders(address.headers, url);
  const connect = (auth: RequestAuth | undefined) => {
    const dpop = auth?.createDpopProof?.("GET", toHttpUrl(url));
    const authHeaders = { ...auth?.headers, ...(dpop === undefined ? {} : { dpop }) };
    const options = {
      headers: { ...headers, ...omitReserved(authHeaders) },
      maxPayload: maxBytes,
      perMessageDeflate: false,
      followRedirects: false,
      autoPong: false,
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
