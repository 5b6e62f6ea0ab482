import { CancelScope } from "../async/cancel-scope.js";
import { raceDeadline, systemClock } from "../async/clock.js";
import { describeThrown } from "../errors/sanitize-text.js";

/** How long a function is not called after it has taken too long. */
const PAUSE_MS = 30_000;
/** A call that still runs then is not waited for: it may never settle. */
const MAX_RUN_MS = 600_000;

interface OptionalStepOptions {
  /** How long a search waits for the function. */
  readonly timeoutMs: number;
  /** What is reported when it fails: `rerank failed; the order is kept`. */
  readonly failure: string;
  readonly warn: (message: string) => void;
}

/** Runs functions of the application that a search can do without. */
export class OptionalStep {
  readonly #options: OptionalStepOptions;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: OptionalStepOptions) {
    this.#options = options;
  }

  /**
   * Returns `undefined` if the function fails or takes too long, with a warning. A function that took too long is not called
   * again before it has settled, and not for a while.
   */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> {
    if (this.#isPaused) return undefined;
    const { timeoutMs, failure, warn } = this.#options;
    const timeout = new Error(
      `it did not settle within ${timeoutMs} ms, so it is not used until it has, and for ${PAUSE_MS} ms`,
    );
    const deadline = {
      ms: timeoutMs,
      clock: systemClock,
      cancellation: new CancelScope(),
      createError: () => timeout,
    };
    const running = (async () => work())();
    try {
      return await raceDeadline(deadline, running);
    } catch (error) {
      // Concurrent searches time out together; only the first one warns.
      const isReported = error === timeout && this.#isPaused;
      if (error === timeout) this.#pauseUntilSettled(running);
      if (!isReported) warn(`${failure}: ${describeThrown(error)}`);
      return undefined;
    }
  }

  #pauseUntilSettled(running: Promise<unknown>): void {
    const pauseEnd = systemClock.now() + PAUSE_MS;
    this.#pausedUntil = systemClock.now() + MAX_RUN_MS;
    const onSettled = () => {
      this.#pausedUntil = pauseEnd;
    };
    running.then(onSettled, onSettled);
  }

  get #isPaused(): boolean {
    return systemClock.now() < this.#pausedUntil;
  }
}
