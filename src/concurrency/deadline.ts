import { Cancellation } from "./cancellation.js";
import type { Clock } from "./clock.js";

export interface DeadlineOptions {
  /** 0 means none. */
  readonly ms: number;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  /** What the work is ended with when time is up. */
  readonly expired: () => unknown;
}

/** A time that can be given again, within one that cannot. */
export interface RenewableDeadlineOptions extends Omit<DeadlineOptions, "expired"> {
  /** The latest moment, by the clock; infinite means none. */
  readonly endsAt: number;
  readonly expired: (limit: "ms" | "endsAt") => unknown;
}

/** A limited time for one piece of work, from `start()` to `end()`: it is cancelled when time is up. */
export class RenewableDeadline {
  /** Of the work. */
  readonly cancellation: Cancellation;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #endsAt: number;
  readonly #expired: RenewableDeadlineOptions["expired"];
  #isOver = false;
  #disarm: (() => void) | undefined;

  constructor({ ms, endsAt, clock, cancellation, expired }: RenewableDeadlineOptions) {
    this.cancellation = cancellation.child();
    this.#clock = clock;
    this.#ms = ms;
    this.#endsAt = endsAt;
    this.#expired = expired;
  }

  /** Once the work has begun: setting the timer then takes none of its time. It may have been renewed by then. */
  start(): void {
    if (!this.#isOver && this.#disarm === undefined) this.#arm();
  }

  /** `ms` once more. */
  renew(): void {
    if (this.#isOver) return;
    this.#disarm?.();
    this.#arm();
  }

  end(): void {
    this.#isOver = true;
    this.#disarm?.();
    this.#disarm = undefined;
    this.cancellation.release();
  }

  #arm(): void {
    const leftMs = Math.max(0, this.#endsAt - this.#clock.now());
    const limit = this.#ms !== 0 && this.#ms < leftMs ? "ms" : "endsAt";
    const waitMs = limit === "ms" ? this.#ms : leftMs;
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#disarm = this.#clock.after(waitMs, () => this.cancellation.cancel(this.#expired(limit)));
  }
}

/** Gives work a limited time, and a cancellation of its own which ends it when time is up. */
export async function withDeadline<T>(
  { ms, clock, cancellation, expired }: DeadlineOptions,
  work: (cancellation: Cancellation) => Promise<T>,
): Promise<T> {
  if (ms === 0) return work(cancellation);
  const limited = cancellation.child();
  const disarm = clock.after(ms, () => limited.cancel(expired()));
  try {
    return await work(limited);
  } finally {
    disarm();
    limited.release();
  }
}
