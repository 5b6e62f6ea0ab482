import { TransientMap } from "../../async/slot-map.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import { Asides } from "./notification-sender.js";
import type { ResponseHeaders } from "../../net/http-request.js";
import { HttpWire, type HttpWireOptions } from "./mcp-http-client.js";
import { isRequest, parseMessages, type RequestId } from "../json-rpc.js";
import { PendingRequest } from "./pending-request.js";
import { isModern } from "./modern-era.js";
import { ServerStream } from "./server-event-stream.js";

/**
 * Streamable HTTP for one session, on a pool that outlives it.
 *
 * Every request that is sent ends in exactly one message to `onmessage`: the server's answer, or at
 * once a failure when there will be none. `send` never rejects: what concerns no request goes to
 * `onerror`.
 */
export class StreamableHttpTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #wire: HttpWire;
  readonly #pending = new TransientMap<RequestId, PendingRequest>();
  readonly #asides: Asides;
  #stream: ServerStream | undefined;
  #isClosed = false;

  constructor(options: HttpWireOptions) {
    this.#wire = new HttpWire(options);
    this.#asides = new Asides(this.#wire, (error) => this.onerror?.(error));
  }

  get sessionId(): string | undefined {
    return this.#wire.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#wire.protocolVersion = version;
  }

  async start(): Promise<void> {
    // Nothing to open: the first request brings its connection.
  }

  send(message: JsonRpcMessage, options: SendOptions = {}): Promise<void> {
    if (isRequest(message)) {
      this.#request(message.id, message, options);
      return Promise.resolve();
    }
    if (message.method === "notifications/cancelled") return this.#cancel(message);
    return this.#post(message);
  }

  /** Whether the server may have seen a request. */
  wasSent(id: RequestId): boolean {
    return this.#pending.get(id)?.wasSent ?? true;
  }

  listen(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#stream ??= new ServerStream(this.#wire, {
      onData: (data) => this.#deliverText(data),
      onError: (error) => this.onerror?.(error),
    });
    return this.#stream.opened();
  }

  /** Any answer will do: 404 and 405 mean that there is nothing to end. */
  terminateSession(): Promise<void> {
    if (this.sessionId === undefined) return Promise.resolve();
    return this.#asides.send({ hadSession: true }, (events) => this.#wire.delete(events));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream?.close();
    for (const request of this.#pending.all()) request.cancel();
    this.#pending.clear();
    this.#asides.giveUp();
    this.onclose?.();
  }

  #request(id: RequestId, message: JsonRpcMessage, options: SendOptions): void {
    const request = new PendingRequest(this.#wire, id, {
      onHeaders: (headers) => {
        // Only the handshake gives an id: a late answer must not bring a dead one back.
        if (message.method === "initialize") this.#adoptSession(headers);
      },
      onCall: (call) => this.onmessage?.(call),
      onEnd: (answer) => {
        this.#pending.delete(id);
        this.onmessage?.(answer);
      },
    });
    this.#pending.set(id, request);
    request.start(message, options);
  }

  #adoptSession(headers: ResponseHeaders): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string" && id !== "") this.#wire.sessionId = id;
  }

  /** What the server has never seen needs no cancellation there, nor what ends when nobody reads it. */
  #cancel(message: JsonRpcMessage): Promise<void> {
    const id = message.params?.["requestId"] as RequestId;
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    request?.cancel();
    return request?.wasSent === true && !isModern(message) ? this.#post(message) : Promise.resolve();
  }

  #post(message: JsonRpcMessage): Promise<void> {
    const hadSession = this.sessionId !== undefined;
    return this.#asides.send({ hadSession }, (events) => this.#wire.post(message, "aside", events));
  }

  #deliverText(text: string): void {
    const messages = parseMessages(text);
    for (const message of messages ?? []) this.onmessage?.(message as JsonRpcMessage);
    if (messages === undefined)
      this.onerror?.(new Error("The server's stream brought something that is not JSON."));
  }
}
