export interface BackoffOptions {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
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
    this.#lastMs = options.baseDelayMs;
  }

  nextMs(): number {
    const { baseDelayMs, maxDelayMs, random } = this.#options;
    const highest = Math.max(baseDelayMs, this.#lastMs * 3);
    this.#lastMs = Math.min(maxDelayMs, baseDelayMs + random() * (highest - baseDelayMs));
    return this.#lastMs;
  }
}
