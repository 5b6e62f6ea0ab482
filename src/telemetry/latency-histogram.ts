/** Each doubling of the value is cut into this many buckets of the same width. */
const STEPS_BITS = 4;
const STEPS = 2 ** STEPS_BITS;
/** A microsecond is the smallest step, and 71 minutes (2^32 of them) the longest time that is told apart. */
const LARGEST = 2 ** 32 - 1;
const BUCKETS = STEPS * (32 - STEPS_BITS + 1);

/** What is told is off by no more than this part of the true value (and by no more than a microsecond). */
export const LATENCY_ERROR = 1 / (2 * STEPS);

/**
 * Times in milliseconds, in two kilobytes however many there are. Buckets grow with the value, as
 * digits of a number do, so that a time is known to three per cent whether it is long or short.
 */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #min = LARGEST;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#max / 1_000;
  }

  record(ms: number): void {
    const micros = Math.min(Math.max(0, Math.round(ms * 1_000)), LARGEST);
    const index = bucketOf(micros);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count += 1;
    if (micros < this.#min) this.#min = micros;
    if (micros > this.#max) this.#max = micros;
  }

  /** Takes over all that another one has recorded. */
  add(other: LatencyHistogram): void {
    for (const [index, count] of other.#counts.entries())
      this.#counts[index] = (this.#counts[index] ?? 0) + count;
    this.#count += other.#count;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  /** The time within which this part of all was done: 0.95 for p95. 0 when there is none. */
  quantileMs(part: number): number {
    const rank = Math.max(1, Math.ceil(part * this.#count));
    let seen = 0;
    for (let index = 0; index < BUCKETS; index += 1) {
      seen += this.#counts[index] ?? 0;
      if (seen >= rank) return Math.min(Math.max(middleOf(index), this.#min), this.#max) / 1_000;
    }
    return 0;
  }
}

/** The first steps are one wide; from then on each doubling has its own. */
function bucketOf(micros: number): number {
  if (micros < STEPS) return micros;
  const shift = 31 - Math.clz32(micros) - STEPS_BITS;
  return STEPS * shift + (micros >>> shift);
}

function middleOf(index: number): number {
  if (index < 2 * STEPS) return index;
  const shift = Math.floor(index / STEPS) - 1;
  const low = (index - STEPS * shift) * 2 ** shift;
  return low + (2 ** shift - 1) / 2;
}
