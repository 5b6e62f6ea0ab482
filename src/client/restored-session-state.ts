import type { CancelScope } from "../async/cancel-scope.js";
import { type Clock, delay, withDeadline } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import type { Session, SessionContext } from "../session/session.js";
import type { CallerContext, RequestOptions } from "./call-options.js";
import type { RequestContext } from "./request-context.js";

/** The MCP log levels, from least to most severe. */
const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** An MCP log level. */
export type LogLevel = (typeof LOG_LEVELS)[number];

interface RestoreOptions extends Omit<SessionContext, "redactor"> {
  readonly identity: string;
  readonly ms: number;
}

interface RestoreRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** For warnings. */
  readonly description: string;
}

const RESTORE_CONCURRENCY = 8;
const MAX_RESTORE_WARNINGS = 5;

/** State of a session that is restored on every new session: log level and resource subscriptions. */
export class RestoredSessionState {
  logLevel: LogLevel | undefined;
  readonly subscriptions = new ResourceSubscriptions();

  /**
   * Restores the state on a new session before it is used. Uses legacy-era methods; a modern session translates them.
   * Rejected requests are warnings. Never rejects: the session is open and has to be handed to its owner.
   */
  async restore(session: Session, options: RestoreOptions): Promise<void> {
    const requests = this.#requestsFor(options.identity);
    if (requests.length === 0) return;
    const { server, ms, clock, cancellation, log } = options;
    const createError = () =>
      new McpRuntimeError("timeout", "The server did not respond in time.", { server });
    const problems = await withDeadline({ ms, clock, cancellation, createError }, (limited) =>
      mapConcurrent(requests, RESTORE_CONCURRENCY, (request) => restoreOne(session, request, limited)),
    );
    // The client is being closed.
    if (cancellation.isCancelled) return;
    const failures = problems.filter((problem) => problem !== undefined);
    for (const problem of failures.slice(0, MAX_RESTORE_WARNINGS))
      log.warn(`Server "${server}" did not restore ${problem}`);
    const more = failures.length - MAX_RESTORE_WARNINGS;
    if (more > 0) log.warn(`Server "${server}" did not restore ${more} more subscriptions.`);
  }

  #requestsFor(identity: string): RestoreRequest[] {
    const { logLevel: level } = this;
    const subscriptions = this.subscriptions.urisFor(identity).map((uri) => ({
      method: "resources/subscribe",
      params: { uri },
      description: `the subscription to ${uri}`,
    }));
    if (level === undefined) return subscriptions;
    return [
      { method: "logging/setLevel", params: { level }, description: `log level "${level}"` },
      ...subscriptions,
    ];
  }
}

/** Returns the problem, if it should be reported. */
async function restoreOne(
  session: Session,
  { method, params, description }: RestoreRequest,
  cancellation: CancelScope,
): Promise<string | undefined> {
  try {
    await session.request({ method, params, cancellation, isBackground: true });
    return undefined;
  } catch (error) {
    // A stored session may have expired: the next request detects it, and the state is restored on its successor.
    if (error instanceof McpRuntimeError && error.kind === "session-lost") return undefined;
    return `${description}: ${printValue(error)}`;
  }
}

export interface ResourceSubscription {
  /** The subscribe request, once it is created. */
  request: Pick<RequestContext, "attempts"> | undefined;
  /** The caller that subscribed. */
  readonly context: CallerContext | undefined;
}

/** The active resource subscriptions, by identity. They outlive sessions. */
class ResourceSubscriptions {
  readonly #byIdentity = new Map<string, Map<string, ResourceSubscription>>();

  /** Returns a function that undoes it, unless the subscription already existed. */
  add(identity: string, uri: string, subscription: ResourceSubscription): () => void {
    const subscriptions = this.#byIdentity.get(identity) ?? new Map<string, ResourceSubscription>();
    if (subscriptions.has(uri)) return () => undefined;
    this.#byIdentity.set(identity, subscriptions.set(uri, subscription));
    return () => {
      if (subscriptions.get(uri) === subscription) this.remove(identity, uri);
    };
  }

  has(identity: string, uri: string): boolean {
    return this.#byIdentity.get(identity)?.has(uri) === true;
  }

  remove(identity: string, uri: string): void {
    const subscriptions = this.#byIdentity.get(identity);
    subscriptions?.delete(uri);
    if (subscriptions?.size === 0) this.#byIdentity.delete(identity);
  }

  /** The subscriptions to restore. A request that no session has received yet will still be sent itself. */
  urisFor(identity: string): string[] {
    const subscriptions = [...(this.#byIdentity.get(identity) ?? [])];
    return subscriptions.filter(([, { request }]) => (request?.attempts ?? 0) > 0).map(([uri]) => uri);
  }

  /** The oldest subscription of an identity. */
  findFirst(identity: string): { readonly context: CallerContext | undefined } | undefined {
    return this.#byIdentity.get(identity)?.values().next().value;
  }
}

/** Validated locally: servers respond to unknown levels with arbitrary errors, some of which count for the circuit breaker. */
export function assertLogLevel(server: string, level: LogLevel): void {
  if (LOG_LEVELS.includes(level)) return;
  const message = `expected one of ${LOG_LEVELS.join(", ")}, got ${describeValue(level)}`;
  throw configError("The log level", [{ path: "", message }], { server });
}

interface SubscriptionRecoveryDependencies {
  readonly clock: Clock;
  readonly subscriptions: ResourceSubscriptions;
  readonly ping: (options: RequestOptions) => Promise<unknown>;
  readonly warn: (message: string) => void;
}

/** Avoids a busy loop with a server that loses every session immediately. */
const RECOVERY_DELAY_MS = 1_000;
/** A connection that was lost twice within this time is not reopened only to receive updates. */
const MIN_CONNECTION_MS = 30_000;

/**
 * Reopens a lost session while there are resource subscriptions: a subscriber may not send a request for days. A ping
 * triggers the normal session recovery.
 */
export class SubscriptionRecovery {
  readonly #deps: SubscriptionRecoveryDependencies;
  readonly #running = new Set<string>();
  /** When the connection of each identity was lost, per client epoch. */
  readonly #losses = new WeakMap<CancelScope, Map<string, number>>();

  constructor(deps: SubscriptionRecoveryDependencies) {
    this.#deps = deps;
  }

  /** The connection closed unexpectedly. `cancellation` belongs to the client epoch. */
  async onDisconnected(identity: string, cancellation: CancelScope): Promise<void> {
    const { clock, subscriptions } = this.#deps;
    if (subscriptions.findFirst(identity) === undefined) return;
    const losses = this.#losses.get(cancellation) ?? new Map<string, number>();
    const previousLossAt = losses.get(identity) ?? -Infinity;
    this.#losses.set(cancellation, losses.set(identity, clock.now()));
    if (clock.now() - previousLossAt < MIN_CONNECTION_MS) this.#warnStopped("The connection was lost again.");
    else await this.onSessionLost(identity, cancellation);
  }

  /** The server no longer knows the session. Does nothing without subscriptions. Never rejects. */
  async onSessionLost(identity: string, cancellation: CancelScope): Promise<void> {
    const { clock, subscriptions, ping } = this.#deps;
    const subscription = subscriptions.findFirst(identity);
    if (subscription === undefined || this.#running.has(identity)) return;
    this.#running.add(identity);
    try {
      await delay(RECOVERY_DELAY_MS, clock, cancellation);
      await ping({ context: subscription.context });
    } catch (error) {
      if (cancellation.isCancelled) return;
      this.#warnStopped(printValue(error));
    } finally {
      this.#running.delete(identity);
    }
  }

  /** The session slot of the identity was evicted. */
  delete(identity: string, cancellation: CancelScope): void {
    this.#losses.get(cancellation)?.delete(identity);
  }

  #warnStopped(reason: string): void {
    this.#deps.warn(`Resource updates are not received until the next request: ${reason}`);
  }
}
