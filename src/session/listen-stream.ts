import { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { delay } from "../async/delay.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { LISTEN_METHOD } from "../transports/http/modern-era.js";
import type { GuardedTransport } from "./safe-transport.js";
import type { ModernRpc } from "./modern-rpc.js";
import type { SentRequest } from "./json-rpc-client.js";
import type { SendStatus, ServerNotification } from "./session.js";

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
  readonly exchange: ModernRpc;
  readonly clock: Clock;
  /** The server's. */
  readonly capabilities: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
}

/** The lists of the server, or the URI of a resource. */
type Wish = typeof LISTS | string;

const LISTS = Symbol("lists");

interface Listening {
  readonly sent: SentRequest;
  /** What it was opened for, besides what was heard before. */
  readonly wish: Wish | undefined;
  /** The server has said that it will tell. */
  readonly acknowledged: Promise<void>;
  readonly acknowledge: () => void;
  readonly isAcknowledged: boolean;
}

/**
 * What a server without sessions is asked to tell unasked: one stream, which is opened anew when
 * something else is wanted, and by itself when it breaks, with growing waits, until it is closed or the
 * server has no such stream. The old stream goes on until the server has taken note of the new one.
 */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #closed = new CancelScope();
  readonly #wishes = new Set<Wish>();
  /** The streams that run, the newest last: each was asked for all that those before it tell. */
  readonly #open = new Set<Listening>();
  #current: Listening | undefined;
  #waitMs = FIRST_WAIT_MS;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** Whatever list of the server changes. Done when the server has taken note. */
  async hearLists(): Promise<void> {
    if (!this.#options.transport.isOneWay) await this.#hear(LISTS);
  }

  /** One resource. Done when the server has taken note. */
  async hearResource(uri: string): Promise<void> {
    if (this.#options.transport.isOneWay) throw this.#cannotTell();
    await this.#hear(uri);
  }

  async forgetResource(uri: string): Promise<void> {
    if (this.#wishes.delete(uri)) await this.#renew();
  }

  /** What was asked of the server last. */
  get lastSent(): SendStatus | undefined {
    return this.#current?.sent;
  }

  /** Who still waits for the server to take note is told the reason. */
  close(reason: Error): void {
    this.#closed.cancel(reason);
    this.#current = undefined;
    for (const { sent } of this.#open) sent.cancel(reason);
    this.#open.clear();
  }

  async #hear(wish: Wish): Promise<void> {
    this.#closed.throwIfCancelled();
    if (this.#wishes.has(wish)) return this.#current?.acknowledged;
    this.#wishes.add(wish);
    const asked = [...this.#wishes];
    const older = [...this.#open];
    try {
      await this.#renew(wish);
    } catch (error) {
      if (!isFinal(error)) throw error;
      await Promise.allSettled(older.map(({ acknowledged }) => acknowledged));
      // What was asked for along with it may have been the reason, and is not wanted any more.
      if (asked.every((other) => other === wish || this.#wishes.has(other))) throw error;
      await this.#hear(wish);
    }
  }

  async #renew(wish?: Wish): Promise<void> {
    const older = [...this.#open];
    const wanted = this.#wanted();
    this.#current = Object.keys(wanted).length === 0 ? undefined : this.#start(wanted, wish);
    await this.#current?.acknowledged;
    for (const listening of older) this.#giveUp(listening);
  }

  /** A newer one tells what it was to tell, also to who still waits for it. */
  #giveUp(listening: Listening): void {
    if (!this.#open.delete(listening)) return;
    listening.acknowledge();
    listening.sent.cancel(undefined);
  }

  #cannotTell(): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" cannot tell of updates: on the way to it nothing but answers comes back. Read the resource again instead.`;
    return new McpRuntimeError("invalid-config", text, { server });
  }

  #wanted(): JsonObject {
    const { capabilities } = this.#options;
    const has = (name: string) =>
      this.#wishes.has(LISTS) &&
      isPlainObject(capabilities[name]) &&
      capabilities[name]["listChanged"] === true;
    const resources = this.#resources();
    return {
      ...(has("tools") ? { toolsListChanged: true } : {}),
      ...(has("prompts") ? { promptsListChanged: true } : {}),
      ...(has("resources") ? { resourcesListChanged: true } : {}),
      ...(resources.length > 0 ? { resourceSubscriptions: resources } : {}),
    };
  }

  #resources(): string[] {
    return [...this.#wishes].filter((wish) => wish !== LISTS);
  }

  #start(notifications: JsonObject, wish: Wish | undefined): Listening {
    let isAcknowledged = false;
    let taken: (() => void) | undefined;
    const taking = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const acknowledge = () => {
      isAcknowledged = true;
      taken?.();
    };
    const sent = this.#options.exchange.listen(LISTEN_METHOD, { notifications }, () => {
      this.#waitMs = FIRST_WAIT_MS;
      acknowledge();
    });
    const ended = sent.answer.then(() => undefined);
    const listening: Listening = {
      sent,
      wish,
      acknowledged: Promise.race([taking, ended]),
      acknowledge,
      get isAcknowledged() {
        return isAcknowledged;
      },
    };
    this.#open.add(listening);
    listening.acknowledged.catch(() => undefined);
    ended.then(
      () => this.#onEnd(listening, undefined),
      (error: unknown) => this.#onEnd(listening, error),
    );
    return listening;
  }

  #onEnd(listening: Listening, error: unknown): void {
    this.#open.delete(listening);
    const isDropped = error !== undefined && this.#drop(listening, error);
    // One that has made room for another may end.
    if (this.#current !== listening || this.#closed.isCancelled) return;
    if (error instanceof Error) this.#options.onError(error);
    const older = error === undefined ? undefined : [...this.#open].at(-1);
    this.#current = older ?? listening;
    const isMissed = older === undefined && isDropped && this.#wishes.size > 0;
    if ((isFinal(error) || isDropped) && !isMissed) return;
    this.#resumeLater(older === undefined ? error : undefined);
  }

  /** Nobody waits for what the server did not take; the lists are wanted all the same, if it may yet. */
  #drop({ wish, isAcknowledged }: Listening, error: unknown): boolean {
    if (wish === undefined || isAcknowledged || (wish === LISTS && !isFinal(error))) return false;
    return this.#wishes.delete(wish);
  }

  #resumeLater(broken: unknown): void {
    const current = this.#current;
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    delay(waitMs, this.#options.clock, this.#closed)
      .then(() => (this.#current === current ? this.#resume(broken) : undefined))
      .catch(() => undefined);
  }

  /** After a break nobody knows what was told meanwhile: resources may be others now. */
  async #resume(broken: unknown): Promise<void> {
    const resources = broken === undefined ? [] : this.#resources();
    await this.#renew();
    for (const uri of resources)
      this.#options.onNotification({ method: "notifications/resources/updated", params: { uri } });
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof McpRuntimeError && FINAL.has(error.kind);
}
