import { isPlainObject } from "../json/json.js";
import type { Draft } from "./json-pointer.js";

/** Keywords whose value is a schema, an array of schemas, or a map of schemas by name. */
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
export const SCHEMA_ARRAY_KEYWORDS: ReadonlySet<string> = new Set([
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

/** Texts and examples: validators ignore them, and their values are not schemas. */
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

/** References that depend on the evaluation path, and identifiers that change the base of other references. */
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
  type: (value) => TYPES.has(value) || (isNonEmptyArray(value) && value.every((type) => TYPES.has(type))),
  enum: isNonEmptyArray,
  required: isStringArray,
  dependentRequired: (value) => isPlainObject(value) && Object.values(value).every(isStringArray),
  minimum: isNumber,
  maximum: isNumber,
  // A boolean modifier of `minimum` in draft 4; read as a number, `true` would be 1.
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

/** Whether validators evaluate the keyword and its value is not a schema. */
export function isAssertion(keyword: string): boolean {
  return Object.hasOwn(WELL_FORMED, keyword);
}

export function isWellFormed(keyword: string, value: unknown, draft: Draft): boolean {
  return WELL_FORMED[keyword]?.(value, draft) ?? true;
}

export function isNonEmptyArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}

export function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
