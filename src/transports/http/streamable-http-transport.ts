import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { JsonObject } from "../../json/json.js";
import { invalidResponseError, type RpcRequest } from "../json-rpc.js";
import { BaseTransport, type PendingRequest } from "../pending-requests.js";
import type { Transport, TransportRequestOptions } from "../transport.js";
import { McpHttpClient, type McpHttpClientOptions } from "./mcp-http-client.js";
import { LISTEN_METHOD } from "./modern-era.js";
import { NotificationSender } from "./notification-sender.js";
import { StreamableHttpRequest } from "./streamable-http-request.js";
import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/clock.js";
import { EventStreamReader, discardBody } from "./body-readers.js";
import type { HttpRequestEvents, HttpRequestHandler } from "../../net/http-request.js";
import { fromConnectionError } from "./http-errors.js";

/** Streamable HTTP for one session, on a connection pool that outlives it. */
export class StreamableHttpTransport extends BaseTransport<StreamableHttpRequest> implements Transport {
  readonly openFallback: Transport["openFallback"];
  readonly #httpClient: McpHttpClient;
  readonly #notifications: NotificationSender;
  #serverStream: ServerEventStream | undefined;

  constructor(options: McpHttpClientOptions & Pick<Transport, "openFallback">) {
    super(options);
    this.openFallback = options.openFallback;
    this.#httpClient = new McpHttpClient(options);
    this.#notifications = new NotificationSender(this.#httpClient, (error) => this.onerror?.(error));
  }

  get sessionId(): string | undefined {
    return this.#httpClient.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#httpClient.protocolVersion = version;
  }

  async start(): Promise<void> {
    // Nothing to open: the first request opens a connection.
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    const pending = this.pending.add(message, options);
    const wire = new StreamableHttpRequest(this.#httpClient, this.pending, pending, message);
    wire.isBackground = options.isBackground;
    pending.wire = wire;
    const lane = message.method === LISTEN_METHOD ? "server-stream" : "call";
    try {
      wire.handler = this.#httpClient.post(message, lane, wire, options);
    } catch (error) {
      pending.reject(error);
    }
    pending.attach();
    return pending.response;
  }

  notify(message: JsonRpcMessage): Promise<void> {
    return this.#notifications.post(message, { hadSession: this.sessionId !== undefined });
  }

  get canListenInBackground(): boolean {
    return this.#httpClient.pool.canStreamInBackground;
  }

  holdServerStream(): void {
    this.#httpClient.pool.holdServerStreams();
  }

  openServerStream(): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    this.#serverStream ??= new ServerEventStream(this.#httpClient, {
      // An error without an id for one of our requests would arrive on the stream of that request.
      onData: (data) => void this.pending.receive(data, { attributesErrors: false }),
      onError: (error) => this.onerror?.(error),
    });
    return this.#serverStream.whenOpen();
  }

  /** The response does not matter: 404 and 405 mean that there is nothing to terminate. */
  terminateSession(): Promise<void> {
    if (this.sessionId === undefined) return Promise.resolve();
    return this.#notifications.terminateSession();
  }

  async close(reason: McpRuntimeError): Promise<void> {
    this.#stop(reason);
  }

  /** A request that was never sent is not cancelled on the server; a modern one is cancelled by closing its stream. */
  override onCancelled(request: PendingRequest<StreamableHttpRequest>): void {
    const { wire } = request;
    wire?.abort();
    if (wire?.wasSent === true && !wire.isModern) this.oncancel?.(request.toCancelNotification());
  }

  override onSettled({ wire }: PendingRequest<StreamableHttpRequest>): void {
    wire?.complete();
  }

  override onFailure(failure: McpRuntimeError): void {
    if (this.#stop(failure)) this.onclose?.(failure);
  }

  /** Returns false if it was already closed. */
  #stop(reason: McpRuntimeError): boolean {
    const wasOpen = this.end(({ wire }) => {
      wire?.abort();
      return reason;
    });
    if (!wasOpen) return false;
    this.#serverStream?.close();
    this.#notifications.abortAll();
    return true;
  }
}

const INITIAL_REOPEN_DELAY_MS = 1_000;
const MAX_REOPEN_DELAY_MS = 30_000;

interface ServerEventStreamEvents {
  readonly onData: (data: string) => void;
  readonly onError: (error: Error) => void;
}

/**
 * The GET stream for messages that belong to no request. It is reopened with growing delays when it ends
 * or breaks, until it is closed or the server does not offer it.
 */
class ServerEventStream {
  readonly #httpClient: McpHttpClient;
  readonly #events: ServerEventStreamEvents;
  readonly #closed = new CancelScope();
  #handler: HttpRequestHandler | undefined;
  #reader: EventStreamReader | undefined;
  #reopenDelayMs = INITIAL_REOPEN_DELAY_MS;
  #opened: Promise<void> | undefined;
  #isReopening = false;

  constructor(httpClient: McpHttpClient, events: ServerEventStreamEvents) {
    this.#httpClient = httpClient;
    this.#events = events;
  }

  /** Opens the stream. Resolves on any response of the server, or when it cannot be reached. */
  whenOpen(): Promise<void> {
    this.#opened ??= new Promise((resolve) => {
      this.#closed.onCancel(() => resolve());
      this.#open(resolve);
    });
    return this.#opened;
  }

  close(): void {
    this.#closed.cancel(undefined);
    this.#handler?.abort();
  }

  #open(onResponse: () => void): void {
    const hadSession = this.#httpClient.sessionId !== undefined;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => {
        onResponse();
        if (status === 200) return this.#read();
        // 405: the server does not offer this stream, which is allowed.
        if (status === 405) return discardBody;
        return this.#httpClient.createErrorReader({ status, headers, hadSession }, (failure) => {
          this.#handler?.abort();
          this.#events.onError(failure);
          if (status >= 500 || status === 429) this.#scheduleReopen();
        });
      },
      onError: (error) => {
        onResponse();
        const failure = fromConnectionError(error, this.#httpClient, { wasSent: true });
        this.#events.onError(failure);
        // Without credentials it would be rejected again, and each attempt could prompt the user to log in.
        if (failure.kind !== "unauthorized") this.#scheduleReopen();
      },
    };
    this.#handler = this.#httpClient.get(this.#reader?.lastEventId, events, {
      lane: "server-stream",
      isBackground: true,
    });
  }

  #read(): EventStreamReader {
    const events = {
      onData: (data: string) => {
        this.#reopenDelayMs = INITIAL_REOPEN_DELAY_MS;
        this.#events.onData(data);
      },
      onTooLarge: () => this.#interrupt(),
      onInvalid: (reason: string) => {
        this.#events.onError(invalidResponseError(this.#httpClient, reason));
        this.#interrupt();
      },
      onEnd: () => this.#scheduleReopen(),
    };
    this.#reader = new EventStreamReader(this.#httpClient.maxBytes, events, this.#reader);
    return this.#reader;
  }

  #interrupt(): void {
    this.#handler?.abort();
    this.#scheduleReopen();
  }

  #scheduleReopen(): void {
    if (this.#isReopening) return;
    this.#isReopening = true;
    const delayMs = Math.max(this.#reader?.retryMs ?? 0, this.#reopenDelayMs);
    this.#reopenDelayMs = Math.min(this.#reopenDelayMs * 2, MAX_REOPEN_DELAY_MS);
    const unref = !this.#httpClient.pool.holdsServerStreams;
    delay(delayMs, this.#httpClient.clock, this.#closed, { unref }).then(
      () => {
        this.#isReopening = false;
        this.#open(() => undefined);
      },
      () => undefined,
    );
  }
}
