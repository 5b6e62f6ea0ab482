import type { Cancellable, CancelScope } from "../async/cancel-scope.js";
import { TransientMap } from "../async/slot-map.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import {
  failureIn,
  isErrorAnswer,
  malformedAnswer,
  toFailureAnswer,
  toRpcError,
} from "../transports/json-rpc.js";
import type { GuardedTransport } from "./safe-transport.js";
import { type ErrorContext, toRpcFailure } from "./rpc-failure.js";
import type { Progress, SendStatus, ServerNotification, SessionRequest } from "./session.js";

interface RpcExchangeOptions extends ErrorContext {
  readonly transport: GuardedTransport;
  /** What the server says unasked; its word on how far a request is goes to that request. */
  readonly onNotification: (notification: ServerNotification) => void;
}

/** What goes along with the word that a request is cancelled; nothing, for most servers. */
type CancelMeta = () => JsonObject | undefined;

/** Requests that are under way, as one of them sees it. */
interface SentRequests {
  wasSent(id: number): boolean;
  cancel(sent: SentRequest, reason: unknown): void;
}

/**
 * A request that is under way. It is told its end by calling it, and not by functions made for it: what
 * such a function can see would keep all of a call alive together.
 */
export class SentRequest implements SendStatus, Cancellable {
  readonly id: number;
  readonly method: string;
  readonly answer: Promise<JsonObject>;
  #resolve: ((result: JsonObject) => void) | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #onProgress: SessionRequest["onProgress"];
  readonly #requests: SentRequests;
  #cancellation: CancelScope | undefined;
  /** Whether it was sent when it was cancelled: the transport knows nothing of it any more. */
  #wasSent: boolean | undefined;

  constructor(
    id: number,
    { method, onProgress }: Pick<SessionRequest, "method" | "onProgress">,
    requests: SentRequests,
  ) {
    this.id = id;
    this.method = method;
    this.#onProgress = onProgress;
    this.#requests = requests;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  wasSent(): boolean {
    return this.#wasSent ?? this.#requests.wasSent(this.id);
  }

  /** Ends with this one, unless the answer comes first. */
  follow(cancellation: CancelScope): void {
    this.#cancellation = cancellation;
    cancellation.attach(this);
  }

  cancel(reason: unknown): void {
    this.#wasSent = this.#requests.wasSent(this.id);
    this.#requests.cancel(this, reason);
  }

  resolve(result: JsonObject): void {
    this.#letGo();
    this.#resolve?.(result);
  }

  reject(reason: unknown): void {
    this.#letGo();
    this.#reject?.(reason);
  }

  progress(told: Progress): void {
    this.#onProgress?.(told);
  }

  /** Of whoever waited for it: they know it, and would be kept with it. */
  #letGo(): void {
    this.#cancellation?.detach(this);
    this.#cancellation = undefined;
    this.#onProgress = undefined;
  }
}

/**
 * Requests and their answers over one transport, matched by id. Our own and not the SDK's, whose client
 * takes as much time for it as the rest of a session, forgets progress that comes together with the
 * answer, and drops an answer with a field too many, so that its caller waits in vain.
 */
export class JsonRpcClient implements SentRequests {
  readonly #options: RpcExchangeOptions;
  readonly #cancelMeta: CancelMeta;
  readonly #waiting = new TransientMap<number, SentRequest>();
  /** The first number belongs to the handshake. */
  #lastId = 0;

  /** Takes over a transport that has been started: whoever listened to its messages hears no more. */
  constructor(options: RpcExchangeOptions, cancelMeta: CancelMeta = () => undefined) {
    this.#options = options;
    this.#cancelMeta = cancelMeta;
    options.transport.onmessage = (message) => this.#take(message);
  }

  /** The server's result as it came. Rejects with `McpRuntimeError`, or with the cancellation's reason. */
  request(request: SessionRequest): Promise<JsonObject> {
    const { cancellation, delivery } = request;
    const sent = this.send(request);
    if (delivery !== undefined) {
      delivery.sending = sent;
      delivery.wireId = this.#options.transport.wireId(sent.id);
    }
    // A transport may have answered while it sent.
    if (this.#waiting.has(sent.id)) sent.follow(cancellation);
    return sent.answer;
  }

  /** A transport may bring something about the request while it sends: `onId` comes before that. */
  send(request: Omit<SessionRequest, "cancellation" | "delivery">, onId?: (id: number) => void): SentRequest {
    const { method, params, headers, context, onProgress } = request;
    this.#lastId += 1;
    const id = this.#lastId;
    const sent = new SentRequest(id, request, this);
    this.#waiting.set(id, sent);
    onId?.(id);
    const said = onProgress === undefined ? params : withProgressToken(params, id);
    void this.#options.transport.send({ jsonrpc: "2.0", id, method, params: said }, { headers, context });
    return sent;
  }

  /** Whether the server may have seen a request. */
  wasSent(id: number): boolean {
    return this.#options.transport.wasSent(id);
  }

  /** Ends it with this reason; the server stops as well, if it may know of it. */
  cancel({ id }: SentRequest, reason: unknown): void {
    if (!this.#waiting.has(id)) return;
    const meta = this.#cancelMeta();
    const params = {
      requestId: id,
      reason: "The caller no longer waits for the answer.",
      ...(meta === undefined ? {} : { _meta: meta }),
    };
    void this.#options.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    this.#take(toFailureAnswer(id, reason));
  }

  /** The transport is gone: there will be no answers. */
  breakOff(reason: Error): void {
    for (const sent of this.#waiting.all()) sent.reject(reason);
    this.#waiting.clear();
  }

  #take(message: JsonRpcMessage): void {
    // A server's stream may bring anything.
    if (!isPlainObject(message)) return this.#stray("something that is no message");
    const { method, params } = message;
    if (typeof method === "string") this.#hear({ method, params: isPlainObject(params) ? params : {} });
    else this.#settle(message);
  }

  #settle(message: JsonRpcMessage): void {
    const { id, result, error } = message;
    const sent = this.#of(id);
    if (sent === undefined) return this.#stray("an answer that nobody waits for");
    this.#waiting.delete(sent.id);
    if (isErrorAnswer(message)) sent.reject(this.#toFailure(error, sent.method));
    else if (isPlainObject(result)) sent.resolve(result);
    else sent.reject(malformedAnswer(this.#options, "its result is not an object"));
  }

  #toFailure(error: unknown, method: string): unknown {
    const { server, redactor } = this.#options;
    const ours = isPlainObject(error) ? failureIn(error["data"]) : undefined;
    return ours === undefined ? toRpcFailure(toRpcError(error), { server, redactor, method }) : ours.reason;
  }

  #hear(notification: ServerNotification): void {
    if (notification.method !== "notifications/progress") {
      this.#options.onNotification(notification);
      return;
    }
    const { progressToken, progress, total, message } = notification.params;
    // What is no progress must not pass for a sign of life.
    if (typeof progress !== "number") return;
    this.#of(progressToken)?.progress({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  /** Some servers send numbers back as texts. */
  #of(id: unknown): SentRequest | undefined {
    return typeof id === "number" || typeof id === "string" ? this.#waiting.get(Number(id)) : undefined;
  }

  #stray(what: string): void {
    this.#options.transport.onerror?.(new Error(`The server sent ${what}.`));
  }
}

function withProgressToken(params: JsonObject, progressToken: number): JsonObject {
  // What is spread comes last: Node 20 takes ten times as long to add to a copy.
  if (!("_meta" in params)) return { _meta: { progressToken }, ...params };
  const given = isPlainObject(params["_meta"]) ? params["_meta"] : {};
  return { ...params, _meta: { ...given, progressToken } };
}
