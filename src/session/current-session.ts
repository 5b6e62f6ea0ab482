import type { CancelScope } from "../async/cancel-scope.js";
import type { Session } from "./session.js";

/** A session that is being opened or is open. Holding it tells which one a caller used. */
export interface SessionHandle {
  /** Counts the sessions of this keeper, from 1. */
  readonly generation: number;
  readonly opening: Promise<Session>;
  /** There once it is open. */
  readonly session: Session | undefined;
}

/** A held session that is there. */
export type OpenSessionHandle = SessionHandle & { readonly session: Session };

/** Opens the session of this generation, in place of one that was lost. */
type OpenNext = (generation: number, lost: Session | undefined) => Promise<Session>;

/**
 * Keeps one session current. Callers hold what they used, and only who holds the current one may
 * have it replaced: of any number of callers that lose a session together, the first opens the next
 * one and the others find it; a late loss of an older session changes nothing.
 */
export class CurrentSession {
  readonly #open: OpenNext;
  #current: SessionHandle | undefined;
  #lost: Session | undefined;
  #generation = 0;

  constructor(open: OpenNext) {
    this.#open = open;
  }

  get current(): SessionHandle | undefined {
    return this.#current;
  }

  /** The current session, if it is open: nothing to wait for. */
  get ready(): OpenSessionHandle | undefined {
    const current = this.#current;
    return current?.session?.isAlive === true ? (current as OpenSessionHandle) : undefined;
  }

  /** The current session, or a new one. One caller's cancellation ends that caller's wait only. */
  async hold(cancellation: CancelScope): Promise<OpenSessionHandle> {
    if (this.#current?.session?.isAlive === false) this.#current = undefined;
    const held = (this.#current ??= this.#start());
    if (held.session === undefined) await cancellation.race(held.opening);
    return held as OpenSessionHandle;
  }

  /** The server does not know this session any more. Calls in flight on it may still finish. */
  discard(held: SessionHandle): void {
    if (this.#current === held) {
      this.#current = undefined;
      this.#lost = held.session;
    }
    held.session?.retire();
  }

  async close(options: { readonly terminate: boolean }): Promise<void> {
    const held = this.#current;
    this.#current = undefined;
    const session = await held?.opening.catch(() => undefined);
    await session?.close(options);
  }

  #start(): SessionHandle {
    this.#generation += 1;
    const held: { generation: number; opening: Promise<Session>; session: Session | undefined } = {
      generation: this.#generation,
      opening: this.#open(this.#generation, this.#lost),
      session: undefined,
    };
    held.opening.then(
      (session) => {
        held.session = session;
        this.#lost = undefined;
      },
      () => {
        // The next caller tries afresh.
        if (this.#current === held) this.#current = undefined;
      },
    );
    return held;
  }
}
