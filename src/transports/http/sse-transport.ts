import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { HttpRequestEvents, HttpRequestHandler } from "../../net/http-request.js";
import { looksLikeMessage, responseTooLargeError, type RpcRequest } from "../json-rpc.js";
import { BaseTransport, type PendingRequest, type WireRequest } from "../pending-requests.js";
import type { Transport, TransportRequestOptions } from "../transport.js";
import { fromConnectionError } from "./http-errors.js";
import { McpHttpClient, type McpHttpClientOptions } from "./mcp-http-client.js";
import { NotificationSender } from "./notification-sender.js";
import { SseEventStream } from "./sse-event-stream.js";

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
 */
export class SseTransport extends BaseTransport<SsePost> implements Transport {
  readonly #hint: string | undefined;
  readonly #httpClient: McpHttpClient;
  readonly #stream: SseEventStream;
  readonly #notifications: NotificationSender;
  readonly #liveness: LivenessCheck;
  #starting: Promise<void> | undefined;
  #endpoint: URL | undefined;
  #isInitialized = false;

  constructor(options: SseTransportOptions) {
    super(options);
    this.#hint = options.hint;
    this.#httpClient = new McpHttpClient(options);
    this.#notifications = new NotificationSender(this.#httpClient, (error) => this.onerror?.(error));
    this.#liveness = new LivenessCheck({
      clock: options.clock,
      // Any received byte proves that the stream works; the response itself is ignored.
      ping: () => void this.notify({ jsonrpc: "2.0", id: "liveness-check", method: "ping" }),
      onUnresponsive: () =>
        this.#failAll((wasSent) => fromConnectionError(STREAM_UNRESPONSIVE, this.#httpClient, { wasSent })),
    });
    this.#stream = new SseEventStream(this.#httpClient, {
      onActivity: () => this.#liveness.markActive(),
      onData: (data) => void this.pending.receive(data),
      onInvalid: (failure) => this.onFailure(failure),
      onClosed: (toFailure) => this.#failAll(toFailure),
      onTooLarge: () => this.#failOversized(),
    });
  }

  /** The session id in the endpoint, once the session is initialized. */
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

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    if (this.isClosed) return Promise.reject(this.#closedError());
    const pending = this.pending.add(message, options);
    const hadSession = this.#isInitialized;
    pending.wire = new SsePost(this.#httpClient, hadSession, (failure) =>
      pending.reject(hadSession ? failure : withEndpointHint(failure)),
    );
    try {
      pending.wire.start(message, options);
    } catch (error) {
      pending.reject(error);
    }
    pending.attach();
    return pending.response;
  }

  async notify(message: JsonRpcMessage): Promise<void> {
    if (this.isClosed) throw this.#closedError();
    await this.#notifications.post(message, { hadSession: this.#isInitialized });
  }

  async close(reason: McpRuntimeError = this.#closedError()): Promise<void> {
    this.#stop(() => reason);
  }

  async #start(): Promise<void> {
    const endpoint = await this.#stream.open().catch((failure: McpRuntimeError) => {
      const isRejected = failure.kind === "invalid-request" && this.#hint !== undefined;
      throw isRejected ? failure.with({ message: `${failure.message} ${this.#hint}` }) : failure;
    });
    this.#endpoint = endpoint;
    this.#httpClient.messagePath = `${endpoint.pathname}${endpoint.search}`;
  }

  /** Returns false if it was already closed. */
  #stop(toReason: (request: PendingRequest<SsePost>) => McpRuntimeError): boolean {
    const wasOpen = this.end((request) => {
      const reason = toReason(request);
      request.wire?.abort();
      return reason;
    });
    if (!wasOpen) return false;
    this.#stream.close();
    this.#liveness.stop();
    this.#notifications.abortAll();
    return true;
  }

  /** A request that was never sent is not cancelled on the server. */
  override onCancelled(request: PendingRequest<SsePost>): void {
    const { wire } = request;
    wire?.abort();
    if (wire?.wasSent !== true) return;
    this.#liveness.verifySince(wire.startedAt);
    this.oncancel?.(request.toCancelNotification());
  }

  override onSettled({ wire }: PendingRequest<SsePost>): void {
    // The first response is that of `initialize`, or an error after which nothing more is sent.
    this.#isInitialized = true;
    wire?.complete();
  }

  override onFailure(failure: McpRuntimeError): void {
    this.#failAll(() => failure, failure);
  }

  /**
   * A message with an id is late: its request was cancelled or has failed. An event that does not even begin like a message
   * is not a response, which may still follow.
   */
  override isAttributed(text: string, value: unknown): boolean {
    return looksLikeMessage(text) && !(isPlainObject(value) && value["id"] != null);
  }

  /** Fails the pending requests at once: the connection was lost. */
  #failAll(toFailure: (wasSent: boolean) => McpRuntimeError, cause?: McpRuntimeError): void {
    if (this.#stop(({ wire }) => toFailure(wire?.wasSent ?? false))) this.onclose?.(cause);
  }

  /** The rest is not read, so the stream cannot continue. With several requests it is unknown whose response it was. */
  #failOversized(): void {
    const { server, maxBytes } = this.#httpClient;
    const failure = responseTooLargeError(server, maxBytes);
    const message = `${failure.message} It belonged to this request or to a concurrent one.`;
    const shared = this.pending.size > 1 ? failure.with({ message }) : failure;
    this.#failAll(() => shared);
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

/** How long the HTTP response of a POST may stay open after the JSON-RPC response before it is aborted. */
const RESPONSE_GRACE_MS = 200;

/** The POST of one request to an SSE server. Its JSON-RPC response arrives on the event stream. */
class SsePost implements WireRequest {
  readonly startedAt: number;
  readonly #httpClient: McpHttpClient;
  readonly #hadSession: boolean;
  readonly #onFailure: (failure: McpRuntimeError) => void;
  #handler: HttpRequestHandler | undefined;
  #isAccepted = false;
  #isDone = false;
  #cancelGrace: (() => void) | undefined;

  /** @param hadSession - Whether the session was already initialized. */
  constructor(httpClient: McpHttpClient, hadSession: boolean, onFailure: (failure: McpRuntimeError) => void) {
    this.#httpClient = httpClient;
    this.#hadSession = hadSession;
    this.#onFailure = onFailure;
    this.startedAt = httpClient.clock.now();
  }

  /** Whether the server may have seen the request. */
  get wasSent(): boolean {
    return this.#handler?.wasDispatched === true;
  }

  start(message: RpcRequest, options: TransportRequestOptions): void {
    const hadSession = this.#hadSession;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => {
        if (status > 299)
          return this.#httpClient.createErrorReader({ status, headers, hadSession }, this.#fail);
        this.#isAccepted = true;
        return { data: () => undefined, end: () => this.#end() };
      },
      onError: (error) => {
        // After acceptance the rest of this HTTP response is irrelevant.
        if (this.#isAccepted) this.#end();
        else this.#fail(fromConnectionError(error, this.#httpClient, { wasSent: this.wasSent }));
      },
    };
    this.#handler = this.#httpClient.post(message, "call", events, options);
  }

  /** The JSON-RPC response has arrived. */
  complete(): void {
    if (this.#isDone) return;
    this.#cancelGrace = this.#httpClient.clock.after(RESPONSE_GRACE_MS, () => this.abort());
  }

  abort(): void {
    this.#end();
    this.#handler?.abort();
  }

  readonly #fail = (failure: McpRuntimeError): void => {
    this.abort();
    this.#onFailure(failure);
  };

  #end(): void {
    this.#isDone = true;
    this.#cancelGrace?.();
  }
}
