import type { JsonRpcMessage } from "../../config/message-transport.js";
import { isRequest, MAX_REQUEST_ID_CHARS, MAX_SERVER_REQUESTS, type RequestId } from "../json-rpc.js";

/**
 * The requests that a server waits for, and the streams on which it has sent them. They end with their stream, because the
 * server can no longer cancel them.
 */
export class ServerRequestStreams {
  readonly #streams = new Map<RequestId, object>();

  /** Called with each message of the server, before it is handled. */
  onReceived(message: JsonRpcMessage, stream: object): void {
    const { method, params } = message;
    if (method === "notifications/cancelled") this.#streams.delete(params?.["requestId"] as RequestId);
    // A ping is answered at once.
    if (method === "ping" || !isRequest(message)) return;
    const { id } = message;
    // A request with another id is ignored.
    if (typeof id === "string" ? id.length > MAX_REQUEST_ID_CHARS : typeof id !== "number") return;
    this.#streams.set(id, stream);
    if (this.#streams.size <= MAX_SERVER_REQUESTS) return;
    // No more than this run at a time, so the server has cancelled some of them on another stream.
    const [oldest] = this.#streams.keys();
    if (oldest !== undefined) this.#streams.delete(oldest);
  }

  /** Called with each message to the server: a response ends its request. */
  onSent({ method, id }: JsonRpcMessage): void {
    if (method === undefined && id !== undefined) this.#streams.delete(id);
  }

  /** Removes the requests of a stream that has ended. Returns their ids. */
  take(stream: object): readonly RequestId[] {
    const ids: RequestId[] = [];
    for (const [id, origin] of this.#streams) if (origin === stream) ids.push(id);
    for (const id of ids) this.#streams.delete(id);
    return ids;
  }
}
