import { isPlainObject, type JsonValue, tryParseJson } from "../json/json.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import { safeClone } from "../json/safe-clone.js";

/**
 * Version of the entry format: a header line of JSON, then the value as JSON, or verbatim if it is a string.
 * The header can be read without the value, which may be megabytes.
 */
const FORMAT = 1;

/** Control characters except newline, and lone surrogates: not every backend returns them unchanged. */
const NEEDS_ESCAPING = /[^\P{Cc}\n]|\p{Surrogate}/u;

/** A key of 512 bytes, each escaped as `\u0000` in the worst case, plus the other header fields. */
export const MAX_HEADER_LENGTH = 4_096;

export interface EntryHeader {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** Length of a string value that is stored verbatim; `undefined` for any other value. */
  readonly textLength?: number | undefined;
}

/**
 * The stored data is not a valid entry (too large, wrong type, another format). Reads treat it as missing. The
 * message completes a sentence that starts with the entry.
 */
export class InvalidEntryError extends Error {
  override readonly name = "InvalidEntryError";
}

/** Throws `invalid-config` for a value that is not JSON. */
export function encodeEntry({ key, expiresAt }: EntryHeader, value: unknown): string {
  const isText = typeof value === "string" && !NEEDS_ESCAPING.test(value);
  const header = { format: FORMAT, key, expiresAt, textLength: isText ? value.length : undefined };
  return `${JSON.stringify(header)}\n${isText ? value : toStorableJson(value).text}`;
}

/**
 * Decodes an entry as untrusted input. Returns `undefined` if it has expired. Throws `InvalidEntryError` if it was
 * not written in this format for this key.
 */
export function decodeEntry(text: string, key: string, now: number): JsonValue | undefined {
  const header = decodeEntryHeader(text);
  if (header === undefined) throw new InvalidEntryError("is not in the format of this package");
  if (header.key !== key) throw new InvalidEntryError("was written for another key");
  if (hasExpired(header, now)) return undefined;
  const body = text.slice(text.indexOf("\n") + 1);
  if (header.textLength !== undefined) {
    if (body.length !== header.textLength) throw new InvalidEntryError("is incomplete");
    return body;
  }
  const value = tryParseJson(body);
  if (value === undefined) throw new InvalidEntryError("is not valid JSON");
  const problem = findUnsafeJson(value);
  if (problem !== undefined) throw new InvalidEntryError(problem);
  return value as JsonValue;
}

/** Decodes the header of an entry or of its first bytes. */
export function decodeEntryHeader(text: string): EntryHeader | undefined {
  const end = text.indexOf("\n");
  if (end === -1 || end > MAX_HEADER_LENGTH) return undefined;
  const header = tryParseJson(text.slice(0, end));
  if (!isPlainObject(header) || header["format"] !== FORMAT) return undefined;
  const { key, expiresAt, textLength } = header;
  return typeof key === "string" && isOptionalNumber(expiresAt) && isOptionalNumber(textLength)
    ? { key, expiresAt, textLength }
    : undefined;
}

/** Whether a text is an entry of this key that has not expired. Its value is not decoded. */
export function isLiveEntry(text: string | undefined, key: string, now: number): boolean {
  const header = decodeEntryHeader(text ?? "");
  return header?.key === key && !hasExpired(header, now);
}

export function hasExpired({ expiresAt }: Pick<EntryHeader, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function isOptionalNumber(value: unknown): value is number | undefined {
  return value === undefined || typeof value === "number";
}

/** Converts a time to live to an expiry time. Throws `invalid-config` for an invalid one. */
export function toExpiresAt(ttlMs: number | undefined, now: number): number | undefined {
  if (ttlMs === undefined) return undefined;
  const expiresAt = typeof ttlMs === "number" && ttlMs > 0 ? Math.ceil(now + ttlMs) : undefined;
  if (Number.isSafeInteger(expiresAt)) return expiresAt;
  const message = `expected a number of milliseconds above 0, got ${describeValue(ttlMs)}`;
  throw configError("The entry for a store", [{ path: "ttlMs", message }]);
}

/** Far beyond real documents, and small enough for recursive code that reads the value later. */
const MAX_DEPTH = 500;
const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep`;

/** A key that sets the prototype of an object when it is copied by assignment. */
const PROTO_KEY = "__proto__";

interface StorableJson {
  /** A deep copy of the input. */
  readonly copy: JsonValue;
  readonly text: string;
}

/** Copies and serializes a value. Throws `invalid-config` for a value that could not be read back unchanged. */
export function toStorableJson(value: unknown): StorableJson {
  const { copy, problems } = safeClone(value, { nonJson: "reject", maxDepth: MAX_DEPTH });
  if (value === undefined) throw valueError([{ path: "", message: "expected JSON, got undefined" }]);
  if (problems.length > 0)
    throw valueError(problems.map(({ path, message }) => ({ path: formatPath(path), message })));
  const text = JSON.stringify(copy);
  // Quotes inside strings are escaped, so this matches a key only.
  if (text.includes(`"${PROTO_KEY}":`)) throw valueError([{ path: "", message: `has a key "${PROTO_KEY}"` }]);
  return { copy: copy as JsonValue, text };
}

/** Returns why a parsed value must not be used, or `undefined`. */
export function findUnsafeJson(value: unknown, depth = 0): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = findUnsafeJson(item, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const key in value) {
    if (key === PROTO_KEY) return `has a key "${PROTO_KEY}"`;
    const problem = findUnsafeJson(value[key as keyof typeof value], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueError(issues: Parameters<typeof configError>[1]): Error {
  return configError("The value for a store", issues);
}
