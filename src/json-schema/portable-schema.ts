import { appendSentence, stripHiddenCharacters, truncateAtSentence } from "../errors/sanitize-text.js";
import { toJsonWithin, truncateJson } from "../json/describe-value.js";
import { type JsonObject, omitUndefined, toArray, toObject } from "../json/json.js";
import { describeTypeModel, intendedTypes, isUnconstrained } from "./describe-type-model.js";
import { LinearPatterns } from "./linear-pattern.js";
import { NOTE_LABELS, readTypeModel } from "./read-type-model.js";
import { describeHiddenTexts, hasHiddenText } from "./keywords.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import { StepBudget, tryWithinBudget } from "./step-budget.js";
import {
  ANY,
  JSON_TYPES,
  type JsonType,
  mergeVariants,
  NEVER,
  type TypeConstraints,
  type TypeModel,
} from "./schema-type-model.js";

const MAX_SCHEMA_CHARS = 50_000;
/** Limits what is read at all levels of detail, because a schema may refer to a definition many times. */
const MAX_STEPS = 250_000;
/** The share of full detail, enough for 1,000 schemas. The other levels share the rest. */
const MAX_FULL_DETAIL_STEPS = 100_000;
/** More arguments are never shown in full, whatever their details. */
const MAX_ARGUMENTS = 1_500;
/** Enough to read the outline of that many arguments. */
const MAX_OUTLINE_STEPS = 200_000;
const TOO_LARGE = "The schema is too large to be shown in full";

/** How a definition is written that a schema refers to several times. */
type Repetition = "all" | "without-texts" | "first-only";

/** Limits of what is read and of the texts that are written. */
interface DetailLevel {
  readonly maxDepth: number;
  readonly descriptionChars: number;
  readonly valueChars: number;
  readonly repetition: Repetition;
  /** Whether the size relative to the original is limited. */
  readonly isRelative?: boolean;
  /** Whether nothing is omitted but what exceeds these limits in any schema. */
  readonly isComplete?: boolean;
}

/** A level of detail, and what may still be written: writing ends when the result is too large. */
interface WriteLimits extends DetailLevel {
  readonly chars: StepBudget;
  /** Texts that were written, unless they are repeated. */
  readonly writtenTexts: Set<string> | undefined;
  readonly truncated: { isAny: boolean };
  readonly hidden: HiddenTexts;
}

/** Whether values or names of properties were not written because of hidden characters in them. */
interface HiddenTexts {
  isAny: boolean;
}

const FULL_DETAIL = { maxDepth: 40, descriptionChars: 16_384, valueChars: 8_000, isComplete: true };
/** Models see a definition in full wherever it is used, as long as the schema grows by no more than this factor. */
const MAX_GROWTH = 1.4;
/** A smaller schema may grow by more. */
const MIN_GROWTH_CHARS = 1_000;

/**
 * From full detail to outlines: the first level that fits the size limit is used. Depth is reduced before texts, and
 * texts of up to 256 characters are complete as long as two levels fit.
 */
const DETAIL_LEVELS: readonly DetailLevel[] = [
  { ...FULL_DETAIL, repetition: "all", isRelative: true },
  { ...FULL_DETAIL, repetition: "without-texts", isRelative: true },
  { ...FULL_DETAIL, repetition: "first-only" },
  { maxDepth: 16, descriptionChars: 1_024, valueChars: 2_000, repetition: "first-only" },
  { maxDepth: 8, descriptionChars: 512, valueChars: 1_000, repetition: "first-only" },
  { maxDepth: 4, descriptionChars: 256, valueChars: 500, repetition: "first-only" },
  { maxDepth: 2, descriptionChars: 256, valueChars: 200, repetition: "first-only" },
  { maxDepth: 2, descriptionChars: 64, valueChars: 100, repetition: "first-only" },
];
const OUTLINE_LEVEL: DetailLevel = {
  maxDepth: 1,
  descriptionChars: 64,
  valueChars: 60,
  repetition: "first-only",
};

function toWriteLimits(level: DetailLevel, maxChars: number, hidden: HiddenTexts): WriteLimits {
  const writtenTexts = level.repetition === "all" ? undefined : new Set<string>();
  return { ...level, chars: new StepBudget(maxChars), writtenTexts, truncated: { isAny: false }, hidden };
}

/**
 * Converts the schema of a tool to the one that models see: accepted by OpenAI, Anthropic and Gemini, with as much
 * of the original as fits. It accepts everything that the original accepts, except values and names of properties with
 * hidden characters, and possibly more. Those are not shown: a model could be instructed by them, and they cannot be
 * changed without breaking the call.
 *
 * Two constructs are read as intended instead of strictly: a schema with `properties` and without `type` is an
 * object, and an argument that only one branch of a top-level union or condition describes is described that way
 * for the other branches, too.
 */
export function toPortableSchema(
  original: JsonObject,
  steps = new StepBudget(MAX_STEPS),
): { schema: JsonObject; warnings: string[] } {
  const visible = limitArguments(original);
  const isTooWide = visible !== original;
  const sanitized = sanitizeSchema(visible, new LinearPatterns("parse"));
  const hidden = { isAny: false };
  const { schema, warnings } = render(sanitized, { levels: isTooWide ? [] : DETAIL_LEVELS, steps, hidden });
  const hiddenWarnings = hidden.isAny ? describeHiddenTexts(sanitized.schema) : [];
  return {
    schema,
    warnings: [...sanitized.warnings, ...warnings, ...warnUnsupportedNames(visible), ...hiddenWarnings],
  };
}

/** Keeps as many arguments as an outline can show, required ones first. */
function limitArguments(schema: JsonObject): JsonObject {
  const properties = toObject(schema["properties"]);
  // Listing the names of a large object takes long, so it is done once.
  const names = Object.keys(properties);
  if (names.length <= MAX_ARGUMENTS) return schema;
  const required = toArray(schema["required"]).filter(
    (name) => typeof name === "string" && Object.hasOwn(properties, name),
  );
  const kept = new Set([...required, ...names.slice(0, MAX_ARGUMENTS)] as string[]);
  const entries = [...kept].slice(0, MAX_ARGUMENTS).map((name) => [name, properties[name]] as const);
  return { ...schema, properties: Object.fromEntries(entries) };
}

interface RenderOptions {
  readonly levels: readonly DetailLevel[];
  readonly steps: StepBudget;
  readonly hidden: HiddenTexts;
}

/** Uses the first level of detail that fits the limits; without one, an outline. */
function render(
  sanitized: SanitizedSchema,
  { levels, steps, hidden }: RenderOptions,
): { schema: JsonObject; warnings: string[] } {
  let read: RootConstraints | undefined;
  // Without references, a schema is not repeated.
  const hasReferences = sanitized.targets.size > 0;
  const maxGrownChars = hasReferences ? toMaxGrownChars(sanitized.schema) : MAX_SCHEMA_CHARS;
  for (const [index, level] of levels.entries()) {
    const share = (steps.maxSteps - steps.used) / (levels.length - index);
    const levelSteps = new StepBudget(index === 0 ? MAX_FULL_DETAIL_STEPS : Math.trunc(share));
    // What was read at a higher level is the same, unless a limit of this one applies.
    const isSame = read !== undefined && read.depth < level.maxDepth && read.isOnce === isOnce(level);
    if (!isSame) read = tryWithinBudget(() => readRoot(sanitized, level, levelSteps));
    steps.add(levelSteps.used);
    const limits = toWriteLimits(level, level.isRelative === true ? maxGrownChars : MAX_SCHEMA_CHARS, hidden);
    const schema = read && tryWriteRoot(read, limits);
    if (schema === undefined) continue;
    const omitted = level.isComplete === true ? [] : [`${TOO_LARGE}: details were omitted.`];
    const cut = omitted.length === 0 && limits.truncated.isAny ? [TRUNCATED] : [];
    return { schema, warnings: [...omitted, ...cut] };
  }
  const outlineSteps = new StepBudget(MAX_OUTLINE_STEPS);
  const reduced = () => ({ ...sanitized, schema: omitCombinations(sanitized.schema) });
  const schema =
    tryWithinBudget(() => renderOutline(sanitized, { steps: outlineSteps, hidden })) ??
    renderOutline(reduced(), { steps: new StepBudget(Infinity), hidden });
  steps.add(outlineSteps.used);
  return { schema, warnings: [`${TOO_LARGE}: only the first arguments are shown.`] };
}

/** Keeps the keywords that are read in a limited number of steps, and that accept more than the whole schema. */
function omitCombinations({ type, title, description, properties, required }: JsonObject): JsonObject {
  return omitUndefined({ type, title, description, properties, required });
}

const TRUNCATED = `Descriptions of arguments with more than ${FULL_DETAIL.descriptionChars} characters were truncated.`;

function isOnce({ repetition }: DetailLevel): boolean {
  return repetition === "first-only";
}

function toMaxGrownChars(schema: JsonObject): number {
  const size = toJsonWithin(schema, MAX_SCHEMA_CHARS)?.length ?? MAX_SCHEMA_CHARS;
  return Math.min(MAX_SCHEMA_CHARS, Math.max(MIN_GROWTH_CHARS, MAX_GROWTH * size));
}

interface RootConstraints {
  /** Whether each definition was read only once. */
  readonly isOnce: boolean;
  readonly constraints: TypeConstraints;
  /** The levels that were read. */
  readonly depth: number;
}

/** Returns `undefined` if a level of detail exceeds the limit of what is written. */
function tryWriteRoot({ constraints }: RootConstraints, limits: WriteLimits): JsonObject | undefined {
  const schema = tryWithinBudget(() => writeRoot(constraints, limits));
  return JSON.stringify(schema ?? "").length > limits.chars.maxSteps ? undefined : schema;
}

/** Arguments that the schema does not declare are not offered, unless it describes them. */
function writeRoot(constraints: TypeConstraints, limits: WriteLimits): JsonObject {
  const { additional = NEVER } = constraints;
  return writeConstraints("object", omitUnsupportedNames({ ...constraints, additional }, limits), limits);
}

function readRoot(sanitized: SanitizedSchema, level: DetailLevel, steps: StepBudget): RootConstraints {
  const { maxDepth } = level;
  const reached = { remainingDepth: maxDepth };
  const firstPaths = isOnce(level) ? new Map<JsonObject, string>() : undefined;
  const context = { sanitized, remainingDepth: maxDepth, openTargets: [], steps, reached, firstPaths };
  const model = readTypeModel(sanitized.schema, context);
  const [constraints = {}] = mergeVariants(model.get("object") ?? [], steps);
  return { constraints, isOnce: isOnce(level), depth: maxDepth - reached.remainingDepth };
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
    .map(([name, model]) => {
      const verb = constraints.required?.includes(name) === true ? "requires" : "accepts";
      return `Also ${verb} ${truncateJson(name)}${describeOmitted(model, limits)}.`;
    });
  // Required names that are not declared may be those of hidden arguments.
  const required = constraints.required?.filter((name) => properties.has(name));
  return { ...constraints, properties, required, notes: [...(constraints.notes ?? []), ...omitted] };
}

function describeOmitted(model: TypeModel, limits: WriteLimits): string {
  const [constraints] = [...model.values()].flat();
  const description = truncateReadable(joinSentences(constraints?.texts ?? [], limits), limits);
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

/** Whether a value or the name of a property may be shown as it is. */
function isShown(value: unknown, { hidden }: WriteLimits): boolean {
  if (!hasHiddenText(value)) return true;
  hidden.isAny = true;
  return false;
}

/** Writes required arguments first, then the others until the size limit is reached. */
function renderOutline(
  sanitized: SanitizedSchema,
  { steps, hidden }: Pick<RenderOptions, "steps" | "hidden">,
): JsonObject {
  const limits = toWriteLimits({ ...OUTLINE_LEVEL, repetition: "all" }, Infinity, hidden);
  const read = readRoot(sanitized, OUTLINE_LEVEL, steps);
  const constraints = omitUnsupportedNames({ additional: NEVER, ...read.constraints }, limits);
  const required = new Set(constraints.required);
  const sorted = [...(constraints.properties ?? [])].toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  let remainingChars = MAX_SCHEMA_CHARS / 2;
  const properties = sorted.filter(([name, model]) => {
    if (remainingChars <= 0) return false;
    remainingChars -=
      name.length * 2 +
      JSON.stringify(writeConstraints("object", { properties: new Map([[name, model]]) }, limits)).length;
    return remainingChars > 0;
  });
  return writeConstraints("object", { ...constraints, properties: new Map(properties) }, limits);
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
  string: [...COMMON_KEYWORDS, "enum", "format", "pattern", "minLength", "maxLength"],
  number: [...COMMON_KEYWORDS, "format", "minimum", "maximum"],
  boolean: COMMON_KEYWORDS,
  object: [...COMMON_KEYWORDS, "properties", "required", "minProperties", "maxProperties"],
  array: [...COMMON_KEYWORDS, "items", "minItems", "maxItems"],
  null: COMMON_KEYWORDS,
};

const FORMATS: Readonly<Record<"string" | "number" | "integer", readonly string[]>> = {
  string: ["date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** The names of top-level properties that all providers accept. */
export const SUPPORTED_PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Writes a type model with the keywords that all providers support. */
function writeSchema(model: TypeModel, limits: WriteLimits): JsonObject {
  const types = intendedTypes(model);
  if (types.length === 0 || types.length === JSON_TYPES.length) return writeAnything(model, limits);
  const variants = types.flatMap((type) =>
    (model.get(type) ?? []).map((variant) => [type, variant] as const),
  );
  const distinct = variants.length === 1 ? variants : dedupeTexts(variants);
  const written = distinct.map(([type, variant]) => writeConstraints(type, variant, limits));
  const [first] = written;
  return written.length === 1 && first !== undefined ? first : { anyOf: written };
}

function writeAnything(model: TypeModel, limits: WriteLimits): JsonObject {
  limits.chars.spend("{}".length);
  if (model === ANY) return {};
  const [constraints = {}, ...others] = [...model.values()].flat();
  const notes = new Set([constraints, ...others].flatMap((variant) => variant.notes ?? []));
  const { title, description } = writeDescriptions({ ...constraints, notes: [...notes] }, [], limits);
  return omitUndefined({ title, description });
}

/** @throws StepLimitError if the result is too large */
function writeConstraints(type: JsonType, constraints: TypeConstraints, limits: WriteLimits): JsonObject {
  limits.chars.spend(`{"type":"${type}"}`.length);
  const { notes = [], ...keywords } = WRITERS_BY_TYPE[type](constraints, limits);
  const draft: JsonObject = { type, ...writeDescriptions(constraints, notes, limits), ...keywords };
  const written: JsonObject = {};
  for (const keyword of KEYWORDS_BY_TYPE[type])
    if (draft[keyword] !== undefined) written[keyword] = draft[keyword];
  return written;
}

interface SchemaDraft extends JsonObject {
  readonly notes?: readonly string[];
}

const WRITERS_BY_TYPE: Readonly<
  Record<JsonType, (constraints: TypeConstraints, limits: WriteLimits) => SchemaDraft>
> = {
  string: (constraints, limits) => {
    const { pattern = "", format, bounds } = constraints;
    const values = constraints.values?.filter((value) => isShown(value, limits));
    const shownPattern = pattern === "" || hasHiddenText(pattern) ? {} : { pattern };
    if (values === undefined) return { ...shownPattern, ...writeFormat("string", format), ...bounds };
    if (values.length === 0) return {};
    const isShort = toJsonWithin(values, limits.valueChars) !== undefined && !values.includes("");
    return isShort ? { enum: [...values] } : { notes: noteValues(values) };
  },
  number: ({ values, isInteger, bounds, format }) => {
    const type = isInteger === true || values?.every(Number.isInteger) === true ? "integer" : "number";
    if (values === undefined) return { type, ...bounds, ...writeFormat(type, format) };
    return { type, notes: noteValues(values) };
  },
  boolean: ({ values }) => (values?.length === 1 ? { notes: noteValues(values) } : {}),
  object: (constraints, limits) => {
    const { properties, required = [], values, bounds } = constraints;
    const satisfiable = [...(properties ?? [])].filter(
      ([name, model]) => model.size > 0 && isShown(name, limits),
    );
    const names = new Set(satisfiable.map(([name]) => name));
    const requiredNames = [...new Set(required)].filter((name) => names.has(name));
    return {
      ...bounds,
      properties: Object.fromEntries(
        satisfiable.map(([name, model]) => {
          limits.chars.spend(`"${name}":`.length);
          return [name, writeSchema(model, limits)];
        }),
      ),
      required: requiredNames.length === 0 ? undefined : requiredNames,
      notes: [...noteValues(values), ...noteOtherKeys(constraints, names.size), ...noteRequired(constraints)],
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

/** No provider supports `additionalProperties`, so a map is described. */
function noteOtherKeys({ additional, isNamed, values }: TypeConstraints, declaredCount: number): string[] {
  const model = additional ?? (isNamed === true ? ANY : NEVER);
  if (model.size === 0 || values !== undefined) return [];
  if (isUnconstrained(model)) return declaredCount === 0 ? ["Any keys."] : [];
  const label = declaredCount === 0 ? "Any keys" : "Other keys are allowed";
  return [`${label}; values: ${describeTypeModel(model)}.`];
}

/** Providers reject a required property that is not declared. */
function noteRequired({ required = [], properties, values }: TypeConstraints): string[] {
  const undeclared = new Set(required.filter((name) => properties?.has(name) !== true));
  if (undeclared.size === 0 || values !== undefined) return [];
  return [`Required keys: ${[...undeclared].slice(0, MAX_OMITTED_NAMES).map(truncateJson).join(", ")}.`];
}

function writeFormat(type: keyof typeof FORMATS, format: string | undefined): SchemaDraft {
  if (format === undefined) return {};
  return FORMATS[type].includes(format) ? { format } : { notes: [`Format: ${format}.`] };
}

const MAX_LISTED_VALUES = 50;

function noteValues(values: readonly unknown[] | undefined): string[] {
  if (values === undefined) return [];
  const more = values.length > MAX_LISTED_VALUES ? `, and ${values.length - MAX_LISTED_VALUES} more` : "";
  return [`${NOTE_LABELS.values} ${values.slice(0, MAX_LISTED_VALUES).map(truncateJson).join(", ")}${more}.`];
}

function writeDescriptions(
  { title, texts = [], notes = [], ...constraints }: TypeConstraints,
  extraNotes: readonly string[],
  limits: WriteLimits,
): JsonObject {
  const newTexts = texts.filter(
    (text) => text.length < MIN_REPEATED_CHARS || !limits.writtenTexts?.has(text),
  );
  for (const text of newTexts) limits.writtenTexts?.add(text);
  const written = {
    title: truncateReadable(title ?? "", limits),
    description: truncateReadable(joinSentences([...newTexts, ...notes, ...extraNotes], limits), limits),
  };
  limits.chars.spend((written.title?.length ?? 0) + (written.description?.length ?? 0));
  return { ...written, default: writeDefault(constraints, limits) };
}

/** A shorter text is repeated: it is about the argument, and not worth a search for its other occurrence. */
const MIN_REPEATED_CHARS = 30;

/** Joins sentences until the limit of a description is reached. */
function joinSentences(sentences: readonly string[], { descriptionChars }: DetailLevel): string {
  let joined = "";
  for (const sentence of sentences) {
    if (joined.length > descriptionChars) break;
    const beginning = sentence.slice(0, MAX_HIDDEN_SHARE * descriptionChars);
    joined = joined === "" ? beginning : appendSentence(joined, beginning);
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

function truncateReadable(text: string, limits: WriteLimits): string | undefined {
  const { descriptionChars, truncated } = limits;
  const visible = stripHiddenCharacters(text.slice(0, MAX_HIDDEN_SHARE * descriptionChars)).trim();
  if (visible.length > descriptionChars) truncated.isAny = true;
  return visible === "" ? undefined : truncateAtSentence(visible, descriptionChars);
}

type TypedVariant = readonly [type: JsonType, constraints: TypeConstraints];

/** Keeps a title, a text or a note only in the first branch of a union that has it. */
function dedupeTexts(variants: readonly TypedVariant[]): TypedVariant[] {
  const seen = new Set<unknown>();
  const isNew = (text: string | undefined) => {
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  };
  return variants.map(([type, { title, texts, notes, ...others }]) => {
    const kept = { texts: texts?.filter(isNew), notes: notes?.filter(isNew) };
    return [type, { ...others, ...kept, title: isNew(title) ? title : undefined }];
  });
}
