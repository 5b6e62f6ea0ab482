import type { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { Semaphore } from "../concurrency/semaphore.js";
import type { ServerAddress, ServerSpec } from "../definitions/server-spec.js";
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
  readonly server: string;
  /** The server with its address, which may have to be looked up. */
  readonly resolveSpec: () => Promise<ResolvedSpec>;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Ends handshakes when the client is closed; never one caller's signal. */
  readonly cancellation: Cancellation;
}

/** A server whose address is known. */
export type ResolvedSpec = ServerSpec & { readonly address: ServerAddress };

/** One user's place on a connection. */
export interface Seat {
  readonly keeper: SessionKeeper;
  /** One slot: the turn that `session.serialize` makes everybody wait for. */
  readonly turn: Semaphore;
}

/**
 * Phase 1: the way to one server, made once: its address, its pool, its sessions by identity.
 * Sessions come and go on it.
 */
export class Connection {
  readonly spec: ResolvedSpec;
  readonly #options: ConnectionOptions;
  readonly #source: TransportSource;
  readonly #seats = new Map<string, Seat>();

  private constructor(spec: ResolvedSpec, options: ConnectionOptions, source: TransportSource) {
    this.spec = spec;
    this.#options = options;
    this.#source = source;
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { redactor, clock } = options;
    const spec = await options.resolveSpec();
    redactor.add(spec.secrets);
    const source = await openTransportSource(spec, spec.address, { redactor, clock });
    return new Connection(spec, options, source);
  }

  /** By identity: two users never share one. */
  seat(identity: string): Seat {
    const known = this.#seats.get(identity);
    if (known !== undefined) return known;
    const keeper = new SessionKeeper((generation) => this.#openSession(identity, generation));
    const seat = { keeper, turn: new Semaphore(1) };
    this.#seats.set(identity, seat);
    return seat;
  }

  get seats(): ReadonlyMap<string, Seat> {
    return this.#seats;
  }

  /** Ends sessions and pool. Calls in flight and handshakes are the client's to end first. */
  async close(): Promise<void> {
    const terminate = this.spec.session.terminateOnClose;
    await Promise.all([...this.#seats.values()].map(({ keeper }) => keeper.close({ terminate })));
    await this.#source.close();
  }

  async #openSession(identity: string, generation: number): Promise<Session> {
    const { server, redactor, clock, onNotification, onError, onOpened } = this.#options;
    const { openSdkSession } = await import("./handshake.js");
    const session = await openSdkSession({
      server,
      openTransport: () => this.#source.openTransport(),
      connectMs: this.spec.timeouts.connectMs,
      cancellation: this.#options.cancellation,
      redactor,
      clock,
      onNotification,
      onError,
    });
    await onOpened(identity, session, generation);
    return session;
  }
}
