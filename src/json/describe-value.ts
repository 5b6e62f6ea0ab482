import { isDenseArray, isPlainObject } from "./json.js";
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

/** Returns a value as short, readable JSON for a sentence. */
export function truncateJson(value: unknown): string {
  const text = stripHiddenCharacters(toJson(value));
  return truncate(text, MAX_JSON_LENGTH);
}

/** Returns "…" for what cannot be serialized. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "…";
  } catch {
    return "…";
  }
}
