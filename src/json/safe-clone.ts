import { describeValue } from "./describe-value.js";
import { isPlainObject, type JsonObject, setOwnProperty } from "./json.js";

export interface SafeCloneOptions {
  /** Whether values that are not JSON (functions, class instances) are a problem or are kept. */
  readonly nonJson: "reject" | "preserve";
  readonly maxDepth: number;
  /** Returns what is copied in place of an object or array. */
  readonly convert?: (value: object) => unknown;
}

/** A value that cannot be cloned, and its path. */
interface JsonProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

interface SafeCloneResult {
  readonly copy: unknown;
  /** If not empty, the copy is incomplete. */
  readonly problems: readonly JsonProblem[];
}

/** The problem of a value whose getter or proxy threw. */
export const UNREADABLE = "cannot be read";

/** Longer paths are truncated in problems. */
const MAX_PATH_LENGTH = 32;

/** An object or array that is being copied. `height` is the nesting depth found so far. */
interface Frame {
  readonly source: object;
  /** What is copied: the source, or what it was converted to. */
  readonly content: object;
  readonly target: JsonObject | unknown[];
  readonly keys: readonly string[];
  next: number;
  height: number;
}

/**
 * Clones an untrusted value deeply. Never throws, even if getters or proxies do. Not recursive, so nesting cannot
 * overflow the stack. A value that occurs twice is copied once, so a small input cannot expand.
 */
export function safeClone(value: unknown, options: SafeCloneOptions): SafeCloneResult {
  const cloner = new SafeCloner(options);
  const copy = cloner.run(value);
  return { copy, problems: cloner.problems };
}

class SafeCloner {
  readonly problems: JsonProblem[] = [];
  readonly #options: SafeCloneOptions;
  readonly #stack: Frame[] = [];
  readonly #open = new Set<object>();
  readonly #finished = new Map<object, Frame>();

  constructor(options: SafeCloneOptions) {
    this.#options = options;
  }

  run(value: unknown): unknown {
    const copy = this.#copyValue(value);
    for (let frame = this.#stack.at(-1); frame !== undefined; frame = this.#stack.at(-1)) {
      const key = frame.keys[frame.next];
      if (key === undefined) {
        this.#finish(frame);
        continue;
      }
      frame.next += 1;
      this.#copyProperty(frame, key);
    }
    return copy;
  }

  #copyProperty({ content, target }: Frame, key: string): void {
    let value: unknown;
    try {
      value = Reflect.get(content, key);
    } catch {
      this.#addProblem(UNREADABLE);
      return;
    }
    const isArray = Array.isArray(target);
    // Like JSON.stringify, skips properties that are undefined.
    if (value === undefined && !isArray) return;
    const copy = this.#copyValue(value);
    if (isArray) target.push(copy);
    else setOwnProperty(target, key, copy);
  }

  /** Returns the copy of a value. The copy of an object is filled later. */
  #copyValue(value: unknown): unknown {
    if (isScalar(value)) return value;
    if (typeof value !== "object" || value === null) return this.#handleNonJson(value);
    const finished = this.#finished.get(value);
    if (finished !== undefined) {
      this.#updateHeight(finished.height);
      return finished.target;
    }
    if (this.#open.has(value)) return this.#addProblem("contains itself");
    let frame: Frame | undefined;
    try {
      frame = createFrame(value, this.#options.convert?.(value) ?? value);
    } catch {
      return this.#addProblem(UNREADABLE);
    }
    if (frame === undefined) return this.#handleNonJson(value);
    this.#stack.push(frame);
    this.#open.add(value);
    return frame.target;
  }

  #finish(frame: Frame): void {
    this.#stack.pop();
    this.#open.delete(frame.source);
    this.#finished.set(frame.source, frame);
    if (this.#stack.length > 0) this.#updateHeight(frame.height);
    else if (frame.height > this.#options.maxDepth)
      this.#addProblem(`is nested more than ${this.#options.maxDepth} levels deep`);
  }

  #updateHeight(height: number): void {
    const parent = this.#stack.at(-1);
    if (parent !== undefined) parent.height = Math.max(parent.height, height + 1);
  }

  #handleNonJson(value: unknown): unknown {
    if (this.#options.nonJson === "preserve") return value;
    const actual = typeof value === "number" ? "a number that JSON cannot represent" : describeValue(value);
    return this.#addProblem(`expected JSON, got ${actual}`);
  }

  #addProblem(message: string): undefined {
    const path = this.#stack.slice(0, MAX_PATH_LENGTH).map(({ target, keys, next }) => {
      return Array.isArray(target) ? next - 1 : (keys[next - 1] ?? "");
    });
    this.problems.push({ path, message });
  }
}

function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** Returns `undefined` for what JSON cannot represent: class instances and sparse arrays. */
function createFrame(source: object, content: unknown): Frame | undefined {
  const isArray = Array.isArray(content);
  if (!isArray && !isPlainObject(content)) return undefined;
  const keys = Object.keys(content);
  // A sparse array can have any length without containing anything.
  if (isArray && keys.length !== content.length) return undefined;
  return { source, content, target: isArray ? [] : {}, keys, next: 0, height: 1 };
}
