export interface BackoffOptions {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Retry delays: exponential with decorrelated jitter, so that callers that failed together do not retry together. */
export class Backoff {
  readonly #options: BackoffOptions;
  #lastMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#lastMs = options.baseDelayMs;
  }

  nextMs(): number {
    const { baseDelayMs, maxDelayMs, random } = this.#options;
    const upperMs = Math.max(baseDelayMs, this.#lastMs * 3);
    this.#lastMs = Math.min(maxDelayMs, baseDelayMs + random() * (upperMs - baseDelayMs));
    return this.#lastMs;
  }
}
