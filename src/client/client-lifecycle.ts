import { CancelScope } from "../async/cancel-scope.js";
import { type Clock, settleWithin } from "../async/clock.js";
import type { ClientKeys } from "../auth/dpop.js";
import { assertOptions, optionKeys } from "../config/parse-options.js";
import type { ClientInfo } from "../config/message-transport.js";
import type { ServerConfig } from "../config/server-config.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject } from "../json/json.js";
import type { Connection } from "../session/connection.js";
import type { DetectedEra } from "../session/negotiate-era.js";
import type { SessionSlot } from "../session/session-pool.js";
import type { Session } from "../session/session.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import { clientClosedError } from "../transports/transport.js";
import type { ClientContext } from "./client-events.js";
import { observeHandshake, SessionEventEmitter } from "./session-event-emitter.js";
import { RestoredSessionState } from "./restored-session-state.js";

/**
 * The state of a client.
 * - `idle`: nothing is open; the next request connects
 * - `connecting`: a handshake is running
 * - `ready`: a session is open
 * - `closed`: like `idle`, after `close()`
 */
export type ClientState = "idle" | "connecting" | "ready" | "closed";

/** An open session of a client. */
export interface SessionInfo {
  /** The identity that owns the session; empty without an `identity` option. */
  readonly identity: string;
  /** The id that the server assigned; `undefined` for servers without session ids. */
  readonly id: string | undefined;
  /** The number of this session within its identity, starting at 1. */
  readonly generation: number;
  /** Requests without a response yet. */
  readonly inFlight: number;
}

interface ClientLifecycleOptions extends ClientContext {
  readonly config: ServerConfig;
  readonly clientInfo: ClientInfo;
  /** The server has completed a handshake. */
  readonly onHandshake: () => void;
  /** The slot of an identity was evicted from the session pool to make room. */
  readonly onSlotEvicted: (identity: string, cancellation: CancelScope) => void;
  /** The server rejected the server stream because it no longer knows the session. */
  readonly onSessionLost: (identity: string, cancellation: CancelScope) => void;
  /** The connection of a session closed unexpectedly. */
  readonly onDisconnected: (identity: string, cancellation: CancelScope) => void;
}

/** Gives a call the connection of the epoch it began in, until it is released. */
interface CallLease {
  /** Returns the connection synchronously once it is open: most calls need not wait. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly release: () => void;
}

/** Options of closing a client or a toolset. */
export interface CloseOptions {
  /** How long calls in flight may take before they are canceled. @default `session.drainMs` of the server */
  readonly drainMs?: number | undefined;
}

/** The stages of closing a client. */
export interface ClientClosing {
  /**
   * Resolves when no call is in flight (calls that wait for a session do not count): to true if the caller should also
   * wait for `closed`, to false while a session is being opened, because the server may not respond. Never rejects.
   */
  readonly drained: Promise<boolean>;
  /** Resolves when everything is closed. */
  readonly closed: Promise<void>;
}

const CLOSE_OPTIONS = optionKeys<CloseOptions>({ drainMs: true });

/** @throws McpRuntimeError kind `invalid-config` */
export function parseCloseOptions(
  options: CloseOptions,
  details: { readonly server?: string } = {},
): CloseOptions {
  const subject = "The call to close";
  const { drainMs } = assertOptions(options, CLOSE_OPTIONS, { subject, ...details });
  if (drainMs === undefined || (Number.isFinite(drainMs) && drainMs >= 0)) return { drainMs };
  const message = `expected a non-negative number of milliseconds, got ${describeValue(drainMs)}`;
  throw configError(subject, [{ path: "options.drainMs", message }], details);
}

/**
 * Connects on the first request and disconnects on `close()`, any number of times. A call belongs to the epoch
 * it began in: `close()` ends the calls of that epoch, and a call made while it closes begins the next one.
 */
export class ClientLifecycle {
  readonly #options: ClientLifecycleOptions;
  #epoch: ClientEpoch;
  #previousEpoch: ClientEpoch | undefined;
  /** Whether a session of this identity receives changes of the server's tools even without a listener. */
  followsTools: (identity: string) => boolean = () => false;
  /** Called with the identity of a completed login. */
  onLogin: (identity: string) => void = () => undefined;
  /** Restored on every new session. */
  readonly sessionState = new RestoredSessionState();
  /** The protocol era of the server, as detected or hinted. */
  readonly #protocol: DetectedEra = { isModern: false };
  readonly #keys: ClientKeys = {};

  constructor(options: ClientLifecycleOptions) {
    this.#options = options;
    this.#epoch = this.#newEpoch();
  }

  /** The current settings: a dynamic server may resolve to other settings than its definition. */
  get config(): ServerConfig {
    return this.#epoch.connection?.config ?? this.#options.config;
  }

  get isConnected(): boolean {
    return this.#epoch.connection !== undefined;
  }

  get state(): ClientState {
    const { connecting, connection } = this.#epoch;
    if (this.session !== undefined) return "ready";
    // A session that exists but is not alive was lost: nothing happens until the next request.
    if (connection?.pool.isOpening === true || (connecting !== undefined && connection === undefined))
      return "connecting";
    return this.#previousEpoch !== undefined && connecting === undefined ? "closed" : "idle";
  }

  /** The open session; with several identities, the most recently used one. */
  get session(): Session | undefined {
    return this.#slots.findLast(({ currentSession }) => currentSession.current?.session?.isAlive === true)
      ?.currentSession.current?.session;
  }

  /** The open session of an identity. */
  sessionOf(identity: string): Session | undefined {
    const session = this.#epoch.connection?.pool.slots.get(identity)?.currentSession.current?.session;
    return session?.isAlive === true ? session : undefined;
  }

  sessions(): SessionInfo[] {
    return this.#slots.flatMap(({ identity, currentSession }) => {
      const { session, generation } = currentSession.current ?? {};
      if (session?.isAlive !== true || generation === undefined) return [];
      return [{ identity, id: session.id, generation, inFlight: session.inFlight }];
    });
  }

  get #slots(): SessionSlot[] {
    return [...(this.#epoch.connection?.pool.slots.values() ?? [])];
  }

  get sessionEvents(): SessionEventEmitter {
    return this.#epoch.sessionEvents;
  }

  hintProtocolVersion(version: string): void {
    this.#protocol.isModern = version === MODERN_VERSION;
  }

  beginCall(call: CancelScope): CallLease {
    const epoch = this.#epoch;
    return { release: epoch.calls.add(call), connect: () => epoch.openConnection ?? this.#connect(epoch) };
  }

  /** Opens the server streams of open sessions when there is a listener; of one identity, or of all. */
  async listenIfNeeded(identity?: string): Promise<void> {
    if (!this.#options.events.hasServerEventListeners) return;
    const slots = this.#slots.filter((slot) => identity === undefined || slot.identity === identity);
    await Promise.all(
      slots.map(async ({ currentSession }) => currentSession.current?.session?.openServerStream()),
    );
  }

  /**
   * Notifies the server on all sessions that are open or opening, of one identity or of all: it may have requested the
   * roots before a session is restored. Later sessions request the roots themselves.
   */
  async sendRootsListChanged(identity: string | undefined): Promise<void> {
    const { name: server, handlers } = this.config;
    if (typeof handlers.roots !== "function") {
      const text = `The roots of server "${server}" cannot change: set roots to a function in its definition.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    const slots = this.#slots.filter((slot) => identity === undefined || slot.identity === identity);
    await Promise.all(
      slots.map(async ({ currentSession }) => {
        const session = await currentSession.current?.opening.catch(() => undefined);
        if (session?.isAlive === true) await session.sendRootsListChanged?.();
      }),
    );
  }

  /** A second call with a shorter `drainMs` shortens the drain of the first. */
  close(options: CloseOptions): ClientClosing {
    const { drainMs: requestedMs } = parseCloseOptions(options, { server: this.#options.server });
    const drainMs = requestedMs ?? this.config.session.drainMs;
    const epoch = this.#epoch;
    if (epoch.connecting === undefined && epoch.calls.isEmpty) return this.#shortenDrain(drainMs);
    this.#epoch = this.#newEpoch();
    this.#previousEpoch = epoch;
    const { calls } = epoch;
    const ended = calls.end(drainMs, this.#options.clock, this.#closedError);
    epoch.closing = ended.then(() => this.#closeEpoch(epoch));
    const drained = Promise.race([ended, calls.whenAtMost(() => epoch.waitingCalls)]);
    const mayWait = () => !epoch.isHandshaking;
    // If it rejects, so does `closed`.
    return { drained: drained.then(mayWait, mayWait), closed: epoch.closing };
  }

  /** The previous epoch is already closing; only its calls may still run. */
  #shortenDrain(drainMs: number): ClientClosing {
    const { calls, closing } = this.#previousEpoch ?? {};
    const ended = Promise.resolve(calls?.end(drainMs, this.#options.clock, this.#closedError));
    return { drained: ended.then(doNotWait, doNotWait), closed: ended.then(() => closing) };
  }

  async #closeEpoch(epoch: ClientEpoch): Promise<void> {
    epoch.closed.cancel(this.#closedError);
    const connection = await epoch.connecting?.catch(() => undefined);
    await connection?.close();
    epoch.sessionEvents.closeAll();
  }

  #newEpoch(): ClientEpoch {
    const { config } = this.#options;
    return new ClientEpoch(
      (epoch) =>
        new SessionEventEmitter({
          ...this.#options,
          config: () => epoch.connection?.config ?? config,
        }),
    );
  }

  get #closedError(): McpRuntimeError {
    return clientClosedError(this.#options.server);
  }

  /** Concurrent callers share one attempt; the next call after a failed attempt starts a new one. */
  async #connect(epoch: ClientEpoch): Promise<Connection> {
    epoch.closed.throwIfCancelled();
    epoch.connecting ??= this.#open(epoch);
    return epoch.connecting;
  }

  async #open(epoch: ClientEpoch): Promise<Connection> {
    const { server, config, clientInfo, clock, events, redactor } = this.#options;
    const { closed: cancellation } = epoch;
    try {
      // Lazy-loaded with the first request.
      const connectionModule = await import("../session/connection.js");
      epoch.connection = await connectionModule.Connection.open({
        server,
        clientInfo,
        clock,
        redactor,
        log: events,
        cancellation,
        era: this.#protocol,
        keys: this.#keys,
        config,
        observeHandshake: (handshake, runHandshake) =>
          observeHandshake(handshake, runHandshake, this.#options),
        onOpened: (identity, session, generation) =>
          this.#onSessionOpened(epoch, { identity, session, generation }),
        onDisconnected: (identity, generation) => {
          epoch.sessionEvents.disconnected(identity, generation);
          this.#options.onDisconnected(identity, cancellation);
        },
        onSlotEvicted: (identity) => {
          this.#options.onSlotEvicted(identity, cancellation);
          epoch.sessionEvents.closed(identity);
        },
        onNotification: (notification, identity) =>
          events.notify(notification, identity, (uri) => this.sessionState.subscriptions.has(identity, uri)),
        onError: (error, identity) => {
          events.debug(`Server "${server}": ${error.message}`);
          const isSessionLost = error instanceof McpRuntimeError && error.kind === "session-lost";
          if (isSessionLost) this.#options.onSessionLost(identity, cancellation);
        },
      });
      return epoch.connection;
    } catch (error) {
      epoch.connecting = undefined;
      throw error;
    }
  }

  async #followTools(identity: string, session: Session): Promise<void> {
    if (announcesToolChanges(session) && this.followsTools(identity))
      await session.openServerStream({ isBackground: true });
  }

  /** Restores the server stream, log level and subscriptions on a new session. */
  async #onSessionOpened(
    { closed: cancellation, sessionEvents }: ClientEpoch,
    { identity, session, generation }: { identity: string; session: Session; generation: number },
  ): Promise<void> {
    const { server, clock, events } = this.#options;
    if (!session.isResumed) this.#options.onHandshake();
    const listening = events.hasServerEventListeners
      ? session.openServerStream()
      : this.#followTools(identity, session);
    const uris = this.sessionState.subscriptions.urisFor(identity);
    // Updates that are sent before the server stream is open would be lost.
    if (uris.length > 0) await cancellation.race(listening).catch(() => undefined);
    const { connectMs: ms } = this.config.timeouts;
    await this.sessionState.restore(session, {
      server,
      identity,
      ms,
      clock,
      cancellation,
      log: events,
    });
    sessionEvents.opened(identity, session, generation);
    for (const uri of uris) events.emitResourceUpdated(identity, uri);
  }
}

const doNotWait = () => false;

function announcesToolChanges({ metadata }: Session): boolean {
  const tools = metadata?.capabilities["tools"];
  return isPlainObject(tools) && tools["listChanged"] === true;
}

/** Tracks running calls, so that `close()` can wait for them and then cancel them. */
class InFlightCalls {
  readonly #calls = new Set<CancelScope>();
  /** Called when a call has ended. */
  readonly #listeners = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** Returns a function that removes the call. */
  add(call: CancelScope): () => void {
    this.#calls.add(call);
    return () => {
      this.#calls.delete(call);
      for (const onEnded of this.#listeners) onEnded();
    };
  }

  /** Resolves when at most as many calls are left as `getCount` returns then. */
  whenAtMost(getCount: () => number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.#calls.size > getCount()) return;
        this.#listeners.delete(check);
        resolve();
      };
      this.#listeners.add(check);
      check();
    });
  }

  /** Waits until no call is left, at most `ms`, and cancels the others. */
  async end(ms: number, clock: Clock, reason: McpRuntimeError): Promise<void> {
    if (!this.isEmpty && ms > 0) await settleWithin(ms, clock, () => this.whenAtMost(() => 0));
    for (const call of this.#calls) call.cancel(reason);
  }
}

/** What is open from the first request to `close()`. */
class ClientEpoch {
  readonly calls = new InFlightCalls();
  readonly sessionEvents: SessionEventEmitter;
  /** Cancelled by `close()`; aborts connecting. */
  readonly closed = new CancelScope();
  connecting: Promise<Connection> | undefined;
  connection: Connection | undefined;
  closing: Promise<void> | undefined;

  constructor(createSessionEvents: (epoch: ClientEpoch) => SessionEventEmitter) {
    this.sessionEvents = createSessionEvents(this);
  }

  /** Whether the connection or a session is being opened. */
  get isHandshaking(): boolean {
    return this.connection?.isHandshaking ?? this.connecting !== undefined;
  }

  /** How many calls wait for the connection or a session. */
  get waitingCalls(): number {
    return this.connection?.pool.waiting ?? Number.POSITIVE_INFINITY;
  }

  /** The connection, if it is open and not closing. */
  get openConnection(): Connection | undefined {
    return this.closed.isCancelled ? undefined : this.connection;
  }
}
