import { isPlainObject } from "../json/json.js";
import type { RequestId } from "./json-rpc.js";

/** Requests that wait for their answers on one channel, where these come in whatever order. */
export class OpenRequests<Request extends { readonly id: RequestId }> {
  /** By id as a text: some servers send numbers back as texts. */
  readonly #requests = new Map<string, Request>();

  get size(): number {
    return this.#requests.size;
  }

  /** They may be deleted on the way. */
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

  /** The one that a message answers. An error without an id answers the only one there is. */
  answeredBy(message: unknown): Request | undefined {
    if (!isPlainObject(message) || message["method"] !== undefined) return undefined;
    if (message["id"] != null) return this.get(message["id"]);
    const [only, ...others] = this;
    return message["error"] !== undefined && others.length === 0 ? only : undefined;
  }
}
