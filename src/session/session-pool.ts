import type { CancelScope } from "../async/cancel-scope.js";
import { Semaphore } from "../async/semaphore.js";
import type { Credentials } from "../auth/credentials.js";
import type { CallContext } from "../config/call-context.js";
import { isUnauthorized } from "../errors/mcp-runtime-error.js";
import type { Session } from "./session.js";
import type { StoredSession } from "./stored-session.js";

/** The session, credentials and stored session of one identity on a connection. */
export interface SessionSlot {
  readonly identity: string;
  readonly currentSession: CurrentSession;
  /** Serializes the requests when `session.sequential` is set. */
  readonly mutex: Semaphore;
  readonly credentials: Credentials | undefined;
  /** Shares the session with other processes. */
  readonly storedSession: StoredSession | undefined;
}

interface LeasedSlot extends SessionSlot {
  /** The number of users; the slot is not evicted while there are any. */
  leases: number;
}

interface SessionPoolOptions {
  /** Exceeded only while all slots are in use. */
  readonly maxSlots: number;
  readonly terminate: boolean;
  readonly createCredentials: (() => Credentials) | undefined;
  readonly createStoredSession: ((identity: string) => StoredSession) | undefined;
  readonly openSession: (slot: SessionSlot, opening: SessionOpening) => Promise<Session>;
  readonly onEvicted: (identity: string) => void;
}

/**
 * The session slots of all identities on one connection; two identities never share a slot. The map is
 * kept in order of use, so its first idle entry is the least recently used one.
 */
export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #slots = new Map<string, LeasedSlot>();
  readonly #evicting = new Set<Promise<void>>();

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  get slots(): ReadonlyMap<string, SessionSlot> {
    return this.#slots;
  }

  /** Whether a session of any identity is being opened. */
  get isOpening(): boolean {
    return [...this.#slots.values()].some(({ currentSession }) => currentSession.isOpening);
  }

  /** How many users wait for a session that is being opened, instead of using one. */
  get waiting(): number {
    const waiting = [...this.#slots.values()].map(({ currentSession, leases }) =>
      currentSession.isOpening ? leases - currentSession.inFlightBefore : 0,
    );
    return waiting.reduce((sum, count) => sum + count, 0);
  }

  /** Returns the slot of an identity. It is not evicted until `release` is called. */
  acquire(identity: string, context: CallContext | undefined): LeasedSlot {
    const slot = this.#getOrCreate(identity);
    if (context !== undefined) slot.credentials?.setContext(context);
    slot.leases += 1;
    return slot;
  }

  release(slot: LeasedSlot): void {
    slot.leases -= 1;
  }

  /** Runs `work` with a slot that is released afterwards. */
  async withSlot<T>(
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
    const closing = [...this.#slots.values()].map((slot) => this.#closeSlot(slot));
    await Promise.all([...closing, ...this.#evicting]);
  }

  #getOrCreate(identity: string): LeasedSlot {
    const existing = this.#slots.get(identity);
    if (existing !== undefined) {
      if (this.#slots.size > 1) this.#touch(identity, existing);
      return existing;
    }
    const { createCredentials, createStoredSession, openSession } = this.#options;
    const slot: LeasedSlot = {
      identity,
      currentSession: new CurrentSession((opening) => openSession(slot, opening)),
      mutex: new Semaphore(1),
      credentials: createCredentials?.(),
      storedSession: createStoredSession?.(identity),
      leases: 0,
    };
    this.#slots.set(identity, slot);
    this.#evictIdle(slot);
    return slot;
  }

  #touch(identity: string, slot: LeasedSlot): void {
    this.#slots.delete(identity);
    this.#slots.set(identity, slot);
  }

  #evictIdle(added: SessionSlot): void {
    for (const slot of this.#slots.values()) {
      if (this.#slots.size <= this.#options.maxSlots) return;
      if (slot.leases === 0 && slot !== added) this.#evict(slot);
    }
  }

  #evict(slot: SessionSlot): void {
    const { identity } = slot;
    this.#slots.delete(identity);
    this.#options.onEvicted(identity);
    const closing = this.#closeSlot(slot).catch(() => undefined);
    this.#evicting.add(closing);
    void closing.then(() => this.#evicting.delete(closing));
  }

  async #closeSlot({ currentSession, storedSession }: SessionSlot): Promise<void> {
    const { terminate } = this.#options;
    await currentSession.close({ terminate });
    if (terminate) await storedSession?.delete();
  }
}

/** A session that is opening or open. It identifies the session that a caller used. */
interface SessionHandle {
  /** Counts the sessions of one `CurrentSession`, from 1. */
  readonly generation: number;
  readonly isBackground: boolean;
  readonly opening: Promise<Session>;
  /** Set once the session is open. */
  readonly session: Session | undefined;
}

export type OpenSessionHandle = SessionHandle & { readonly session: Session };

/** How a session is opened. */
export interface SessionOpening {
  readonly generation: number;
  /** The session that it replaces, which was invalidated. */
  readonly previous: Session | undefined;
  /** No caller waits for the session, so opening it must not start a login. */
  readonly isBackground: boolean;
}

type OpenSessionFn = (opening: SessionOpening) => Promise<Session>;

/**
 * Keeps one session current. Only a caller with the current handle can invalidate it: when several
 * callers lose a session at once, the first one opens the next session and the others share it, and a
 * late invalidation of an older session has no effect.
 */
class CurrentSession {
  readonly #open: OpenSessionFn;
  #current: SessionHandle | undefined;
  #previous: Session | undefined;
  #generation = 0;

  constructor(open: OpenSessionFn) {
    this.#open = open;
  }

  get current(): SessionHandle | undefined {
    return this.#current;
  }

  get isOpening(): boolean {
    return this.#current !== undefined && this.#current.session === undefined;
  }

  /** Requests in flight on the session before the one that is being opened. */
  get inFlightBefore(): number {
    return this.#previous?.inFlight ?? 0;
  }

  /** The current session if it is open, so that the caller need not wait. */
  get ready(): OpenSessionHandle | undefined {
    const current = this.#current;
    return current?.session?.isAlive === true ? (current as OpenSessionHandle) : undefined;
  }

  /**
   * Returns the current session or opens one. A cancellation ends only that caller's wait. If it is being opened in the
   * background and requires a login, a caller who waits for it opens it again.
   */
  async acquire(
    cancellation: CancelScope,
    { isBackground = false }: { readonly isBackground?: boolean } = {},
  ): Promise<OpenSessionHandle> {
    if (this.#current?.session?.isAlive === false) this.#current = undefined;
    const handle = (this.#current ??= this.#start(isBackground));
    try {
      if (handle.session === undefined) await cancellation.race(handle.opening);
    } catch (error) {
      if (!handle.isBackground || isBackground || !isUnauthorized(error)) throw error;
      return this.acquire(cancellation);
    }
    return handle as OpenSessionHandle;
  }

  /** Called when the server no longer knows the session. Requests in flight on it may still finish. */
  invalidate(handle: SessionHandle): void {
    if (this.#current === handle) {
      this.#current = undefined;
      this.#previous = handle.session;
    }
    handle.session?.drain();
  }

  async close(options: { readonly terminate: boolean }): Promise<void> {
    const handle = this.#current;
    this.#current = undefined;
    const session = await handle?.opening.catch(() => undefined);
    await session?.close(options);
  }

  #start(isBackground: boolean): SessionHandle {
    this.#generation += 1;
    const generation = this.#generation;
    const handle: SessionHandle & { session: Session | undefined } = {
      generation,
      isBackground,
      opening: this.#open({ generation, previous: this.#previous, isBackground }),
      session: undefined,
    };
    handle.opening.then(
      (session) => {
        handle.session = session;
        this.#previous = undefined;
      },
      () => {
        // The next caller tries again.
        if (this.#current === handle) this.#current = undefined;
      },
    );
    return handle;
  }
}
