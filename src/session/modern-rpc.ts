import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS } from "../transports/http/modern-era.js";
import type { GuardedTransport } from "./safe-transport.js";
import { JsonRpcClient, type SentRequest } from "./json-rpc-client.js";
import type { ErrorContext } from "./rpc-failure.js";
import type { ServerNotification, SessionRequest } from "./session.js";

interface ModernExchangeOptions extends ErrorContext {
  readonly transport: GuardedTransport;
  /** What every request says of itself. */
  readonly envelope: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
}

/** Requests and their answers where each request stands for itself: nothing is agreed on beforehand. */
export class ModernRpc {
  readonly #rpc: JsonRpcClient;
  /** Whoever waits for the server to say that it has begun to tell. */
  readonly #unacknowledged = new Map<number, () => void>();
  #envelope: JsonObject;

  constructor(options: ModernExchangeOptions) {
    this.#envelope = options.envelope;
    const onNotification = (notification: ServerNotification) => {
      if (notification.method === "notifications/subscriptions/acknowledged")
        this.#acknowledge(notification.params);
      else options.onNotification(notification);
    };
    this.#rpc = new JsonRpcClient({ ...options, onNotification }, () => this.#envelope);
  }

  /** From now on, every request asks for log messages of this level. */
  askForLogs(level: unknown): void {
    this.#envelope = { ...this.#envelope, [META_KEYS.logLevel]: level };
  }

  request(request: SessionRequest): Promise<JsonObject> {
    const { holdsInput } = request;
    return this.#rpc.request({ ...request, params: this.#enveloped(request.params, holdsInput) });
  }

  /** Asks the server to tell something unasked, for as long as the request is open. */
  listen(method: string, params: JsonObject, onAcknowledged: () => void): SentRequest {
    const sent = this.#rpc.send({ method, params: this.#enveloped(params) }, (id) =>
      this.#unacknowledged.set(id, onAcknowledged),
    );
    const forget = () => this.#unacknowledged.delete(sent.id);
    sent.answer.then(forget, forget);
    return sent;
  }

  /** The transport is gone: there will be no answers. */
  breakOff(reason: Error): void {
    this.#rpc.breakOff(reason);
  }

  #enveloped(params: JsonObject, holdsInput = false): JsonObject {
    const given = isPlainObject(params["_meta"]) ? params["_meta"] : {};
    const own = holdsInput ? this.#withPerson() : this.#envelope;
    return { ...params, _meta: { ...given, ...own } };
  }

  /** The server may ask a person, whoever else answers. */
  #withPerson(): JsonObject {
    const capabilities = this.#envelope[META_KEYS.clientCapabilities] as JsonObject;
    const elicitation = { form: {}, url: {} };
    return { ...this.#envelope, [META_KEYS.clientCapabilities]: { ...capabilities, elicitation } };
  }

  #acknowledge({ _meta: meta }: JsonObject): void {
    const id = isPlainObject(meta) ? Number(meta[META_KEYS.subscriptionId]) : Number.NaN;
    this.#unacknowledged.get(id)?.();
    this.#unacknowledged.delete(id);
  }
}
