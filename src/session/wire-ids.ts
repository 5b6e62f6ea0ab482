import { randomBytes } from "node:crypto";
import { isPlainObject } from "../json/json.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { isRequest, type RequestId } from "../transports/json-rpc.js";

/**
 * Request ids as they travel on a session that others use as well. Every process counts from 0, and a
 * server gives the answer to 3 to whoever else has asked with 3: so each connection puts something of
 * its own before its numbers. The ids and progress tokens above stay as they are.
 */
export class WireIds {
  readonly #prefix = `${randomBytes(8).toString("hex")}-`;

  toWire(id: RequestId): string {
    return `${this.#prefix}${id}`;
  }

  /** A message as it is sent. */
  outgoing(message: JsonRpcMessage): JsonRpcMessage {
    if (isRequest(message)) return this.#withToken({ ...message, id: this.toWire(message.id) }, message.id);
    if (message.method !== "notifications/cancelled") return message;
    const { params } = message;
    return { ...message, params: { ...params, requestId: this.toWire(params?.["requestId"] as RequestId) } };
  }

  /** A message as it is known above. What belongs to others is left as it is: it has no such id. */
  incoming(message: JsonRpcMessage): JsonRpcMessage {
    // A server's stream may bring anything.
    if (!isPlainObject(message)) return message;
    const { method, params } = message;
    if (method === undefined) {
      const id = this.#fromWire(message.id);
      return id === undefined ? message : { ...message, id };
    }
    if (method !== "notifications/progress" || !isPlainObject(params)) return message;
    const progressToken = this.#fromWire(params["progressToken"]);
    return progressToken === undefined ? message : { ...message, params: { ...params, progressToken } };
  }

  #withToken(message: JsonRpcMessage, id: RequestId): JsonRpcMessage {
    const meta = message.params?.["_meta"];
    if (!isPlainObject(meta) || meta["progressToken"] !== id) return message;
    const _meta = { ...meta, progressToken: this.toWire(id) };
    return { ...message, params: { ...message.params, _meta } };
  }

  #fromWire(id: unknown): number | undefined {
    if (typeof id !== "string" || !id.startsWith(this.#prefix)) return undefined;
    return Number(id.slice(this.#prefix.length));
  }
}
