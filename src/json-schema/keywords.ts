import {
  hasHiddenCharacters,
  pluralize,
  stripHiddenCharacters,
  withoutJoiners,
} from "../errors/sanitize-text.js";
import { formatPath } from "../json/describe-value.js";
import { isPlainObject, isStringArray, type JsonObject, toArray, toObject } from "../json/json.js";
import { JSON_TYPES } from "./schema-type-model.js";

/** The JSON Schema draft. */
export type Draft = "4" | "7" | "2019-09" | "2020-12";

/** Returns the draft of a document; without `$schema` the newest. */
export function draftOf(schema: JsonObject): Draft {
  const { $schema: name } = schema;
  if (typeof name !== "string") return "2020-12";
  if (/draft-0?[34]\b/.test(name)) return "4";
  if (/draft-0?[67]\b/.test(name)) return "7";
  return name.includes("2019-09") ? "2019-09" : "2020-12";
}

/** The form of a value with schemas: one schema, an array of them, or a map by name. */
type SchemaForm = "schema" | "schemas" | "map";

/** A keyword that validators evaluate, or that contains schemas. */
interface Keyword {
  /** The forms of its value. A keyword without schemas has `isWellFormed` instead. */
  readonly holds?: readonly SchemaForm[];
  readonly isWellFormed?: (value: unknown, draft: Draft) => boolean;
  /** The type of the values that it is about; other keywords are about all. */
  readonly type?: "number" | "string" | "array" | "object";
  /** Its schemas apply to the same value. */
  readonly isInPlace?: true;
}

const TYPES: ReadonlySet<unknown> = new Set([...JSON_TYPES, "integer"]);

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    $defs: { holds: ["map"] },
    definitions: { holds: ["map"] },
    $ref: { isWellFormed: isString },
    type: {
      isWellFormed: (value) =>
        TYPES.has(value) || (toArray(value).length > 0 && toArray(value).every((type) => TYPES.has(type))),
    },
    enum: { isWellFormed: (value) => toArray(value).length > 0 },
    allOf: { holds: ["schemas"], isInPlace: true },
    anyOf: { holds: ["schemas"], isInPlace: true },
    oneOf: { holds: ["schemas"], isInPlace: true },
    not: { holds: ["schema"], isInPlace: true },
    if: { holds: ["schema"], isInPlace: true },
    then: { holds: ["schema"], isInPlace: true },
    else: { holds: ["schema"], isInPlace: true },
    minimum: { isWellFormed: isNumber, type: "number" },
    maximum: { isWellFormed: isNumber, type: "number" },
    exclusiveMinimum: { isWellFormed: isExclusiveBound, type: "number" },
    exclusiveMaximum: { isWellFormed: isExclusiveBound, type: "number" },
    multipleOf: { isWellFormed: (value) => isNumber(value) && value > 0, type: "number" },
    minLength: { isWellFormed: isCount, type: "string" },
    maxLength: { isWellFormed: isCount, type: "string" },
    pattern: { isWellFormed: isString, type: "string" },
    items: { holds: ["schema", "schemas"], type: "array" },
    prefixItems: { holds: ["schemas"], type: "array" },
    additionalItems: { holds: ["schema"], type: "array" },
    unevaluatedItems: { holds: ["schema"], type: "array" },
    contains: { holds: ["schema"], type: "array" },
    minContains: { isWellFormed: isCount, type: "array" },
    maxContains: { isWellFormed: isCount, type: "array" },
    minItems: { isWellFormed: isCount, type: "array" },
    maxItems: { isWellFormed: isCount, type: "array" },
    uniqueItems: { isWellFormed: (value) => typeof value === "boolean", type: "array" },
    properties: { holds: ["map"], type: "object" },
    patternProperties: { holds: ["map"], type: "object" },
    additionalProperties: { holds: ["schema"], type: "object" },
    unevaluatedProperties: { holds: ["schema"], type: "object" },
    propertyNames: { holds: ["schema"], type: "object" },
    required: { isWellFormed: isStringArray, type: "object" },
    minProperties: { isWellFormed: isCount, type: "object" },
    maxProperties: { isWellFormed: isCount, type: "object" },
    dependentRequired: {
      isWellFormed: (value) => isPlainObject(value) && Object.values(value).every(isStringArray),
      type: "object",
    },
    dependentSchemas: { holds: ["map"], type: "object", isInPlace: true },
    dependencies: { holds: ["map"], type: "object", isInPlace: true },
  }),
);

function isString(value: unknown): boolean {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A boolean modifier of `minimum` or `maximum` in draft 4; read as a number, `true` would be 1. */
function isExclusiveBound(value: unknown, draft: Draft): boolean {
  return draft === "4" ? typeof value === "boolean" : isNumber(value);
}

/** Returns the form of the value of a keyword: `data` if it has no schemas, `unknown` for a keyword that is not evaluated. */
export function formOf(
  keyword: string,
  value: unknown,
  draft: Draft,
): SchemaForm | "data" | "unknown" | "malformed" {
  const known = KEYWORDS.get(keyword);
  if (known === undefined) return "unknown";
  const { holds, isWellFormed } = known;
  if (holds !== undefined) return holds.find((form) => hasForm(value, form)) ?? "malformed";
  return isWellFormed?.(value, draft) === true ? "data" : "malformed";
}

function hasForm(value: unknown, form: SchemaForm): boolean {
  if (form === "schemas") return Array.isArray(value);
  return form === "schema" ? isSchema(value) : isPlainObject(value);
}

/** The type of the values that a keyword is about; `undefined` if it is about all. */
export function keywordType(keyword: string): string | undefined {
  return KEYWORDS.get(keyword)?.type;
}

/** Returns the schemas that apply to the same value as a schema, including the target of its reference. */
export function getInPlaceNodes(
  schema: JsonObject,
  targets: { readonly get: (schema: JsonObject) => JsonObject | boolean | undefined },
): JsonObject[] {
  const nodes: JsonObject[] = [];
  for (const keyword of Object.keys(schema)) {
    const { isInPlace, holds } = KEYWORDS.get(keyword) ?? {};
    if (isInPlace !== true) continue;
    const value = schema[keyword];
    const subschemas = holds?.includes("map") === true ? Object.values(toObject(value)) : [value].flat();
    for (const subschema of subschemas) if (isPlainObject(subschema)) nodes.push(subschema);
  }
  const target = targets.get(schema);
  if (isPlainObject(target)) nodes.push(target);
  return nodes;
}

export function isSchema(value: unknown): value is JsonObject | boolean {
  return typeof value === "boolean" || isPlainObject(value);
}

/**
 * Texts and examples: validators ignore them, and their values are not schemas. `format` is one in newer drafts;
 * enforcing it would reject what servers accept.
 */
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

/** References that depend on the evaluation path. */
export const DYNAMIC_KEYWORDS: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef"]);

const ASCII_TEXT = /^[ -~]*$/;

/** Whether a value or a name has characters that hide something. */
export function hasHiddenText(value: unknown): value is string {
  return typeof value === "string" && !ASCII_TEXT.test(value) && hasHiddenCharacters(withoutJoiners(value));
}

const MAX_HIDDEN_WARNINGS = 10;

/** Describes the places of values and properties that have hidden characters, and that models do not see. */
export function describeHiddenTexts(schema: JsonObject): string[] {
  const warnings: string[] = [];
  const warn = (texts: readonly unknown[], noun: string, path: readonly string[]) => {
    const count = texts.filter(hasHiddenText).length;
    if (count === 0) return;
    const place = stripHiddenCharacters(formatPath(path));
    warnings.push(`Models do not see ${pluralize(count, noun)} with hidden characters at ${place}.`);
  };
  const pending: { readonly node: JsonObject; readonly path: readonly string[] }[] = [
    { node: schema, path: [] },
  ];
  // The array grows during the iteration.
  for (const { node, path } of pending) {
    if (warnings.length >= MAX_HIDDEN_WARNINGS) break;
    for (const [keyword, value] of Object.entries(node)) {
      const place = [...path, keyword];
      if (keyword === "enum" || keyword === "const") warn([value].flat(), "value", place);
      // Those of the root have a warning of their own: providers reject them.
      if (keyword === "properties" && path.length > 0) warn(Object.keys(toObject(value)), "name", place);
      if (ANNOTATIONS.has(keyword)) continue;
      for (const [index, child] of toArray(value).entries())
        if (isPlainObject(child)) pending.push({ node: child, path: [...place, String(index)] });
      if (isPlainObject(value)) pending.push({ node: value, path: place });
    }
  }
  return warnings;
}
