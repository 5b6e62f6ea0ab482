import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { copyUntrusted, type CopyOptions } from "../json/safe-clone.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";

/** What comes to light while a definition is read. */
export interface Findings {
  readonly issues: ConfigIssue[];
  readonly warnings: string[];
}

/**
 * A value where somebody wrote it, by the names that they used. The functions below read it and
 * never throw, whatever it is: what is wrong becomes an issue, and reading goes on.
 */
export interface Written {
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
  readonly findings: Findings;
}

/** Stands for a value whose getter or proxy threw. */
const UNREADABLE = Symbol("unreadable");

function attempt<T>(read: () => T): T | typeof UNREADABLE {
  try {
    return read();
  } catch {
    return UNREADABLE;
  }
}

/** Notes that something else was expected here. */
export function complain(at: Written, message: string): undefined {
  at.findings.issues.push({ path: formatPath(at.path), message });
}

function expected(at: Written, what: string): undefined {
  return complain(at, `expected ${what}, found ${describe(at.value)}`);
}

function describe(value: unknown): string {
  const found = attempt(() => {
    if (value === UNREADABLE) return value;
    if (Array.isArray(value)) return isWhole(value) ? "a list" : "a list with gaps";
    return describeValue(value);
  });
  return found === UNREADABLE ? "something that cannot be read" : found;
}

/** A list with gaps can be of any length without holding anything. */
function isWhole(list: readonly unknown[]): boolean {
  return Object.keys(list).length === list.length;
}

/** Nothing was written, or the `null` that other languages write for nothing. */
export function isAbsent({ value }: Written): boolean {
  return value === undefined || value === null;
}

/** True for an object; anything else is an issue. */
export function isObject(at: Written): boolean {
  if (attempt(() => isPlainObject(at.value)) === true) return true;
  expected(at, "an object");
  return false;
}

/** A field of an object: `folderPath`, written as such, as `folder_path`, or by another name for it. */
export function field(of: Written, name: string, ...otherNames: readonly string[]): Written {
  const spellings = [name, ...otherNames].flatMap((word) => [word, toSnakeCase(word)]);
  const written = spellings.map((spelling) => child(of, spelling));
  return written.find(({ value }) => value !== undefined) ?? child(of, name);
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Own properties only: what was not written is not there, even when every object inherits it. */
function child(of: Written, key: string | number): Written {
  const { value: object } = of;
  const value = attempt((): unknown => {
    if (typeof object !== "object" || object === null || !Object.hasOwn(object, key)) return undefined;
    return Reflect.get(object, key);
  });
  return { ...of, value, path: [...of.path, key] };
}

/** The items of a list that may be missing. */
export function items(of: Written): Written[] {
  if (isAbsent(of)) return [];
  const { value } = of;
  const length = attempt(() => (Array.isArray(value) && isWhole(value) ? value.length : undefined));
  if (typeof length === "number") return Array.from({ length }, (_, index) => child(of, index));
  expected(of, "a list");
  return [];
}

/** The fields of an object that may be missing, whatever their names. */
export function fields(of: Written): (readonly [key: string, at: Written])[] {
  if (isAbsent(of) || !isObject(of)) return [];
  const keys = attempt(() => Object.keys(of.value as JsonObject));
  if (keys !== UNREADABLE) return keys.map((key) => [key, child(of, key)] as const);
  complain(of, "cannot be read");
  return [];
}

export function text(at: Written): string {
  return typeof at.value === "string" ? at.value : (expected(at, "a text"), "");
}

export function optionalText(at: Written): string | undefined {
  return isAbsent(at) ? undefined : text(at);
}

/** A text with something in it. */
export function nonEmptyText(at: Written): string {
  if (typeof at.value === "string" && at.value.trim() !== "") return at.value;
  expected(at, "a text that is not empty");
  return "";
}

export function flag(at: Written, defaultValue: boolean): boolean {
  if (isAbsent(at)) return defaultValue;
  if (typeof at.value === "boolean") return at.value;
  expected(at, "true or false");
  return defaultValue;
}

/** One of some words, in upper or lower case. */
export function oneOf<Word extends string>(at: Written, words: readonly Word[]): Word | undefined {
  return findWord(at.value, words) ?? expected(at, `one of ${words.join(", ")}`);
}

/** The word that a value is, in upper or lower case. */
export function findWord<Word extends string>(value: unknown, words: readonly Word[]): Word | undefined {
  if (typeof value !== "string") return undefined;
  return words.find((word) => word.toLowerCase() === value.toLowerCase());
}

/** A copy of what was written. */
export function json(at: Written, options: CopyOptions): unknown {
  if (at.value === undefined || at.value === UNREADABLE) return expected(at, "a value");
  const { copy, problems } = copyUntrusted(at.value, options);
  for (const { path, message } of problems) complain({ ...at, path: [...at.path, ...path] }, message);
  return copy;
}

/** A copy of an object. */
export function jsonObject(at: Written, options: CopyOptions): JsonObject {
  const copy = isObject(at) ? json(at, options) : undefined;
  return isPlainObject(copy) ? copy : {};
}
