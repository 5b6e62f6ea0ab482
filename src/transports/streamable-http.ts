import type { JsonRpcMessage, MessageTransport, SendOptions } from "../definitions/message-transport.js";
import type { HttpExchange, HttpExchangeEvents, ResponseHeaders } from "./http-exchange.js";
import { toConnectionFailure } from "./http-failures.js";
import { HttpWire, type HttpWireOptions } from "./http-wire.js";
import { isRequest, type RequestId } from "./json-rpc.js";
import { PendingRequest } from "./pending-request.js";
import { ServerStream } from "./server-stream.js";

/** How long a notification, an answer to the server or a goodbye may take. */
const MAX_ASIDE_MS = 5_000;
/** How long its response may go on after that. */
const LINGER_MS = 200;

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
  readonly #pending = new Map<RequestId, PendingRequest>();
  /** Ends each request that expects no answer. */
  readonly #asides = new Set<() => void>();
  #stream: ServerStream | undefined;
  #isClosed = false;

  constructor(options: HttpWireOptions) {
    this.#wire = new HttpWire(options);
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
    return this.#untilTaken((events) => this.#wire.delete(events));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream?.close();
    for (const request of this.#pending.values()) request.cancel();
    this.#pending.clear();
    for (const giveUp of this.#asides) giveUp();
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

  /** What the server has never seen needs no cancellation there. */
  #cancel(message: JsonRpcMessage): Promise<void> {
    const id = message.params?.["requestId"] as RequestId;
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    request?.cancel();
    return request?.wasSent === true ? this.#post(message) : Promise.resolve();
  }

  #post(message: JsonRpcMessage): Promise<void> {
    return this.#untilTaken((events) => this.#wire.post(message, "aside", events));
  }

  /**
   * For what expects no answer: over when the server took it, when that failed, or when it takes too
   * long. Nobody waits for its response to end, and none may hold a connection for good.
   */
  #untilTaken(send: (events: HttpExchangeEvents) => HttpExchange): Promise<void> {
    const hadSession = this.#wire.sessionId !== undefined;
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#asides.delete(giveUp);
        resolve();
      };
      const giveUp = () => {
        exchange.stop();
        end();
      };
      const fail = (error: Error) => {
        giveUp();
        this.onerror?.(error);
      };
      let stopTimer = this.#wire.clock.after(MAX_ASIDE_MS, giveUp);
      this.#asides.add(giveUp);
      const exchange = send({
        onBroken: (error) => fail(toConnectionFailure(error, true, this.#wire)),
        onHead: (status, headers) => {
          if (status > 299) return this.#wire.readFailure({ status, headers, hadSession }, fail);
          resolve();
          stopTimer();
          stopTimer = this.#wire.clock.after(LINGER_MS, giveUp);
          return { data: () => undefined, end };
        },
      });
    });
  }

  #deliverText(text: string): void {
    try {
      const parsed: unknown = JSON.parse(text);
      for (const message of Array.isArray(parsed) ? parsed : [parsed])
        this.onmessage?.(message as JsonRpcMessage);
    } catch {
      this.onerror?.(new Error("The server's stream brought something that is not JSON."));
    }
  }
}
