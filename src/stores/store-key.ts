import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

const MAX_KEY_BYTES = 512;
const MAX_QUOTE_LENGTH = 120;

export function isStoreKey(key: unknown): key is string {
  return typeof key === "string" && key !== "" && isStorePrefix(key);
}

/** Lone surrogates are encoded as the same bytes, so two different keys would collide. */
function isStorePrefix(prefix: string): boolean {
  return Buffer.byteLength(prefix) <= MAX_KEY_BYTES && !/\p{Surrogate}/u.test(prefix);
}

export function assertStoreKey(key: unknown): asserts key is string {
  if (!isStoreKey(key)) throw keyError("key", `1 to ${MAX_KEY_BYTES} bytes`, key);
}

export function assertStorePrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix !== "string" || !isStorePrefix(prefix))
    throw keyError("prefix", `at most ${MAX_KEY_BYTES} bytes`, prefix);
}

/** Quotes and truncates a key for a message. */
export function quoteKey(key: string): string {
  return JSON.stringify(key.length > MAX_QUOTE_LENGTH ? `${key.slice(0, MAX_QUOTE_LENGTH)}…` : key);
}

function keyError(what: string, size: string, value: unknown): Error {
  const message = `expected a string of ${size}, got ${describeValue(value)}`;
  return configError(`The ${what} for a store`, [{ path: "", message }]);
}
