import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { toJsonWithin, truncateJson } from "../json/describe-value.js";
import { type JsonObject, omitUndefined, toArray, toObject } from "../json/json.js";
import { LinearPatterns } from "./linear-pattern.js";
import { readTypeModel } from "./read-type-model.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import { countEntries, StepBudget, StepLimitError } from "./step-budget.js";
import {
  ANY,
  JSON_TYPES,
  type JsonType,
  mergeVariants,
  type TypeConstraints,
  type TypeModel,
} from "./schema-type-model.js";

const MAX_SCHEMA_CHARS = 50_000;
/** Limits what is read at all levels of detail, because a schema may refer to a definition many times. */
const MAX_STEPS = 400_000;
/** The share of full detail, enough for 1,500 schemas. The other levels share the rest. */
const MAX_FULL_DETAIL_STEPS = 150_000;
/** More arguments are never shown in full, whatever their details. */
const MAX_ARGUMENTS = 1_500;
const TOO_LARGE = "The schema is too large to be shown in full";

/** Limits of what is read and of the texts that are written. */
interface DetailLevel {
  readonly maxDepth: number;
  readonly descriptionChars: number;
  readonly valueChars: number;
}

/** A level of detail, and what may still be written: writing ends when the result is too large. */
interface WriteLimits extends DetailLevel {
  readonly chars: StepBudget;
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
const OUTLINE_LIMITS: WriteLimits = {
  maxDepth: 1,
  descriptionChars: 64,
  valueChars: 60,
  chars: new StepBudget(Infinity),
};

/**
 * Converts the schema of a tool to the one that models see: accepted by OpenAI, Anthropic and Gemini, with as much
 * of the original as fits. It accepts everything that the original accepts, and possibly more.
 *
 * Two constructs are read as intended instead of strictly: a schema with `properties` and without `type` is an
 * object, and an argument that only one branch of a top-level union or condition describes is described that way
 * for the other branches, too.
 */
export function toPortableSchema(
  original: JsonObject,
  steps = new StepBudget(MAX_STEPS),
): { schema: JsonObject; warnings: string[] } {
  const isTooWide = countEntries({ properties: original["properties"] }) > MAX_ARGUMENTS;
  const visible = isTooWide ? limitArguments(original) : original;
  const sanitized = sanitizeSchema(visible, new LinearPatterns("parse"));
  const { schema, warnings } = render(sanitized, isTooWide ? [] : DETAIL_LEVELS, steps);
  return { schema, warnings: [...sanitized.warnings, ...warnings, ...warnUnsupportedNames(visible)] };
}

/** Keeps as many arguments as an outline can show, required ones first. */
function limitArguments(schema: JsonObject): JsonObject {
  const properties = toObject(schema["properties"]);
  const required = new Set(toArray(schema["required"]));
  const names = Object.keys(properties);
  const sorted = [
    ...names.filter((name) => required.has(name)),
    ...names.filter((name) => !required.has(name)),
  ];
  const kept = sorted.slice(0, MAX_ARGUMENTS).map((name) => [name, properties[name]] as const);
  return { ...schema, properties: Object.fromEntries(kept) };
}

/** Uses the first level of detail that fits the limits; without one, an outline. */
function render(
  sanitized: SanitizedSchema,
  levels: readonly DetailLevel[],
  steps: StepBudget,
): { schema: JsonObject; warnings: string[] } {
  let read: RootConstraints | undefined;
  for (const [index, level] of levels.entries()) {
    const share = (steps.maxSteps - steps.used) / (levels.length - index);
    const levelSteps = new StepBudget(index === 0 ? MAX_FULL_DETAIL_STEPS : Math.trunc(share));
    // What was read at a higher level is the same, unless the depth limit of this one applies.
    if (read === undefined || read.depth >= level.maxDepth) read = tryReadRoot(sanitized, level, levelSteps);
    steps.add(levelSteps.used);
    const schema = read && tryWriteRoot(read, level);
    if (schema !== undefined)
      return { schema, warnings: index === 0 ? [] : [`${TOO_LARGE}: details were omitted.`] };
  }
  const outlineSteps = new StepBudget(Infinity);
  const schema = renderOutline(sanitized, outlineSteps);
  steps.add(outlineSteps.used);
  return { schema, warnings: [`${TOO_LARGE}: only the first arguments are shown.`] };
}

interface RootConstraints {
  readonly constraints: TypeConstraints;
  /** The levels that were read. */
  readonly depth: number;
}

/** Returns `undefined` if a level of detail exceeds the limit of what is read. */
function tryReadRoot(
  sanitized: SanitizedSchema,
  level: DetailLevel,
  steps: StepBudget,
): RootConstraints | undefined {
  return unlessLimited(() => readRoot(sanitized, level, steps));
}

/** Returns `undefined` if a level of detail exceeds the limit of what is written. */
function tryWriteRoot({ constraints }: RootConstraints, level: DetailLevel): JsonObject | undefined {
  const limits = { ...level, chars: new StepBudget(MAX_SCHEMA_CHARS) };
  const schema = unlessLimited(() =>
    writeConstraints("object", omitUnsupportedNames(constraints, limits), limits),
  );
  return JSON.stringify(schema ?? "").length > MAX_SCHEMA_CHARS ? undefined : schema;
}

function unlessLimited<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof StepLimitError) return undefined;
    throw error;
  }
}

function readRoot(sanitized: SanitizedSchema, { maxDepth }: DetailLevel, steps: StepBudget): RootConstraints {
  const reached = { remainingDepth: maxDepth };
  const context = { sanitized, remainingDepth: maxDepth, openTargets: [], steps, reached };
  const model = readTypeModel(sanitized.schema, context);
  const [constraints = {}] = mergeVariants(model.get("object") ?? [], steps);
  return { constraints, depth: maxDepth - reached.remainingDepth };
}

/** More of them do not fit into a description. */
const MAX_OMITTED_NAMES = 50;

/** Moves property names for which a provider would reject the whole tool into the description. */
function omitUnsupportedNames(constraints: TypeConstraints, limits: WriteLimits): TypeConstraints {
  const all = [...(constraints.properties ?? [])];
  const properties = new Map(all.filter(([name]) => SUPPORTED_PROPERTY_NAME.test(name)));
  const omitted = all
    .filter(([name]) => !SUPPORTED_PROPERTY_NAME.test(name))
    .slice(0, MAX_OMITTED_NAMES)
    .map(([name, model]) => `Also accepts ${truncateJson(name)}${describeModel(model, limits)}.`);
  return { ...constraints, properties, notes: [...(constraints.notes ?? []), ...omitted] };
}

function describeModel(model: TypeModel, limits: WriteLimits): string {
  const [constraints] = [...model.values()].flat();
  const description = truncateReadable(constraints?.description ?? "", limits);
  return ` (${[...model.keys()].join(" or ")})${description === undefined ? "" : `: ${description.replace(/\.$/, "")}`}`;
}

function warnUnsupportedNames(schema: JsonObject): string[] {
  return Object.keys(toObject(schema["properties"]))
    .filter((name) => !SUPPORTED_PROPERTY_NAME.test(name))
    .slice(0, 10)
    .map(
      (name) =>
        `The argument ${stripHiddenCharacters(truncateJson(name))} has a name that providers reject: it is only mentioned in the description.`,
    );
}

/** Writes required arguments first, then the others until the size limit is reached. */
function renderOutline(sanitized: SanitizedSchema, steps: StepBudget): JsonObject {
  const read = readRoot(sanitized, OUTLINE_LIMITS, steps);
  const constraints = omitUnsupportedNames(read.constraints, OUTLINE_LIMITS);
  const required = new Set(constraints.required);
  const sorted = [...(constraints.properties ?? [])].toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  let remainingChars = MAX_SCHEMA_CHARS / 2;
  const properties = sorted.filter(([name, model]) => {
    if (remainingChars <= 0) return false;
    remainingChars -=
      name.length * 2 +
      JSON.stringify(writeConstraints("object", { properties: new Map([[name, model]]) }, OUTLINE_LIMITS))
        .length;
    return remainingChars > 0;
  });
  return writeConstraints("object", { ...constraints, properties: new Map(properties) }, OUTLINE_LIMITS);
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
function writeSchema(model: TypeModel, limits: WriteLimits): JsonObject {
  const types = intendedTypes(model);
  if (types.length === 0 || types.length === JSON_TYPES.length) return writeAnything(model, limits);
  const branches = types.flatMap((type) =>
    (model.get(type) ?? []).map((constraints) => writeConstraints(type, constraints, limits)),
  );
  const written = branches.length === 1 ? branches : dedupeTexts(branches);
  for (const { title, description } of written) limits.chars.spend([title, description].join("").length);
  const [first] = written;
  return written.length === 1 && first !== undefined ? first : { anyOf: written };
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

function writeAnything(model: TypeModel, limits: WriteLimits): JsonObject {
  const [constraints = {}] = [...model.values()].flat();
  const { title, description } = writeDescriptions(constraints, [], limits);
  return omitUndefined({ title, description });
}

/** @throws StepLimitError if the result is too large */
function writeConstraints(type: JsonType, constraints: TypeConstraints, limits: WriteLimits): JsonObject {
  limits.chars.spend(`{"type":"${type}"}`.length);
  const { notes = [], ...keywords } = WRITERS_BY_TYPE[type](constraints, limits);
  const draft: JsonObject = { type, ...writeDescriptions(constraints, notes, limits), ...keywords };
  const allowed = [...COMMON_KEYWORDS, ...KEYWORDS_BY_TYPE[type]];
  return omitUndefined(Object.fromEntries(allowed.map((keyword) => [keyword, draft[keyword]])));
}

interface SchemaDraft extends JsonObject {
  readonly notes?: readonly string[];
}

const WRITERS_BY_TYPE: Readonly<
  Record<JsonType, (constraints: TypeConstraints, limits: WriteLimits) => SchemaDraft>
> = {
  string: (constraints, limits) => {
    const { values, pattern, format, bounds } = constraints;
    if (values === undefined) return { pattern, ...writeFormat("string", format), ...bounds };
    const isShort = toJsonWithin(values, limits.valueChars) !== undefined && !values.includes("");
    return isShort ? { enum: [...values] } : { notes: noteValues(values) };
  },
  number: ({ values, isInteger, bounds, format }) => {
    const type = isInteger === true || values?.every(Number.isInteger) === true ? "integer" : "number";
    if (values === undefined) return { type, ...bounds, ...writeFormat(type, format) };
    return { type, notes: noteValues(values) };
  },
  boolean: ({ values }) => (values?.length === 1 ? { notes: noteValues(values) } : {}),
  object: ({ properties, required = [], values, bounds }, limits) => {
    const satisfiable = [...(properties ?? [])].filter(([, model]) => model.size > 0);
    const names = new Set(satisfiable.map(([name]) => name));
    const requiredNames = [...new Set(required)].filter((name) => names.has(name));
    return {
      ...bounds,
      properties: Object.fromEntries(
        satisfiable.map(([name, model]) => {
          limits.chars.spend(name.length);
          return [name, writeSchema(model, limits)];
        }),
      ),
      required: requiredNames.length === 0 ? undefined : requiredNames,
      notes: noteValues(values),
    };
  },
  array: ({ items = ANY, values, bounds }, limits) => ({
    ...bounds,
    items: writeSchema(items, limits),
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
  limits: WriteLimits,
): JsonObject {
  const sentences = [constraints.description, ...(constraints.notes ?? []), ...extraNotes].filter(
    (text) => text !== undefined,
  );
  return {
    title: truncateReadable(constraints.title ?? "", limits),
    description: truncateReadable(joinBeginning(sentences, limits), limits),
    default: writeDefault(constraints, limits),
  };
}

/** Joins sentences until the limit of a description is reached. */
function joinBeginning(sentences: readonly string[], { descriptionChars }: DetailLevel): string {
  let joined = "";
  for (const sentence of sentences) {
    if (joined.length > descriptionChars) break;
    joined += (joined === "" ? "" : " ") + sentence.slice(0, MAX_HIDDEN_SHARE * descriptionChars);
  }
  return joined;
}

/** Writes a copy, and only a complete one: defaults are applied from the original schema. */
function writeDefault({ default: defaultValue }: TypeConstraints, limits: WriteLimits): unknown {
  if (defaultValue === undefined) return undefined;
  const text = toJsonWithin(defaultValue.value, limits.valueChars);
  if (text === undefined || text === "…" || stripHiddenCharacters(text) !== text) return undefined;
  limits.chars.spend(text.length);
  return JSON.parse(text);
}

/** Hidden characters may be most of a text; beyond this factor it is not read. */
const MAX_HIDDEN_SHARE = 4;

function truncateReadable(text: string, { descriptionChars }: DetailLevel): string | undefined {
  const visible = stripHiddenCharacters(text.slice(0, MAX_HIDDEN_SHARE * descriptionChars)).trim();
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
