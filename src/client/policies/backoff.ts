export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** From 0 to 1; the dice. */
  readonly random: () => number;
}

/**
 * How long to wait before the next try: exponential with decorrelated jitter, so that callers that
 * failed together do not come back together.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #lastMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#lastMs = options.baseMs;
  }

  nextMs(): number {
    const { baseMs, maxMs, random } = this.#options;
    const highest = Math.max(baseMs, this.#lastMs * 3);
    this.#lastMs = Math.min(maxMs, baseMs + random() * (highest - baseMs));
    return this.#lastMs;
  }
}
