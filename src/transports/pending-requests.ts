import type { Cancellable, CancelScope } from "../async/cancel-scope.js";
import { SlotMap } from "../async/slot-map.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import {
  classifyTruncated,
  describeOtherResponse,
  type ErrorContext,
  invalidResponseError,
  isResponse,
  isServerMessage,
  NOT_JSON_RPC,
  parseMessages,
  readResponse,
  type RequestId,
  type RpcRequest,
  unprocessableError,
} from "./json-rpc.js";
import type { RequestTracker, SendStatus, Transport, TransportRequestOptions } from "./transport.js";

/** The part of a pending request that only its transport knows. */
export interface WireRequest {
  /** Once true, the server may have received the request. */
  readonly wasSent: boolean;
}

/**
 * A request that waits for its response. It is settled by method calls and not by closures, because a closure would keep
 * everything in the scope of the call alive.
 */
export class PendingRequest<Wire extends WireRequest> implements SendStatus, Cancellable {
  readonly id: RequestId;
  readonly method: string;
  readonly response: Promise<JsonObject>;
  /** Set by the transport when it begins to send. */
  wire: Wire | undefined;
  readonly #owner: PendingRequests<Wire>;
  readonly #cancelMeta: JsonObject | undefined;
  #resolve: ((result: JsonObject) => void) | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #cancellation: CancelScope | undefined;
  #tracker: RequestTracker | undefined;

  constructor(
    owner: PendingRequests<Wire>,
    { id, method }: RpcRequest,
    { cancellation, tracker, cancelMeta }: TransportRequestOptions,
  ) {
    this.id = id;
    this.method = method;
    this.#owner = owner;
    this.#cancelMeta = cancelMeta;
    this.#cancellation = cancellation;
    this.#tracker = tracker;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (tracker === undefined) return;
    tracker.sendStatus = this;
    tracker.wireId = id;
  }

  get isSettled(): boolean {
    return this.#resolve === undefined;
  }

  mayHaveBeenSent(): boolean {
    return this.wire?.wasSent ?? false;
  }

  /** Lets the caller's cancellation cancel this request until it is settled. Called when sending has begun. */
  attach(): void {
    if (!this.isSettled) this.#cancellation?.attach(this);
  }

  /** The notification that the response is no longer needed. */
  toCancelNotification(): JsonRpcMessage {
    const reason = "The caller is no longer waiting for the response.";
    const meta = this.#cancelMeta === undefined ? {} : { _meta: this.#cancelMeta };
    return {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: this.id, reason, ...meta },
    };
  }

  cancel(reason: unknown): void {
    if (this.isSettled) return;
    this.#owner.onCancelled(this);
    this.reject(reason);
  }

  resolve(result: JsonObject): void {
    const resolve = this.#resolve;
    this.#settle();
    resolve?.(result);
  }

  reject(reason: unknown): void {
    const reject = this.#reject;
    this.#settle();
    reject?.(reason);
  }

  /** Settles the request with a response of the server. */
  receive(response: JsonObject): void {
    const outcome = readResponse(response, this.method, this.#owner.context);
    if (outcome instanceof Error) this.reject(outcome);
    else this.resolve(outcome);
  }

  reportProgress({ progress, total, message }: JsonObject): void {
    // Invalid progress must not extend the deadline.
    if (typeof progress !== "number") return;
    this.#tracker?.onProgress?.({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  /** Drops the references to the caller, which would otherwise stay alive with this object. */
  #settle(): void {
    this.#owner.delete(this);
    this.#cancellation?.detach(this);
    this.#cancellation = undefined;
    this.#tracker = undefined;
    this.#resolve = undefined;
    this.#reject = undefined;
  }
}

/** What all transports have in common: their handlers, their pending requests, and what happens to those. */
export abstract class BaseTransport<Wire extends WireRequest> {
  onmessage: Transport["onmessage"];
  oncancel: Transport["oncancel"];
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  protected readonly pending: PendingRequests<Wire>;
  protected isClosed = false;

  constructor(context: ErrorContext) {
    this.pending = new PendingRequests(context, this);
  }

  /** The caller no longer waits: the transport stops sending the request, or notifies the server. */
  abstract onCancelled(request: PendingRequest<Wire>): void;
  /** A request was resolved, rejected or cancelled. */
  onSettled?(request: PendingRequest<Wire>): void;
  /** A response to a request that is not pending. `value` is the parsed message. */
  onUnmatchedResponse?(value: unknown, reason: string): void;
  /** A message could not be processed. No exception reaches the stream it was read from: the transport ends. */
  onFailure?(failure: McpRuntimeError): void;
  /** A text or message that is not JSON-RPC and belongs to no request. `value` is undefined if it is not JSON. */
  onInvalidMessage?(text: string, reason: string, value: unknown): void;

  /** A request or notification of the server, except progress. */
  onServerMessage(message: JsonRpcMessage): void {
    this.onmessage?.(message);
  }

  /** Closes the transport and rejects its requests, once. Returns false if it was already closed. */
  protected end(toReason: (request: PendingRequest<Wire>) => unknown): boolean {
    if (this.isClosed) return false;
    this.isClosed = true;
    this.pending.rejectAll(toReason);
    return true;
  }
}

/** The requests of one transport that await a response. Responses may arrive in any order. */
export class PendingRequests<Wire extends WireRequest> {
  readonly context: ErrorContext;
  readonly #transport: BaseTransport<Wire>;
  readonly #requests = new SlotMap<RequestId, PendingRequest<Wire>>();

  constructor(context: ErrorContext, transport: BaseTransport<Wire>) {
    this.context = context;
    this.#transport = transport;
  }

  get size(): number {
    return this.#requests.size;
  }

  /** Returns the current requests; they may be settled while iterating. */
  values(): PendingRequest<Wire>[] {
    return this.#requests.values();
  }

  /** Adds a request. Until `attach`, its cancellation has no effect. */
  add(message: RpcRequest, options: TransportRequestOptions): PendingRequest<Wire> {
    const request = new PendingRequest(this, message, options);
    this.#requests.set(message.id, request);
    return request;
  }

  /** Some servers return numeric ids as strings. */
  get(id: unknown): PendingRequest<Wire> | undefined {
    if (typeof id === "number") return this.#requests.get(id);
    if (typeof id !== "string") return undefined;
    return this.#requests.get(id) ?? this.#requests.get(Number(id));
  }

  /** Called by a request that is settled. */
  delete(request: PendingRequest<Wire>): void {
    if (this.#requests.get(request.id) !== request) return;
    this.#requests.delete(request.id);
    this.#transport.onSettled?.(request);
  }

  onCancelled(request: PendingRequest<Wire>): void {
    this.#transport.onCancelled(request);
  }

  rejectAll(toReason: (request: PendingRequest<Wire>) => unknown): void {
    for (const request of this.values()) request.reject(toReason(request));
  }

  /**
   * Parses a text with one message or an array of messages and settles the requests that it responds to. With
   * `attributesErrors`, an error without an id fails the only pending request. Returns whether the text contained JSON-RPC.
   */
  receive(text: string, { attributesErrors = true } = {}): boolean {
    try {
      return this.#receive(text, attributesErrors);
    } catch (error) {
      this.#transport.onFailure?.(unprocessableError(this.context, error));
      return false;
    }
  }

  #receive(text: string, attributesErrors: boolean): boolean {
    const values = parseMessages(text);
    if (typeof values !== "string")
      return values.map((value) => this.#receiveValue(value, text, attributesErrors)).includes(true);
    // A broken response must fail its request, which would wait for its timeout.
    const truncated = classifyTruncated(text, text);
    const request = truncated.type === "response" ? this.get(truncated.id) : undefined;
    const reason = values;
    if (request === undefined) this.#transport.onInvalidMessage?.(text, reason, undefined);
    else request.reject(invalidResponseError(this.context, reason));
    return false;
  }

  /** A message of a request's own stream could not be read. */
  reportInvalid(reason: string): void {
    this.#transport.onInvalidMessage?.("", reason, undefined);
  }

  /** Reports progress to its request and passes any other message to the transport. */
  receiveServerMessage(message: JsonRpcMessage): void {
    const { method, params } = message;
    if (method !== "notifications/progress") this.#transport.onServerMessage(message);
    else if (isPlainObject(params)) this.get(params["progressToken"])?.reportProgress(params);
  }

  #receiveValue(value: unknown, text: string, attributesErrors: boolean): boolean {
    if (isServerMessage(value)) {
      this.receiveServerMessage(value);
      return true;
    }
    const request = this.#findByResponse(value, attributesErrors);
    if (isResponse(value)) {
      if (request !== undefined) request.receive(value);
      else {
        const hasNoId = value["id"] == null && value["error"] != null;
        const reason = hasNoId ? "it has no request id" : describeOtherResponse(value);
        this.#transport.onUnmatchedResponse?.(value, reason);
      }
      return true;
    }
    if (request === undefined) this.#transport.onInvalidMessage?.(text, NOT_JSON_RPC, value);
    else request.reject(invalidResponseError(this.context, NOT_JSON_RPC));
    return request !== undefined;
  }

  /** Finds the request that a message responds to. An error without an id may be attributed to the only pending request. */
  #findByResponse(message: unknown, attributesErrors: boolean): PendingRequest<Wire> | undefined {
    if (!isPlainObject(message) || message["method"] != null) return undefined;
    if (message["id"] != null) return this.get(message["id"]);
    const isAttributed = attributesErrors && message["error"] !== undefined && this.size === 1;
    return isAttributed ? this.values()[0] : undefined;
  }
}
