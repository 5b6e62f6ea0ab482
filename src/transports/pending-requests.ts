import { isPlainObject } from "../json/json.js";
import type { RequestId } from "./json-rpc.js";

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

  /** Finds the request that a message responds to. An error without an id belongs to the only pending request. */
  matchResponse(message: unknown): Request | undefined {
    if (!isPlainObject(message) || message["method"] !== undefined) return undefined;
    if (message["id"] != null) return this.get(message["id"]);
    const [only, ...others] = this;
    return message["error"] !== undefined && others.length === 0 ? only : undefined;
  }
}
