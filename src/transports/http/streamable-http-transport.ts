import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { JsonObject } from "../../json/json.js";
import type { RpcRequest } from "../json-rpc.js";
import { type PendingRequest, PendingRequests } from "../pending-requests.js";
import type { Transport, TransportRequestOptions } from "../transport.js";
import { McpHttpClient, type McpHttpClientOptions } from "./mcp-http-client.js";
import { LISTEN_METHOD } from "./modern-era.js";
import { NotificationSender } from "./notification-sender.js";
import { ServerEventStream } from "./server-event-stream.js";
import { StreamableHttpRequest } from "./streamable-http-request.js";

/** Streamable HTTP for one session, on a connection pool that outlives it. */
export class StreamableHttpTransport implements Transport {
  onmessage: Transport["onmessage"];
  oncancel: Transport["oncancel"];
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  readonly openFallback: Transport["openFallback"];
  readonly #httpClient: McpHttpClient;
  readonly #pending: PendingRequests<StreamableHttpRequest>;
  readonly #notifications: NotificationSender;
  #serverStream: ServerEventStream | undefined;
  #isClosed = false;

  constructor(options: McpHttpClientOptions & Pick<Transport, "openFallback">) {
    this.openFallback = options.openFallback;
    this.#httpClient = new McpHttpClient(options);
    this.#notifications = new NotificationSender(this.#httpClient, (error) => this.onerror?.(error));
    this.#pending = new PendingRequests(options, {
      onServerMessage: (message) => this.onmessage?.(message),
      onCancelled: (request) => this.#onCancelled(request),
      onSettled: ({ wire }) => wire?.complete(),
      onFailure: (failure) => this.onerror?.(failure),
      onUnmatchedResponse: (_, reason) => this.#reportInvalid(reason),
      onInvalidMessage: (_, reason) => this.#reportInvalid(reason),
    });
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
    const pending = this.#pending.add(message, options);
    const wire = new StreamableHttpRequest(this.#httpClient, this.#pending, pending, message);
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
    return this.#notifications.post(message, this.sessionId !== undefined);
  }

  get canListenInBackground(): boolean {
    return this.#httpClient.pool.canStreamInBackground;
  }

  holdServerStream(): void {
    this.#httpClient.pool.holdServerStreams();
  }

  openServerStream(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#serverStream ??= new ServerEventStream(this.#httpClient, {
      // An error without an id for one of our requests would arrive on the stream of that request.
      onData: (data) => void this.#pending.receive(data, { attributesErrors: false }),
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
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#serverStream?.close();
    this.#pending.rejectAll(({ wire }) => {
      wire?.abort();
      return reason;
    });
    this.#notifications.abortAll();
  }

  /** A request that was never sent is not cancelled on the server; a modern one is cancelled by closing its stream. */
  #onCancelled(request: PendingRequest<StreamableHttpRequest>): void {
    const { wire } = request;
    wire?.abort();
    if (wire?.wasSent === true && !wire.isModern) this.oncancel?.(request.toCancelNotification());
  }

  #reportInvalid(reason: string): void {
    this.onerror?.(new Error(`The server sent an unexpected message on its event stream: ${reason}.`));
  }
}
