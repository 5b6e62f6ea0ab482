import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import type { FailureContext } from "../http/http-errors.js";
import {
  isRequest,
  malformedAnswer,
  type RequestId,
  sortReceived,
  toFailureAnswer,
  toJsonText,
} from "../json-rpc.js";
import { messagesOf } from "./lambda-response.js";
import type { LambdaFunction } from "./lambda-function.js";

interface LambdaTransportOptions extends FailureContext {
  readonly clock: Clock;
}

/** How long a notification may take. */
const MAX_ASIDE_MS = 5_000;

/**
 * A server in a Lambda function: every message is an invocation of its own, and what the function
 * returns is the answer. There is no session, and the server cannot speak unasked.
 */
export class LambdaTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly isOneWay = true;
  readonly #function: LambdaFunction;
  readonly #options: LambdaTransportOptions;
  readonly #requests = new Map<RequestId, AbortController>();
  readonly #asides = new Set<AbortController>();
  #isClosed = false;

  constructor(invoked: LambdaFunction, options: LambdaTransportOptions) {
    this.#function = invoked;
    this.#options = options;
  }

  async start(): Promise<void> {
    // Nothing to open: the first request brings its connection.
  }

  async send(message: JsonRpcMessage): Promise<void> {
    const text = toJsonText(message, this.#options.server);
    if (isRequest(message)) void this.#request(message.id, text);
    // The function that runs cannot be reached: told of it, AWS would start another.
    else if (message.method === "notifications/cancelled") this.#cancel(message.params?.["requestId"]);
    else await this.#notify(text);
  }

  wasSent(id: RequestId): boolean {
    const controller = this.#requests.get(id);
    return controller === undefined || this.#function.wasSent(controller.signal);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const controllers = [...this.#requests.values(), ...this.#asides];
    this.#requests.clear();
    for (const controller of controllers) controller.abort();
    this.onclose?.();
  }

  async #request(id: RequestId, text: string): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(id, controller);
    const messages = await this.#invoke(id, text, controller.signal);
    // Nobody waits for a request that was cancelled.
    if (!this.#requests.delete(id)) return;
    for (const message of messages) this.onmessage?.(message);
  }

  /** The answer, and before it what else the function said; a failure has the shape of an answer. */
  async #invoke(id: RequestId, text: string, signal: AbortSignal): Promise<JsonRpcMessage[]> {
    try {
      const returned = await this.#function.invoke(text, signal);
      const calls: JsonRpcMessage[] = [];
      for (const value of messagesOf(returned, this.#options)) {
        const received = sortReceived(value, id);
        if (received.is === "answer") return [...calls, received.message];
        if (received.is === "call") calls.push(received.message);
        else throw malformedAnswer(this.#options, received.why);
      }
      throw malformedAnswer(this.#options, "it has everything but the answer");
    } catch (failure) {
      return [toFailureAnswer(id, failure)];
    }
  }

  #cancel(id: unknown): void {
    const controller = this.#requests.get(id as RequestId);
    this.#requests.delete(id as RequestId);
    controller?.abort();
  }

  /** What a function returns for a notification says nothing, and none may hold us up for good. */
  async #notify(text: string): Promise<void> {
    const controller = new AbortController();
    const stopTimer = this.#options.clock.after(MAX_ASIDE_MS, () => controller.abort());
    this.#asides.add(controller);
    try {
      await this.#function.invoke(text, controller.signal);
    } finally {
      stopTimer();
      this.#asides.delete(controller);
    }
  }
}
