import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import type { ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { Connection } from "../session/connection.js";
import type { Seat } from "../session/seats.js";
import type { Session } from "../session/session.js";
import type { ClientEvents } from "./client-events.js";
import { InFlightCalls } from "./in-flight-calls.js";
import { resolveServer } from "./resolve-server.js";

/**
 * - `idle`: nothing is open, and the next request opens it
 * - `connecting`: a handshake is running
 * - `ready`: a session is open
 * - `closed`: as `idle`, after `close()`
 */
export type ClientState = "idle" | "connecting" | "ready" | "closed";

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

export interface SessionView {
  readonly identity: string;
  readonly id: string | undefined;
  readonly generation: number;
  readonly inFlight: number;
}

interface ClientLifeOptions {
  readonly spec: ServerSpec;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly redactor: Redactor;
  /** An identity has no session any more, because others needed the room. */
  readonly onSeatGone: (identity: string) => void;
}

/** What is open between two times of `close()`. */
class Era {
  readonly calls = new InFlightCalls();
  /** Ends whatever is being opened. */
  readonly closed = new Cancellation();
  opening: Promise<Connection> | undefined;
  connection: Connection | undefined;
  ending: Promise<void> | undefined;

  /** The connection, if it is there and not about to go. */
  get ready(): Connection | undefined {
    return this.closed.isCancelled ? undefined : this.connection;
  }
}

/** A call's way to the connection of the era it began in. */
export interface Ticket {
  /** The connection itself once it is there: most calls need not wait. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly leave: () => void;
}

/**
 * From the first request to `close()`, and again. A call belongs to the era it began in: closing ends
 * the calls of that era, and a call made while it closes begins the next one.
 */
export class ClientLife {
  readonly #options: ClientLifeOptions;
  #era = new Era();
  #lastEra: Era | undefined;
  logLevel: LogLevel | undefined;

  constructor(options: ClientLifeOptions) {
    this.#options = options;
  }

  /** As it is known now: a server that is resolved later brings its own settings with its address. */
  get spec(): ServerSpec {
    return this.#era.connection?.spec ?? this.#options.spec;
  }

  get isConnected(): boolean {
    return this.#era.connection !== undefined;
  }

  get state(): ClientState {
    const { opening, connection } = this.#era;
    if (this.session !== undefined) return "ready";
    // A session that is there but not alive was lost: nothing is under way until somebody calls.
    const isShakingHands = this.#seats.some(
      ({ keeper: { current } }) => current !== undefined && current.session === undefined,
    );
    if (isShakingHands || (opening !== undefined && connection === undefined)) return "connecting";
    return this.#lastEra !== undefined && opening === undefined ? "closed" : "idle";
  }

  /** The open session; of several identities, the one that was used last. */
  get session(): Session | undefined {
    return this.#seats.findLast(({ keeper }) => keeper.current?.session?.isAlive === true)?.keeper.current
      ?.session;
  }

  sessions(): SessionView[] {
    return this.#seats.flatMap(({ identity, keeper }) => {
      const { session, generation } = keeper.current ?? {};
      if (session?.isAlive !== true || generation === undefined) return [];
      return [{ identity, id: session.id, generation, inFlight: session.inFlight }];
    });
  }

  get #seats(): Seat[] {
    return [...(this.#era.connection?.seats.all.values() ?? [])];
  }

  enter(call: Cancellation): Ticket {
    const era = this.#era;
    return { leave: era.calls.enter(call), connect: () => era.ready ?? this.#connect(era) };
  }

  /** A session that is already open is told when the first listener comes. */
  listenIfWanted(): void {
    if (!this.#options.events.isServerHeard) return;
    for (const { keeper } of this.#seats) keeper.current?.session?.listen();
  }

  /** Said again, with less time to drain, it hurries the first one. */
  async close(drainMs: number): Promise<void> {
    const era = this.#era;
    if (era.opening === undefined && era.calls.isEmpty) return this.#hurry(drainMs);
    this.#era = new Era();
    this.#lastEra = era;
    era.ending = this.#end(era, drainMs);
    await era.ending;
  }

  async #hurry(drainMs: number): Promise<void> {
    const { calls, ending } = this.#lastEra ?? {};
    await calls?.drained(drainMs, this.#options.clock);
    calls?.cancelAll(this.#closedError());
    await ending;
  }

  async #end(era: Era, drainMs: number): Promise<void> {
    await era.calls.drained(drainMs, this.#options.clock);
    era.calls.cancelAll(this.#closedError());
    era.closed.cancel(this.#closedError());
    const connection = await era.opening?.catch(() => undefined);
    await connection?.close();
  }

  #closedError(): McpRuntimeError {
    const { name: server } = this.#options.spec;
    return new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
  }

  /** Phase 1, shared by whoever asks; a failed one is tried afresh by the next. */
  async #connect(era: Era): Promise<Connection> {
    era.closed.throwIfCancelled();
    era.opening ??= this.#open(era);
    return era.opening;
  }

  async #open(era: Era): Promise<Connection> {
    const { spec, clock, events, redactor } = this.#options;
    const { closed: cancellation } = era;
    const warn = (message: string) => events.warn(message);
    try {
      era.connection = await Connection.open({
        server: spec.name,
        clock,
        redactor,
        log: events,
        cancellation,
        resolveSpec: () => resolveServer(spec, { clock, redactor, cancellation, warn }),
        onOpened: (identity, session, generation) =>
          this.#welcome(identity, session, generation, cancellation),
        onLost: (identity, generation) => events.emit("connectionLost", { identity, generation }),
        onSeatGone: (identity) => this.#options.onSeatGone(identity),
        onNotification: (notification) => events.notify(notification),
        onWarning: warn,
        onError: (error) => events.debug(`Server "${spec.name}": ${error.message}`),
      });
      return era.connection;
    } catch (error) {
      era.opening = undefined;
      throw error;
    }
  }

  /** A new session gets back what the last one knew: who listens, and the log level. */
  async #welcome(
    identity: string,
    session: Session,
    generation: number,
    cancellation: Cancellation,
  ): Promise<void> {
    const { spec, clock, events } = this.#options;
    if (events.isServerHeard) session.listen();
    const level = this.logLevel;
    if (level !== undefined) {
      const expired = () =>
        new McpRuntimeError("timeout", "It did not answer in time.", { server: spec.name });
      const deadline = { ms: this.spec.timeouts.connectMs, clock, cancellation, expired };
      await withDeadline(deadline, (limited) =>
        session.request({ method: "logging/setLevel", params: { level }, cancellation: limited }),
      ).catch((error: unknown) =>
        events.warn(`Server "${spec.name}" did not take log level "${level}" again: ${String(error)}`),
      );
    }
    const { id, isResumed } = session;
    events.emit("sessionOpened", { identity, generation, id, isResumed });
  }
}
