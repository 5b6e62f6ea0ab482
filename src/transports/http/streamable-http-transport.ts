import { SlotMap } from "../../async/slot-map.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import { NotificationSender } from "./notification-sender.js";
import type { ResponseHeaders } from "../../net/http-request.js";
import { McpHttpClient, type McpHttpClientOptions } from "./mcp-http-client.js";
import { isRequest, parseMessages, type RequestId } from "../json-rpc.js";
import { PendingRequest } from "./pending-request.js";
import { isModernRequest } from "./modern-era.js";
import { ServerEventStream } from "./server-event-stream.js";

/**
 * Streamable HTTP for one session, on a connection pool that outlives it.
 *
 * Every request ends with exactly one message to `onmessage`: the server's response, or an error response
 * as soon as it is certain that there will be none. `send` never rejects: errors that belong to no request
 * go to `onerror`.
 */
export class StreamableHttpTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #httpClient: McpHttpClient;
  readonly #pending = new SlotMap<RequestId, PendingRequest>();
  readonly #notifications: NotificationSender;
  #serverStream: ServerEventStream | undefined;
  #isClosed = false;

  constructor(options: McpHttpClientOptions) {
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

  send(message: JsonRpcMessage, options: SendOptions = {}): Promise<void> {
    if (isRequest(message)) {
      this.#request(message.id, message, options);
      return Promise.resolve();
    }
    if (message.method === "notifications/cancelled") return this.#cancel(message);
    return this.#post(message);
  }

  /** Whether the server may have seen a request. */
  mayHaveBeenSent(id: RequestId): boolean {
    return this.#pending.get(id)?.wasSent ?? true;
  }

  openServerStream(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#serverStream ??= new ServerEventStream(this.#httpClient, {
      onData: (data) => this.#onStreamText(data),
      onError: (error) => this.onerror?.(error),
    });
    return this.#serverStream.whenOpen();
  }

  /** The response does not matter: 404 and 405 mean that there is nothing to terminate. */
  terminateSession(): Promise<void> {
    if (this.sessionId === undefined) return Promise.resolve();
    return this.#notifications.send({ hadSession: true }, (events) => this.#httpClient.delete(events));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#serverStream?.close();
    for (const request of this.#pending.values()) request.cancel();
    this.#pending.clear();
    this.#notifications.abortAll();
    this.onclose?.();
  }

  #request(id: RequestId, message: JsonRpcMessage, options: SendOptions): void {
    const request = new PendingRequest(this.#httpClient, id, {
      onHeaders: (headers) => {
        // Only `initialize` sets the id: a late response must not restore the id of a lost session.
        if (message.method === "initialize") this.#setSessionId(headers);
      },
      onServerMessage: (serverMessage) => this.onmessage?.(serverMessage),
      onResponse: (response) => {
        this.#pending.delete(id);
        this.onmessage?.(response);
      },
    });
    this.#pending.set(id, request);
    request.start(message, options);
  }

  #setSessionId(headers: ResponseHeaders): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string" && id !== "") this.#httpClient.sessionId = id;
  }

  /** A request that was never sent is not cancelled on the server; a modern one is cancelled by closing its stream. */
  #cancel(message: JsonRpcMessage): Promise<void> {
    const id = message.params?.["requestId"] as RequestId;
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    request?.cancel();
    return request?.wasSent === true && !isModernRequest(message) ? this.#post(message) : Promise.resolve();
  }

  #post(message: JsonRpcMessage): Promise<void> {
    const hadSession = this.sessionId !== undefined;
    return this.#notifications.send({ hadSession }, (events) =>
      this.#httpClient.post(message, "notification", events),
    );
  }

  #onStreamText(text: string): void {
    const messages = parseMessages(text);
    for (const message of messages ?? []) this.onmessage?.(message as JsonRpcMessage);
    if (messages === undefined) this.onerror?.(new Error("The server sent an event that is not valid JSON."));
  }
}
