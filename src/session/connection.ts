import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { Mutex } from "../concurrency/mutex.js";
import type { ServerAddress, ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { openTransportSource, type TransportSource } from "../transports/transport-source.js";
import type { ServerNotification, Session } from "./session.js";
import { SessionKeeper } from "./session-keeper.js";

interface ConnectionEvents {
  /** A new session is there; what it should know is told to it before anybody uses it. */
  readonly onOpened: (identity: string, session: Session, generation: number) => Promise<void>;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
}

export interface ConnectionOptions extends ConnectionEvents {
  readonly spec: ServerSpec;
  readonly resolveAddress: () => Promise<ServerAddress>;
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/** One user's place on a connection: the session kept for them and the lock of `session.serialize`. */
export interface Seat {
  readonly keeper: SessionKeeper;
  readonly mutex: Mutex;
}

/**
 * Phase 1: the way to one server, made once: its address, its pool, its sessions by identity.
 * Sessions come and go on it.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #source: TransportSource;
  readonly #seats = new Map<string, Seat>();
  readonly #closing = new Cancellation();

  private constructor(options: ConnectionOptions, source: TransportSource) {
    this.#options = options;
    this.#source = source;
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { spec, redactor, clock } = options;
    const address = await options.resolveAddress();
    return new Connection(options, await openTransportSource(spec, address, { redactor, clock }));
  }

  /** By identity: two users never share one. */
  seat(identity: string): Seat {
    const known = this.#seats.get(identity);
    if (known !== undefined) return known;
    const keeper = new SessionKeeper((generation) => this.#openSession(identity, generation));
    const seat = { keeper, mutex: new Mutex() };
    this.#seats.set(identity, seat);
    return seat;
  }

  get seats(): ReadonlyMap<string, Seat> {
    return this.#seats;
  }

  /** Ends handshakes, sessions and pool. Calls in flight are the client's to end first. */
  async close(): Promise<void> {
    const { spec } = this.#options;
    this.#closing.cancel(
      new McpRuntimeError("closed", `The client of server "${spec.name}" was closed.`, { server: spec.name }),
    );
    const terminate = spec.session.terminateOnClose;
    await Promise.all([...this.#seats.values()].map(({ keeper }) => keeper.close({ terminate })));
    await this.#source.close();
  }

  async #openSession(identity: string, generation: number): Promise<Session> {
    const { spec, redactor, clock, onNotification, onError, onOpened } = this.#options;
    const { openSdkSession } = await import("./handshake.js");
    const session = await openSdkSession({
      server: spec.name,
      openTransport: () => this.#source.openTransport(),
      connectMs: spec.timeouts.connectMs,
      cancellation: this.#closing,
      redactor,
      clock,
      onNotification,
      onError,
    });
    await onOpened(identity, session, generation);
    return session;
  }
}
