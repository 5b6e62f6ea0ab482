import { CancelScope } from "../async/cancel-scope.js";
import { type Clock, delay } from "../async/clock.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS } from "../transports/http/modern-era.js";
import { isSameId, type RequestId } from "../transports/json-rpc.js";
import type { RequestTracker, SendStatus, TransportRequestOptions } from "../transports/transport.js";
import type { ServerNotification } from "./session.js";

const INITIAL_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/** Failures that would occur again. */
const PERMANENT_KINDS: ReadonlySet<FailureKind> = new Set([
  "not-found",
  "invalid-request",
  "unauthorized",
  "unsupported-protocol",
]);

interface ListenStreamOptions {
  readonly server: string;
  readonly canReceiveUnsolicited: boolean;
  /** Whether the stream keeps the process alive, also while it is about to be reopened. */
  readonly holdsProcess: () => boolean;
  /** Sends a listen request. Its notifications arrive for as long as it is pending. */
  readonly listen: (params: JsonObject, options: TransportRequestOptions) => Promise<JsonObject>;
  readonly clock: Clock;
  /** The server's capabilities. */
  readonly capabilities: JsonObject;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
}

/** Whether no caller waits for the stream, so that requesting it must not start a login. */
type ListenOptions = Pick<TransportRequestOptions, "isBackground">;

const BACKGROUND: ListenOptions = { isBackground: true };

/** All list changes, or the URI of a resource. */
type Topic = typeof LIST_CHANGES | string;

const LIST_CHANGES = Symbol("lists");

/** One request of the listen method. */
class StreamAttempt implements RequestTracker {
  readonly cancellation = new CancelScope();
  sendStatus: SendStatus | undefined;
  wireId: RequestId | undefined;
  isAcknowledged = false;
  /** The topic that was added with this stream. */
  readonly topic: Topic | undefined;
  /** Resolves when the server has acknowledged the stream or has ended it; rejects when it failed. */
  readonly acknowledged: Promise<void>;
  #settle: { resolve(): void; reject(reason: unknown): void } | undefined;

  constructor(topic: Topic | undefined) {
    this.topic = topic;
    this.acknowledged = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.acknowledged.catch(() => undefined);
  }

  acknowledge(): void {
    this.isAcknowledged = true;
    this.#settle?.resolve();
  }

  end(error: unknown): void {
    if (error === undefined) this.#settle?.resolve();
    else this.#settle?.reject(error);
  }
}

/**
 * Receives change notifications from a server of the modern era over one stream. The stream is replaced
 * when the topics change and reopened with backoff when it ends, until it is closed or the server rejects
 * it permanently. A replaced stream stays open until the server has acknowledged the new one.
 */
export class ListenStream {
  readonly #options: ListenStreamOptions;
  readonly #closed = new CancelScope();
  readonly #topics = new Set<Topic>();
  /** The open streams, newest last. Each covers all topics of the ones before it. */
  readonly #streams = new Set<StreamAttempt>();
  #current: StreamAttempt | undefined;
  #delayMs = INITIAL_DELAY_MS;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
  }

  /** Subscribes to all list changes. Resolves when the server has acknowledged it. */
  async subscribeLists(): Promise<void> {
    if (this.#options.canReceiveUnsolicited) await this.#subscribe(LIST_CHANGES, BACKGROUND);
  }

  /** Subscribes to updates of one resource. Resolves when the server has acknowledged it. */
  async subscribeResource(uri: string, options: ListenOptions): Promise<void> {
    if (!this.#options.canReceiveUnsolicited) throw this.#unsupportedError();
    await this.#subscribe(uri, options);
  }

  async unsubscribeResource(uri: string, options: ListenOptions): Promise<void> {
    if (this.#topics.delete(uri)) await this.#reopen(options);
  }

  /** The send status of the most recent listen request. */
  get lastRequest(): SendStatus | undefined {
    return this.#current?.sendStatus;
  }

  /** Called with the params of the notification that the server has accepted a stream. */
  acknowledge({ _meta: meta, notifications }: JsonObject): void {
    const id = isPlainObject(meta) ? meta[META_KEYS.subscriptionId] : undefined;
    const stream = [...this.#streams].find(({ wireId }) => wireId !== undefined && isSameId(id, wireId));
    if (stream === undefined || stream.isAcknowledged) return;
    if (typeof stream.topic === "string" && isDeclined(stream.topic, notifications)) {
      stream.cancellation.cancel(this.#declinedError(stream.topic));
      return;
    }
    this.#delayMs = INITIAL_DELAY_MS;
    stream.acknowledge();
  }

  /** Rejects pending subscriptions with the reason. */
  close(reason: Error): void {
    this.#closed.cancel(reason);
    this.#current = undefined;
    for (const { cancellation } of this.#streams) cancellation.cancel(reason);
    this.#streams.clear();
  }

  async #subscribe(topic: Topic, options: ListenOptions): Promise<void> {
    this.#closed.throwIfCancelled();
    if (this.#topics.has(topic)) return this.#current?.acknowledged;
    this.#topics.add(topic);
    const requested = [...this.#topics];
    const older = [...this.#streams];
    try {
      await this.#reopen(options, topic);
    } catch (error) {
      if (!isPermanent(error)) throw error;
      await Promise.allSettled(older.map(({ acknowledged }) => acknowledged));
      // Another topic of the same request, which was removed since, may have caused the failure.
      if (requested.every((candidate) => candidate === topic || this.#topics.has(candidate))) throw error;
      await this.#subscribe(topic, options);
    }
  }

  async #reopen(options: ListenOptions, topic?: Topic): Promise<void> {
    const older = [...this.#streams];
    const filter = this.#toFilter();
    this.#current = Object.keys(filter).length === 0 ? undefined : this.#openStream(filter, options, topic);
    await this.#current?.acknowledged;
    for (const stream of older) this.#retire(stream);
  }

  /** A newer stream covers the topics of this one, so its pending subscriptions are acknowledged as well. */
  #retire(stream: StreamAttempt): void {
    if (!this.#streams.delete(stream)) return;
    stream.acknowledge();
    stream.cancellation.cancel(undefined);
  }

  #unsupportedError(): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" cannot send resource updates: its transport only returns responses. Read the resource again instead.`;
    return new McpRuntimeError("invalid-config", text, { server });
  }

  #declinedError(uri: string): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" does not send updates of the resource "${excerpt(uri)}".`;
    return new McpRuntimeError("not-found", text, { server });
  }

  #toFilter(): JsonObject {
    const { capabilities } = this.#options;
    const has = (name: string) =>
      this.#topics.has(LIST_CHANGES) &&
      isPlainObject(capabilities[name]) &&
      capabilities[name]["listChanged"] === true;
    const resources = this.#resourceUris();
    return {
      ...(has("tools") ? { toolsListChanged: true } : {}),
      ...(has("prompts") ? { promptsListChanged: true } : {}),
      ...(has("resources") ? { resourcesListChanged: true } : {}),
      ...(resources.length > 0 ? { resourceSubscriptions: resources } : {}),
    };
  }

  #resourceUris(): string[] {
    return [...this.#topics].filter((topic) => topic !== LIST_CHANGES);
  }

  /** Messages about the stream may arrive while its request is sent, so it is added first. */
  #openStream(
    notifications: JsonObject,
    { isBackground }: ListenOptions,
    topic: Topic | undefined,
  ): StreamAttempt {
    const stream = new StreamAttempt(topic);
    this.#streams.add(stream);
    const { cancellation } = stream;
    this.#options.listen({ notifications }, { cancellation, isBackground, tracker: stream }).then(
      () => this.#onEnd(stream, undefined),
      (error: unknown) => this.#onEnd(stream, error),
    );
    return stream;
  }

  #onEnd(stream: StreamAttempt, error: unknown): void {
    stream.end(error);
    this.#streams.delete(stream);
    const isDropped = error !== undefined && this.#dropTopic(stream, error);
    // A replaced stream is expected to end.
    if (this.#current !== stream || this.#closed.isCancelled) return;
    if (error instanceof Error) this.#options.onError(error);
    const older = error === undefined ? undefined : [...this.#streams].at(-1);
    this.#current = older ?? stream;
    const hasRemainingTopics = older === undefined && isDropped && this.#topics.size > 0;
    if ((isPermanent(error) || isDropped) && !hasRemainingTopics) return;
    this.#scheduleReopen(older === undefined ? error : undefined);
  }

  /** Removes a topic that the server did not accept. List changes stay unless the failure is permanent. */
  #dropTopic({ topic, isAcknowledged }: StreamAttempt, error: unknown): boolean {
    if (topic === undefined || isAcknowledged || (topic === LIST_CHANGES && !isPermanent(error)))
      return false;
    return this.#topics.delete(topic);
  }

  #scheduleReopen(failure: unknown): void {
    const current = this.#current;
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
    delay(delayMs, this.#options.clock, this.#closed, { unref: !this.#options.holdsProcess() })
      .then(() => (this.#current === current ? this.#reopenAfterEnd(failure) : undefined))
      .catch(() => undefined);
  }

  /** After a failure, updates may have been missed: all subscribed resources are reported as updated. */
  async #reopenAfterEnd(failure: unknown): Promise<void> {
    const resources = failure === undefined ? [] : this.#resourceUris();
    await this.#reopen(BACKGROUND);
    for (const uri of resources)
      this.#options.onNotification({ method: "notifications/resources/updated", params: { uri } });
  }
}

/** A server acknowledges what it accepts of the requested notifications. Some do not repeat it. */
function isDeclined(uri: string, notifications: unknown): boolean {
  if (!isPlainObject(notifications)) return false;
  const { resourceSubscriptions: accepted } = notifications;
  return !Array.isArray(accepted) || !accepted.includes(uri);
}

function isPermanent(error: unknown): boolean {
  return error instanceof McpRuntimeError && PERMANENT_KINDS.has(error.kind);
}
