import { isPlainObject } from "../../json/json.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { NotificationSender } from "./notification-sender.js";
import { SseEventStream } from "./sse-event-stream.js";
import { fromConnectionError } from "./http-errors.js";
import { McpHttpClient, type McpHttpClientOptions } from "./mcp-http-client.js";
import {
  isRequest,
  invalidResponseError,
  type RequestId,
  toLocalErrorResponse,
  responseTooLargeError,
} from "../json-rpc.js";
import { PendingRequests, type ReceiveHandlers } from "../pending-requests.js";
import { SsePost } from "./sse-post.js";
import type { Clock } from "../../async/clock.js";

const STREAM_UNRESPONSIVE = Object.assign(new Error("The stream is unresponsive."), {
  code: "the stream is unresponsive",
});

interface SseTransportOptions extends McpHttpClientOptions {
  /** Appended to the error when the server does not offer an event stream. */
  readonly hint?: string | undefined;
}

/**
 * HTTP+SSE of protocol version 2024-11-05 for one session: a GET whose stream carries all messages of the
 * server, and POSTs to the endpoint that its first event names. The stream is the session: when it ends,
 * the transport closes and pending requests fail at once.
 *
 * `send` rejects only when the transport is closed. A request that fails otherwise receives an error
 * response, and errors that belong to no request go to `onerror`.
 */
export class SseTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #hint: string | undefined;
  readonly #httpClient: McpHttpClient;
  readonly #stream: SseEventStream;
  readonly #notifications: NotificationSender;
  readonly #liveness: LivenessCheck;
  readonly #pending = new PendingRequests<SsePost>();
  readonly #handlers: ReceiveHandlers<SsePost> = {
    onServerMessage: (message) => this.onmessage?.(message),
    onResponse: (request, message) => this.#settle(request, message),
    onInvalidResponse: (request, reason) => this.#failInvalid(request, reason),
    onUnmatchedResponse: (value, reason) => this.#onUnmatched(reason, value),
    onInvalidMessage: (_, reason, value) => this.#onUnmatched(reason, value),
  };
  #endpoint: URL | undefined;
  #isInitialized = false;
  #isClosed = false;

  constructor(options: SseTransportOptions) {
    this.#hint = options.hint;
    this.#httpClient = new McpHttpClient(options);
    this.#notifications = new NotificationSender(this.#httpClient, (error) => this.onerror?.(error));
    this.#liveness = new LivenessCheck({
      clock: options.clock,
      // Any received byte proves that the stream works; the response itself is ignored.
      ping: () => void this.#post({ jsonrpc: "2.0", id: "liveness-check", method: "ping" }),
      onUnresponsive: () =>
        this.#failAll(({ wasSent }) => fromConnectionError(STREAM_UNRESPONSIVE, wasSent, this.#httpClient)),
    });
    this.#stream = new SseEventStream(this.#httpClient, {
      onActivity: () => this.#liveness.markActive(),
      onData: (data) => this.#pending.receive(data, this.#handlers),
      onClosed: (toFailure) => this.#failAll(({ wasSent }) => toFailure(wasSent)),
      onTooLarge: () => this.#failOversized(),
    });
  }

  /**
   * The session id in the endpoint. `undefined` before `initialize`: with an id the SDK assumes a resumed
   * session and skips the handshake.
   */
  get sessionId(): string | undefined {
    return this.#isInitialized && this.#endpoint !== undefined ? sessionIdOf(this.#endpoint) : undefined;
  }

  /** Whether the server has opened the stream, with or without an endpoint so far. */
  get isStreaming(): boolean {
    return this.#stream.isStreaming;
  }

  setProtocolVersion(version: string): void {
    this.#httpClient.protocolVersion = version;
  }

  async start(): Promise<void> {
    const endpoint = await this.#stream.open().catch((failure: McpRuntimeError) => {
      const isRejected = failure.kind === "invalid-request" && this.#hint !== undefined;
      throw isRejected ? failure.with({ message: `${failure.message} ${this.#hint}` }) : failure;
    });
    this.#endpoint = endpoint;
    this.#httpClient.messagePath = `${endpoint.pathname}${endpoint.search}`;
  }

  async send(message: JsonRpcMessage, options: SendOptions = {}): Promise<void> {
    if (this.#isClosed) throw this.#closedError();
    if (isRequest(message)) this.#request(message, options);
    else if (message.method === "notifications/cancelled") await this.#cancel(message);
    else await this.#post(message);
  }

  /** Whether the server may have seen a request. */
  mayHaveBeenSent(id: RequestId): boolean {
    return this.#pending.get(id)?.wasSent ?? true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.close();
    this.#liveness.stop();
    for (const request of this.#pending) this.#discard(request);
    this.#notifications.abortAll();
    this.onclose?.();
  }

  #request(message: JsonRpcMessage & { id: RequestId }, options: SendOptions): void {
    const request = new SsePost(this.#httpClient, message.id, {
      hadSession: this.#isInitialized,
      onFailure: (failed, failure) => {
        if (this.#pending.get(failed.id) !== failed) return;
        this.#fail(failed, this.#isInitialized ? failure : withEndpointHint(failure));
      },
    });
    this.#pending.add(request);
    try {
      request.start(message, options);
    } catch (error) {
      this.#pending.delete(request);
      throw error;
    }
  }

  /** A request that was never sent is not cancelled on the server. */
  async #cancel(message: JsonRpcMessage): Promise<void> {
    const request = this.#pending.get(message.params?.["requestId"]);
    if (request === undefined) return;
    this.#discard(request);
    if (!request.wasSent) return;
    this.#liveness.verifySince(request.startedAt);
    await this.#post(message);
  }

  #post(message: JsonRpcMessage): Promise<void> {
    return this.#notifications.send({ hadSession: this.#isInitialized }, (events) =>
      this.#httpClient.post(message, "notification", events),
    );
  }

  /** A message with an id is late: its request was cancelled or has failed. */
  #onUnmatched(reason: string, value: unknown): void {
    if (!isPlainObject(value) || value["id"] == null) this.#failInvalid(undefined, reason);
  }

  /** An invalid message without a request id is attributed to the pending request if there is only one. */
  #failInvalid(match: SsePost | undefined, reason: string): void {
    const [only, ...others] = this.#pending;
    const request = match ?? (others.length === 0 ? only : undefined);
    const failure = invalidResponseError(this.#httpClient, reason);
    if (request === undefined) this.onerror?.(failure);
    else this.#fail(request, failure);
  }

  #fail(request: SsePost, failure: McpRuntimeError): void {
    this.#settle(request, toLocalErrorResponse(request.id, failure));
  }

  #settle(request: SsePost, response: JsonRpcMessage): void {
    request.complete();
    this.#pending.delete(request);
    // The first response is that of `initialize`, or an error after which nothing more is sent.
    this.#isInitialized = true;
    this.onmessage?.(response);
  }

  #discard(request: SsePost): void {
    request.abort();
    this.#pending.delete(request);
  }

  /** Fails the pending requests at once and closes the transport. */
  #failAll(toFailure: (request: SsePost) => McpRuntimeError): void {
    for (const request of this.#pending) {
      const failure = toFailure(request);
      this.#discard(request);
      this.onmessage?.(toLocalErrorResponse(request.id, failure));
    }
    void this.close();
  }

  /** The rest is not read, so the stream cannot continue. With several requests it is unknown whose response it was. */
  #failOversized(): void {
    const { server, maxBytes } = this.#httpClient;
    const failure = responseTooLargeError(server, maxBytes);
    const message = `${failure.message} It belonged to this request or to a concurrent one.`;
    const shared = failure.with({ message });
    this.#failAll(this.#pending.size > 1 ? () => shared : () => failure);
  }

  #closedError(): McpRuntimeError {
    const { server } = this.#httpClient;
    return new McpRuntimeError("not-sent", `The stream of server "${server}" has ended.`, { server });
  }
}

/** The first message goes to the endpoint that the server has just named: what rejects it is probably another server. */
function withEndpointHint(failure: McpRuntimeError): McpRuntimeError {
  if (failure.kind !== "invalid-request") return failure;
  const hint =
    "The server named this endpoint itself: does a proxy or load balancer route to another server?";
  return failure.with({ message: `${failure.message} ${hint}` });
}

/** Reads the query parameters that servers use; falls back to the whole path. */
function sessionIdOf({ pathname, search, searchParams }: URL): string {
  return searchParams.get("sessionId") ?? searchParams.get("session_id") ?? `${pathname}${search}`;
}

interface LivenessCheckOptions {
  readonly clock: Clock;
  readonly ping: () => void;
  /** Nothing was received after a ping. */
  readonly onUnresponsive: () => void;
}

const PING_TIMEOUT_MS = 5_000;

/**
 * Detects a silently dropped stream, for example after a NAT timeout: nothing is ever written to it, so no
 * write can fail. The server is pinged when a request is cancelled and nothing was received since it was
 * sent.
 */
class LivenessCheck {
  readonly #options: LivenessCheckOptions;
  #lastActiveAt: number;
  #cancelTimer: (() => void) | undefined;

  constructor(options: LivenessCheckOptions) {
    this.#options = options;
    this.#lastActiveAt = options.clock.now();
  }

  markActive(): void {
    this.#lastActiveAt = this.#options.clock.now();
    this.stop();
  }

  /** Pings the server unless something was received after this time. */
  verifySince(since: number): void {
    if (this.#lastActiveAt > since || this.#cancelTimer !== undefined) return;
    const { clock, ping, onUnresponsive } = this.#options;
    this.#cancelTimer = clock.after(PING_TIMEOUT_MS, onUnresponsive);
    ping();
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
