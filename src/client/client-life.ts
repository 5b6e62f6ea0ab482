import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import type { LaterAddress, ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { Connection, type ResolvedSpec } from "../session/connection.js";
import type { Session } from "../session/session.js";
import { ownedHeaderNames } from "../transports/protocol-headers.js";
import type { ClientEvents } from "./client-events.js";
import { InFlightCalls } from "./in-flight-calls.js";

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
}

/**
 * From the first request to `close()`, and again. A call belongs to the life it began in: closing
 * ends the calls of this life, and a call made while it closes begins the next one.
 */
export class ClientLife {
  readonly #options: ClientLifeOptions;
  #opening: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #calls = new InFlightCalls();
  #closing: Promise<void> | undefined;
  #wasClosed = false;
  logLevel: LogLevel | undefined;

  constructor(options: ClientLifeOptions) {
    this.#options = options;
  }

  /** As it is known now: a server that is resolved later brings its own settings with its address. */
  get spec(): ServerSpec {
    return this.#connection?.spec ?? this.#options.spec;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  state(identity: string): ClientState {
    if (this.session(identity) !== undefined) return "ready";
    const isShakingHands = this.#connection?.seats.get(identity)?.keeper.current !== undefined;
    if (isShakingHands || (this.#opening !== undefined && this.#connection === undefined))
      return "connecting";
    return this.#wasClosed && this.#opening === undefined ? "closed" : "idle";
  }

  session(identity: string): Session | undefined {
    const session = this.#connection?.seats.get(identity)?.keeper.current?.session;
    return session?.isAlive === true ? session : undefined;
  }

  sessions(): SessionView[] {
    return [...(this.#connection?.seats ?? [])].flatMap(([identity, { keeper }]) => {
      const { session, generation } = keeper.current ?? {};
      if (session?.isAlive !== true || generation === undefined) return [];
      return [{ identity, id: session.id, generation, inFlight: session.inFlight }];
    });
  }

  /** Phase 1, shared by whoever asks; a failed one is tried afresh by the next. */
  connect(): Promise<Connection> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async open(identity: string, cancellation: Cancellation): Promise<void> {
    const connection = await cancellation.race(this.connect());
    await connection.seat(identity).keeper.hold(cancellation);
  }

  /** Counts a call as in flight; the function that comes back ends that. */
  enter(call: Cancellation): () => void {
    return this.#calls.enter(call);
  }

  /** A session that is already open is told when the first listener comes. */
  listenIfWanted(): void {
    if (!this.#options.events.isServerHeard) return;
    for (const { keeper } of this.#connection?.seats.values() ?? []) keeper.current?.session?.listen();
  }

  async close(drainMs: number): Promise<void> {
    if (this.#opening === undefined) return this.#closing;
    const [opening, calls] = [this.#opening, this.#calls];
    this.#opening = undefined;
    this.#connection = undefined;
    this.#calls = new InFlightCalls();
    this.#wasClosed = true;
    const closing = this.#end(opening, calls, drainMs);
    this.#closing = closing;
    await closing;
  }

  async #end(opening: Promise<Connection>, calls: InFlightCalls, drainMs: number): Promise<void> {
    const { spec, clock } = this.#options;
    await calls.drained(drainMs, clock);
    calls.cancelAll(
      new McpRuntimeError("closed", `The client of server "${spec.name}" was closed.`, { server: spec.name }),
    );
    const connection = await opening.catch(() => undefined);
    await connection?.close();
  }

  #open(): Promise<Connection> {
    const { spec, clock, events, redactor } = this.#options;
    const opening = Connection.open({
      server: spec.name,
      clock,
      redactor,
      resolveSpec: () => this.#resolveSpec(),
      onOpened: (identity, session, generation) => this.#welcome(identity, session, generation),
      onNotification: (notification) => events.notify(notification),
      onError: (error) => events.debug(`Server "${spec.name}": ${error.message}`),
    });
    opening.then(
      (connection) => {
        if (this.#opening === opening) this.#connection = connection;
      },
      () => {
        if (this.#opening === opening) this.#opening = undefined;
      },
    );
    return opening;
  }

  async #resolveSpec(): Promise<ResolvedSpec> {
    const { events, spec: given } = this.#options;
    const spec = given.address.kind === "resolved" ? await this.#lookUp(given.address) : given;
    const { address, name: server } = spec;
    if (address.kind === "resolved") {
      throw new McpRuntimeError(
        "definition",
        `Server "${server}" resolves to one that has to be resolved again.`,
        { server },
      );
    }
    const owned = "headers" in address ? ownedHeaderNames(address.headers) : [];
    if (owned.length > 0)
      events.warn(`Server "${server}": the protocol sets ${owned.join(", ")} itself; left out.`);
    return { ...spec, address };
  }

  async #lookUp(address: LaterAddress): Promise<ServerSpec> {
    const { spec, redactor } = this.#options;
    try {
      return await address.resolve();
    } catch (error) {
      if (error instanceof McpRuntimeError) throw error;
      const said = redactor.text(error instanceof Error ? error.message : String(error));
      throw new McpRuntimeError(
        "not-sent",
        `The address of server "${spec.name}" could not be found out: ${said}`,
        {
          server: spec.name,
          cause: redactor.cause(error),
        },
      );
    }
  }

  /** A new session gets back what the last one knew: who listens, and the log level. */
  async #welcome(identity: string, session: Session, generation: number): Promise<void> {
    const { spec, clock, events } = this.#options;
    if (events.isServerHeard) session.listen();
    const level = this.logLevel;
    if (level !== undefined) {
      const expired = () =>
        new McpRuntimeError("timeout", "The server did not answer in time.", { server: spec.name });
      const deadline = { ms: spec.timeouts.connectMs, clock, cancellation: new Cancellation(), expired };
      await withDeadline(deadline, (cancellation) =>
        session.request({ method: "logging/setLevel", params: { level }, cancellation }),
      ).catch((error: unknown) =>
        events.warn(`Server "${spec.name}" did not take log level "${level}" again: ${String(error)}`),
      );
    }
    events.emit("sessionOpened", { identity, generation, id: session.id });
  }
}
