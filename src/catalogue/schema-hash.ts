import { createHash } from "node:crypto";
import { isJsonObject } from "../definitions/json.js";

const HASH_LENGTH = 12;

/** Tells two schemas apart whatever the order of their keys: SHA-256 over canonical JSON, 12 hex digits. */
export function schemaHash(value: unknown): string {
  const hash = createHash("sha256");
  writeCanonical(value, (text) => hash.update(text));
  return hash.digest("hex").slice(0, HASH_LENGTH);
}

/** Without recursion: a server's schema may be nested deeper than the stack. */
function writeCanonical(root: unknown, write: (text: string) => void): void {
  const left: (string | { readonly value: unknown })[] = [{ value: root }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") write(next);
    else if (Array.isArray(next.value))
      left.push("]", ...next.value.toReversed().flatMap((value) => [{ value }, ","]), "[");
    else if (isJsonObject(next.value)) {
      const entries = Object.entries(next.value).filter(([, value]) => value !== undefined);
      const sorted = entries.toSorted(([a], [b]) => (a < b ? 1 : -1));
      left.push("}", ...sorted.flatMap(([key, value]) => [{ value }, `,${JSON.stringify(key)}:`]), "{");
    } else write(JSON.stringify(next.value) ?? "null");
  }
}
