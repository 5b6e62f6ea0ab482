import { isPlainObject } from "../json/json.js";
import type { Draft } from "./json-pointer.js";

/** Keywords whose value is a schema, a list of schemas, or a map of schemas by name. */
export const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
export const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "items",
  "oneOf",
  "prefixItems",
]);
export const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** Texts and examples: no validator reads them, and what looks like a schema in them is none. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$schema",
  "$vocabulary",
  "const",
  "contentEncoding",
  "contentMediaType",
  "default",
  "deprecated",
  "description",
  "example",
  "examples",
  "format",
  "nullable",
  "readOnly",
  "title",
  "writeOnly",
]);

/** References that depend on who refers, and identities that change what the others mean. */
export const DYNAMIC_KEYWORDS: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef"]);
export const IDENTITY_KEYWORDS: ReadonlySet<string> = new Set([
  "$dynamicAnchor",
  "$id",
  "$recursiveAnchor",
  "id",
]);

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const WELL_FORMED: Readonly<Record<string, (value: unknown, draft: Draft) => boolean>> = {
  type: (value) => TYPES.has(value) || (isFilledList(value) && value.every((type) => TYPES.has(type))),
  enum: isFilledList,
  required: isListOfText,
  dependentRequired: (value) => isPlainObject(value) && Object.values(value).every(isListOfText),
  minimum: isNumber,
  maximum: isNumber,
  // Draft 4 has a flag beside `minimum` here; read as a number, `true` would be 1.
  exclusiveMinimum: (value, draft) => (draft === "4" ? typeof value === "boolean" : isNumber(value)),
  exclusiveMaximum: (value, draft) => (draft === "4" ? typeof value === "boolean" : isNumber(value)),
  multipleOf: (value) => isNumber(value) && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  minContains: isCount,
  maxContains: isCount,
  uniqueItems: (value) => typeof value === "boolean",
  pattern: (value) => typeof value === "string",
  $ref: (value) => typeof value === "string",
};

/** Keywords with a plain value that a validator reads. */
export function isAssertion(keyword: string): boolean {
  return Object.hasOwn(WELL_FORMED, keyword);
}

export function isWellFormed(keyword: string, value: unknown, draft: Draft): boolean {
  return WELL_FORMED[keyword]?.(value, draft) ?? true;
}

export function isFilledList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}

export function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
