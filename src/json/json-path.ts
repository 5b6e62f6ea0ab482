import { isPlainObject, type JsonObject, setOwnProperty } from "./json.js";

/** Every item of an array: `[*]`. */
export const WILDCARD = Symbol("[*]");

/** A name, an index, or every item. */
type PathSegment = string | number | typeof WILDCARD;
export type JsonPath = readonly PathSegment[];

/** The supported syntax, for error messages. */
export const SUPPORTED_PATHS = `$.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row`;

/** Bounds the work of following a path and of creating what is missing on it. */
const MAX_SEGMENTS = 64;
const MAX_INDEX = 9_999;

const SEGMENT =
  /^(?:\.(?<name>[^.[\]'"*?(),:\s]+)|\[\s*(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|[1-9]\d{0,7})|(?<every>\*))\s*\])/s;

/**
 * Parses a subset of JSONPath: dots, quoted names, indexes and `[*]`; the leading `$` is optional. Returns
 * `undefined` for filters, slices and searches, and for an index above `maxIndex`.
 */
export function parseJsonPath(text: string, maxIndex = MAX_INDEX): JsonPath | undefined {
  if (text === "") return undefined;
  const path: PathSegment[] = [];
  let rest = normalizeRoot(text);
  while (rest !== "") {
    const match = SEGMENT.exec(rest);
    if (match?.groups === undefined || path.length === MAX_SEGMENTS) return undefined;
    const segment = toSegment(match.groups);
    if (typeof segment === "number" && segment > maxIndex) return undefined;
    path.push(segment);
    rest = rest.slice(match[0].length);
  }
  return path;
}

/** Afterwards every segment, including the first, starts with a dot or a bracket. */
function normalizeRoot(text: string): string {
  if (text.startsWith("$")) return text.slice(1);
  return text.startsWith("[") ? text : `.${text}`;
}

function toSegment(groups: Readonly<Record<string, string | undefined>>): PathSegment {
  const { name, single, double, index, every } = groups;
  if (every !== undefined) return WILDCARD;
  if (index !== undefined) return Number(index);
  return name ?? unquote(single ?? double ?? "");
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unquote(quoted: string): string {
  return quoted.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

interface Edit {
  /** Returns the new value; `undefined` removes it. */
  readonly change: (current: unknown) => unknown;
  /** Whether to create missing objects and arrays, or to change only existing values. */
  readonly missing: "create" | "skip";
}

/** Limits the work. A step follows one segment of a path, or copies or creates one value. */
interface StepLimit {
  /** Throws if the limit is exceeded. */
  readonly spend: (steps: number) => void;
}

/** Returns all values at a path. */
export function getAllAtPath(args: unknown, path: JsonPath, limit?: StepLimit): unknown[] {
  return path.reduce<unknown[]>(
    (values, segment) => {
      const children = values.flatMap((value) => getChildren(value, segment));
      limit?.spend(1 + children.length);
      return children;
    },
    [args],
  );
}

function getChildren(value: unknown, segment: PathSegment): readonly unknown[] {
  if (segment === WILDCARD) return Array.isArray(value) ? value : [];
  const isReachable = typeof segment === "number" ? Array.isArray(value) : isPlainObject(value);
  return isReachable && Object.hasOwn(value as object, segment)
    ? [Reflect.get(value as object, segment)]
    : [];
}

/** Returns the first value at a path, or `undefined`. Reads only own properties. */
export function getAtPath(value: unknown, path: JsonPath): unknown {
  let current = value;
  for (const segment of path) {
    if (typeof current !== "object" || current === null) return undefined;
    const key = segment === WILDCARD ? 0 : segment;
    const isReachable = Array.isArray(current) === (typeof key === "number") && Object.hasOwn(current, key);
    if (!isReachable) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/**
 * Edits a value at many paths. Copies what it changes, once, and shares everything else with the input, which is not
 * changed. One limit is shared by all edits: wildcards and indexes multiply what the edits before have created.
 */
export class JsonEditor {
  readonly #limit: StepLimit;
  /** Objects and arrays of this editor, which are changed in place. */
  readonly #own = new Set<object>();

  constructor(limit: StepLimit) {
    this.#limit = limit;
  }

  /** Sets a value at a path; `createValue` is called once per match. Creates missing objects and arrays. */
  set(value: unknown, path: JsonPath, createValue: () => unknown): unknown {
    return this.#editAt(value, path, 0, { change: createValue, missing: "create" });
  }

  /** Replaces existing values at a path. */
  replace(value: unknown, path: JsonPath, replacement: unknown): unknown {
    return this.#editAt(value, path, 0, { change: () => replacement, missing: "skip" });
  }

  /** Removes existing values at a path. An array item becomes `null`, so that the others keep their index. */
  remove(value: unknown, path: JsonPath): unknown {
    return this.#editAt(value, path, 0, { change: () => undefined, missing: "skip" });
  }

  #editAt(value: unknown, path: JsonPath, depth: number, edit: Edit): unknown {
    this.#limit.spend(1);
    const segment = path[depth];
    if (segment === undefined) return edit.change(value);
    if (segment === WILDCARD) return this.#editItems(value, path, depth, edit);
    return typeof segment === "number"
      ? this.#editItem(value, segment, path, depth, edit)
      : this.#editField(value, segment, path, depth, edit);
  }

  #editField(value: unknown, name: string, path: JsonPath, depth: number, edit: Edit): unknown {
    const object: JsonObject = isPlainObject(value) ? value : {};
    const exists = Object.hasOwn(object, name);
    if (!exists && edit.missing === "skip") return value;
    const before = exists ? object[name] : undefined;
    const after = this.#editAt(before, path, depth + 1, edit);
    if (after === before) return value;
    const copy = this.#ownObject(object);
    if (after === undefined) delete copy[name];
    else setOwnProperty(copy, name, after);
    return copy;
  }

  #editItem(value: unknown, index: number, path: JsonPath, depth: number, edit: Edit): unknown {
    const array: readonly unknown[] = Array.isArray(value) ? value : [];
    if (index >= array.length && edit.missing === "skip") return value;
    const after = this.#editAt(array[index], path, depth + 1, edit);
    if (after === array[index]) return value;
    const copy = this.#ownArray(array);
    this.#limit.spend(Math.max(0, index - copy.length));
    while (copy.length < index) copy.push(null);
    copy[index] = after ?? null;
    return copy;
  }

  #editItems(value: unknown, path: JsonPath, depth: number, edit: Edit): unknown {
    const array: readonly unknown[] = Array.isArray(value) ? value : [];
    if (array.length === 0) {
      // Nothing is known but the items: an array with one item is the best guess.
      const isKnown = depth + 1 === path.length && edit.missing === "create";
      return isKnown ? [edit.change(undefined)] : value;
    }
    let edited = array;
    let isEmpty = true;
    for (let index = 0; index < array.length; index += 1) {
      const before = array[index];
      const after = this.#editAt(before, path, depth + 1, edit);
      isEmpty &&= after === undefined;
      if (after === before) continue;
      const copy = this.#ownArray(edited);
      copy[index] = after ?? null;
      edited = copy;
    }
    return isEmpty ? undefined : edited;
  }

  #ownObject(object: JsonObject): JsonObject {
    if (this.#own.has(object)) return object;
    const copy = { ...object };
    this.#limit.spend(Object.keys(copy).length);
    this.#own.add(copy);
    return copy;
  }

  #ownArray(array: readonly unknown[]): unknown[] {
    if (this.#own.has(array)) return array as unknown[];
    this.#limit.spend(array.length);
    const copy = [...array];
    this.#own.add(copy);
    return copy;
  }
}
