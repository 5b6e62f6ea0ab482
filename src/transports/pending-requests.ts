import type { Cancellable, CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { SlotMap } from "../async/slot-map.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import {
  classifyTruncated,
  describeOtherResponse,
  type ErrorContext,
  invalidResponseError,
  isResponse,
  isServerMessage,
  looksLikeMessage,
  NOT_JSON_RPC,
  parseMessages,
  readResponse,
  type RequestId,
  type RpcRequest,
  UNMATCHED_RESPONSE,
  unprocessableError,
  UnreadableMessage,
} from "./json-rpc.js";
import {
  MAX_REPORTED_ERRORS,
  type RequestTracker,
  type SendStatus,
  type Transport,
  type TransportRequestOptions,
} from "./transport.js";

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
    this.#owner.onResponse();
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

/** What an ignored message costs that looked like a message, so that it was parsed. Other text on stdout costs 1. */
const PARSED_COST = 10;
/** How much may be ignored within `IGNORED_WINDOW_MS` and without a response in between. */
const MAX_IGNORED_COST = 100_000;
const IGNORED_WINDOW_MS = 10_000;

export interface BaseTransportOptions extends ErrorContext {
  readonly clock: Clock;
}

/** What all transports have in common: their handlers, their pending requests, and what happens to those. */
export abstract class BaseTransport<Wire extends WireRequest> {
  onmessage: Transport["onmessage"];
  oncancel: Transport["oncancel"];
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  isClosed = false;
  protected readonly pending: PendingRequests<Wire>;
  readonly #clock: Clock;
  readonly #server: string;
  #ignoredSince = Number.NEGATIVE_INFINITY;
  #ignoredMessages = 0;
  #ignoredCost = 0;
  #reports = 0;

  constructor(options: BaseTransportOptions) {
    this.pending = new PendingRequests(options, this);
    this.#clock = options.clock;
    this.#server = options.server;
  }

  /** The caller no longer waits: the transport stops sending the request, or notifies the server. */
  abstract onCancelled(request: PendingRequest<Wire>): void;
  /** A request was resolved, rejected or cancelled. */
  onSettled?(request: PendingRequest<Wire>): void;
  /** What the server sent ends the session: the transport closes. No exception reaches the stream it was read from. */
  onFailure?(failure: McpRuntimeError): void;
  /** Whether an invalid message without a known id fails the only pending request. */
  isAttributed?(text: string, value: unknown): boolean;

  /** A request or notification of the server, except progress. */
  onServerMessage(message: JsonRpcMessage): void {
    this.onmessage?.(message);
  }

  /** Reports a message that is ignored. Not called for all of them. */
  onIgnored(_text: string, reason: string): void {
    this.onerror?.(new Error(`sent an unexpected message: ${reason}`));
  }

  /**
   * Counts a message that is ignored, and reports the first ones. A server that sends too many in a row is not an MCP
   * server, or wants to keep this process busy: its session ends.
   */
  ignore(text: string, reason: string, cost = PARSED_COST): void {
    const now = this.#clock.now();
    if (now - this.#ignoredSince > IGNORED_WINDOW_MS) {
      this.onResponse();
      this.#ignoredSince = now;
    }
    this.#ignoredMessages += 1;
    this.#ignoredCost += cost;
    this.#reports += 1;
    if (this.#ignoredCost > MAX_IGNORED_COST) this.onFailure?.(this.#createIgnoredError(reason));
    else if (this.#reports <= MAX_REPORTED_ERRORS) this.onIgnored(text, reason);
  }

  /** A pending request got its response. */
  onResponse(): void {
    this.#ignoredMessages = 0;
    this.#ignoredCost = 0;
  }

  /** Closes the transport and rejects its requests, once. Returns false if it was already closed. */
  protected end(toReason: (request: PendingRequest<Wire>) => unknown): boolean {
    if (this.isClosed) return false;
    this.isClosed = true;
    this.pending.rejectAll(toReason);
    return true;
  }

  #createIgnoredError(reason: string): McpRuntimeError {
    const server = this.#server;
    const text = `Server "${server}" sent ${this.#ignoredMessages} messages in a row that cannot be used (the last one: ${reason}); the session was closed.`;
    return new McpRuntimeError("invalid-response", text, { server, outcomeUnknown: true });
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
    if (this.#transport.isClosed) return false;
    try {
      return this.#receive(text, attributesErrors);
    } catch (error) {
      this.#transport.onFailure?.(unprocessableError(this.context, error));
      return false;
    }
  }

  /** A message on the stream of a request is ignored. */
  ignore(reason: string): void {
    this.#transport.ignore("", reason);
  }

  /** What was read for a request ends the session. */
  fail(failure: McpRuntimeError): void {
    this.#transport.onFailure?.(failure);
  }

  /** A request got its response. */
  onResponse(): void {
    this.#transport.onResponse();
  }

  /** Reports progress to its request and passes any other message to the transport. */
  receiveServerMessage(message: JsonRpcMessage): void {
    const { method, params } = message;
    if (method !== "notifications/progress") this.#transport.onServerMessage(message);
    else if (isPlainObject(params)) this.get(params["progressToken"])?.reportProgress(params);
  }

  #receive(text: string, attributesErrors: boolean): boolean {
    const values = parseMessages(text);
    if (typeof values === "string") {
      this.#receiveInvalidText(text, values);
      return false;
    }
    let isJsonRpc = false;
    let firstProblem: string | undefined;
    for (const value of values) {
      const problem = this.#receiveValue(value, text, attributesErrors);
      if (this.#transport.isClosed) return true;
      isJsonRpc ||= problem !== NOT_JSON_RPC;
      firstProblem ??= problem;
    }
    // Once for a text: an array that a server prints is one line of output, however many values it has.
    if (firstProblem !== undefined) this.#transport.ignore(text, firstProblem);
    return isJsonRpc;
  }

  /** A broken response must fail its request, which would wait for its timeout. */
  #receiveInvalidText(text: string, reason: string): void {
    const truncated = looksLikeMessage(text) ? classifyTruncated(text, text) : undefined;
    const request =
      truncated?.type === "response" ? this.get(truncated.id) : this.#findAttributed(text, undefined);
    if (request === undefined) this.#transport.ignore(text, reason);
    else request.reject(invalidResponseError(this.context, reason));
  }

  /** Returns why a message is ignored. */
  #receiveValue(value: unknown, text: string, attributesErrors: boolean): string | undefined {
    if (value instanceof UnreadableMessage) return this.receiveUnreadable(value, attributesErrors);
    if (isServerMessage(value)) {
      this.receiveServerMessage(value);
      return undefined;
    }
    const request = this.#findByResponse(value, attributesErrors);
    const isValid = isResponse(value);
    if (request !== undefined && isValid) {
      request.receive(value);
      return undefined;
    }
    const failed = request ?? this.#findAttributed(text, value);
    if (failed === undefined) return isValid ? UNMATCHED_RESPONSE : NOT_JSON_RPC;
    const reason = isValid ? describeOtherResponse(value) : NOT_JSON_RPC;
    failed.reject(invalidResponseError(this.context, reason));
    return undefined;
  }

  /**
   * Fails the request that an unreadable message responds to. If that is unknown, all pending requests would wait for their
   * timeouts, so the session ends. Returns why the message is ignored.
   */
  receiveUnreadable(message: UnreadableMessage, isResponseExpected = true): string | undefined {
    const { reason, id, isServerMessage: hasMethod } = message;
    const request = hasMethod ? undefined : this.get(id);
    if (request === undefined && (hasMethod || id !== undefined || !isResponseExpected)) return reason;
    if (request !== undefined) request.reject(invalidResponseError(this.context, reason));
    else this.fail(invalidResponseError(this.context, `${reason}, and it may respond to any request`));
    return undefined;
  }

  /** Finds the request that a message responds to. An error without an id may be attributed to the only pending request. */
  #findByResponse(message: unknown, attributesErrors: boolean): PendingRequest<Wire> | undefined {
    if (!isPlainObject(message) || message["method"] != null) return undefined;
    if (message["id"] != null) return this.get(message["id"]);
    const isAttributed = attributesErrors && message["error"] !== undefined && this.size === 1;
    return isAttributed ? this.values()[0] : undefined;
  }

  /** Finds the only pending request if an invalid message fails it. */
  #findAttributed(text: string, value: unknown): PendingRequest<Wire> | undefined {
    const isAttributed = this.size === 1 && this.#transport.isAttributed?.(text, value) === true;
    return isAttributed ? this.values()[0] : undefined;
  }
}
