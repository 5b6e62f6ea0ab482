import type { Clock } from "../async/clock.js";

const FIRST_WAITS_MS = [500, 1_000, 2_000, 4_000] as const;
const LONG_WAIT_MS = 15_000;
const LONGEST_WAIT_MS = 5 * 60_000;

/** More losses than this in that time, and it is left alone. */
const MOST_LOSSES = 5;
const STORM_MS = 30_000;

interface LadderParts {
  readonly clock: Clock;
  /** Somebody else's machine may take long to come back; a program that does not start will not start tomorrow. */
  readonly isRemote: boolean;
  /** Tries once. */
  readonly reopen: () => Promise<void>;
  /** There is no further step. */
  readonly onGivenUp: (error: unknown) => void;
}

/** Brings a lost connection back, step by step, and leaves one alone that is lost again and again. */
export class ReconnectLadder {
  readonly #parts: LadderParts;
  #lostAt: readonly number[] = [];
  #step = 0;
  #stopTimer: (() => void) | undefined;
  /** Which climb is under way: a try that ends after `stop` decides nothing. */
  #climb = 0;

  constructor(parts: LadderParts) {
    this.#parts = parts;
  }

  /** The connection is gone. False when that happened too often lately: then nothing is tried. */
  begin(): boolean {
    const now = this.#parts.clock.now();
    this.stop();
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < STORM_MS), now];
    if (this.#lostAt.length > MOST_LOSSES) return false;
    this.#wait(FIRST_WAITS_MS[0]);
    return true;
  }

  /** Nothing more is tried: there is a connection again, or nobody wants one. */
  stop(): void {
    this.#climb += 1;
    this.#step = 0;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #wait(ms: number): void {
    const climb = this.#climb;
    this.#stopTimer = this.#parts.clock.after(ms, () => {
      this.#stopTimer = undefined;
      this.#parts.reopen().catch((error: unknown) => {
        if (climb === this.#climb) this.#next(error);
      });
    });
  }

  #next(error: unknown): void {
    this.#step += 1;
    const ms = waitMs(this.#step, this.#parts.isRemote);
    if (ms === undefined) this.#parts.onGivenUp(error);
    else this.#wait(ms);
  }
}

function waitMs(step: number, isRemote: boolean): number | undefined {
  const first = FIRST_WAITS_MS[step];
  if (first !== undefined || !isRemote) return first;
  return Math.min(LONG_WAIT_MS * 2 ** (step - FIRST_WAITS_MS.length), LONGEST_WAIT_MS);
}
