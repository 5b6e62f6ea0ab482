import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS } from "../transports/http/modern-era.js";
import { JsonRpcClient, type PendingRequest } from "./json-rpc-client.js";
import type { SafeTransport } from "./safe-transport.js";
import type { ErrorContext } from "./session-errors.js";
import type { ServerNotification, SessionRequest } from "./session.js";

interface ModernRpcOptions extends ErrorContext {
  readonly transport: SafeTransport;
  /** The `_meta` entries of every request. */
  readonly envelope: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
}

/** JSON-RPC of the modern era, where every request carries its own envelope. */
export class ModernRpc {
  readonly #rpc: JsonRpcClient;
  /** Callbacks of listen requests that the server has not acknowledged yet, by request id. */
  readonly #pendingAcks = new Map<number, () => void>();
  #envelope: JsonObject;

  constructor(options: ModernRpcOptions) {
    this.#envelope = options.envelope;
    const onNotification = (notification: ServerNotification) => {
      if (notification.method === "notifications/subscriptions/acknowledged")
        this.#acknowledge(notification.params);
      else options.onNotification(notification);
    };
    this.#rpc = new JsonRpcClient({ ...options, onNotification }, () => this.#envelope);
  }

  /** Adds the log level to the envelope of all later requests. */
  setLogLevel(level: unknown): void {
    this.#envelope = { ...this.#envelope, [META_KEYS.logLevel]: level };
  }

  request(request: SessionRequest): Promise<JsonObject> {
    const { deferInput } = request;
    return this.#rpc.request({ ...request, params: this.#withEnvelope(request.params, deferInput) });
  }

  /** Sends a request whose notifications arrive for as long as it is pending. */
  listen(method: string, params: JsonObject, onAcknowledged: () => void): PendingRequest {
    const request = this.#rpc.send({ method, params: this.#withEnvelope(params) }, (id) =>
      this.#pendingAcks.set(id, onAcknowledged),
    );
    const removeAck = () => this.#pendingAcks.delete(request.id);
    request.response.then(removeAck, removeAck);
    return request;
  }

  /** Rejects all pending requests, after the transport has closed. */
  rejectAll(reason: Error): void {
    this.#rpc.rejectAll(reason);
  }

  #withEnvelope(params: JsonObject, deferInput = false): JsonObject {
    const requestMeta = isPlainObject(params["_meta"]) ? params["_meta"] : {};
    const envelope = deferInput ? this.#withElicitation() : this.#envelope;
    return { ...params, _meta: { ...requestMeta, ...envelope } };
  }

  /** Declares elicitation for a request whose caller answers it, even without elicitation handlers. */
  #withElicitation(): JsonObject {
    const capabilities = this.#envelope[META_KEYS.clientCapabilities] as JsonObject;
    const elicitation = { form: {}, url: {} };
    return { ...this.#envelope, [META_KEYS.clientCapabilities]: { ...capabilities, elicitation } };
  }

  #acknowledge({ _meta: meta }: JsonObject): void {
    const id = isPlainObject(meta) ? Number(meta[META_KEYS.subscriptionId]) : Number.NaN;
    this.#pendingAcks.get(id)?.();
    this.#pendingAcks.delete(id);
  }
}
