import type { Cancellable, CancelScope } from "../async/cancel-scope.js";
import { SlotMap } from "../async/slot-map.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import {
  getLocalError,
  invalidResponseError,
  isErrorResponse,
  toLocalErrorResponse,
  toRpcError,
} from "../transports/json-rpc.js";
import type { SafeTransport } from "./safe-transport.js";
import { type ErrorContext, fromRpcError } from "./session-errors.js";
import type { Progress, SendStatus, ServerNotification, SessionRequest } from "./session.js";

interface JsonRpcClientOptions extends ErrorContext {
  readonly transport: SafeTransport;
  /** Receives all notifications except progress, which goes to its request. */
  readonly onNotification: (notification: ServerNotification) => void;
}

/** Returns `_meta` for `notifications/cancelled`; `undefined` in the legacy era. */
type CancelMetaFn = () => JsonObject | undefined;

/** What a pending request needs from its client. */
interface PendingRequests {
  mayHaveBeenSent(id: number): boolean;
  cancel(pending: PendingRequest, reason: unknown): void;
}

/**
 * A request that waits for its response. It is settled by method calls and not by closures, because a
 * closure would keep everything in the scope of the call alive.
 */
export class PendingRequest implements SendStatus, Cancellable {
  readonly id: number;
  readonly method: string;
  readonly response: Promise<JsonObject>;
  #resolve: ((result: JsonObject) => void) | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #onProgress: SessionRequest["onProgress"];
  readonly #owner: PendingRequests;
  #cancellation: CancelScope | undefined;
  /** The send status at cancellation, after which the transport no longer knows the request. */
  #mayHaveBeenSent: boolean | undefined;

  constructor(
    id: number,
    { method, onProgress }: Pick<SessionRequest, "method" | "onProgress">,
    owner: PendingRequests,
  ) {
    this.id = id;
    this.method = method;
    this.#onProgress = onProgress;
    this.#owner = owner;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  mayHaveBeenSent(): boolean {
    return this.#mayHaveBeenSent ?? this.#owner.mayHaveBeenSent(this.id);
  }

  /** Cancels the request with this scope, until the response arrives. */
  attachTo(cancellation: CancelScope): void {
    this.#cancellation = cancellation;
    cancellation.attach(this);
  }

  cancel(reason: unknown): void {
    this.#mayHaveBeenSent = this.#owner.mayHaveBeenSent(this.id);
    this.#owner.cancel(this, reason);
  }

  resolve(result: JsonObject): void {
    this.#dispose();
    this.#resolve?.(result);
  }

  reject(reason: unknown): void {
    this.#dispose();
    this.#reject?.(reason);
  }

  reportProgress(progress: Progress): void {
    this.#onProgress?.(progress);
  }

  /** Drops the references to the caller, which would otherwise stay alive with this object. */
  #dispose(): void {
    this.#cancellation?.detach(this);
    this.#cancellation = undefined;
    this.#onProgress = undefined;
  }
}

/**
 * Sends requests over one transport and matches the responses by id. The SDK client is not used for this:
 * it takes as much time as the rest of a session, loses progress that arrives together with the response,
 * and drops a response with an unknown field, so that the caller would wait forever.
 */
export class JsonRpcClient implements PendingRequests {
  readonly #options: JsonRpcClientOptions;
  readonly #cancelMeta: CancelMetaFn;
  readonly #pending = new SlotMap<number, PendingRequest>();
  /** Id 0 belongs to the handshake. */
  #lastId = 0;

  /** Takes over a started transport: the previous `onmessage` listener is replaced. */
  constructor(options: JsonRpcClientOptions, cancelMeta: CancelMetaFn = () => undefined) {
    this.#options = options;
    this.#cancelMeta = cancelMeta;
    options.transport.onmessage = (message) => this.#onMessage(message);
  }

  /** Returns the result as received. Rejects with `McpRuntimeError` or with the cancellation's reason. */
  request(request: SessionRequest): Promise<JsonObject> {
    const { cancellation, tracker } = request;
    const pending = this.send(request);
    if (tracker !== undefined) {
      tracker.sendStatus = pending;
      tracker.wireId = this.#options.transport.wireId(pending.id);
    }
    // A transport may deliver the response while it sends.
    if (this.#pending.has(pending.id)) pending.attachTo(cancellation);
    return pending.response;
  }

  /** Calls `onId` before sending, because messages about the request may arrive while it is sent. */
  send(
    request: Omit<SessionRequest, "cancellation" | "tracker">,
    onId?: (id: number) => void,
  ): PendingRequest {
    const { method, params, headers, context, onProgress } = request;
    this.#lastId += 1;
    const id = this.#lastId;
    const pending = new PendingRequest(id, request, this);
    this.#pending.set(id, pending);
    onId?.(id);
    const outgoingParams = onProgress === undefined ? params : withProgressToken(params, id);
    void this.#options.transport.send(
      { jsonrpc: "2.0", id, method, params: outgoingParams },
      { headers, context },
    );
    return pending;
  }

  /** True when the server may have received a request. */
  mayHaveBeenSent(id: number): boolean {
    return this.#options.transport.mayHaveBeenSent(id);
  }

  /** Rejects the request with this reason and sends `notifications/cancelled`. */
  cancel({ id }: PendingRequest, reason: unknown): void {
    if (!this.#pending.has(id)) return;
    const meta = this.#cancelMeta();
    const params = {
      requestId: id,
      reason: "The caller is no longer waiting for the response.",
      ...(meta === undefined ? {} : { _meta: meta }),
    };
    void this.#options.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    this.#onMessage(toLocalErrorResponse(id, reason));
  }

  /** Rejects all pending requests, after the transport has closed. */
  rejectAll(reason: Error): void {
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
  }

  #onMessage(message: JsonRpcMessage): void {
    // A transport may deliver any value.
    if (!isPlainObject(message)) return this.#reportStray("a value that is not a JSON-RPC message");
    const { method, params } = message;
    if (typeof method === "string")
      this.#onNotification({ method, params: isPlainObject(params) ? params : {} });
    else this.#onResponse(message);
  }

  #onResponse(message: JsonRpcMessage): void {
    const { id, result, error } = message;
    const pending = this.#find(id);
    if (pending === undefined) return this.#reportStray("a response that matches no pending request");
    this.#pending.delete(pending.id);
    if (isErrorResponse(message)) pending.reject(this.#toError(error, pending.method));
    else if (isPlainObject(result)) pending.resolve(result);
    else pending.reject(invalidResponseError(this.#options, "its result is not an object"));
  }

  #toError(error: unknown, method: string): unknown {
    const { server, redactor } = this.#options;
    const localFailure = isPlainObject(error) ? getLocalError(error["data"]) : undefined;
    return localFailure === undefined
      ? fromRpcError(toRpcError(error), { server, redactor, method })
      : localFailure.reason;
  }

  #onNotification(notification: ServerNotification): void {
    if (notification.method !== "notifications/progress") {
      this.#options.onNotification(notification);
      return;
    }
    const { progressToken, progress, total, message } = notification.params;
    // Invalid progress must not extend the deadline.
    if (typeof progress !== "number") return;
    this.#find(progressToken)?.reportProgress({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  /** Some servers return numeric ids as strings. */
  #find(id: unknown): PendingRequest | undefined {
    return typeof id === "number" || typeof id === "string" ? this.#pending.get(Number(id)) : undefined;
  }

  #reportStray(description: string): void {
    this.#options.transport.onerror?.(new Error(`The server sent ${description}.`));
  }
}

function withProgressToken(params: JsonObject, progressToken: number): JsonObject {
  // The spread comes last: on Node 20, adding a property to a copy takes ten times as long.
  if (!("_meta" in params)) return { _meta: { progressToken }, ...params };
  const meta = isPlainObject(params["_meta"]) ? params["_meta"] : {};
  return { ...params, _meta: { ...meta, progressToken } };
}
