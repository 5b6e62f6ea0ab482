import { createHash } from "node:crypto";
import { isPlainObject } from "../json/json.js";

const HASH_LENGTH = 12;

/** Tells two schemas apart whatever the order of their keys: SHA-256 over canonical JSON, 12 hex digits. */
export function schemaHash(value: unknown): string {
  return wholeHash(value).slice(0, HASH_LENGTH);
}

/** Where two must never be taken for one: all of SHA-256. */
export function wholeHash(value: unknown): string {
  return createHash("sha256").update(toCanonicalJson(value)).digest("hex");
}

/**
 * Without recursion: a server's schema may be nested deeper than the stack. And one by one: a list of a
 * hundred thousand values is more than a call takes.
 */
function toCanonicalJson(root: unknown): string {
  const left: (string | { readonly value: unknown })[] = [{ value: root }];
  let text = "";
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") {
      text += next;
    } else if (Array.isArray(next.value)) {
      left.push("]");
      for (const value of next.value.toReversed()) left.push({ value }, ",");
      left.push("[");
    } else if (isPlainObject(next.value)) {
      const { value } = next;
      const keys = Object.keys(value).filter((key) => value[key] !== undefined);
      left.push("}");
      for (const key of keys.toSorted((a, b) => (a < b ? 1 : -1)))
        left.push({ value: value[key] }, `,${JSON.stringify(key)}:`);
      left.push("{");
    } else {
      text += JSON.stringify(next.value) ?? "null";
    }
  }
  return text;
}
