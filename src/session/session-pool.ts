import { Semaphore } from "../async/semaphore.js";
import type { CallContext } from "../config/call-context.js";
import type { Credentials } from "../auth/credentials.js";
import { SessionKeeper } from "./current-session.js";
import type { Session } from "./session.js";
import type { StoredSession } from "./stored-session.js";

/** One user's place on a connection. */
export interface Seat {
  readonly identity: string;
  readonly keeper: SessionKeeper;
  /** One slot: the turn that `session.serialize` makes everybody wait for. */
  readonly turn: Semaphore;
  readonly credentials: Credentials | undefined;
  /** Where others find its session. */
  readonly stored: StoredSession | undefined;
}

export interface OccupiedSeat extends Seat {
  users: number;
}

interface SeatsOptions {
  /** How many there may be; more only while all are in use. */
  readonly most: number;
  readonly terminate: boolean;
  readonly createCredentials: (() => Credentials) | undefined;
  readonly createStored: ((identity: string) => StoredSession) | undefined;
  readonly openSession: (seat: Seat, generation: number, lost: Session | undefined) => Promise<Session>;
  /** Nobody has this seat any more. */
  readonly onGone: (identity: string) => void;
}

/**
 * The seats of all identities on one connection: two users never share one. The map is kept in the
 * order of use, so that the first idle one is the one that was idle longest.
 */
export class Seats {
  readonly #options: SeatsOptions;
  readonly #seats = new Map<string, OccupiedSeat>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: SeatsOptions) {
    this.#options = options;
  }

  get all(): ReadonlyMap<string, Seat> {
    return this.#seats;
  }

  /** A seat, which stays for as long as anybody has not left it. */
  enter(identity: string, context: CallContext | undefined): OccupiedSeat {
    const seat = this.#take(identity);
    if (context !== undefined) seat.credentials?.remember(context);
    seat.users += 1;
    return seat;
  }

  leave(seat: OccupiedSeat): void {
    seat.users -= 1;
  }

  /** Works on a seat, which stays as long as anybody does. */
  async use<T>(
    identity: string,
    context: CallContext | undefined,
    work: (seat: Seat) => Promise<T>,
  ): Promise<T> {
    const seat = this.enter(identity, context);
    try {
      return await work(seat);
    } finally {
      this.leave(seat);
    }
  }

  async close(): Promise<void> {
    const closing = [...this.#seats.values()].map((seat) => this.#end(seat));
    await Promise.all([...closing, ...this.#leaving]);
  }

  #take(identity: string): OccupiedSeat {
    const known = this.#seats.get(identity);
    if (known !== undefined) {
      if (this.#seats.size > 1) this.#moveToEnd(identity, known);
      return known;
    }
    const { createCredentials, createStored, openSession } = this.#options;
    const seat: OccupiedSeat = {
      identity,
      keeper: new SessionKeeper((generation, lost) => openSession(seat, generation, lost)),
      turn: new Semaphore(1),
      credentials: createCredentials?.(),
      stored: createStored?.(identity),
      users: 0,
    };
    this.#seats.set(identity, seat);
    this.#makeRoom(seat);
    return seat;
  }

  #moveToEnd(identity: string, seat: OccupiedSeat): void {
    this.#seats.delete(identity);
    this.#seats.set(identity, seat);
  }

  #makeRoom(newcomer: Seat): void {
    for (const seat of this.#seats.values()) {
      if (this.#seats.size <= this.#options.most) return;
      if (seat.users === 0 && seat !== newcomer) this.#dismiss(seat);
    }
  }

  #dismiss(seat: Seat): void {
    const { identity } = seat;
    this.#seats.delete(identity);
    this.#options.onGone(identity);
    const leaving = this.#end(seat).catch(() => undefined);
    this.#leaving.add(leaving);
    void leaving.then(() => this.#leaving.delete(leaving));
  }
  async #end({ keeper, stored }: Seat): Promise<void> {
    const { terminate } = this.#options;
    await keeper.close({ terminate });
    if (terminate) await stored?.forget();
  }
}
