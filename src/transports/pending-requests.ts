import { isPlainObject } from "../json/json.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { classifyMessage, classifyTruncated, parseMessages, type RequestId } from "./json-rpc.js";

/** What a transport does with the messages of a received text. */
export interface ReceiveHandlers<Request> {
  /** A request or notification of the server. */
  readonly onServerMessage: (message: JsonRpcMessage) => void;
  readonly onResponse: (request: Request, message: JsonRpcMessage) => void;
  /** An invalid response of a pending request. `value` is undefined if it is not JSON. */
  readonly onInvalidResponse: (request: Request, reason: string, value: unknown) => void;
  /** A response to a request that is not pending. `value` is the parsed message. */
  readonly onUnmatchedResponse: (value: unknown, reason: string) => void;
  /** A text or message that is not JSON-RPC and belongs to no request. `value` is undefined if it is not JSON. */
  readonly onInvalidMessage: (text: string, reason: string, value: unknown) => void;
}

/** Never the id of a request. */
const NO_REQUEST_ID = "";

/** The requests of one channel that await a response. Responses may arrive in any order. */
export class PendingRequests<Request extends { readonly id: RequestId }> {
  /** Keyed by the id as a string: some servers return numeric ids as strings. */
  readonly #requests = new Map<string, Request>();

  get size(): number {
    return this.#requests.size;
  }

  /** Requests may be deleted while iterating. */
  [Symbol.iterator](): IterableIterator<Request> {
    return this.#requests.values();
  }

  add(request: Request): void {
    this.#requests.set(String(request.id), request);
  }

  delete({ id }: Request): void {
    this.#requests.delete(String(id));
  }

  get(id: unknown): Request | undefined {
    return typeof id === "string" || typeof id === "number" ? this.#requests.get(String(id)) : undefined;
  }

  /**
   * Parses a text with one message or an array of messages, and matches responses to requests. Settled requests
   * are not deleted.
   */
  receive(text: string, handlers: ReceiveHandlers<Request>): void {
    const values = parseMessages(text);
    if (values === undefined) this.#receiveInvalidJson(text, handlers);
    else for (const value of values) this.#receiveValue(value, text, handlers);
  }

  #receiveValue(value: unknown, text: string, handlers: ReceiveHandlers<Request>): void {
    const request = this.#matchResponse(value);
    const classified = classifyMessage(value, request?.id ?? NO_REQUEST_ID);
    if (classified.type === "server-message") handlers.onServerMessage(classified.message);
    else if (request === undefined) {
      if (classified.type === "invalid") handlers.onInvalidMessage(text, classified.reason, value);
      else
        handlers.onUnmatchedResponse(
          value,
          classified.type === "response" ? "it has no request id" : classified.reason,
        );
    } else if (classified.type === "response") handlers.onResponse(request, classified.message);
    else handlers.onInvalidResponse(request, classified.reason, value);
  }

  /** A broken response must fail its request, which would wait for its timeout. */
  #receiveInvalidJson(text: string, handlers: ReceiveHandlers<Request>): void {
    const message = classifyTruncated(text, text);
    const request = message.type === "response" ? this.get(message.id) : undefined;
    const reason = "it is not valid JSON";
    if (request === undefined) handlers.onInvalidMessage(text, reason, undefined);
    else handlers.onInvalidResponse(request, reason, undefined);
  }

  /** Finds the request that a message responds to. An error without an id belongs to the only pending request. */
  #matchResponse(message: unknown): Request | undefined {
    if (!isPlainObject(message) || message["method"] !== undefined) return undefined;
    if (message["id"] != null) return this.get(message["id"]);
    const [only, ...others] = this;
    return message["error"] !== undefined && others.length === 0 ? only : undefined;
  }
}
