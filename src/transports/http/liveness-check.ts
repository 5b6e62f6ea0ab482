import type { Clock } from "../../async/clock.js";

interface SilenceCheckOptions {
  readonly clock: Clock;
  /** Asks the other side for a sign of life. */
  readonly ask: () => void;
  /** It gave none. */
  readonly onDead: () => void;
}

/** How long the other side may take to give a sign of life. */
const MAX_SILENCE_MS = 5_000;

/**
 * Finds a stream that is dead without a word, as one that a network in between has forgotten: nothing
 * is ever written to it, so nothing can fail. Whoever gives up on an answer while the stream was
 * silent makes it doubtful, and then somebody asks.
 */
export class SilenceCheck {
  readonly #options: SilenceCheckOptions;
  #heardAt: number;
  #stopWaiting: (() => void) | undefined;

  constructor(options: SilenceCheckOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  heard(): void {
    this.#heardAt = this.#options.clock.now();
    this.stop();
  }

  /** An answer that was asked for at this time is given up. */
  doubt(askedAt: number): void {
    if (this.#heardAt > askedAt || this.#stopWaiting !== undefined) return;
    const { clock, ask, onDead } = this.#options;
    this.#stopWaiting = clock.after(MAX_SILENCE_MS, onDead);
    ask();
  }

  stop(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
  }
}
