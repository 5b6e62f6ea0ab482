import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { toJson, truncateJson } from "../json/describe-value.js";
import { type JsonObject, omitUndefined, toObject } from "../json/json.js";
import { readTypeModel } from "./read-type-model.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import {
  ANY,
  JSON_TYPES,
  type JsonType,
  mergeVariants,
  type TypeConstraints,
  type TypeModel,
} from "./schema-type-model.js";

const MAX_SCHEMA_CHARS = 50_000;
/** Limits what is read at a level of detail; a schema may refer to the same definition many times. */
const MAX_SCHEMAS = 2_000;
const TOO_LARGE = "The schema is too large to be shown in full";

/** Limits of what is read and of the texts that are written. */
interface DetailLevel {
  readonly maxDepth: number;
  readonly descriptionChars: number;
  readonly valueChars: number;
}

/** From full detail to outlines: the first level that fits the size limit is used. */
const DETAIL_LEVELS: readonly DetailLevel[] = [
  { maxDepth: 40, descriptionChars: 4_096, valueChars: 8_000 },
  { maxDepth: 16, descriptionChars: 1_024, valueChars: 2_000 },
  { maxDepth: 10, descriptionChars: 512, valueChars: 1_000 },
  { maxDepth: 6, descriptionChars: 256, valueChars: 500 },
  { maxDepth: 4, descriptionChars: 128, valueChars: 200 },
  { maxDepth: 2, descriptionChars: 64, valueChars: 100 },
];
const OUTLINE_LEVEL: DetailLevel = { maxDepth: 1, descriptionChars: 64, valueChars: 60 };

/**
 * Converts the schema of a tool to the one that models see: accepted by OpenAI, Anthropic and Gemini, with as much
 * of the original as fits. It accepts everything that the original accepts, and possibly more.
 *
 * Two constructs are read as intended instead of strictly: a schema with `properties` and without `type` is an
 * object, and an argument that only one branch of a top-level union or condition describes is described that way
 * for the other branches, too.
 */
export function toPortableSchema(original: JsonObject): { schema: JsonObject; warnings: string[] } {
  const sanitized = sanitizeSchema(original);
  const { schema, warnings } = render(sanitized);
  return { schema, warnings: [...sanitized.warnings, ...warnings, ...warnUnsupportedNames(sanitized)] };
}

function render(sanitized: SanitizedSchema): { schema: JsonObject; warnings: string[] } {
  for (const level of DETAIL_LEVELS) {
    const budget = { schemasLeft: MAX_SCHEMAS };
    const constraints = readRoot(sanitized, level, budget);
    if (budget.schemasLeft < 0) continue;
    const schema = writeConstraints("object", constraints, level);
    if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) continue;
    const isComplete = level === DETAIL_LEVELS[0];
    return { schema, warnings: isComplete ? [] : [`${TOO_LARGE}: details were omitted.`] };
  }
  const warnings = [`${TOO_LARGE}: only the first arguments are shown.`];
  return { schema: renderOutline(sanitized), warnings };
}

function readRoot(
  { schema, draft }: SanitizedSchema,
  level: DetailLevel,
  budget: { schemasLeft: number },
): TypeConstraints {
  const model = readTypeModel(schema, {
    root: schema,
    draft,
    remainingDepth: level.maxDepth,
    openReferences: [],
    budget,
  });
  const [constraints = {}] = mergeVariants(model.get("object") ?? []);
  return omitUnsupportedNames(constraints, level);
}

/** Moves property names for which a provider would reject the whole tool into the description. */
function omitUnsupportedNames(constraints: TypeConstraints, level: DetailLevel): TypeConstraints {
  const all = [...(constraints.properties ?? [])];
  const properties = new Map(all.filter(([name]) => SUPPORTED_PROPERTY_NAME.test(name)));
  const omitted = all
    .filter(([name]) => !SUPPORTED_PROPERTY_NAME.test(name))
    .map(([name, model]) => `Also accepts ${truncateJson(name)}${describeModel(model, level)}.`);
  return { ...constraints, properties, notes: [...(constraints.notes ?? []), ...omitted] };
}

function describeModel(model: TypeModel, level: DetailLevel): string {
  const [constraints] = [...model.values()].flat();
  const description = truncateReadable(constraints?.description ?? "", level);
  return ` (${[...model.keys()].join(" or ")})${description === undefined ? "" : `: ${description.replace(/\.$/, "")}`}`;
}

function warnUnsupportedNames({ schema }: SanitizedSchema): string[] {
  return Object.keys(toObject(schema["properties"]))
    .filter((name) => !SUPPORTED_PROPERTY_NAME.test(name))
    .slice(0, 10)
    .map(
      (name) =>
        `The argument ${stripHiddenCharacters(truncateJson(name))} has a name that providers reject: it is only mentioned in the description.`,
    );
}

/** Writes required arguments first, then the others until the size limit is reached. */
function renderOutline(sanitized: SanitizedSchema): JsonObject {
  const constraints = readRoot(sanitized, OUTLINE_LEVEL, { schemasLeft: Infinity });
  const required = new Set(constraints.required);
  const sorted = [...(constraints.properties ?? [])].toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  let remainingChars = MAX_SCHEMA_CHARS / 2;
  const properties = sorted.filter(([name, model]) => {
    remainingChars -=
      name.length * 2 +
      JSON.stringify(writeConstraints("object", { properties: new Map([[name, model]]) }, OUTLINE_LEVEL))
        .length;
    return remainingChars > 0;
  });
  return writeConstraints("object", { ...constraints, properties: new Map(properties) }, OUTLINE_LEVEL);
}

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
const SUPPORTED_PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Writes a type model with the keywords that all providers support. */
function writeSchema(model: TypeModel, level: DetailLevel): JsonObject {
  const types = intendedTypes(model);
  if (types.length === 0 || types.length === JSON_TYPES.length) return writeAnything(model, level);
  const branches = types.flatMap((type) =>
    (model.get(type) ?? []).map((constraints) => writeConstraints(type, constraints, level)),
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
    model.get(type)?.some(({ isInferred, isNamed }) => isInferred !== true || isNamed === true),
  );
  return intended.length === 0 ? accepted : intended;
}

function writeAnything(model: TypeModel, level: DetailLevel): JsonObject {
  const [constraints = {}] = [...model.values()].flat();
  const { title, description } = writeDescriptions(constraints, [], level);
  return omitUndefined({ title, description });
}

function writeConstraints(type: JsonType, constraints: TypeConstraints, level: DetailLevel): JsonObject {
  const { notes = [], ...keywords } = WRITERS_BY_TYPE[type](constraints, level);
  const draft: JsonObject = { type, ...writeDescriptions(constraints, notes, level), ...keywords };
  const allowed = [...COMMON_KEYWORDS, ...KEYWORDS_BY_TYPE[type]];
  return omitUndefined(Object.fromEntries(allowed.map((keyword) => [keyword, draft[keyword]])));
}

interface SchemaDraft extends JsonObject {
  readonly notes?: readonly string[];
}

const WRITERS_BY_TYPE: Readonly<
  Record<JsonType, (constraints: TypeConstraints, level: DetailLevel) => SchemaDraft>
> = {
  string: (constraints, level) => {
    const { values, pattern, format, bounds } = constraints;
    if (values === undefined) return { pattern, ...writeFormat("string", format), ...bounds };
    const isShort = toJson(values).length <= level.valueChars && !values.includes("");
    return isShort ? { enum: [...values] } : { notes: noteValues(values) };
  },
  number: ({ values, isInteger, bounds, format }) => {
    const type = isInteger === true || values?.every(Number.isInteger) === true ? "integer" : "number";
    if (values === undefined) return { type, ...bounds, ...writeFormat(type, format) };
    return { type, notes: noteValues(values) };
  },
  boolean: ({ values }) => (values?.length === 1 ? { notes: noteValues(values) } : {}),
  object: ({ properties, required = [], values, bounds }, level) => {
    const satisfiable = [...(properties ?? [])].filter(([, model]) => model.size > 0);
    const names = new Set(satisfiable.map(([name]) => name));
    const requiredNames = [...new Set(required)].filter((name) => names.has(name));
    return {
      ...bounds,
      properties: Object.fromEntries(satisfiable.map(([name, model]) => [name, writeSchema(model, level)])),
      required: requiredNames.length === 0 ? undefined : requiredNames,
      notes: noteValues(values),
    };
  },
  array: ({ items = ANY, values, bounds }, level) => ({
    ...bounds,
    items: writeSchema(items, level),
    ...(items.size === 0 ? { maxItems: 0 } : {}),
    notes: noteValues(values),
  }),
  null: () => ({}),
};

function writeFormat(type: keyof typeof FORMATS, format: string | undefined): SchemaDraft {
  if (format === undefined) return {};
  return FORMATS[type].includes(format) ? { format } : { notes: [`Format: ${format}.`] };
}

const MAX_LISTED_VALUES = 50;

function noteValues(values: readonly unknown[] | undefined): string[] {
  if (values === undefined) return [];
  const more = values.length > MAX_LISTED_VALUES ? `, and ${values.length - MAX_LISTED_VALUES} more` : "";
  return [`One of: ${values.slice(0, MAX_LISTED_VALUES).map(truncateJson).join(", ")}${more}.`];
}

function writeDescriptions(
  constraints: TypeConstraints,
  extraNotes: readonly string[],
  level: DetailLevel,
): JsonObject {
  const sentences = [constraints.description, ...(constraints.notes ?? []), ...extraNotes].filter(
    (text) => text !== undefined,
  );
  return {
    title: truncateReadable(constraints.title ?? "", level),
    description: truncateReadable(sentences.join(" "), level),
    default: writeDefault(constraints, level),
  };
}

/** Writes a copy, and only a complete one: defaults are applied from the original schema. */
function writeDefault({ default: defaultValue }: TypeConstraints, level: DetailLevel): unknown {
  const text = defaultValue === undefined ? "…" : toJson(defaultValue.value);
  if (text === "…" || text.length > level.valueChars || stripHiddenCharacters(text) !== text)
    return undefined;
  return JSON.parse(text);
}

function truncateReadable(text: string, { descriptionChars }: DetailLevel): string | undefined {
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
