import { isDeepStrictEqual } from "node:util";
import { cloneJson } from "../../json/json.js";

const MAX_BINARY_LENGTH = 1_000;
/** Where MCP has base64, which may be megabytes and is useless to a model as text. */
const BINARY_KEYS: ReadonlySet<string> = new Set(["data", "blob"]);

/** Serializes any value; never throws. */
export function stringifyJson(value: unknown): string {
  return stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
}

/** Like `stringifyJson`, with long binary data replaced by its length. */
export function stringifyWithoutBinary(value: unknown): string {
  return stringify(value, (key, field) => {
    if (typeof field === "bigint") return String(field);
    if (typeof field !== "string" || field.length <= MAX_BINARY_LENGTH || !BINARY_KEYS.has(key)) return field;
    return `[${field.length.toLocaleString("en-US")} characters omitted]`;
  });
}

/** Whether a text is the same JSON, regardless of whitespace and the order of keys. */
export function isSameJson(text: string, json: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), JSON.parse(json));
  } catch {
    // Not JSON, or nested too deeply to be compared.
    return false;
  }
}

function stringify(value: unknown, replacer: (key: string, field: unknown) => unknown): string {
  try {
    return JSON.stringify(cloneJson(value), replacer) ?? "null";
  } catch {
    return "[a value that cannot be serialized as JSON]";
  }
}
