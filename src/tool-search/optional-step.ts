import { CancelScope } from "../async/cancel-scope.js";
import { raceDeadline, systemClock } from "../async/clock.js";
import { describeThrown } from "../errors/sanitize-text.js";

/** How long a search waits for a function, and how long the function is not called after it has taken longer. */
const TIMEOUT_MS = 5_000;
const PAUSE_MS = 30_000;

interface OptionalStepOptions {
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

  /** Returns `undefined` if the function fails or takes too long, with a warning, and during the pause after that. */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> {
    if (this.#isPaused) return undefined;
    const { failure, warn } = this.#options;
    const timeout = new Error(
      `it did not settle within ${TIMEOUT_MS} ms, so it is not used for ${PAUSE_MS} ms`,
    );
    const deadline = {
      ms: TIMEOUT_MS,
      clock: systemClock,
      cancellation: new CancelScope(),
      createError: () => timeout,
    };
    try {
      return await raceDeadline(deadline, (async () => work())());
    } catch (error) {
      // Searches at the same time wait for the same time: the first one reports it.
      const isReported = error === timeout && this.#isPaused;
      if (error === timeout) this.#pausedUntil = systemClock.now() + PAUSE_MS;
      if (!isReported) warn(`${failure}: ${describeThrown(error)}`);
      return undefined;
    }
  }

  get #isPaused(): boolean {
    return systemClock.now() < this.#pausedUntil;
  }
}
