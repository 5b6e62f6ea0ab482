import { isPlainObject } from "../json/json.js";
import { isFilledList, isListOfText } from "./schema-keywords.js";
import { toReadable } from "../errors/sanitize-text.js";
import { cutText, toShortJson } from "./truncate-json.js";

const NOUNS: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  integer: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

const MOST_ALTERNATIVES = 8;
const LONGEST_NAME = 60;

/** `a string ("three")`, `a number (3)`, `a list`. */
export function describeFoundValue(value: unknown): string {
  const kind = describeFoundKind(value);
  const isPlain = typeof value === "string" || typeof value === "number";
  return isPlain ? `${kind} (${toShortJson(value)})` : kind;
}

export function describeFoundKind(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return String(value);
  return NOUNS[typeof value] ?? `a ${typeof value}`;
}

/** `an object with kind, radius`. */
export function describeFoundMembers(value: unknown): string {
  if (!isPlainObject(value)) return describeFoundValue(value);
  const names = Object.keys(value).map((name) => cutText(toReadable(name), LONGEST_NAME));
  const shown = names.slice(0, MOST_ALTERNATIVES).join(", ");
  return names.length === 0 ? "an empty object" : `an object with ${shown}`;
}

/** `"C", "F"`. */
export function describeValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MOST_ALTERNATIVES * 3).map(toShortJson);
  const more = values.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** `a string or null`. */
export function describeTypes(type: unknown): string {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.map((name) => NOUNS[String(name)] ?? String(name)).join(" or ");
}

/** `either manga_id, or isbn`: what distinguishes the branches of a union. */
export function describeAlternatives(branches: readonly unknown[]): string {
  const texts = [...new Set(branches.map(describeAlternative))];
  const shown = texts.slice(0, MOST_ALTERNATIVES);
  const more = texts.length > shown.length ? [`${texts.length - shown.length} more`] : [];
  return [...shown, ...more].join(", or ");
}

function describeAlternative(schema: unknown): string {
  if (!isPlainObject(schema)) return schema === false ? "nothing" : "anything";
  if (Object.hasOwn(schema, "const")) return toShortJson(schema["const"]);
  if (isFilledList(schema["enum"])) return `one of ${describeValues(schema["enum"])}`;
  if (isListOfText(schema["required"]) && schema["required"].length > 0) {
    return `an object with ${schema["required"].map((name) => `${name}${tagOf(schema["properties"], name)}`).join(" and ")}`;
  }
  return schema["type"] === undefined ? "something else" : describeTypes(schema["type"]);
}

function tagOf(properties: unknown, name: string): string {
  if (!isPlainObject(properties) || !Object.hasOwn(properties, name)) return "";
  const property = properties[name];
  return isPlainObject(property) && Object.hasOwn(property, "const")
    ? ` ${toShortJson(property["const"])}`
    : "";
}
