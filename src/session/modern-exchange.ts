import type { CallContext } from "../definitions/call-context.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { JsonRpcMessage } from "../definitions/message-transport.js";
import { failureIn, malformedAnswer, toFailureAnswer } from "../transports/json-rpc.js";
import { META_KEYS } from "../transports/request-envelope.js";
import type { GuardedTransport } from "./guarded-transport.js";
import { type ErrorContext, toRpcFailure } from "./rpc-failure.js";
import type { Progress, ServerNotification } from "./session.js";

interface ModernExchangeOptions extends ErrorContext {
  readonly transport: GuardedTransport;
  /** What every request says of itself. */
  readonly envelope: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
}

export interface ModernRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly context?: CallContext | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The server may ask a person, whoever else answers. */
  readonly holdsInput?: boolean | undefined;
  /** The server says that it has begun to tell what it was asked to. */
  readonly onAcknowledged?: (() => void) | undefined;
}

/** A request that is under way. */
export interface SentRequest {
  readonly id: number;
  readonly answer: Promise<JsonObject>;
  /** Whether the server may have seen it. */
  wasSent(): boolean;
  /** Ends it with this reason; the server stops as well, if it knows of it. */
  cancel(reason: unknown): void;
}

interface Waiting extends Pick<ModernRequest, "onProgress" | "onAcknowledged"> {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (reason: unknown) => void;
}

/** Requests and their answers where each request stands for itself: nothing is agreed on beforehand. */
export class ModernExchange {
  readonly #options: ModernExchangeOptions;
  readonly #waiting = new Map<number, Waiting>();
  #envelope: JsonObject;
  #lastId = 0;

  constructor(options: ModernExchangeOptions) {
    this.#options = options;
    this.#envelope = options.envelope;
    options.transport.onmessage = (message) => this.#take(message);
  }

  /** From now on, every request asks for log messages of this level. */
  askForLogs(level: unknown): void {
    this.#envelope = { ...this.#envelope, [META_KEYS.logLevel]: level };
  }

  send(request: ModernRequest): SentRequest {
    const { method, params, headers, context, onProgress, onAcknowledged, holdsInput } = request;
    const { transport } = this.#options;
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<JsonObject>((resolve, reject) =>
      this.#waiting.set(id, { resolve, reject, onProgress, onAcknowledged }),
    );
    const given = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const token = onProgress === undefined ? {} : { progressToken: id };
    const _meta = { ...given, ...token, ...(holdsInput === true ? this.#withPerson() : this.#envelope) };
    void transport.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }, { headers, context });
    return {
      id,
      answer,
      wasSent: () => transport.wasSent(id),
      cancel: (reason) => this.#cancel(id, reason),
    };
  }

  #withPerson(): JsonObject {
    const capabilities = this.#envelope[META_KEYS.clientCapabilities] as JsonObject;
    const elicitation = { form: {}, url: {} };
    return { ...this.#envelope, [META_KEYS.clientCapabilities]: { ...capabilities, elicitation } };
  }

  /** The transport is gone: there will be no answers. */
  breakOff(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  #cancel(id: number, reason: unknown): void {
    if (!this.#waiting.has(id)) return;
    const said = "The caller no longer waits for the answer.";
    const params = { requestId: id, reason: said, _meta: this.#envelope };
    void this.#options.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    this.#take(toFailureAnswer(id, reason));
  }

  #take(message: JsonRpcMessage): void {
    // A server's stream may bring anything.
    if (!isJsonObject(message)) return;
    if (message.method === undefined) this.#settle(message);
    else this.#hear({ method: message.method, params: isJsonObject(message.params) ? message.params : {} });
  }

  #settle({ id, result, error }: JsonRpcMessage): void {
    const waiting = this.#of(id);
    if (waiting === undefined) return;
    this.#waiting.delete(Number(id));
    if (error !== undefined)
      waiting.reject(failureIn(error.data)?.reason ?? toRpcFailure(error, this.#options));
    else if (isJsonObject(result)) waiting.resolve(result);
    else waiting.reject(malformedAnswer(this.#options, "its result is not an object"));
  }

  #hear({ method, params }: ServerNotification): void {
    if (method === "notifications/progress") {
      const { progressToken, progress } = params;
      // What is no progress must not pass for a sign of life.
      if (typeof progress === "number") this.#of(progressToken)?.onProgress?.(params as unknown as Progress);
      return;
    }
    if (method === "notifications/subscriptions/acknowledged") {
      const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
      this.#of(meta[META_KEYS.subscriptionId])?.onAcknowledged?.();
      return;
    }
    this.#options.onNotification({ method, params });
  }

  /** Some servers send numbers back as texts. */
  #of(id: unknown): Waiting | undefined {
    return typeof id === "number" || typeof id === "string" ? this.#waiting.get(Number(id)) : undefined;
  }
}
