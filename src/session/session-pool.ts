import { Semaphore } from "../async/semaphore.js";
import type { CallContext } from "../config/call-context.js";
import type { Credentials } from "../auth/credentials.js";
import { CurrentSession } from "./current-session.js";
import type { Session } from "./session.js";
import type { StoredSession } from "./stored-session.js";

/** One user's place on a connection. */
export interface SessionSlot {
  readonly identity: string;
  readonly keeper: CurrentSession;
  /** One slot: the turn that `session.sequential` makes everybody wait for. */
  readonly mutex: Semaphore;
  readonly credentials: Credentials | undefined;
  /** Where others find its session. */
  readonly stored: StoredSession | undefined;
}

export interface LeasedSlot extends SessionSlot {
  leases: number;
}

interface SessionPoolOptions {
  /** How many there may be; more only while all are in use. */
  readonly most: number;
  readonly terminate: boolean;
  readonly createCredentials: (() => Credentials) | undefined;
  readonly createStored: ((identity: string) => StoredSession) | undefined;
  readonly openSession: (
    slot: SessionSlot,
    generation: number,
    lost: Session | undefined,
  ) => Promise<Session>;
  /** Nobody has this seat any more. */
  readonly onEvicted: (identity: string) => void;
}

/**
 * The seats of all identities on one connection: two users never share one. The map is kept in the
 * order of use, so that the first idle one is the one that was idle longest.
 */
export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #seats = new Map<string, LeasedSlot>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  get all(): ReadonlyMap<string, SessionSlot> {
    return this.#seats;
  }

  /** A seat, which stays for as long as anybody has not left it. */
  acquire(identity: string, context: CallContext | undefined): LeasedSlot {
    const slot = this.#getOrCreate(identity);
    if (context !== undefined) slot.credentials?.remember(context);
    slot.leases += 1;
    return slot;
  }

  release(slot: LeasedSlot): void {
    slot.leases -= 1;
  }

  /** Works on a seat, which stays as long as anybody does. */
  async use<T>(
    identity: string,
    context: CallContext | undefined,
    work: (slot: SessionSlot) => Promise<T>,
  ): Promise<T> {
    const slot = this.acquire(identity, context);
    try {
      return await work(slot);
    } finally {
      this.release(slot);
    }
  }

  async close(): Promise<void> {
    const closing = [...this.#seats.values()].map((slot) => this.#end(slot));
    await Promise.all([...closing, ...this.#leaving]);
  }

  #getOrCreate(identity: string): LeasedSlot {
    const known = this.#seats.get(identity);
    if (known !== undefined) {
      if (this.#seats.size > 1) this.#moveToEnd(identity, known);
      return known;
    }
    const { createCredentials, createStored, openSession } = this.#options;
    const slot: LeasedSlot = {
      identity,
      keeper: new CurrentSession((generation, lost) => openSession(slot, generation, lost)),
      mutex: new Semaphore(1),
      credentials: createCredentials?.(),
      stored: createStored?.(identity),
      leases: 0,
    };
    this.#seats.set(identity, slot);
    this.#makeRoom(slot);
    return slot;
  }

  #moveToEnd(identity: string, slot: LeasedSlot): void {
    this.#seats.delete(identity);
    this.#seats.set(identity, slot);
  }

  #makeRoom(newcomer: SessionSlot): void {
    for (const slot of this.#seats.values()) {
      if (this.#seats.size <= this.#options.most) return;
      if (slot.leases === 0 && slot !== newcomer) this.#dismiss(slot);
    }
  }

  #dismiss(slot: SessionSlot): void {
    const { identity } = slot;
    this.#seats.delete(identity);
    this.#options.onEvicted(identity);
    const leaving = this.#end(slot).catch(() => undefined);
    this.#leaving.add(leaving);
    void leaving.then(() => this.#leaving.delete(leaving));
  }
  async #end({ keeper, stored }: SessionSlot): Promise<void> {
    const { terminate } = this.#options;
    await keeper.close({ terminate });
    if (terminate) await stored?.forget();
  }
}
