import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import { safeClone, type SafeCloneOptions } from "../../json/safe-clone.js";
import { describeValue, formatPath } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";

/** Issues and warnings collected while a definition is parsed. */
export interface ParseReport {
  readonly issues: ConfigIssue[];
  readonly warnings: string[];
}

/**
 * A value and its path, in the spelling of the input. The functions below read it and never throw, whatever
 * it is: problems are added to the report, and parsing continues.
 */
export interface Cursor {
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
  readonly report: ParseReport;
}

/** Represents a value whose getter or proxy threw. */
const UNREADABLE = Symbol("unreadable");

function tryRead<T>(read: () => T): T | typeof UNREADABLE {
  try {
    return read();
  } catch {
    return UNREADABLE;
  }
}

export function addIssue(cursor: Cursor, message: string): undefined {
  cursor.report.issues.push({ path: formatPath(cursor.path), message });
}

function addTypeIssue(cursor: Cursor, what: string): undefined {
  return addIssue(cursor, `expected ${what}, got ${describe(cursor.value)}`);
}

function describe(value: unknown): string {
  const description = tryRead(() => {
    if (value === UNREADABLE) return value;
    if (Array.isArray(value)) return isDense(value) ? "an array" : "a sparse array";
    return describeValue(value);
  });
  return description === UNREADABLE ? "an unreadable value" : description;
}

/** A sparse array can have any length without holding anything. */
function isDense(array: readonly unknown[]): boolean {
  return Object.keys(array).length === array.length;
}

/** `null` counts as missing: some serializers write it for absent values. */
export function isMissing({ value }: Cursor): boolean {
  return value === undefined || value === null;
}

/** Adds an issue unless the value is an object. */
export function isObject(cursor: Cursor): boolean {
  if (tryRead(() => isPlainObject(cursor.value)) === true) return true;
  addTypeIssue(cursor, "an object");
  return false;
}

/** Reads a field in any of its spellings: `folderPath`, `folder_path`, or another name. */
export function readField(cursor: Cursor, name: string, ...otherNames: readonly string[]): Cursor {
  const spellings = [name, ...otherNames].flatMap((spelling) => [spelling, toSnakeCase(spelling)]);
  const candidates = spellings.map((spelling) => readProperty(cursor, spelling));
  return candidates.find(({ value }) => value !== undefined) ?? readProperty(cursor, name);
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Reads own properties only, not inherited ones such as `constructor`. */
function readProperty(cursor: Cursor, key: string | number): Cursor {
  const { value: object } = cursor;
  const value = tryRead((): unknown => {
    if (typeof object !== "object" || object === null || !Object.hasOwn(object, key)) return undefined;
    return Reflect.get(object, key);
  });
  return { ...cursor, value, path: [...cursor.path, key] };
}

/** Reads the items of an optional array. */
export function readItems(cursor: Cursor): Cursor[] {
  if (isMissing(cursor)) return [];
  const { value } = cursor;
  const length = tryRead(() => (Array.isArray(value) && isDense(value) ? value.length : undefined));
  if (typeof length === "number") return Array.from({ length }, (_, index) => readProperty(cursor, index));
  addTypeIssue(cursor, "an array");
  return [];
}

/** Reads all entries of an optional object. */
export function readEntries(cursor: Cursor): (readonly [key: string, at: Cursor])[] {
  if (isMissing(cursor) || !isObject(cursor)) return [];
  const keys = tryRead(() => Object.keys(cursor.value as JsonObject));
  if (keys !== UNREADABLE) return keys.map((key) => [key, readProperty(cursor, key)] as const);
  addIssue(cursor, "cannot be read");
  return [];
}

export function readString(cursor: Cursor): string {
  return typeof cursor.value === "string" ? cursor.value : (addTypeIssue(cursor, "a string"), "");
}

export function readOptionalString(cursor: Cursor): string | undefined {
  return isMissing(cursor) ? undefined : readString(cursor);
}

export function readNonEmptyString(cursor: Cursor): string {
  if (typeof cursor.value === "string" && cursor.value.trim() !== "") return cursor.value;
  addTypeIssue(cursor, "a non-empty string");
  return "";
}

export function readBoolean(cursor: Cursor, defaultValue: boolean): boolean {
  if (isMissing(cursor)) return defaultValue;
  if (typeof cursor.value === "boolean") return cursor.value;
  addTypeIssue(cursor, "true or false");
  return defaultValue;
}

/** Reads one of some values, case-insensitively. */
export function readEnum<Word extends string>(cursor: Cursor, values: readonly Word[]): Word | undefined {
  return matchEnum(cursor.value, values) ?? addTypeIssue(cursor, `one of ${values.join(", ")}`);
}

/** Finds a value case-insensitively. */
export function matchEnum<Word extends string>(value: unknown, values: readonly Word[]): Word | undefined {
  if (typeof value !== "string") return undefined;
  return values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
}

/** Reads a deep copy of the value. */
export function readJson(cursor: Cursor, options: SafeCloneOptions): unknown {
  if (cursor.value === undefined || cursor.value === UNREADABLE) return addTypeIssue(cursor, "a value");
  const { copy, problems } = safeClone(cursor.value, options);
  for (const { path, message } of problems) addIssue({ ...cursor, path: [...cursor.path, ...path] }, message);
  return copy;
}

/** Reads a deep copy of an object. */
export function readJsonObject(cursor: Cursor, options: SafeCloneOptions): JsonObject {
  const copy = isObject(cursor) ? readJson(cursor, options) : undefined;
  return isPlainObject(copy) ? copy : {};
}
