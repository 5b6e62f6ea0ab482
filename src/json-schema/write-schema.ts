import { type JsonObject, omitUndefined } from "../json/json.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import { ANY, JSON_TYPES, type TypeConstraints, type JsonType, type TypeModel } from "./schema-type-model.js";
import { truncate } from "../errors/sanitize-text.js";
import { toJson, truncateJson } from "../json/truncate-json.js";

/**
 * What a tool schema may contain so that OpenAI (non-strict function calling), Anthropic and Gemini all accept
 * it, from their documentation and error messages (2026-10):
 *
 * | rule                                                                   | provider          |
 * | ---------------------------------------------------------------------- | ----------------- |
 * | `type: "object"` with `properties` at the top                          | all               |
 * | no oneOf, anyOf, allOf, not, enum, const at the top                    | OpenAI, Anthropic |
 * | names of top-level properties match `^[a-zA-Z0-9_.-]{1,64}$`           | Anthropic         |
 * | no `$ref`                                                              | Anthropic, Gemini |
 * | an array has `items`, an object has `properties`                       | OpenAI, Gemini    |
 * | only the keywords of its OpenAPI subset, listed below                  | Gemini            |
 * | `type` is a single name, not an array                                  | Gemini            |
 * | `anyOf` has no sibling keywords, not even a description                | Gemini (Vertex)   |
 * | `enum` only for strings, none of them empty                            | Gemini            |
 * | `format`: date-time for strings, float/double, int32/int64             | Gemini            |
 * | `required` only names entries of `properties`                          | Gemini            |
 * | `properties`, `required`, `items`, … only with their own type          | Gemini            |
 *
 * Everything else is expressed as a sentence in the description.
 */
const COMMON_KEYWORDS = ["type", "title", "description", "default"] as const;

const KEYWORDS_BY_TYPE: Readonly<Record<JsonType, readonly string[]>> = {
  string: ["enum", "format", "pattern", "minLength", "maxLength"],
  number: ["format", "minimum", "maximum"],
  boolean: [],
  object: ["properties", "required", "minProperties", "maxProperties"],
  array: ["items", "minItems", "maxItems"],
  null: [],
};

const FORMATS: Readonly<Record<"string" | "number" | "integer", readonly string[]>> = {
  string: ["date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** The names of top-level properties that all providers accept. */
export const SUPPORTED_PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Length limits of texts in the written schema. */
export interface TextLimits {
  readonly descriptionChars: number;
  readonly valueChars: number;
}

/** Writes a type model with the keywords that all providers support. */
function writeSchema(model: TypeModel, limits: TextLimits): JsonObject {
  const types = intendedTypes(model);
  if (types.length === 0 || types.length === JSON_TYPES.length) return writeAnything(model, limits);
  const branches = types.flatMap((type) =>
    (model.get(type) ?? []).map((constraints) => writeConstraints(type, constraints, limits)),
  );
  const [first] = branches;
  return branches.length === 1 && first !== undefined ? first : { anyOf: dedupeTexts(branches) };
}

/**
 * Strictly, a schema with `properties` and without `type` also accepts a string. It is written as the object that
 * is meant.
 */
function intendedTypes(model: TypeModel): JsonType[] {
  const accepted = JSON_TYPES.filter((type) => model.has(type));
  const intended = accepted.filter((type) =>
    model.get(type)?.some(({ origin }) => !origin?.isInferred || origin.isNamed),
  );
  return intended.length === 0 ? accepted : intended;
}

function writeAnything(model: TypeModel, limits: TextLimits): JsonObject {
  const [constraints = {}] = [...model.values()].flat();
  const { title, description } = writeDescriptions(constraints, [], limits);
  return omitUndefined({ title, description });
}

export function writeConstraints(
  type: JsonType,
  constraints: TypeConstraints,
  limits: TextLimits,
): JsonObject {
  const { notes, ...keywords } = WRITERS_BY_TYPE[type](constraints, limits);
  const draft: JsonObject = { type, ...writeDescriptions(constraints, notes ?? [], limits), ...keywords };
  const allowed = [...COMMON_KEYWORDS, ...KEYWORDS_BY_TYPE[type]];
  return omitUndefined(Object.fromEntries(allowed.map((keyword) => [keyword, draft[keyword]])));
}

interface SchemaDraft extends JsonObject {
  readonly notes?: readonly string[];
}

const WRITERS_BY_TYPE: Readonly<
  Record<JsonType, (constraints: TypeConstraints, limits: TextLimits) => SchemaDraft>
> = {
  string: (constraints, limits) => {
    const { values, pattern, format, bounds } = constraints;
    if (values === undefined) return { pattern, ...writeFormat("string", format), ...bounds };
    const isShort = toJson(values).length <= limits.valueChars && !values.includes("");
    return isShort ? { enum: [...values] } : { notes: [listValues(values)] };
  },
  number: ({ values, isInteger, bounds, format }) => {
    const type = isInteger === true || values?.every(Number.isInteger) === true ? "integer" : "number";
    if (values === undefined) return { type, ...bounds, ...writeFormat(type, format) };
    return { type, notes: [listValues(values)] };
  },
  boolean: ({ values }) => (values?.length === 1 ? { notes: [listValues(values)] } : {}),
  object: ({ properties, required = [], values, bounds }, limits) => {
    const satisfiable = [...(properties ?? [])].filter(([, model]) => model.size > 0);
    const names = new Set(satisfiable.map(([name]) => name));
    const requiredNames = [...new Set(required)].filter((name) => names.has(name));
    return {
      ...bounds,
      properties: Object.fromEntries(satisfiable.map(([name, model]) => [name, writeSchema(model, limits)])),
      required: requiredNames.length === 0 ? undefined : requiredNames,
      notes: values === undefined ? [] : [listValues(values)],
    };
  },
  array: ({ items = ANY, values, bounds }, limits) => ({
    ...bounds,
    items: writeSchema(items, limits),
    ...(items.size === 0 ? { maxItems: 0 } : {}),
    notes: values === undefined ? [] : [listValues(values)],
  }),
  null: () => ({}),
};

function writeFormat(type: keyof typeof FORMATS, format: string | undefined): SchemaDraft {
  if (format === undefined) return {};
  return FORMATS[type].includes(format) ? { format } : { notes: [`Format: ${format}.`] };
}

const MAX_LISTED_VALUES = 50;

function listValues(values: readonly unknown[]): string {
  const more = values.length > MAX_LISTED_VALUES ? `, and ${values.length - MAX_LISTED_VALUES} more` : "";
  return `One of: ${values.slice(0, MAX_LISTED_VALUES).map(truncateJson).join(", ")}${more}.`;
}

function writeDescriptions(
  constraints: TypeConstraints,
  extraNotes: readonly string[],
  limits: TextLimits,
): JsonObject {
  const sentences = [constraints.description, ...(constraints.notes ?? []), ...extraNotes].filter(
    (text) => text !== undefined,
  );
  return {
    title: truncateReadable(constraints.title ?? "", limits),
    description: truncateReadable(sentences.join(" "), limits),
    default: writeDefault(constraints, limits),
  };
}

/** Writes a copy, and only a complete one: defaults are applied from the original schema. */
function writeDefault({ default: defaultValue }: TypeConstraints, limits: TextLimits): unknown {
  const text = defaultValue === undefined ? "…" : toJson(defaultValue.value);
  if (text === "…" || text.length > limits.valueChars || stripHiddenCharacters(text) !== text)
    return undefined;
  return JSON.parse(text);
}

export function truncateReadable(text: string, { descriptionChars }: TextLimits): string | undefined {
  const visible = stripHiddenCharacters(text).trim();
  return visible === "" ? undefined : truncate(visible, descriptionChars);
}

/** Keeps a title or description only on the first branch of a union that has it. */
function dedupeTexts(branches: readonly JsonObject[]): JsonObject[] {
  const seen = new Set<unknown>();
  return branches.map((branch) => {
    const kept = Object.entries(branch).filter(([keyword, value]) => {
      if (keyword !== "title" && keyword !== "description") return true;
      const isNew = !seen.has(value);
      seen.add(value);
      return isNew;
    });
    return Object.fromEntries(kept);
  });
}
