/** Runs at most one operation per key at a time; concurrent callers share its result. */
export class SingleFlight<Key, Result> {
  readonly #running = new Map<Key, Promise<Result>>();

  /** The operation in progress for this key, if any. */
  get(key: Key): Promise<Result> | undefined {
    return this.#running.get(key);
  }

  /** The operations in progress. */
  all(): Promise<Result>[] {
    return [...this.#running.values()];
  }

  run(key: Key, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
