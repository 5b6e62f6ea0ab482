import type { Clock } from "../async/clock.js";

const INITIAL_DELAYS_MS = [500, 1_000, 2_000, 4_000] as const;
const REMOTE_BASE_DELAY_MS = 15_000;
const MAX_DELAY_MS = 5 * 60_000;

/** A connection lost more often than this within the window is not reconnected automatically. */
const MAX_LOSSES_IN_WINDOW = 5;
const FLAP_WINDOW_MS = 30_000;

interface ReconnectScheduleOptions {
  readonly clock: Clock;
  /** A remote server may take long to come back, so it is retried without limit; a local program is not. */
  readonly isRemote: boolean;
  /** Makes one attempt. */
  readonly reconnect: () => Promise<void>;
  /** The last attempt failed. */
  readonly onExhausted: (error: unknown) => void;
}

/** Reconnects with increasing delays, and stops for a connection that is lost repeatedly. */
export class ReconnectSchedule {
  readonly #options: ReconnectScheduleOptions;
  #lostAt: readonly number[] = [];
  #attempt = 0;
  #cancelTimer: (() => void) | undefined;
  /** Incremented by `stop`: an attempt of an earlier run has no effect when it ends. */
  #runId = 0;

  constructor(options: ReconnectScheduleOptions) {
    this.#options = options;
  }

  /** Starts reconnecting after a loss. Returns false, and does nothing, after too many recent losses. */
  start(): boolean {
    const now = this.#options.clock.now();
    this.stop();
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < FLAP_WINDOW_MS), now];
    if (this.#lostAt.length > MAX_LOSSES_IN_WINDOW) return false;
    this.#scheduleAttempt(INITIAL_DELAYS_MS[0]);
    return true;
  }

  /** Cancels further attempts. */
  stop(): void {
    this.#runId += 1;
    this.#attempt = 0;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #scheduleAttempt(ms: number): void {
    const runId = this.#runId;
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#cancelTimer = undefined;
      this.#options.reconnect().catch((error: unknown) => {
        if (runId === this.#runId) this.#onAttemptFailed(error);
      });
    });
  }

  #onAttemptFailed(error: unknown): void {
    this.#attempt += 1;
    const ms = getDelayMs(this.#attempt, this.#options.isRemote);
    if (ms === undefined) this.#options.onExhausted(error);
    else this.#scheduleAttempt(ms);
  }
}

function getDelayMs(attempt: number, isRemote: boolean): number | undefined {
  const first = INITIAL_DELAYS_MS[attempt];
  if (first !== undefined || !isRemote) return first;
  return Math.min(REMOTE_BASE_DELAY_MS * 2 ** (attempt - INITIAL_DELAYS_MS.length), MAX_DELAY_MS);
}
