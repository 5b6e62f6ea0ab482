import { isPlainObject, type JsonObject, toArray } from "../json/json.js";
import { truncate } from "../errors/sanitize-text.js";
import { truncateJson } from "../json/truncate-json.js";
import { isNonEmptyArray, isStringArray } from "./schema-keywords.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";

/** A failed keyword with its schema and the validated value. */
export interface KeywordError {
  readonly keyword: string;
  readonly schema: JsonObject;
  readonly value: unknown;
}

/** `name`: the problem is with this property of the value, which may be missing. */
export interface KeywordErrorText {
  readonly name?: string;
  readonly message: string;
}

/** Describes what was expected and received, so that a model can correct it. */
export function describeKeywordError(error: KeywordError): KeywordErrorText[] {
  return DESCRIPTIONS[error.keyword]?.(error) ?? toTexts("does not match its schema");
}

const DESCRIPTIONS: Readonly<Record<string, (error: KeywordError) => KeywordErrorText[]>> = {
  type: ({ schema, value }) => {
    // The value is included: for `integer`, 1.5 is a number, too.
    return toTexts(`expected ${describeTypes(schema["type"])}, got ${describeActualValue(value)}`);
  },
  const: ({ schema, value }) =>
    toTexts(`expected ${truncateJson(schema["const"])}, got ${truncateJson(value)}`),
  enum: ({ schema, value }) =>
    toTexts(`expected one of ${describeValues(toArray(schema["enum"]))}, got ${truncateJson(value)}`),
  required: ({ schema, value }) =>
    findMissing(toArray(schema["required"]), value).map((name) => ({ name, message: "is missing" })),
  dependentRequired: describeDependencies,
  dependencies: describeDependencies,
  false: ({ schema }) => {
    const names = isPlainObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    return toTexts(
      names.length === 0 ? "is not allowed" : `is not allowed; known properties: ${describeValues(names)}`,
    );
  },
  not: () => toTexts("has a value that is not allowed"),
  propertyNames: () => toTexts("has a property whose name is not allowed"),
  contains: () => toTexts("has no item that matches the required schema"),
  minContains: ({ schema }) =>
    toTexts(`needs at least ${String(schema["minContains"])} items that match the required schema`),
  maxContains: ({ schema }) =>
    toTexts(`may have at most ${String(schema["maxContains"])} items that match the required schema`),
  minimum: ({ schema, value }) => {
    const limit = schema["exclusiveMinimum"] === true ? "more than" : "at least";
    return toTexts(`expected ${limit} ${String(schema["minimum"])}, got ${truncateJson(value)}`);
  },
  maximum: ({ schema, value }) => {
    const limit = schema["exclusiveMaximum"] === true ? "less than" : "at most";
    return toTexts(`expected ${limit} ${String(schema["maximum"])}, got ${truncateJson(value)}`);
  },
  exclusiveMinimum: expectValue("more than", "exclusiveMinimum"),
  exclusiveMaximum: expectValue("less than", "exclusiveMaximum"),
  multipleOf: expectValue("a multiple of", "multipleOf"),
  pattern: ({ schema, value }) =>
    toTexts(`expected a string that matches ${String(schema["pattern"])}, got ${truncateJson(value)}`),
  minLength: expectSize("at least", "minLength", "characters"),
  maxLength: expectSize("at most", "maxLength", "characters"),
  minItems: expectSize("at least", "minItems", "items"),
  maxItems: expectSize("at most", "maxItems", "items"),
  minProperties: expectSize("at least", "minProperties", "properties"),
  maxProperties: expectSize("at most", "maxProperties", "properties"),
  uniqueItems: () => toTexts("has duplicate items"),
};

function expectValue(limit: string, keyword: string): (error: KeywordError) => KeywordErrorText[] {
  return ({ schema, value }) =>
    toTexts(`expected ${limit} ${String(schema[keyword])}, got ${truncateJson(value)}`);
}

function expectSize(
  limit: string,
  keyword: string,
  unit: string,
): (error: KeywordError) => KeywordErrorText[] {
  return ({ schema, value }) =>
    toTexts(`expected ${limit} ${String(schema[keyword])} ${unit}, got ${sizeOf(value)}`);
}

function sizeOf(value: unknown): string {
  if (typeof value === "string") return String(Array.from(value).length);
  if (typeof value !== "object" || value === null) return describeActualType(value);
  return String(Object.keys(value).length);
}

function describeDependencies({ schema, value }: KeywordError): KeywordErrorText[] {
  return [schema["dependentRequired"], schema["dependencies"]].filter(isPlainObject).flatMap((map) =>
    Object.entries(map)
      .filter(([name]) => isPlainObject(value) && Object.hasOwn(value, name))
      .flatMap(([name, requiredNames]) =>
        findMissing(toArray(requiredNames), value).map((missingName) => ({
          name: missingName,
          message: `is missing; it is required with ${name}`,
        })),
      ),
  );
}

function findMissing(names: readonly unknown[], value: unknown): string[] {
  return names
    .map(String)
    .filter((name) => !isPlainObject(value) || !Object.hasOwn(value, name) || value[name] === undefined);
}

function toTexts(text: string): KeywordErrorText[] {
  return [{ message: text }];
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  integer: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

const MAX_ALTERNATIVES = 8;
const MAX_NAME_LENGTH = 60;

/** `a string ("three")`, `a number (3)`, `an array`. */
function describeActualValue(value: unknown): string {
  const type = describeActualType(value);
  const isPlain = typeof value === "string" || typeof value === "number";
  return isPlain ? `${type} (${truncateJson(value)})` : type;
}

export function describeActualType(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "boolean") return String(value);
  return TYPE_LABELS[typeof value] ?? `a ${typeof value}`;
}

/** `an object with kind, radius`. */
export function describeActualKeys(value: unknown): string {
  if (!isPlainObject(value)) return describeActualValue(value);
  const names = Object.keys(value).map((name) => truncate(stripHiddenCharacters(name), MAX_NAME_LENGTH));
  const shown = names.slice(0, MAX_ALTERNATIVES).join(", ");
  return names.length === 0 ? "an empty object" : `an object with ${shown}`;
}

/** `"C", "F"`. */
function describeValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_ALTERNATIVES * 3).map(truncateJson);
  const more = values.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** `a string or null`. */
function describeTypes(type: unknown): string {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.map((name) => TYPE_LABELS[String(name)] ?? String(name)).join(" or ");
}

/** `an object with manga_id, or an object with isbn`: what distinguishes the branches of a union. */
export function describeAlternatives(branches: readonly unknown[]): string {
  const texts = [...new Set(branches.map(describeAlternative))];
  const shown = texts.slice(0, MAX_ALTERNATIVES);
  const more = texts.length > shown.length ? [`${texts.length - shown.length} more`] : [];
  return [...shown, ...more].join(", or ");
}

function describeAlternative(schema: unknown): string {
  if (!isPlainObject(schema)) return schema === false ? "nothing" : "anything";
  if (Object.hasOwn(schema, "const")) return truncateJson(schema["const"]);
  if (isNonEmptyArray(schema["enum"])) return `one of ${describeValues(schema["enum"])}`;
  if (isStringArray(schema["required"]) && schema["required"].length > 0) {
    return `an object with ${schema["required"].map((name) => `${name}${discriminatorOf(schema["properties"], name)}`).join(" and ")}`;
  }
  return schema["type"] === undefined ? "something else" : describeTypes(schema["type"]);
}

function discriminatorOf(properties: unknown, name: string): string {
  if (!isPlainObject(properties) || !Object.hasOwn(properties, name)) return "";
  const property = properties[name];
  return isPlainObject(property) && Object.hasOwn(property, "const")
    ? ` ${truncateJson(property["const"])}`
    : "";
}
