import { isDeepStrictEqual } from "node:util";
import { copyJson } from "../../json/clone-json.js";

const LONGEST_BINARY = 1_000;
/** Where MCP keeps base64: of no use to a model that reads it as text, and it may be megabytes. */
const BINARY_KEYS: ReadonlySet<string> = new Set(["data", "blob"]);

/** A value as JSON, whatever it is: this never throws. */
export function toJsonText(value: unknown): string {
  return stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
}

/** The same for the eyes of a model: long binary data is named by its length. */
export function toJsonTextWithoutBinary(value: unknown): string {
  return stringify(value, (key, field) => {
    if (typeof field === "bigint") return String(field);
    if (typeof field !== "string" || field.length <= LONGEST_BINARY || !BINARY_KEYS.has(key)) return field;
    return `[${field.length.toLocaleString("en-US")} characters left out]`;
  });
}

/** Whether a text is this JSON, with any spaces and any order of keys. */
export function saysSameJson(text: string, json: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), JSON.parse(json));
  } catch {
    // Not JSON at all, or nested so deep that it cannot be compared.
    return false;
  }
}

function stringify(value: unknown, replace: (key: string, field: unknown) => unknown): string {
  try {
    return JSON.stringify(copyJson(value), replace) ?? "null";
  } catch {
    return "[a value that JSON cannot hold]";
  }
}
