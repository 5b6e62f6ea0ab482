import { randomBytes } from "node:crypto";
import { type Clock, settleWithin } from "../async/clock.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../config/message-transport.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { isRequest, type RequestId, toLocalErrorResponse } from "../transports/json-rpc.js";
import type { ServerRequests } from "./server-requests/server-requests.js";

/** The timeout for terminating the session and for closing the transport. */
const CLOSE_TIMEOUT_MS = 1_000;
/** How long to wait for the stream of server-initiated messages. */
const SERVER_STREAM_TIMEOUT_MS = 500;

interface SafeTransportOptions {
  readonly clock: Clock;
  /** Handles requests from the server. */
  readonly serverRequests: Pick<ServerRequests, "handle" | "close">;
  /** Set when other processes may use the same session. */
  readonly wireIds: WireIds | undefined;
  /** Added to `initialize` as `_meta`, which the SDK does not allow to be set. */
  readonly initializeMeta?: JsonObject;
  /** Converts an error of the inner transport. */
  readonly toError: (error: unknown, phase: "start" | "send") => Error;
}

/** A started transport that its new owner uses and closes. */
export interface DetachedTransport {
  readonly transport: MessageTransport;
  /** True when the transport has already closed, which its new owner did not see. */
  readonly isClosed: () => boolean;
}

/**
 * Wraps any transport, built-in or custom, and guarantees what sessions and the SDK rely on but do not
 * check: a request that cannot be sent gets an error response, there are no unhandled rejections, closing
 * takes a bounded time, and `onclose` is called once.
 */
export class SafeTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #inner: MessageTransport;
  readonly #options: SafeTransportOptions;
  readonly #pendingNotifications = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #isInnerClosed = false;
  #isDetached = false;

  constructor(inner: MessageTransport, options: SafeTransportOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get canReceiveUnsolicited(): boolean {
    return this.#inner.canReceiveUnsolicited !== false;
  }

  /** True once it was closed by either side. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.attach();
    try {
      await this.#inner.start();
    } catch (error) {
      throw this.#options.toError(error, "start");
    }
  }

  /** Replaces `start` for a transport that is already started. */
  attach(): void {
    const { wireIds } = this.#options;
    this.#inner.onmessage = (inbound) => {
      const message = wireIds?.fromWireMessage(inbound) ?? inbound;
      const isHandled = this.#options.serverRequests.handle(message, (response) => void this.send(response));
      if (!isHandled) this.onmessage?.(message);
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#isInnerClosed = true;
      this.#emitClose();
    };
  }

  /** Returns the inner transport to a new owner; this wrapper no longer closes it. */
  detach(): DetachedTransport {
    this.#isDetached = true;
    return { transport: this.#inner, isClosed: () => this.#isInnerClosed };
  }

  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const sending = this.#send(message, options);
    if (!isRequest(message)) return this.#trackNotification(sending);
    return sending.catch((error: unknown) => {
      this.onmessage?.(toLocalErrorResponse(message.id, this.#options.toError(error, "send")));
    });
  }

  /** True when the server may have received a request. */
  mayHaveBeenSent(id: RequestId): boolean {
    return this.#inner.mayHaveBeenSent?.(this.wireId(id)) ?? true;
  }

  /** Returns the id of a request on the wire. */
  wireId(id: RequestId): RequestId {
    return this.#options.wireIds?.toWireId(id) ?? id;
  }

  /** Resolves when the stream for server-initiated messages is open, or after a timeout. */
  openServerStream(): Promise<void> {
    return settleWithin(SERVER_STREAM_TIMEOUT_MS, this.#options.clock, () =>
      this.#inner.openServerStream?.(),
    );
  }

  /** Cancels the handlers of requests from the server; no more responses are sent. */
  cancelServerRequests(): void {
    this.#options.serverRequests.close();
  }

  /** Waits for pending notifications and terminates the session on the server. */
  async terminateSession(): Promise<void> {
    if (this.#isDetached) return;
    const { clock } = this.#options;
    await settleWithin(CLOSE_TIMEOUT_MS, clock, () => Promise.all(this.#pendingNotifications));
    await settleWithin(CLOSE_TIMEOUT_MS, clock, () => this.#inner.terminateSession?.());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (!this.#isDetached)
      await settleWithin(CLOSE_TIMEOUT_MS, this.#options.clock, () => this.#inner.close());
    this.#emitClose();
  }

  async #send(message: JsonRpcMessage, options: SendOptions | undefined): Promise<void> {
    const { wireIds, initializeMeta = {} } = this.#options;
    const isInitialize = message.method === "initialize" && Object.keys(initializeMeta).length > 0;
    const outgoing = isInitialize
      ? { ...message, params: { ...message.params, _meta: initializeMeta } }
      : message;
    await this.#inner.send(wireIds?.toWireMessage(outgoing) ?? outgoing, options);
  }

  /** A notification that fails is reported to `onerror` only, since no caller waits for it. */
  async #trackNotification(sending: Promise<void>): Promise<void> {
    const done = sending.catch((error: unknown) => {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    });
    this.#pendingNotifications.add(done);
    await done;
    this.#pendingNotifications.delete(done);
  }

  #emitClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.cancelServerRequests();
    this.onclose?.();
  }
}

/**
 * Translates request ids for a session that several processes share. Every process counts from 0, and a
 * server would send the response for id 3 to any of them, so each connection adds a random prefix. Ids
 * and progress tokens inside the client are not changed.
 */
export class WireIds {
  readonly #prefix = `${randomBytes(8).toString("hex")}-`;

  toWireId(id: RequestId): string {
    return `${this.#prefix}${id}`;
  }

  /** Returns a message with wire ids. */
  toWireMessage(message: JsonRpcMessage): JsonRpcMessage {
    if (isRequest(message))
      return this.#withWireToken({ ...message, id: this.toWireId(message.id) }, message.id);
    if (message.method !== "notifications/cancelled") return message;
    const { params } = message;
    return {
      ...message,
      params: { ...params, requestId: this.toWireId(params?.["requestId"] as RequestId) },
    };
  }

  /** Returns a message with local ids. A message for another process is returned unchanged. */
  fromWireMessage(message: JsonRpcMessage): JsonRpcMessage {
    // A transport may deliver any value.
    if (!isPlainObject(message)) return message;
    const { method, params } = message;
    if (method === undefined) {
      const id = this.#fromWireId(message.id);
      return id === undefined ? message : { ...message, id };
    }
    if (method !== "notifications/progress" || !isPlainObject(params)) return message;
    const progressToken = this.#fromWireId(params["progressToken"]);
    return progressToken === undefined ? message : { ...message, params: { ...params, progressToken } };
  }

  #withWireToken(message: JsonRpcMessage, id: RequestId): JsonRpcMessage {
    const meta = message.params?.["_meta"];
    if (!isPlainObject(meta) || meta["progressToken"] !== id) return message;
    const _meta = { ...meta, progressToken: this.toWireId(id) };
    return { ...message, params: { ...message.params, _meta } };
  }

  #fromWireId(id: unknown): number | undefined {
    if (typeof id !== "string" || !id.startsWith(this.#prefix)) return undefined;
    return Number(id.slice(this.#prefix.length));
  }
}
