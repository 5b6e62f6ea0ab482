import { isPlainObject, type JsonValue } from "../json/json.js";
import { findUnsafeJson, toStorableJson } from "./storable-json.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

/**
 * Version of the entry format: a header line of JSON, then the value as JSON, or verbatim if it is a string.
 * The header can be read without the value, which may be megabytes.
 */
const FORMAT = 1;

/** Control characters except newline, and lone surrogates: not every backend returns them unchanged. */
const NEEDS_ESCAPING = /[^\P{Cc}\n]|\p{Surrogate}/u;

/** A key of 512 bytes, each escaped as `\u0000` in the worst case, plus the other header fields. */
export const MAX_HEADER_LENGTH = 4_096;

export interface StoredHeader {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

interface DecodedHeader extends StoredHeader {
  /** Length of a string value that is stored verbatim. */
  readonly textLength: number | undefined;
}

/**
 * - `live`: the stored value
 * - `expired`: the time to live has passed
 * - `invalid`: not written in this format for this key
 */
export type DecodedRecord =
  | { readonly state: "live"; readonly value: JsonValue }
  | { readonly state: "expired" }
  | { readonly state: "invalid"; readonly problem: string };

/** Throws `invalid-config` for a value that is not JSON. */
export function encodeRecord({ key, expiresAt }: StoredHeader, value: unknown): string {
  const isText = typeof value === "string" && !NEEDS_ESCAPING.test(value);
  const header = { format: FORMAT, key, expiresAt, textLength: isText ? value.length : undefined };
  return `${JSON.stringify(header)}\n${isText ? value : toStorableJson(value).text}`;
}

/** Decodes an entry as untrusted input. */
export function decodeRecord(text: string, key: string, now: number): DecodedRecord {
  const header = decodeHeader(text);
  if (header === undefined) return invalid("is not in the format of this package");
  if (header.key !== key) return invalid("was written for another key");
  if (hasExpired(header, now)) return { state: "expired" };
  const body = text.slice(text.indexOf("\n") + 1);
  if (header.textLength !== undefined)
    return body.length === header.textLength ? { state: "live", value: body } : invalid("is incomplete");
  const value = parse(body);
  if (value === undefined) return invalid("is not valid JSON");
  const problem = findUnsafeJson(value);
  return problem === undefined ? { state: "live", value: value as JsonValue } : invalid(problem);
}

/** Decodes the header of an entry or of its first bytes. */
export function decodeHeader(text: string): DecodedHeader | undefined {
  const end = text.indexOf("\n");
  if (end === -1 || end > MAX_HEADER_LENGTH) return undefined;
  const header = parse(text.slice(0, end));
  if (!isPlainObject(header) || header["format"] !== FORMAT) return undefined;
  const { key, expiresAt, textLength } = header;
  return typeof key === "string" && isOptionalNumber(expiresAt) && isOptionalNumber(textLength)
    ? { key, expiresAt, textLength }
    : undefined;
}

export function hasExpired({ expiresAt }: StoredHeader, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function isOptionalNumber(value: unknown): value is number | undefined {
  return value === undefined || typeof value === "number";
}

function invalid(problem: string): DecodedRecord {
  return { state: "invalid", problem };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a time to live to an expiry time. Throws `invalid-config` for an invalid one. */
export function toExpiresAt(ttlMs: number | undefined, now: number): number | undefined {
  if (ttlMs === undefined) return undefined;
  const expiresAt = typeof ttlMs === "number" && ttlMs > 0 ? Math.ceil(now + ttlMs) : undefined;
  if (Number.isSafeInteger(expiresAt)) return expiresAt;
  const message = `expected a number of milliseconds above 0, got ${describeValue(ttlMs)}`;
  throw configError("The entry for a store", [{ path: "ttlMs", message }]);
}
