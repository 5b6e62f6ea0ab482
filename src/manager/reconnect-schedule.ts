import type { Clock } from "../async/clock.js";
import type { ReconnectionSettings } from "./manager-options.js";

interface ReconnectScheduleOptions {
  readonly clock: Clock;
  /** `undefined`: a lost connection is not restored before the next call. */
  readonly settings: ReconnectionSettings | undefined;
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

  /** Whether connections are restored at all. */
  get isEnabled(): boolean {
    return this.#options.settings !== undefined;
  }

  /** Starts reconnecting after a loss. Returns false, and does nothing, after too many recent losses. */
  start(): boolean {
    const { clock, settings } = this.#options;
    const now = clock.now();
    this.stop();
    if (settings === undefined) return false;
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < settings.lossWindowMs), now];
    return this.#lostAt.length <= settings.maxLosses && this.#scheduleAttempt(settings);
  }

  /** Cancels further attempts. */
  stop(): void {
    this.#runId += 1;
    this.#attempt = 0;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Returns false after the last attempt. */
  #scheduleAttempt(settings: ReconnectionSettings): boolean {
    const { clock, isRemote, reconnect, onExhausted } = this.#options;
    const { delaysMs, maxAttempts = isRemote ? Number.POSITIVE_INFINITY : LOCAL_MAX_ATTEMPTS } = settings;
    const delayMs = delaysMs[Math.min(this.#attempt, delaysMs.length - 1)];
    if (this.#attempt >= maxAttempts || delayMs === undefined) return false;
    const runId = this.#runId;
    this.#attempt += 1;
    this.#cancelTimer = clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      reconnect().catch((error: unknown) => {
        if (runId === this.#runId && !this.#scheduleAttempt(settings)) onExhausted(error);
      });
    });
    return true;
  }
}

/** A program that exits right after its start four times will most likely exit again. */
const LOCAL_MAX_ATTEMPTS = 4;
