/** Each power of two is divided into this many buckets of equal width. */
const SUB_BUCKET_BITS = 4;
const SUB_BUCKETS = 2 ** SUB_BUCKET_BITS;
/** The resolution is one microsecond; times above 71 minutes (2^32 µs) are clamped. */
const MAX_MICROS = 2 ** 32 - 1;
const BUCKET_COUNT = SUB_BUCKETS * (32 - SUB_BUCKET_BITS + 1);

/** The maximum relative error of a quantile (in addition to one microsecond of rounding). */
export const MAX_RELATIVE_ERROR = 1 / (2 * SUB_BUCKETS);

/**
 * A log-linear histogram of latencies in constant memory (two kilobytes). Bucket widths grow with the value, so
 * the relative error is at most three percent for short and long times.
 */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKET_COUNT);
  #count = 0;
  #min = MAX_MICROS;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#max / 1_000;
  }

  record(ms: number): void {
    const micros = Math.min(Math.max(0, Math.round(ms * 1_000)), MAX_MICROS);
    const index = bucketIndex(micros);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count += 1;
    if (micros < this.#min) this.#min = micros;
    if (micros > this.#max) this.#max = micros;
  }

  /** Adds all values of another histogram. */
  add(other: LatencyHistogram): void {
    for (const [index, count] of other.#counts.entries())
      this.#counts[index] = (this.#counts[index] ?? 0) + count;
    this.#count += other.#count;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  /** Returns a quantile in milliseconds, such as 0.95 for p95; 0 if nothing was recorded. */
  quantileMs(quantile: number): number {
    const rank = Math.max(1, Math.ceil(quantile * this.#count));
    let seen = 0;
    for (let index = 0; index < BUCKET_COUNT; index += 1) {
      seen += this.#counts[index] ?? 0;
      if (seen >= rank) return Math.min(Math.max(bucketMidpoint(index), this.#min), this.#max) / 1_000;
    }
    return 0;
  }
}

/** Values below `SUB_BUCKETS` have one bucket each; above, every power of two has `SUB_BUCKETS`. */
function bucketIndex(micros: number): number {
  if (micros < SUB_BUCKETS) return micros;
  const shift = 31 - Math.clz32(micros) - SUB_BUCKET_BITS;
  return SUB_BUCKETS * shift + (micros >>> shift);
}

function bucketMidpoint(index: number): number {
  if (index < 2 * SUB_BUCKETS) return index;
  const shift = Math.floor(index / SUB_BUCKETS) - 1;
  const low = (index - SUB_BUCKETS * shift) * 2 ** shift;
  return low + (2 ** shift - 1) / 2;
}
