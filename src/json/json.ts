import { configError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";

/** A JSON object with unknown content. */
export type JsonObject = Record<string, unknown>;

/** Any JSON value. Readonly, since shared values are frozen. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Whether a value is an object in the sense of JSON: not an array, a Map, a Date or another class instance.
 */
export function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // `Object.prototype` of any realm has no prototype itself.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Whether a value is a promise, of this or another realm or library. So is one whose `then` cannot be read: it is refused
 * where no promise is expected, and rejects where one is awaited.
 */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  const canHaveMethods = (typeof value === "object" && value !== null) || typeof value === "function";
  if (!canHaveMethods) return false;
  try {
    return typeof Reflect.get(value, "then") === "function";
  } catch {
    return true;
  }
}

/** Handles the rejection of a promise that a synchronous callback returned: it would end the process. */
export function ignoreRejection(promise: PromiseLike<unknown>): void {
  void Promise.resolve(promise).catch(() => undefined);
}

/** Whether a value is an array without holes. A sparse array can have any length without holding anything. */
export function isDenseArray(value: unknown): value is unknown[] {
  return Array.isArray(value) && Object.keys(value).length === value.length;
}

/** Sets a property, including `__proto__`, which an assignment would not create. */
export function setOwnProperty(target: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** Deep enough for real documents, shallow enough for recursive code such as `JSON.stringify`. */
const MAX_DEPTH = 500;
const TOO_DEEP_TEXT = `[nested deeper than ${MAX_DEPTH} levels]`;

/**
 * Clones JSON deeply. Values nested too deeply are replaced by a short text: a parser accepts a hundred
 * thousand brackets, but storing or printing them would overflow the stack. Class instances, which only a
 * user's output schema can create, are shared.
 */
export function cloneJson<Value>(value: Value): Value {
  return cloneLevel(value, 0) as Value;
}

function cloneLevel(value: unknown, depth: number): unknown {
  const isArray = Array.isArray(value);
  if (!isArray && !isPlainObject(value)) return value;
  if (depth >= MAX_DEPTH) return TOO_DEEP_TEXT;
  if (isArray) return value.map((item) => cloneLevel(item, depth + 1));
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setOwnProperty(copy, key, cloneLevel(value[key], depth + 1));
  return copy;
}

/**
 * Whether two JSON values are the same, apart from the order of keys and from properties that are
 * `undefined`. Iterative, because a schema may be nested deeper than the call stack allows.
 */
export function isDeepEqual(first: unknown, second: unknown): boolean {
  const pending: unknown[] = [first, second];
  while (pending.length > 0) {
    const [one, other] = [pending.pop(), pending.pop()];
    if (one === other) continue;
    if (Array.isArray(one) && Array.isArray(other)) {
      if (one.length !== other.length) return false;
      for (let index = 0; index < one.length; index += 1)
        if (one[index] !== other[index]) pending.push(one[index], other[index]);
    } else if (isPlainObject(one) && isPlainObject(other)) {
      for (const key of Object.keys(other))
        if (!Object.hasOwn(one, key) && other[key] !== undefined) return false;
      for (const key of Object.keys(one)) {
        const value = Object.hasOwn(other, key) ? other[key] : undefined;
        if (one[key] !== value) pending.push(one[key], value);
      }
    } else return false;
  }
  return true;
}

/** Copies an object without its properties that are `undefined`. */
export function omitUndefined<T extends object>(
  object: T | undefined,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(object ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

/**
 * Freezes a value recursively. Iterative, because a schema may be nested deeper than the call stack allows.
 */
export function deepFreeze<T>(root: T): T {
  const pending: unknown[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    // No spread: an array of 100,000 values exceeds the argument limit of a call.
    for (const value of Object.values(next)) if (typeof value === "object") pending.push(value);
  }
  return root;
}

/** Returns the value if it is an array, otherwise an empty one. */
export function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is an object, otherwise an empty one. */
export function toObject(value: unknown): JsonObject {
  return isPlainObject(value) ? value : {};
}

export function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/**
 * Parses JSON with an optional byte order mark. Throws `invalid-config`; `subject` names the text in the
 * error.
 */
export function parseJson(text: string, subject: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    const message = `invalid JSON${hintForText(text) ?? describeSyntaxError(printValue(cause))}`;
    throw configError(subject, [{ path: "", message }]);
  }
}

/**
 * The parser's message quotes the text, which may contain a token, so only one character or the position is
 * kept.
 */
function describeSyntaxError(message: string): string {
  const [, token] = /^SyntaxError: Unexpected token '([!-~])',/.exec(message) ?? [];
  if (token !== undefined) return `: unexpected ${JSON.stringify(token)}`;
  if (message.endsWith("Unexpected end of JSON input")) return ": the text ends too early";
  const [position] = /position \d+(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  return position === undefined ? "" : ` at ${position}`;
}

function hintForText(text: string): string | undefined {
  if (/^\s*(?:https?|wss?):\/\//i.test(text))
    return "; got a URL, expected an object such as { name: { url } }";
  return isFilePath(text) ? "; pass the content of the file, not its path" : undefined;
}

/** Whether a text is one line without JSON, but with a folder or an extension. */
function isFilePath(text: string): boolean {
  return text.length < 1_000 && /^[^\s{["][^\n{["]*$/.test(text) && /[/\\]|\.\w{1,5}$/.test(text);
}

/** Parses JSON; returns `undefined` if it is not valid. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Decodes a part of a URI; returns it as it is if it is not encoded correctly. */
export function tryDecodeURIComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Yields an object and all objects and arrays in it, each once. Not recursive, so that nesting cannot
 * overflow the stack.
 */
export function* walkObjects(root: object): Generator<object> {
  const seen = new Set<object>([root]);
  // `seen` grows during the iteration.
  for (const node of seen) {
    yield node;
    for (const child of Object.values(node) as unknown[])
      if (typeof child === "object" && child !== null) seen.add(child);
  }
}

/**
 * Returns the largest number, at least 0. No spread: an array of 100,000 values exceeds the argument limit of
 * a call.
 */
export function findLargest(numbers: readonly number[]): number {
  return numbers.reduce((largest, number) => Math.max(largest, number), 0);
}
