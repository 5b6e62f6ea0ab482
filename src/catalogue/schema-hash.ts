import { createHash } from "node:crypto";
import { isJsonObject } from "../definitions/json.js";

const HASH_LENGTH = 12;

/** Tells two schemas apart whatever the order of their keys: SHA-256 over canonical JSON, 12 hex digits. */
export function schemaHash(value: unknown): string {
  return createHash("sha256").update(toCanonicalJson(value)).digest("hex").slice(0, HASH_LENGTH);
}

/** Where two must never be taken for one: all of SHA-256. */
export function wholeHash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Without recursion: a server's schema may be nested deeper than the stack. */
function toCanonicalJson(root: unknown): string {
  const left: (string | { readonly value: unknown })[] = [{ value: root }];
  let text = "";
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") text += next;
    else if (Array.isArray(next.value))
      left.push("]", ...next.value.toReversed().flatMap((value) => [{ value }, ","]), "[");
    else if (isJsonObject(next.value)) {
      const { value } = next;
      const keys = Object.keys(value).filter((key) => value[key] !== undefined);
      const sorted = keys.toSorted((a, b) => (a < b ? 1 : -1));
      left.push("}", ...sorted.flatMap((key) => [{ value: value[key] }, `,${JSON.stringify(key)}:`]), "{");
    } else text += JSON.stringify(next.value) ?? "null";
  }
  return text;
}
