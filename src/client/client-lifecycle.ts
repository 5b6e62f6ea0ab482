import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { checkObject } from "../config/assert-object.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { Connection } from "../session/connection.js";
import type { EraFinding } from "../session/negotiate-era.js";
import type { SessionSlot } from "../session/session-pool.js";
import type { Session } from "../session/session.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import { ClientChapter } from "./client-epoch.js";
import type { ClientKeys } from "../auth/dpop.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import type { ClientEvents } from "./client-events.js";
import { HandshakeWatch } from "./handshake-events.js";
import { resolveServer } from "./resolve-server.js";
import { SessionWatch } from "./session-events.js";
import { SessionWishes } from "./session-state.js";

/**
 * - `idle`: nothing is open, and the next request opens it
 * - `connecting`: a handshake is running
 * - `ready`: a session is open
 * - `closed`: as `idle`, after `close()`
 */
export type ClientState = "idle" | "connecting" | "ready" | "closed";

export interface SessionInfo {
  readonly identity: string;
  readonly id: string | undefined;
  readonly generation: number;
  readonly inFlight: number;
}

interface ClientLifeOptions {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly metrics: RequestMetrics;
  readonly redactor: Redactor;
  /** An identity has no session any more, because others needed the room. */
  readonly onSeatGone: (identity: string, cancellation: CancelScope) => void;
  /** The stream on which the server speaks is refused: it does not know the session any more. */
  readonly onForgotten: (identity: string, cancellation: CancelScope) => void;
  /** The connection below a session went by itself. */
  readonly onDisconnected: (identity: string, cancellation: CancelScope) => void;
}

/** A call's way to the connection of the chapter it began in. */
export interface Ticket {
  /** The connection itself once it is there: most calls need not wait. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly leave: () => void;
}

interface Newcomer {
  readonly identity: string;
  readonly session: Session;
  readonly generation: number;
}

/**
 * From the first request to `close()`, and again. A call belongs to the chapter it began in: closing
 * ends the calls of that chapter, and a call made while it closes begins the next one.
 */
export class ClientLife {
  readonly #options: ClientLifeOptions;
  readonly #handshakes: HandshakeWatch;
  #chapter: ClientChapter;
  #lastChapter: ClientChapter | undefined;
  /** What every session is to know, this one and the next. */
  readonly wishes = new SessionWishes();
  /** Which revision the server speaks, as far as it was found out or is expected. */
  readonly #protocol: EraFinding = { isModern: false };
  readonly #keys: ClientKeys = {};

  constructor(options: ClientLifeOptions) {
    this.#options = options;
    this.#handshakes = new HandshakeWatch({ ...options, server: options.config.name });
    this.#chapter = this.#newChapter();
  }

  /** As it is known now: a server that is resolved later brings its own settings with its address. */
  get config(): ServerConfig {
    return this.#chapter.connection?.config ?? this.#options.config;
  }

  get isConnected(): boolean {
    return this.#chapter.connection !== undefined;
  }

  get state(): ClientState {
    const { opening, connection } = this.#chapter;
    if (this.session !== undefined) return "ready";
    // A session that is there but not alive was lost: nothing is under way until somebody calls.
    const isShakingHands = this.#seats.some(
      ({ keeper: { current } }) => current !== undefined && current.session === undefined,
    );
    if (isShakingHands || (opening !== undefined && connection === undefined)) return "connecting";
    return this.#lastChapter !== undefined && opening === undefined ? "closed" : "idle";
  }

  /** The open session; of several identities, the one that was used last. */
  get session(): Session | undefined {
    return this.#seats.findLast(({ keeper }) => keeper.current?.session?.isAlive === true)?.keeper.current
      ?.session;
  }

  sessions(): SessionInfo[] {
    return this.#seats.flatMap(({ identity, keeper }) => {
      const { session, generation } = keeper.current ?? {};
      if (session?.isAlive !== true || generation === undefined) return [];
      return [{ identity, id: session.id, generation, inFlight: session.inFlight }];
    });
  }

  get #seats(): SessionSlot[] {
    return [...(this.#chapter.connection?.pool.all.values() ?? [])];
  }

  /** Those of now. */
  get watch(): SessionWatch {
    return this.#chapter.sessions;
  }

  expectProtocol(version: string): void {
    this.#protocol.isModern = version === MODERN_VERSION;
  }

  enter(call: CancelScope): Ticket {
    const chapter = this.#chapter;
    return { leave: chapter.calls.enter(call), connect: () => chapter.ready ?? this.#connect(chapter) };
  }

  /** Sessions that are already open are told when the first listener comes; of one identity, or of all. */
  async listenIfWanted(identity?: string): Promise<void> {
    if (!this.#options.events.isServerHeard) return;
    const pool = this.#seats.filter((slot) => identity === undefined || slot.identity === identity);
    await Promise.all(pool.map(async ({ keeper }) => keeper.current?.session?.listen()));
  }

  /** Said again, with less time to drain, it hurries the first one. */
  async close(options: { readonly drainMs?: number | undefined }): Promise<void> {
    const { drainMs: given } = checkObject(options, { subject: "The call of close", path: "options" });
    const drainMs = given ?? this.config.session.drainMs;
    const chapter = this.#chapter;
    if (chapter.opening === undefined && chapter.calls.isEmpty) return this.#hurry(drainMs);
    this.#chapter = this.#newChapter();
    this.#lastChapter = chapter;
    chapter.ending = this.#end(chapter, drainMs);
    await chapter.ending;
  }

  async #hurry(drainMs: number): Promise<void> {
    const { calls, ending } = this.#lastChapter ?? {};
    await calls?.drained(drainMs, this.#options.clock);
    calls?.cancelAll(this.#closedError());
    await ending;
  }

  async #end(chapter: ClientChapter, drainMs: number): Promise<void> {
    await chapter.calls.drained(drainMs, this.#options.clock);
    chapter.calls.cancelAll(this.#closedError());
    chapter.closed.cancel(this.#closedError());
    const connection = await chapter.opening?.catch(() => undefined);
    await connection?.close();
    chapter.sessions.allClosed();
  }

  #newChapter(): ClientChapter {
    const { config } = this.#options;
    return new ClientChapter(
      (chapter) =>
        new SessionWatch({
          ...this.#options,
          server: config.name,
          config: () => chapter.connection?.config ?? config,
        }),
    );
  }

  #closedError(): McpRuntimeError {
    const { name: server } = this.#options.config;
    return new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
  }

  /** Phase 1, shared by whoever asks; a failed one is tried afresh by the next. */
  async #connect(chapter: ClientChapter): Promise<Connection> {
    chapter.closed.throwIfCancelled();
    chapter.opening ??= this.#open(chapter);
    return chapter.opening;
  }

  async #open(chapter: ClientChapter): Promise<Connection> {
    const { config, clock, events, redactor } = this.#options;
    const { closed: cancellation } = chapter;
    const warn = (message: string) => events.warn(message);
    try {
      const phase1 = await import("../session/connection.js");
      chapter.connection = await phase1.Connection.open({
        server: config.name,
        clock,
        redactor,
        log: events,
        cancellation,
        era: this.#protocol,
        keys: this.#keys,
        resolveSpec: () => resolveServer(config, { clock, redactor, cancellation, warn }),
        watchHandshake: (handshake, shakeHands) => this.#handshakes.watch(handshake, shakeHands),
        onOpened: (identity, session, generation) =>
          this.#welcome(chapter, { identity, session, generation }),
        onLost: (identity, generation) => {
          chapter.sessions.disconnected(identity, generation);
          this.#options.onDisconnected(identity, cancellation);
        },
        onSeatGone: (identity) => {
          this.#options.onSeatGone(identity, cancellation);
          chapter.sessions.closed(identity);
        },
        onNotification: (notification, identity) => events.notify(notification, identity),
        onWarning: warn,
        onError: (error, identity) => {
          events.debug(`Server "${config.name}": ${error.message}`);
          const isForgotten = error instanceof McpRuntimeError && error.kind === "session-lost";
          if (isForgotten) this.#options.onForgotten(identity, cancellation);
        },
      });
      return chapter.connection;
    } catch (error) {
      chapter.opening = undefined;
      throw error;
    }
  }

  /** A new session gets back what the last one knew: who listens, and what was wished for. */
  async #welcome({ closed: cancellation, sessions }: ClientChapter, newcomer: Newcomer): Promise<void> {
    const { config, clock, events } = this.#options;
    const { identity, session, generation } = newcomer;
    const listening = events.isServerHeard ? session.listen() : Promise.resolve();
    const uris = this.wishes.resources.urisOf(identity);
    // Whatever is told before the server can speak is told to nobody.
    if (uris.length > 0) await cancellation.race(listening).catch(() => undefined);
    const { connectMs: ms } = this.config.timeouts;
    const warn = (message: string) => events.warn(message);
    await this.wishes.tell(session, { server: config.name, identity, ms, clock, cancellation, warn });
    sessions.opened(identity, session, generation);
    for (const uri of uris) events.updated(identity, uri);
  }
}
