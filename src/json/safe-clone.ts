import { describeValue } from "./describe-value.js";
import { isPlainObject, type JsonObject, setOwnProperty } from "./json.js";

export interface CopyOptions {
  /** What is no JSON (functions, instances of classes) is a problem, or kept as it is. */
  readonly foreign: "refuse" | "keep";
  readonly maxDepth: number;
}

/** A value that is in the way, and where it stands. */
interface JsonProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

export interface UntrustedCopy {
  readonly copy: unknown;
  /** Empty, or else the copy is not complete. */
  readonly problems: readonly JsonProblem[];
}

/** Further down nobody reads the path any more. */
const MAX_PATH = 32;

/** An object or a list that is being copied. `height` is that of the tallest thing found in it so far. */
interface Frame {
  readonly source: object;
  readonly target: JsonObject | unknown[];
  readonly keys: readonly string[];
  next: number;
  height: number;
}

/**
 * A copy of any value whatsoever that shares nothing with it. It never throws: getters and proxies
 * may. It needs no stack, so nesting cannot exhaust it. What occurs twice is copied once, so a small
 * value cannot grow.
 */
export function copyUntrusted(value: unknown, options: CopyOptions): UntrustedCopy {
  const copier = new UntrustedCopier(options);
  const copy = copier.run(value);
  return { copy, problems: copier.problems };
}

class UntrustedCopier {
  readonly problems: JsonProblem[] = [];
  readonly #options: CopyOptions;
  readonly #stack: Frame[] = [];
  readonly #open = new Set<object>();
  readonly #finished = new Map<object, Frame>();

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  run(value: unknown): unknown {
    const copy = this.#enter(value);
    for (let frame = this.#stack.at(-1); frame !== undefined; frame = this.#stack.at(-1)) {
      const key = frame.keys[frame.next];
      if (key === undefined) {
        this.#leave(frame);
        continue;
      }
      frame.next += 1;
      this.#put(frame, key);
    }
    return copy;
  }

  #put({ source, target }: Frame, key: string): void {
    let value: unknown;
    try {
      value = Reflect.get(source, key);
    } catch {
      this.#refuse("cannot be read");
      return;
    }
    const isList = Array.isArray(target);
    // Like JSON.stringify: what is undefined is not there.
    if (value === undefined && !isList) return;
    const copy = this.#enter(value);
    if (isList) target.push(copy);
    else setOwnProperty(target, key, copy);
  }

  /** The copy of a value; that of an object is filled later, when its turn comes. */
  #enter(value: unknown): unknown {
    if (isScalar(value)) return value;
    if (typeof value !== "object" || value === null) return this.#foreign(value);
    const known = this.#finished.get(value);
    if (known !== undefined) {
      this.#raise(known.height);
      return known.target;
    }
    if (this.#open.has(value)) return this.#refuse("contains itself");
    let frame: Frame | undefined;
    try {
      frame = toFrame(value);
    } catch {
      return this.#refuse("cannot be read");
    }
    if (frame === undefined) return this.#foreign(value);
    this.#stack.push(frame);
    this.#open.add(value);
    return frame.target;
  }

  #leave(frame: Frame): void {
    this.#stack.pop();
    this.#open.delete(frame.source);
    this.#finished.set(frame.source, frame);
    if (this.#stack.length > 0) this.#raise(frame.height);
    else if (frame.height > this.#options.maxDepth)
      this.#refuse(`is nested more than ${this.#options.maxDepth} levels deep`);
  }

  #raise(height: number): void {
    const parent = this.#stack.at(-1);
    if (parent !== undefined) parent.height = Math.max(parent.height, height + 1);
  }

  #foreign(value: unknown): unknown {
    if (this.#options.foreign === "keep") return value;
    return this.#refuse(`expected JSON, found ${describeForeign(value)}`);
  }

  #refuse(message: string): undefined {
    const path = this.#stack.slice(0, MAX_PATH).map(({ target, keys, next }) => {
      return Array.isArray(target) ? next - 1 : (keys[next - 1] ?? "");
    });
    this.problems.push({ path, message });
  }
}

function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** `undefined` for what JSON does not know: instances of classes, lists with gaps. */
function toFrame(source: object): Frame | undefined {
  const isList = Array.isArray(source);
  if (!isList && !isPlainObject(source)) return undefined;
  const keys = Object.keys(source);
  // A list with gaps can be of any length without holding anything.
  if (isList && keys.length !== source.length) return undefined;
  return { source, target: isList ? [] : {}, keys, next: 0, height: 1 };
}

function describeForeign(value: unknown): string {
  if (typeof value === "number") return "a number that JSON does not have";
  if (Array.isArray(value)) return "a list with gaps";
  return typeof value === "object" && value !== null ? "an instance of a class" : describeValue(value);
}
