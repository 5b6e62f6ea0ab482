import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { delay } from "../concurrency/delay.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { LISTEN_METHOD } from "../transports/request-envelope.js";
import type { GuardedTransport } from "./guarded-transport.js";
import type { ModernExchange } from "./modern-exchange.js";
import type { SentRequest } from "./rpc-exchange.js";
import type { ServerNotification } from "./session.js";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Asked again, the server would say the same. */
const FINAL: ReadonlySet<FailureKind> = new Set([
  "not-found",
  "invalid-request",
  "unauthorized",
  "unsupported-protocol",
]);

interface SubscriptionOptions {
  readonly server: string;
  readonly transport: Pick<GuardedTransport, "isOneWay">;
  readonly exchange: ModernExchange;
  readonly clock: Clock;
  /** The server's. */
  readonly capabilities: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
}

interface Listening {
  readonly sent: SentRequest;
  /** The server has said that it will tell. */
  readonly acknowledged: Promise<void>;
}

/**
 * What a server without sessions is asked to tell unasked: one stream, which is opened anew when
 * something else is wanted, before the old one is given up, and by itself when it breaks, with growing
 * waits, until it is closed or the server has no such stream.
 */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #closed = new Cancellation();
  readonly #resources = new Set<string>();
  #wantsLists = false;
  #current: Listening | undefined;
  #waitMs = FIRST_WAIT_MS;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** Whatever list of the server changes. Done when the server has taken note. */
  async hearLists(): Promise<void> {
    if (this.#options.transport.isOneWay) return;
    if (this.#wantsLists) return this.#current?.acknowledged;
    this.#wantsLists = true;
    await this.#renew();
  }

  /** One resource. Done when the server has taken note. */
  async hearResource(uri: string): Promise<void> {
    if (this.#options.transport.isOneWay) throw this.#cannotTell();
    if (this.#resources.has(uri)) return this.#current?.acknowledged;
    this.#resources.add(uri);
    try {
      await this.#renew();
    } catch (error) {
      this.#resources.delete(uri);
      throw error;
    }
  }

  async forgetResource(uri: string): Promise<void> {
    if (this.#resources.delete(uri)) await this.#renew();
  }

  close(): void {
    this.#closed.cancel(undefined);
    this.#giveUp(this.#current);
    this.#current = undefined;
  }

  #giveUp(listening: Listening | undefined): void {
    if (listening !== undefined) this.#options.exchange.cancel(listening.sent, undefined);
  }

  async #renew(): Promise<void> {
    const before = this.#current;
    const wanted = this.#wanted();
    this.#current = Object.keys(wanted).length === 0 ? undefined : this.#start(wanted);
    try {
      await this.#current?.acknowledged;
    } finally {
      this.#giveUp(before);
    }
  }

  #cannotTell(): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" cannot tell of updates: on the way to it nothing but answers comes back. Read the resource again instead.`;
    return new McpRuntimeError("definition", text, { server });
  }

  #wanted(): JsonObject {
    const { capabilities } = this.#options;
    const has = (name: string) =>
      this.#wantsLists && isJsonObject(capabilities[name]) && capabilities[name]["listChanged"] === true;
    return {
      ...(has("tools") ? { toolsListChanged: true } : {}),
      ...(has("prompts") ? { promptsListChanged: true } : {}),
      ...(has("resources") ? { resourcesListChanged: true } : {}),
      ...(this.#resources.size > 0 ? { resourceSubscriptions: [...this.#resources] } : {}),
    };
  }

  #start(notifications: JsonObject): Listening {
    let acknowledge: (() => void) | undefined;
    const acknowledging = new Promise<void>((resolve) => {
      acknowledge = resolve;
    });
    const sent = this.#options.exchange.listen(LISTEN_METHOD, { notifications }, () => {
      this.#waitMs = FIRST_WAIT_MS;
      acknowledge?.();
    });
    const ended = sent.answer.then(() => undefined);
    const listening = { sent, acknowledged: Promise.race([acknowledging, ended]) };
    listening.acknowledged.catch(() => undefined);
    ended.then(
      () => this.#onEnd(listening, undefined),
      (error: unknown) => this.#onEnd(listening, error),
    );
    return listening;
  }

  /** One that has made room for another may end. */
  #onEnd(listening: Listening, error: unknown): void {
    if (this.#current !== listening || this.#closed.isCancelled) return;
    if (error instanceof Error) this.#options.onError(error);
    if (error instanceof McpRuntimeError && FINAL.has(error.kind)) return;
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    delay(waitMs, this.#options.clock, this.#closed)
      .then(() => (this.#current === listening ? this.#resume(error) : undefined))
      .catch(() => undefined);
  }

  /** After a break nobody knows what was told meanwhile: resources may be others now. */
  async #resume(broken: unknown): Promise<void> {
    const resources = broken === undefined ? [] : [...this.#resources];
    await this.#renew();
    for (const uri of resources)
      this.#options.onNotification({ method: "notifications/resources/updated", params: { uri } });
  }
}
