import { isPlainObject, type JsonValue } from "../json/json.js";
import { findHostile, toSoundJson } from "./storable-json.js";

/**
 * How an entry looks wherever it is kept: one line that says what it is, and the value after it, as
 * JSON or, of a text, as it is. The first line can be read without the rest, which may be megabytes.
 */
const FORMAT = 1;

/** Control characters but for the end of a line, and halves of characters: not every place gives them back. */
const DELICATE = /[^\P{Cc}\n]|\p{Surrogate}/u;

/** Of 512 bytes of key, each written as `\u0000` at worst, and the rest of the line. */
export const LONGEST_HEADER = 4_096;

export interface StoredHeader {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

interface ReadHeader extends StoredHeader {
  /** Of a value that is a text and stands there as it is. */
  readonly textLength: number | undefined;
}

/**
 * - `live`: it is what was set
 * - `expired`: its time is over
 * - `unsound`: nobody who speaks this format has written it for this key
 */
export type ReadRecord =
  | { readonly state: "live"; readonly value: JsonValue }
  | { readonly state: "expired" }
  | { readonly state: "unsound"; readonly problem: string };

/** Throws for a value that is no JSON. */
export function encodeRecord({ key, expiresAt }: StoredHeader, value: unknown): string {
  const isText = typeof value === "string" && !DELICATE.test(value);
  const header = { format: FORMAT, key, expiresAt, textLength: isText ? value.length : undefined };
  return `${JSON.stringify(header)}\n${isText ? value : toSoundJson(value).text}`;
}

/** Reads an entry as one reads what a stranger has sent. */
export function decodeRecord(text: string, key: string, now: number): ReadRecord {
  const header = decodeHeader(text);
  if (header === undefined) return unsound("is not in the format of this package");
  if (header.key !== key) return unsound("was written for another key");
  if (hasExpired(header, now)) return { state: "expired" };
  const body = text.slice(text.indexOf("\n") + 1);
  if (header.textLength !== undefined)
    return body.length === header.textLength ? { state: "live", value: body } : unsound("is not whole");
  const value = parse(body);
  if (value === undefined) return unsound("is broken JSON");
  const problem = findHostile(value);
  return problem === undefined ? { state: "live", value: value as JsonValue } : unsound(problem);
}

/** From an entry, or from its beginning alone. */
export function decodeHeader(text: string): ReadHeader | undefined {
  const end = text.indexOf("\n");
  if (end === -1 || end > LONGEST_HEADER) return undefined;
  const header = parse(text.slice(0, end));
  if (!isPlainObject(header) || header["format"] !== FORMAT) return undefined;
  const { key, expiresAt, textLength } = header;
  return typeof key === "string" && isNumberOrNothing(expiresAt) && isNumberOrNothing(textLength)
    ? { key, expiresAt, textLength }
    : undefined;
}

export function hasExpired({ expiresAt }: StoredHeader, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function isNumberOrNothing(value: unknown): value is number | undefined {
  return value === undefined || typeof value === "number";
}

function unsound(problem: string): ReadRecord {
  return { state: "unsound", problem };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
