import { isDenseArray, isPlainObject, type JsonObject, setOwnProperty } from "./json.js";
import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";

/** Describes a received value for an error message without revealing secrets. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (Array.isArray(value)) return isDenseArray(value) ? "an array" : "a sparse array";
  if (typeof value === "string") return isHarmlessWord(value) ? JSON.stringify(value) : "a string";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (value instanceof Promise) return "a promise (is an await missing?)";
  return isPlainObject(value) ? "an object" : "an instance of a class";
}

/** Short and without digits: likely a typo, not a token. */
function isHarmlessWord(text: string): boolean {
  return /^[A-Za-z][A-Za-z_-]{0,24}$/.test(text) || text === "";
}

/** `["resources", 2, "name"]` -> `resources[2].name`. */
export function formatPath(segments: readonly PropertyKey[]): string {
  const path = segments.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    const name = String(segment);
    return /^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return path.join("").replace(/^\./, "");
}

const MAX_JSON_LENGTH = 60;

/** Returns a value as short, readable JSON for a sentence. The work does not depend on the size of the value. */
export function truncateJson(value: unknown): string {
  const text = stripHiddenCharacters(toJson(takeBeginning(value, { remaining: MAX_JSON_LENGTH + 1 })));
  return truncate(text, MAX_JSON_LENGTH);
}

/** Copies as much of a value as the beginning of its JSON can contain: every value in it takes a character. */
function takeBeginning(value: unknown, limit: { remaining: number }): unknown {
  limit.remaining -= 1;
  if (typeof value === "string") return value.slice(0, MAX_JSON_LENGTH + 1);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let index = 0; index < value.length && limit.remaining > 0; index += 1)
      items.push(takeBeginning(value[index], limit));
    return items;
  }
  if (!isPlainObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (limit.remaining <= 0) break;
    setOwnProperty(copy, key.slice(0, MAX_JSON_LENGTH + 1), takeBeginning(value[key], limit));
  }
  return copy;
}

/** Returns "…" for what cannot be serialized. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "…";
  } catch {
    return "…";
  }
}

/** Returns a value as JSON, or `undefined` if it is longer. A longer value is not serialized. */
export function toJsonWithin(value: unknown, maxChars: number): string | undefined {
  const text = isLargerThan(value, maxChars) ? undefined : toJson(value);
  return text === undefined || text.length > maxChars ? undefined : text;
}

/** The quotes or brackets of a value, and a comma or a colon. */
const PUNCTUATION_LENGTH = 3;

/**
 * Returns how long a value is as JSON, roughly, and any number above `maxChars` if it is longer. Never throws: a transport of
 * the user may deliver what cannot be serialized.
 */
export function estimateJsonLength(value: unknown, maxChars: number): number {
  let length = 0;
  const stack: unknown[] = [value];
  while (stack.length > 0 && length <= maxChars) {
    const next = stack.pop();
    length += PUNCTUATION_LENGTH + (typeof next === "string" ? next.length : 0);
    if (Array.isArray(next)) for (const item of next) stack.push(item);
    else if (isPlainObject(next)) for (const key of Object.keys(next)) stack.push(key, next[key]);
  }
  return length;
}

/** Whether the names, strings and other values in a value have more than `maxChars` characters, counting others as one. */
export function isLargerThan(value: unknown, maxChars: number): boolean {
  let remaining = maxChars;
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    remaining -= typeof next === "string" ? next.length : 1;
    if (remaining < 0 || (Array.isArray(next) && next.length > remaining)) return true;
    if (Array.isArray(next)) for (const item of next) stack.push(item);
    else if (isPlainObject(next)) {
      const keys = Object.keys(next);
      if (keys.length > remaining) return true;
      for (const key of keys) stack.push(key, next[key]);
    }
  }
  return false;
}

/** Whether a value has more than `maxValues` values in it, each array, object and scalar counting as one. */
export function hasMoreValuesThan(root: unknown, maxValues: number): boolean {
  const stack: unknown[] = [root];
  for (let count = 0; stack.length > 0; count += 1) {
    const next = stack.pop();
    const children = Array.isArray(next) ? next : isPlainObject(next) ? Object.values(next) : [];
    if (count + 1 + stack.length + children.length > maxValues) return true;
    for (const child of children) stack.push(child);
  }
  return false;
}
