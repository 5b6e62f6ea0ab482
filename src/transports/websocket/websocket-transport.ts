import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { excerpt } from "../../errors/sanitize-text.js";
import { toText } from "../http/body-readers.js";
import { Heartbeat } from "./heartbeat.js";
import {
  isRequest,
  invalidResponseError,
  type RequestId,
  toLocalErrorResponse,
  toJsonText,
  responseTooLargeError,
} from "../json-rpc.js";
import { PendingRequests, type ReceiveHandlers } from "../pending-requests.js";
import { StaleSocketGuard } from "../../net/idle-socket-reaper.js";
import { CLOSE_TIMEOUT_MS, openWebSocket, type OpenWebSocketOptions } from "./open-websocket.js";

interface WebSocketTransportOptions extends OpenWebSocketOptions {
  readonly maxBytes: number;
}

interface WebSocketRequest {
  readonly id: RequestId;
  /** Once true, the server may have seen the request. */
  wasSent: boolean;
}

const NORMAL_CLOSURE = 1000;

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
export class WebSocketTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: WebSocketTransportOptions;
  readonly #staleGuard = new StaleSocketGuard();
  readonly #pending = new PendingRequests<WebSocketRequest>();
  readonly #handlers: ReceiveHandlers<WebSocketRequest> = {
    onServerMessage: (message) => this.onmessage?.(message),
    onResponse: (request, message) => this.#settle(request, message),
    onInvalidResponse: (request, reason) => this.#fail(request, invalidResponseError(this.#options, reason)),
    onUnmatchedResponse: () => this.#reportStray("it is a late response"),
    onInvalidMessage: (_, reason) => this.#reportStray(reason),
  };
  #socket: WebSocket | undefined;
  #heartbeat: Heartbeat | undefined;
  #isOpen = false;
  #isClosed = false;

  constructor(options: WebSocketTransportOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const connection = await openWebSocket(this.#options, (socket) => this.#attach(socket));
    if (!this.#isClosed) this.#heartbeat = this.#startHeartbeat(connection);
  }

  async send(message: JsonRpcMessage): Promise<void> {
    if (isRequest(message)) this.#request(message.id, message);
    else if (message.method === "notifications/cancelled") this.#cancel(message);
    else this.#write(message);
  }

  mayHaveBeenSent(id: RequestId): boolean {
    return this.#pending.get(id)?.wasSent ?? true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#heartbeat?.stop();
    if (this.#socket !== undefined) await closeSocket(this.#socket, this.#options.clock);
    this.onclose?.();
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket;
    socket.once("open", () => {
      this.#isOpen = true;
    });
    socket.on("message", (data) => this.#onText(toText(data as Buffer)));
    socket.on("error", (error) => this.#onError(error));
    socket.once("close", (code, reason) => this.#onClosed(code, String(reason)));
    // The transport was closed while the credentials were being obtained.
    if (this.#isClosed) socket.terminate();
  }

  #request(id: RequestId, message: JsonRpcMessage): void {
    const text = toJsonText(message, this.#options.server);
    if (this.#isClosed) throw this.#notSentError("it was closed");
    const request = { id, wasSent: false };
    this.#pending.add(request);
    this.#staleGuard.afterPoll(() => {
      if (this.#pending.get(id) !== request) return;
      if (this.#socket === undefined || this.#socket.readyState !== this.#socket.OPEN) {
        this.#onConnectionLost("it was closed");
        return;
      }
      request.wasSent = true;
      this.#socket.send(text);
    });
  }

  /** A request that was never sent is not cancelled on the server. */
  #cancel(message: JsonRpcMessage): void {
    const request = this.#pending.get(message.params?.["requestId"]);
    if (request === undefined) return;
    this.#pending.delete(request);
    if (request.wasSent) this.#write(message);
  }

  /** Writes a message that expects no response. On a lost connection it is dropped. */
  #write(message: JsonRpcMessage): void {
    this.#socket?.send(toJsonText(message, this.#options.server), () => undefined);
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
    if (this.#isClosed) return;
    this.#staleGuard.markActive();
    this.#pending.receive(text, this.#handlers);
  }

  #reportStray(reason: string): void {
    this.onerror?.(new Error(`sent an unexpected message: ${reason}`));
  }

  #settle(request: WebSocketRequest, message: JsonRpcMessage): void {
    this.#pending.delete(request);
    this.onmessage?.(message);
  }

  #fail(request: WebSocketRequest, failure: McpRuntimeError): void {
    this.#settle(request, toLocalErrorResponse(request.id, failure));
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
    const quoted = excerpt(this.#options.redactor.redact(reason));
    this.#onConnectionLost(`closed with code ${code}${quoted === "" ? "" : `, "${quoted}"`}`);
  }

  #onConnectionLost(reason: string): void {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} was lost (${reason}). It may have run the request.`;
    this.#failAll(reason, new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true }));
  }

  /** Settles every request before `onclose` is called. */
  #failAll(reason: string, failure: McpRuntimeError): void {
    if (this.#isClosed || !this.#isOpen) return;
    this.#isClosed = true;
    this.#heartbeat?.stop();
    this.#socket?.terminate();
    for (const request of this.#pending)
      this.#fail(request, request.wasSent ? failure : this.#notSentError(reason));
    this.onclose?.();
  }

  #notSentError(reason: string): McpRuntimeError {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} was lost (${reason}). The request was not sent.`;
    return new McpRuntimeError("not-sent", text, { server });
  }

  /** The message was not read, so it is unknown whose response it was. */
  #oversizedError(): McpRuntimeError {
    const { server, maxBytes } = this.#options;
    if (this.#pending.size < 2) return responseTooLargeError(server, maxBytes);
    const text = `Server "${server}" sent a message of more than ${maxBytes} bytes, which closed the connection for all ${this.#pending.size} pending requests. Request less data, or raise limits.responseBytes.`;
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
