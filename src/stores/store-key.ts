import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

const MOST_BYTES = 512;
const LONGEST_QUOTE = 120;

export function isStoreKey(key: unknown): key is string {
  return typeof key === "string" && key !== "" && isStorePrefix(key);
}

/** Half a surrogate pair has no bytes of its own: two such keys would be one. */
function isStorePrefix(prefix: string): boolean {
  return Buffer.byteLength(prefix) <= MOST_BYTES && !/\p{Surrogate}/u.test(prefix);
}

export function checkStoreKey(key: unknown): asserts key is string {
  if (!isStoreKey(key)) throw keyError("key", `1 to ${MOST_BYTES} bytes`, key);
}

export function checkStorePrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix !== "string" || !isStorePrefix(prefix))
    throw keyError("prefix", `at most ${MOST_BYTES} bytes`, prefix);
}

/** A key in a message. */
export function quoteKey(key: string): string {
  return JSON.stringify(key.length > LONGEST_QUOTE ? `${key.slice(0, LONGEST_QUOTE)}…` : key);
}

function keyError(what: string, size: string, found: unknown): Error {
  const message = `expected a text of ${size}, found ${describeValue(found)}`;
  return configError(`The ${what} for a store`, [{ path: "", message }]);
}
