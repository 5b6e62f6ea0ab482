import { isPlainObject, type JsonObject } from "./json.js";

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

/** Sets a value at a path; `createValue` is called once per match. Creates missing objects and arrays. */
export function setAtPath(args: unknown, path: JsonPath, createValue: () => unknown): unknown {
  return editAtPath(args, path, { change: createValue, missing: "create" });
}

/** Replaces existing values at a path. */
export function replaceAtPath(args: unknown, path: JsonPath, value: unknown): unknown {
  return editAtPath(args, path, { change: () => value, missing: "skip" });
}

/** Removes existing values at a path. An array item becomes `null`, so that the others keep their index. */
export function removeAtPath(args: unknown, path: JsonPath): unknown {
  return editAtPath(args, path, { change: () => undefined, missing: "skip" });
}

/** Returns all values at a path. */
export function getAllAtPath(args: unknown, path: JsonPath): unknown[] {
  return path.reduce<unknown[]>(
    (values, segment) => values.flatMap((value) => getChildren(value, segment)),
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

/** Copies along the path and shares everything else with the input, which is not changed. */
function editAtPath(value: unknown, path: JsonPath, edit: Edit): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return edit.change(value);
  if (segment === WILDCARD) return editItems(value, rest, edit);
  return typeof segment === "number"
    ? editItem(value, segment, rest, edit)
    : editField(value, segment, rest, edit);
}

function editField(value: unknown, name: string, rest: JsonPath, edit: Edit): unknown {
  const object: JsonObject = isPlainObject(value) ? value : {};
  const exists = Object.hasOwn(object, name);
  if (!exists && edit.missing === "skip") return value;
  const before = exists ? object[name] : undefined;
  const after = editAtPath(before, rest, edit);
  if (after === before) return value;
  if (after !== undefined) return { ...object, [name]: after };
  const { [name]: _, ...others } = object;
  return others;
}

function editItem(value: unknown, index: number, rest: JsonPath, edit: Edit): unknown {
  const array: readonly unknown[] = Array.isArray(value) ? value : [];
  if (index >= array.length && edit.missing === "skip") return value;
  const after = editAtPath(array[index], rest, edit);
  if (after === array[index]) return value;
  const gap = Array.from({ length: Math.max(0, index - array.length) }, () => null);
  return [...array, ...gap].slice(0, index).concat([after ?? null], array.slice(index + 1));
}

function editItems(value: unknown, rest: JsonPath, edit: Edit): unknown {
  const array: readonly unknown[] = Array.isArray(value) ? value : [];
  if (array.length === 0) {
    // Nothing is known but the items: an array with one item is the best guess.
    return rest.length === 0 && edit.missing === "create" ? [edit.change(undefined)] : value;
  }
  const items = array.map((item) => editAtPath(item, rest, edit));
  if (items.every((item) => item === undefined)) return undefined;
  return items.map((item) => item ?? null);
}
