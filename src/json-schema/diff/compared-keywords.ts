import { ANNOTATIONS } from "../sanitize-schema.js";

/** The targets of references are compared where they are used. */
const REFERENCED_ONLY: ReadonlySet<string> = new Set(["$defs", "definitions", "$schema", "$id", "id"]);
/** Servers may enforce these, although validators do not have to. */
const ENFORCED_ANNOTATIONS: ReadonlySet<string> = new Set(["const", "format", "nullable"]);

export function isReferencedOnly(keyword: string): boolean {
  return REFERENCED_ONLY.has(keyword);
}

/** Whether a keyword never decides whether a call is valid. */
export function isInsignificant(keyword: string): boolean {
  if (REFERENCED_ONLY.has(keyword) || keyword.startsWith("x-")) return true;
  return ANNOTATIONS.has(keyword) && !ENFORCED_ANNOTATIONS.has(keyword);
}

/** Keywords that are compared together with others. */
export const COMPARED_WITH_OTHERS: ReadonlySet<string> = new Set([
  "properties",
  "allOf",
  "then",
  "else",
  "minContains",
  "maxContains",
  "additionalItems",
  "prefixItems",
]);

/** The type of the values that a keyword is about; other keywords are about all. */
export const KEYWORD_TYPES: Readonly<Record<string, string>> = {
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
  minLength: "string",
  maxLength: "string",
  pattern: "string",
  items: "array",
  minItems: "array",
  maxItems: "array",
  uniqueItems: "array",
  contains: "array",
  unevaluatedItems: "array",
  required: "object",
  minProperties: "object",
  maxProperties: "object",
  propertyNames: "object",
  patternProperties: "object",
  additionalProperties: "object",
  unevaluatedProperties: "object",
  dependentRequired: "object",
  dependentSchemas: "object",
  dependencies: "object",
};
