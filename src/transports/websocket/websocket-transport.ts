import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { toText } from "../http/body-readers.js";
import { Heartbeat } from "./heartbeat.js";
import {
  isRequest,
  malformedAnswer,
  parseMessages,
  type RequestId,
  sortReceived,
  toFailureAnswer,
  toJsonText,
  tooLargeAnswer,
} from "../json-rpc.js";
import { OpenRequests } from "../pending-requests.js";
import { QuietTime } from "../../net/stale-socket-guard.js";
import { sortUnread } from "../truncated-message.js";
import { GOODBYE_MS, openWebSocket, type OpeningOptions } from "./open-websocket.js";

interface WebSocketOptions extends OpeningOptions {
  readonly maxBytes: number;
}

interface OpenRequest {
  readonly id: RequestId;
  /** From then on the server may have seen it. */
  wasSent: boolean;
}

const NORMAL_CLOSURE = 1000;
/** No request has it. */
const NO_ID = "";

/** By `ws`: the frame, the message, or the number of its pieces is beyond the limit. */
const TOO_LARGE: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_TOO_MANY_BUFFERED_PARTS",
]);

/**
 * One WebSocket for one session. Answers are matched by id, in whatever order they come. When the
 * connection goes, every request that was written fails at once, and those that were not say so.
 */
export class WebSocketTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: WebSocketOptions;
  readonly #quiet = new QuietTime();
  readonly #open = new OpenRequests<OpenRequest>();
  #socket: WebSocket | undefined;
  #heartbeat: Heartbeat | undefined;
  #isOpen = false;
  #isOver = false;

  constructor(options: WebSocketOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const connection = await openWebSocket(this.#options, (socket) => this.#use(socket));
    if (!this.#isOver) this.#heartbeat = this.#listenToHeart(connection);
  }

  async send(message: JsonRpcMessage): Promise<void> {
    if (isRequest(message)) this.#request(message.id, message);
    else if (message.method === "notifications/cancelled") this.#cancel(message);
    else this.#write(message);
  }

  wasSent(id: RequestId): boolean {
    return this.#open.get(id)?.wasSent ?? true;
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#heartbeat?.stop();
    if (this.#socket !== undefined) await closeSocket(this.#socket, this.#options.clock);
    this.onclose?.();
  }

  #use(socket: WebSocket): void {
    this.#socket = socket;
    socket.once("open", () => {
      this.#isOpen = true;
    });
    socket.on("message", (data) => this.#takeText(toText(data as Buffer)));
    socket.on("error", (error) => this.#onError(error));
    socket.once("close", (code, reason) => this.#onClosed(code, String(reason)));
    // Closed while the credentials were found out.
    if (this.#isOver) socket.terminate();
  }

  #request(id: RequestId, message: JsonRpcMessage): void {
    const text = toJsonText(message, this.#options.server);
    if (this.#isOver) throw this.#notSent("it was closed");
    const request = { id, wasSent: false };
    this.#open.add(request);
    this.#quiet.whenKnown(() => {
      if (this.#open.get(id) !== request) return;
      if (this.#socket === undefined || this.#socket.readyState !== this.#socket.OPEN) {
        this.#onGone("it was closed");
        return;
      }
      request.wasSent = true;
      this.#socket.send(text);
    });
  }

  /** What the server has never seen needs no cancellation there. */
  #cancel(message: JsonRpcMessage): void {
    const request = this.#open.get(message.params?.["requestId"]);
    if (request === undefined) return;
    this.#open.delete(request);
    if (request.wasSent) this.#write(message);
  }

  /** For what expects no answer: on a connection that is gone it is lost, as it would be on the way. */
  #write(message: JsonRpcMessage): void {
    this.#socket?.send(toJsonText(message, this.#options.server), () => undefined);
  }

  #listenToHeart(connection: Socket): Heartbeat {
    return new Heartbeat({
      clock: this.#options.clock,
      received: () => connection.bytesRead,
      ping: () => this.#socket?.ping(undefined, undefined, () => undefined),
      onSilence: () => this.#onGone("it does not answer a ping"),
    });
  }

  /** Servers that send their texts as bytes mean the same. */
  #takeText(text: string): void {
    if (this.#isOver) return;
    this.#quiet.heard();
    const values = parseMessages(text);
    if (values === undefined) this.#takeBroken(text);
    else for (const value of values) this.#take(value);
  }

  #take(value: unknown): void {
    const request = this.#open.answeredBy(value);
    const received = sortReceived(value, request?.id ?? NO_ID);
    if (received.is === "call") this.onmessage?.(received.message);
    else if (request === undefined)
      this.#tell(received.is === "garbage" ? received.why : "it is a late answer");
    else if (received.is === "answer") this.#answer(request, received.message);
    else this.#fail(request, malformedAnswer(this.#options, received.why));
  }

  /** An answer that cannot be read would be waited for in vain. */
  #takeBroken(text: string): void {
    const message = sortUnread(text, text);
    const request = message.is === "answer" ? this.#open.get(message.id) : undefined;
    if (request === undefined) this.#tell("it is no JSON");
    else this.#fail(request, malformedAnswer(this.#options, "it is broken JSON"));
  }

  #tell(why: string): void {
    this.onerror?.(new Error(`sent a message that nobody waits for: ${why}`));
  }

  #answer(request: OpenRequest, message: JsonRpcMessage): void {
    this.#open.delete(request);
    this.onmessage?.(message);
  }

  #fail(request: OpenRequest, failure: McpRuntimeError): void {
    this.#answer(request, toFailureAnswer(request.id, failure));
  }

  #onError(error: Error): void {
    const code = String(Reflect.get(error, "code"));
    if (TOO_LARGE.has(code)) this.#end("a message was too large", this.#tooLarge());
    else if (code.startsWith("WS_ERR_")) {
      const why = `it breaks the WebSocket protocol (${code})`;
      this.#end(why, malformedAnswer(this.#options, why));
    } else this.#onGone(code);
  }

  #onClosed(code: number, reason: string): void {
    const said = quoteServer(this.#options.redactor.text(reason));
    this.#onGone(`closed with code ${code}${said === "" ? "" : `, "${said}"`}`);
  }

  #onGone(why: string): void {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} is gone (${why}). It may have run the request.`;
    this.#end(why, new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true }));
  }

  /** Each request hears what became of it before anybody hears that the connection is gone. */
  #end(why: string, failure: McpRuntimeError): void {
    if (this.#isOver || !this.#isOpen) return;
    this.#isOver = true;
    this.#heartbeat?.stop();
    this.#socket?.terminate();
    for (const request of this.#open) this.#fail(request, request.wasSent ? failure : this.#notSent(why));
    this.onclose?.();
  }

  #notSent(why: string): McpRuntimeError {
    const { server, origin } = this.#options;
    const text = `The connection to server "${server}" at ${origin} is gone (${why}). The request was not sent.`;
    return new McpRuntimeError("not-sent", text, { server });
  }

  /** The message was not read, so nobody knows whose answer it was. */
  #tooLarge(): McpRuntimeError {
    const { server, maxBytes } = this.#options;
    if (this.#open.size < 2) return tooLargeAnswer(server, maxBytes);
    const text = `Server "${server}" sent a message of more than ${maxBytes} bytes, which ended the connection for all ${this.#open.size} requests on it. Ask for less, or raise limits.responseBytes.`;
    return new McpRuntimeError("too-large", text, { server, outcomeUnknown: true });
  }
}

async function closeSocket(socket: WebSocket, clock: Clock): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  const stopTimer = clock.after(GOODBYE_MS, () => socket.terminate());
  if (socket.readyState === socket.CONNECTING) socket.terminate();
  else socket.close(NORMAL_CLOSURE);
  await closed;
  stopTimer();
}
