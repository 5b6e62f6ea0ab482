import { randomBytes } from "node:crypto";
import { CancelScope } from "../async/cancel-scope.js";
import { type Clock, settleWithin } from "../async/clock.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { isRequest, type RequestId } from "../transports/json-rpc.js";
import {
  clientClosedError,
  connectionLostError,
  MAX_REPORTED_ERRORS,
  type Transport,
  type TransportRequestOptions,
} from "../transports/transport.js";
import type { ServerRequests } from "./server-requests/server-requests.js";
import type { ServerNotification, ServerStreamOptions, SessionCloseReason } from "./session.js";

/** The timeout for terminating the session. */
const TERMINATE_TIMEOUT_MS = 1_000;
/** The timeout for closing the transport; a process is given time to exit. */
const CLOSE_TIMEOUT_MS = 1_000;
/** How many responses to the server may wait to be sent. A server that causes more, without reading them, is abandoned. */
const MAX_UNSENT_RESPONSES = 1_000;
/** How many notifications may wait to be sent. Further ones are dropped, because the client causes them, not the server. */
const MAX_UNSENT_NOTIFICATIONS = 10_000;
/** How long to wait for the stream of server-initiated messages. */
const SERVER_STREAM_TIMEOUT_MS = 500;

interface SessionChannelOptions {
  readonly server: string;
  readonly clock: Clock;
  /** Handles requests from the server. */
  readonly serverRequests: ServerRequests;
  /** Other processes may use the same session: they must not receive the responses to our requests. */
  readonly isShared: boolean;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
}

/**
 * The messages of one session over its transport: assigns request ids, lets handlers answer the requests of the server, and
 * closes within a bounded time.
 */
export class SessionChannel {
  /** Called once when the connection is closed by the server. */
  onclose: (() => void) | undefined;
  onNotification: (notification: ServerNotification) => void;
  /** Modern servers send their requests inside results, so a request that comes as a message is ignored. */
  isModern = false;
  readonly #options: SessionChannelOptions;
  readonly #idPrefix: string | undefined;
  readonly #unsentResponses = new Set<Promise<void>>();
  readonly #unsentNotifications = new Set<Promise<void>>();
  #transport: Transport;
  /** Id 0 belongs to `initialize`. */
  #lastId = 0;
  #isClosed = false;
  #reportedErrors = 0;

  constructor(transport: Transport, options: SessionChannelOptions) {
    this.#transport = transport;
    this.#options = options;
    this.onNotification = options.onNotification;
    this.#idPrefix = options.isShared ? `${randomBytes(8).toString("hex")}-` : undefined;
    this.#attach(transport);
  }

  get sessionId(): string | undefined {
    return this.#transport.sessionId;
  }

  get canReceiveUnsolicited(): boolean {
    return this.#transport.canReceiveUnsolicited !== false;
  }

  /** True once it was closed by either side. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get serverRequests(): ServerRequests {
    return this.#options.serverRequests;
  }

  get transport(): Transport {
    return this.#transport;
  }

  /** Continues on another transport, before the session is initialized. */
  async replaceTransport(transport: Transport): Promise<void> {
    const previous = this.#transport;
    this.#transport = transport;
    this.#attach(transport);
    await previous.close(clientClosedError(this.#options.server));
  }

  /** The protocol does not allow to cancel `initialize`. */
  initialize(params: JsonObject): Promise<JsonObject> {
    const message = { jsonrpc: "2.0", id: this.#toRequestId(0), method: "initialize", params } as const;
    return this.#transport.request(message, { cancellation: new CancelScope() });
  }

  /** Sends a request that reports progress to `options.tracker`. */
  request(method: string, params: JsonObject, options: TransportRequestOptions): Promise<JsonObject> {
    this.#lastId += 1;
    const id = this.#toRequestId(this.#lastId);
    const sent = options.tracker?.onProgress === undefined ? params : withProgressToken(params, id);
    return this.#transport.request({ jsonrpc: "2.0", id, method, params: sent }, options);
  }

  /** Never rejects: an error is reported to `onError`, since no caller waits for it. */
  async notify(message: JsonRpcMessage): Promise<void> {
    if (this.#isClosed) return;
    const { method } = message;
    const unsent = method === undefined ? this.#unsentResponses : this.#unsentNotifications;
    if (method === undefined && unsent.size >= MAX_UNSENT_RESPONSES) return this.#abandon();
    if (unsent.size >= MAX_UNSENT_NOTIFICATIONS)
      return this.#report(new Error(`${method} was not sent: ${unsent.size} notifications wait to be sent.`));
    const sending = (async () => this.#transport.notify(message))().catch((error: unknown) =>
      this.#report(error instanceof Error ? error : new Error(printValue(error))),
    );
    unsent.add(sending);
    await sending;
    unsent.delete(sending);
  }

  /** Returns whether a stream for server-initiated messages may be opened, and holds the process if it should. */
  prepareServerStream(options?: ServerStreamOptions): boolean {
    if (options?.isBackground === true) return this.#transport.canListenInBackground === true;
    this.#transport.holdServerStream?.();
    return true;
  }

  /** Resolves when the stream for server-initiated messages is open, or after a timeout. */
  async openServerStream(options?: ServerStreamOptions): Promise<void> {
    if (!this.prepareServerStream(options)) return;
    await settleWithin(SERVER_STREAM_TIMEOUT_MS, this.#options.clock, () =>
      this.#transport.openServerStream?.(),
    );
  }

  /** Cancels the handlers of requests from the server; no more responses are sent. */
  cancelServerRequests(): void {
    this.#options.serverRequests.close();
  }

  /** Waits for pending messages and terminates the session on the server. */
  async terminateSession(): Promise<void> {
    const { clock } = this.#options;
    const unsent = [...this.#unsentResponses, ...this.#unsentNotifications];
    await settleWithin(TERMINATE_TIMEOUT_MS, clock, () => Promise.all(unsent));
    await settleWithin(TERMINATE_TIMEOUT_MS, clock, () => this.#transport.terminateSession?.());
  }

  async close(reason: McpRuntimeError = clientClosedError(this.#options.server)): Promise<void> {
    this.#isClosed = true;
    this.cancelServerRequests();
    await settleWithin(CLOSE_TIMEOUT_MS, this.#options.clock, () => this.#transport.close(reason));
  }

  /** Ends the session: pending requests fail, and the next request opens another session. */
  async #abandon(): Promise<void> {
    const { server } = this.#options;
    const text = `Server "${server}" sent more than ${MAX_UNSENT_RESPONSES} requests without reading the responses; the session was closed.`;
    const failure = new McpRuntimeError("invalid-response", text, { server, outcomeUnknown: true });
    const closing = this.close(failure);
    this.#options.onError(failure);
    this.onclose?.();
    await closing;
  }

  #toRequestId(count: number): RequestId {
    return this.#idPrefix === undefined ? count : `${this.#idPrefix}${count}`;
  }

  #attach(transport: Transport): void {
    transport.onmessage = (message) => this.#onMessage(message);
    transport.onerror = (error) => this.#report(error);
    transport.oncancel = (notification) => void this.notify(notification);
    transport.onclose = (failure) => {
      if (this.#transport !== transport || this.#isClosed) return;
      this.#isClosed = true;
      this.cancelServerRequests();
      if (failure !== undefined) this.#options.onError(failure);
      this.onclose?.();
    };
  }

  /** A server can cause any number of errors, such as those of responses that it does not accept: the first ones are enough. */
  #report(error: Error): void {
    const isSessionLost = error instanceof McpRuntimeError && error.kind === "session-lost";
    if (!isSessionLost && (this.#reportedErrors += 1) > MAX_REPORTED_ERRORS) return;
    this.#options.onError(error);
  }

  #onMessage(message: JsonRpcMessage): void {
    const { method, params } = message;
    const isHandled = this.isModern
      ? isRequest(message)
      : this.#options.serverRequests.handle(message, (response) => void this.notify(response));
    if (isHandled || method === undefined) return;
    this.onNotification({ method, params: isPlainObject(params) ? params : {} });
  }
}

/** The common base of the sessions of both eras: how they end. */
export abstract class ChannelSession {
  inFlight = 0;
  protected readonly server: string;
  protected readonly channel: SessionChannel;
  protected closeReason: SessionCloseReason | undefined;

  constructor(
    channel: SessionChannel,
    { server, onDisconnected }: { readonly server: string; readonly onDisconnected: () => void },
  ) {
    this.server = server;
    this.channel = channel;
    channel.onclose = () => {
      const isUnexpected = this.isAlive;
      this.closeReason ??= "disconnected";
      this.onEnd(connectionLostError(server));
      if (isUnexpected) onDisconnected();
    };
  }

  get isAlive(): boolean {
    return this.closeReason === undefined;
  }

  drain(): void {
    if (!this.isAlive) return;
    this.closeReason = "draining";
    this.onEnd(connectionLostError(this.server));
    if (this.inFlight === 0) void this.channel.close();
  }

  async close({ terminate }: { readonly terminate: boolean }): Promise<void> {
    if (!this.isAlive) return;
    this.closeReason = "closed";
    this.onEnd(clientClosedError(this.server));
    this.channel.cancelServerRequests();
    if (terminate) await this.channel.terminateSession();
    await this.channel.close();
  }

  /** The session accepts no more requests. */
  protected onEnd(_reason: McpRuntimeError): void {
    // Nothing to end.
  }

  protected endRequest(): void {
    this.inFlight -= 1;
    if (this.closeReason === "draining" && this.inFlight === 0) void this.channel.close();
  }
}

function withProgressToken(params: JsonObject, progressToken: RequestId): JsonObject {
  // The spread comes last: on Node 20, adding a property to a copy takes ten times as long.
  if (!("_meta" in params)) return { _meta: { progressToken }, ...params };
  const meta = isPlainObject(params["_meta"]) ? params["_meta"] : {};
  return { ...params, _meta: { ...meta, progressToken } };
}
