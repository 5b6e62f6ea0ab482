import type { JsonObject } from "../json/json.js";

/** Thrown when the work on a schema exceeds its budget. */
export class StepLimitError extends Error {
  override readonly name = "StepLimitError";
}

/** The stack may overflow before the limit is reached, if the caller has used most of it. */
export function isLimitError(error: unknown): boolean {
  return error instanceof StepLimitError || error instanceof RangeError;
}

/** Less than a quarter of what the stack allows. */
const MAX_DEPTH = 2_000;

/**
 * Limits the work on a schema that a server wrote. A step takes about 0.1 µs: it evaluates one schema for one value,
 * compares a few values or reads a few dozen characters. Counting steps instead of measuring time makes the result
 * independent of the machine and its load.
 */
export class StepBudget {
  readonly maxSteps: number;
  #used = 0;

  constructor(maxSteps: number) {
    this.maxSteps = maxSteps;
  }

  get used(): number {
    return this.#used;
  }

  get isExceeded(): boolean {
    return this.#used > this.maxSteps;
  }

  /** @throws StepLimitError if recursion would overflow the stack */
  assertDepth(depth: number): void {
    if (depth > MAX_DEPTH) throw new StepLimitError(`more than ${MAX_DEPTH} levels`);
  }

  /** @throws StepLimitError if that many more steps would exceed the budget */
  assertAvailable(steps: number): void {
    if (this.#used + steps > this.maxSteps) throw new StepLimitError(`more than ${this.maxSteps} steps`);
  }

  reset(): void {
    this.#used = 0;
  }

  /** Counts steps that were made within another budget. */
  add(steps: number): void {
    this.#used += steps;
  }

  /** @throws StepLimitError if the budget is exceeded */
  spend(steps: number): void {
    this.#used += steps;
    if (this.#used > this.maxSteps) throw new StepLimitError(`more than ${this.maxSteps} steps`);
  }
}

/** Returns `undefined` if the work exceeds its budget. */
export function tryWithinBudget<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof StepLimitError) return undefined;
    throw error;
  }
}

/** Listing the names of a large object takes long, and each level of detail counts them again. */
const largeCounts = new WeakMap<object, number>();
const LARGE_COUNT = 1_000;

/** More keywords than a schema of a person has. They are part of the cost of reading a schema. */
const USUAL_KEYWORDS = 32;

/**
 * The number of values, names or subschemas in the keywords of a schema, which must not change afterwards, and of the keywords
 * themselves if there are unusually many.
 */
export function countEntries(schema: JsonObject): number {
  const keywords = Object.keys(schema);
  let count = Math.max(0, keywords.length - USUAL_KEYWORDS);
  for (const keyword of keywords) {
    const value = schema[keyword];
    if (typeof value === "object" && value !== null) count += countNames(value);
  }
  return count;
}

/** The number of names in an object, or of items in an array. */
export function countNames(value: object): number {
  if (Array.isArray(value)) return value.length;

  const known = largeCounts.get(value);
  if (known !== undefined) return known;
  const count = Object.keys(value).length;
  if (count >= LARGE_COUNT) largeCounts.set(value, count);
  return count;
}

const CHARACTERS_PER_STEP = 64;

/** The steps that it takes to read a text. */
export function countTextSteps(text: string): number {
  return Math.trunc(text.length / CHARACTERS_PER_STEP);
}
