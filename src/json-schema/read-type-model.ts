import { isPlainObject, isStringArray, type JsonObject, toArray, toObject } from "../json/json.js";
import { describeTypeModel } from "./describe-type-model.js";
import { followTargets, type SanitizedSchema } from "./sanitize-schema.js";
import { countEntries, type StepBudget } from "./step-budget.js";
import { toJsonWithin, truncateJson } from "../json/describe-value.js";
import {
  ANY,
  intersect,
  JSON_TYPES,
  NEVER,
  union,
  unionToSingleVariant,
  type TypeConstraints,
  type JsonType,
  type TypeModel,
  type Bounds,
} from "./schema-type-model.js";

/** How often a definition may be nested within itself before it is reduced to its type. */
const MAX_RECURSION = 2;

/** Reading a schema takes as long as that many steps of an evaluation. */
const STEPS_PER_SCHEMA = 100;
const STEPS_PER_EMPTY_SCHEMA = 20;

/** The position of the reader and its limits. */
export interface ReadContext {
  readonly sanitized: SanitizedSchema;
  readonly remainingDepth: number;
  /** The targets of the references that lead to this position. */
  readonly openTargets: readonly JsonObject[];
  /** Shared by all nested reads of one schema: the limit, and the smallest `remainingDepth`. */
  readonly steps: StepBudget;
  readonly reached: { remainingDepth: number };
  /** The position in a value, and where each definition was read first; set if a definition is to be read only once. */
  readonly path?: string;
  readonly firstPaths?: Map<JsonObject, string> | undefined;
}

/**
 * Reads what a sanitized schema accepts, by JSON type.
 *
 * @throws StepLimitError
 */
export function readTypeModel(schema: unknown, context: ReadContext): TypeModel {
  if (schema === false) return NEVER;
  const { sanitized, remainingDepth, steps, reached } = context;
  if (!isPlainObject(schema) || acceptsAll(schema)) {
    steps.spend(STEPS_PER_EMPTY_SCHEMA);
    return ANY;
  }
  if (acceptsAll(schema["not"])) return NEVER;
  reached.remainingDepth = Math.min(reached.remainingDepth, remainingDepth);
  steps.spend(STEPS_PER_SCHEMA + countEntries(schema));
  if (remainingDepth <= 0) return readOutline(schema, sanitized);
  const nested = { ...context, remainingDepth: remainingDepth - 1 };
  const target = sanitized.targets.get(schema);
  if (target === undefined) return readKeywords(schema, nested);
  const { $ref: _, ...siblings } = schema;
  if (Object.keys(siblings).length === 0) return readTarget(target, nested);
  const { title, description } = schema;
  // In old drafts, sibling keywords of `$ref` are ignored.
  const isOld = sanitized.draft === "4" || sanitized.draft === "7";
  const own = isOld ? { title, description } : siblings;
  return intersect([readKeywords(own, nested), readTarget(target, nested)], steps);
}

function readTarget(target: JsonObject | boolean, context: ReadContext): TypeModel {
  if (typeof target === "boolean") return readTypeModel(target, context);
  const { firstPaths, path = "" } = context;
  if (firstPaths !== undefined && NESTED_KEYWORDS.some((keyword) => keyword in target)) {
    const firstPath = firstPaths.get(target) ?? path;
    if (firstPath !== path)
      return readOutline(target, context.sanitized, `${NOTE_LABELS.same} ${firstPath}.`);
    firstPaths.set(target, path);
  }
  const depth = context.openTargets.filter((open) => open === target).length;
  if (depth >= MAX_RECURSION) return readOutline(target, context.sanitized);
  return readTypeModel(target, { ...context, openTargets: [...context.openTargets, target] });
}

const NESTED_KEYWORDS = ["properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref"];

/** Reads only the types of a schema, where its details would exceed the limits. */
function readOutline(
  schema: JsonObject,
  { targets }: SanitizedSchema,
  note: string = NOTE_LABELS.omitted,
): TypeModel {
  const target = toObject(followTargets(schema, targets));
  const { type, nullable } = target;
  const plain = {
    title: nonEmptyString(schema["title"] ?? target["title"]),
    texts: toTexts(schema["description"] ?? target["description"]),
    isNamed: type !== undefined,
  };
  const nested = { ...plain, notes: [note], additional: NEVER };
  const isInteger = isIntegerOnly(target);
  const types = JSON_TYPES.filter((jsonType) => allowsType({ type, nullable }, jsonType));
  return new Map(
    types.map((jsonType): [JsonType, TypeConstraints[]] => {
      if (jsonType === "number") return [jsonType, [{ ...plain, isInteger }]];
      return [jsonType, [jsonType === "object" || jsonType === "array" ? nested : plain]];
    }),
  );
}

/** Keywords with further schemas for the same value. */
const COMBINING_KEYWORDS = ["allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"];

function readKeywords(schema: JsonObject, context: ReadContext): TypeModel {
  const { allOf, anyOf, oneOf, properties, prefixItems, dependentSchemas, dependencies } = schema;
  const items = toArray(schema["items"]);
  const subschemas = { allOf, anyOf, oneOf, properties, prefixItems, items, dependentSchemas, dependencies };
  // Fails before anything is read, not in the middle.
  context.steps.assertAvailable(countEntries(subschemas) * STEPS_PER_SCHEMA);
  if (!COMBINING_KEYWORDS.some((keyword) => schema[keyword] !== undefined))
    return readOwnTypes(schema, (type) => readNested(schema, type, context));
  const models = [
    readOwnTypes(schema, (type) => readNested(schema, type, context)),
    ...toArray(allOf).map((subschema) => readTypeModel(subschema, context)),
    ...[schema["anyOf"], schema["oneOf"]].filter(Array.isArray).map((branches) =>
      union(
        branches.map((branch) => readTypeModel(branch, context)),
        context.steps,
      ),
    ),
    ...readConditions(schema, context),
  ];
  return intersect(models, context.steps);
}

/** Conditional schemas: their properties are always described, but their constraints do not always apply. */
function readConditions(schema: JsonObject, context: ReadContext): TypeModel[] {
  const conditional = [schema["dependentSchemas"], schema["dependencies"]]
    .flatMap((map) => Object.values(toObject(map)))
    .filter(isPlainObject)
    .map((inner) => unionToSingleVariant([ANY, readTypeModel(inner, context)], context.steps));
  if (schema["if"] === undefined) return conditional;
  const branches = [schema["then"], schema["else"]].map((inner) => readTypeModel(inner ?? true, context));
  return [...conditional, unionToSingleVariant(branches, context.steps)];
}

function readOwnTypes(
  schema: JsonObject,
  readNestedConstraints: (type: JsonType) => TypeConstraints,
): TypeModel {
  const types = candidateTypes(schema).filter((type) => allowsType(schema, type));
  const variants = types.map((type) => {
    const [own, nested] = [readConstraints(schema, type), readNestedConstraints(type)];
    const notes = [...(own.notes ?? []), ...(nested.notes ?? [])];
    const constraints: TypeConstraints = { ...own, ...nested, notes };
    return { type, constraints, isConstraining: isConstrained(constraints) };
  });
  const isNamed =
    schema["type"] !== undefined || variants.some(({ constraints }) => constraints.values !== undefined);
  const isSomeConstrained = variants.some(({ isConstraining }) => isConstraining);
  return new Map(
    variants.map(({ type, constraints, isConstraining }) => [
      type,
      [{ ...constraints, isNamed, isInferred: isSomeConstrained && !isConstraining }],
    ]),
  );
}

/** The types that a schema may allow; most schemas name one. */
function candidateTypes({ type, nullable }: JsonObject): readonly JsonType[] {
  if (typeof type !== "string" || nullable === true) return JSON_TYPES;
  return [type === "integer" ? "number" : (type as JsonType)];
}

function isConstrained({ values, bounds, pattern, items, properties, required }: TypeConstraints): boolean {
  const hasBounds = Object.values(bounds ?? {}).some((bound) => bound !== undefined);
  const hasNested = items !== undefined || properties !== undefined || (required?.length ?? 0) > 0;
  return values !== undefined || pattern !== undefined || hasBounds || hasNested;
}

function readNested(schema: JsonObject, jsonType: JsonType, context: ReadContext): TypeConstraints {
  if (jsonType === "array") return readItems(schema, context);
  return jsonType === "object" ? readProperties(schema, context) : {};
}

function readProperties(schema: JsonObject, context: ReadContext): TypeConstraints {
  const { properties, additionalProperties, patternProperties } = schema;
  const declared = isPlainObject(properties)
    ? new Map(
        Object.entries(properties).map(([name, inner]) => [
          name,
          readTypeModel(inner, atPath(context, context.path ? `${context.path}.${name}` : name)),
        ]),
      )
    : undefined;
  const readOthers = (inner: unknown) =>
    readTypeModel(inner, atPath(context, `the values of ${context.path ?? ""}`));
  const patterns = Object.entries(toObject(patternProperties)).slice(0, MAX_PATTERNS);
  const notes = patterns.map(
    ([pattern, inner]) =>
      `Keys that match ${truncateJson(pattern)}; values: ${describeTypeModel(readOthers(inner))}.`,
  );
  const additional = additionalProperties ?? (patterns.length === 0 ? undefined : false);
  return {
    properties: declared,
    additional: additional === undefined ? undefined : readOthers(additional),
    notes: [...notes, ...conditionNotes(schema)],
  };
}

/** More patterns of property names do not fit into a description. */
const MAX_PATTERNS = 5;

function atPath(context: ReadContext, path: string): ReadContext {
  return context.firstPaths === undefined ? context : { ...context, path };
}

/** The items after a tuple are in `items`, or in `additionalItems` if `items` itself is the tuple. */
function readItems(schema: JsonObject, context: ReadContext): TypeConstraints {
  const { prefixItems, items, additionalItems, maxItems } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined)
    return items === undefined
      ? {}
      : { items: readTypeModel(items, atPath(context, `${context.path ?? ""}[]`)) };
  const models = tuple.map((item) => readTypeModel(item, context));
  const isClosed = typeof maxItems === "number" && maxItems <= tuple.length;
  const rest = isClosed ? false : ((tuple === items ? additionalItems : items) ?? true);
  const order = models.map((model) => describeTypeModel(model));
  return {
    items: union([...models, readTypeModel(rest, context)], context.steps),
    notes: [`${NOTE_LABELS.tuple} ${order.join(", ")}.`],
  };
}

/** More names do not fit into a description. */
const MAX_NAMES = 100;

/** `If country is "US", also provide postcode.` */
function conditionNotes({ if: condition, then }: JsonObject): string[] {
  const conditions = Object.entries(toObject(toObject(condition)["properties"])).slice(0, MAX_NAMES);
  const cases = conditions.flatMap(([name, inner]) =>
    isPlainObject(inner) && Object.hasOwn(inner, "const")
      ? [`${name} is ${truncateJson(inner["const"])}`]
      : [],
  );
  const required = toArray(toObject(then)["required"]).slice(0, MAX_NAMES);
  const names = required.filter((name) => typeof name === "string");
  return cases.length === 0 || names.length === 0
    ? []
    : [`If ${cases.join(" and ")}, also provide ${names.join(", ")}.`];
}

/** Reads the constraints of one type from the plain keywords, without nested schemas. */
function readConstraints(schema: JsonObject, jsonType: JsonType): TypeConstraints {
  const { title, description, pattern, format, required } = schema;
  return {
    title: nonEmptyString(title),
    texts: toTexts(description),
    default:
      Object.hasOwn(schema, "default") && jsonTypeOf(schema["default"]) === jsonType
        ? { value: schema["default"] }
        : undefined,
    notes: [...NOTES_BY_TYPE[jsonType](schema), ...commonNotes(schema, jsonType)],
    values: readValues(schema, jsonType),
    bounds: readBounds(schema, jsonType),
    pattern: jsonType === "string" ? nonEmptyString(pattern) : undefined,
    format: jsonType === "string" || jsonType === "number" ? nonEmptyString(format) : undefined,
    isInteger: jsonType === "number" && isIntegerOnly(schema),
    required: jsonType === "object" && isStringArray(required) ? required : undefined,
  };
}

/** Whether `type`, `enum` and `const` allow a type. */
export function allowsType(schema: JsonObject, jsonType: JsonType): boolean {
  const types = typesOf(schema)?.map((type) => (type === "integer" ? "number" : type));
  const isNamed =
    types === undefined || types.includes(jsonType) || (jsonType === "null" && schema["nullable"] === true);
  return isNamed && readValues(schema, jsonType)?.length !== 0;
}

export function jsonTypeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? type : "object";
}

function isIntegerOnly(schema: JsonObject): boolean {
  const types = typesOf(schema);
  return types?.includes("integer") === true && !types.includes("number");
}

function typesOf({ type }: JsonObject): readonly unknown[] | undefined {
  if (type === undefined) return undefined;
  return Array.isArray(type) ? type : [type];
}

function readValues(schema: JsonObject, jsonType: JsonType): readonly unknown[] | undefined {
  const listed = Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
  const values = Object.hasOwn(schema, "const") ? [schema["const"]] : listed;
  return values?.filter((value) => jsonTypeOf(value) === jsonType);
}

const SIZE_BOUNDS: { readonly [Type in JsonType]?: readonly (keyof Bounds)[] } = {
  string: ["minLength", "maxLength"],
  object: ["minProperties", "maxProperties"],
  array: ["minItems", "maxItems"],
};

function readBounds(schema: JsonObject, jsonType: JsonType): Bounds {
  if (jsonType === "number") return readRange(schema);
  const bounds = (SIZE_BOUNDS[jsonType] ?? []).map((name) => [name, schema[name]]);
  return Object.fromEntries(bounds.filter(([, bound]) => typeof bound === "number"));
}

/** Exclusive bounds become inclusive ones, which accept one more value. */
function readRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): Bounds {
  const lower = [minimum, exclusiveMinimum].filter((bound) => typeof bound === "number");
  const upper = [maximum, exclusiveMaximum].filter((bound) => typeof bound === "number");
  return {
    minimum: lower.length === 0 ? undefined : Math.max(...lower),
    maximum: upper.length === 0 ? undefined : Math.min(...upper),
  };
}

const NOTES_BY_TYPE: Readonly<Record<JsonType, (schema: JsonObject) => string[]>> = {
  string: ({ contentEncoding }) =>
    typeof contentEncoding === "string" ? [`Encoded as ${contentEncoding}.`] : [],
  number: ({ multipleOf, exclusiveMinimum, exclusiveMaximum }) => [
    ...noteNumber("A multiple of", multipleOf),
    ...noteNumber("More than", exclusiveMinimum),
    ...noteNumber("Less than", exclusiveMaximum),
  ],
  boolean: () => [],
  object: ({ dependentRequired, dependencies, propertyNames }) => [
    ...[dependentRequired, dependencies]
      .flatMap((map) => Object.entries(toObject(map)).slice(0, MAX_NAMES))
      .flatMap(([name, others]) =>
        isStringArray(others) && others.length > 0
          ? [`With ${name}, also provide ${others.slice(0, MAX_NAMES).join(", ")}.`]
          : [],
      ),
    ...(isPlainString(propertyNames) ? [] : noteSubschema(NOTE_LABELS.propertyNames, propertyNames)),
  ],
  array: ({ uniqueItems, contains }) => [
    ...(uniqueItems === true ? [`${NOTE_LABELS.uniqueItems}.`] : []),
    ...noteSubschema(NOTE_LABELS.contains, contains),
  ],
  null: () => [],
};

/** The beginnings of notes by which a constraint is found again when it is violated (`visible-constraints.ts`). */
export const NOTE_LABELS = {
  not: "Must not match:",
  contains: "At least one item must match:",
  propertyNames: "Names of properties must match:",
  uniqueItems: "Items must be unique",
  tuple: "In this order:",
  values: "One of:",
  same: "The same as for",
  omitted: "Details omitted.",
} as const;

function noteNumber(label: string, value: unknown): string[] {
  return typeof value === "number" ? [`${label} ${value}.`] : [];
}

function acceptsAll(schema: unknown): boolean {
  return schema === true || (isPlainObject(schema) && Object.keys(schema).length === 0);
}

/** Whether a schema accepts every name. */
function isPlainString(schema: unknown): boolean {
  return isPlainObject(schema) && Object.keys(schema).every((keyword) => keyword === "type");
}

const MAX_NOTED_SCHEMA_CHARS = 200;

/** Notes a subschema that no supported keyword expresses; not one that a model cannot read without its references. */
function noteSubschema(label: string, subschema: unknown): string[] {
  const text = isPlainObject(subschema) ? toJsonWithin(subschema, MAX_NOTED_SCHEMA_CHARS) : undefined;
  return text === undefined || text.includes('"$ref"') ? [] : [`${label} ${text}.`];
}

const MAX_EXAMPLES = 3;

function commonNotes({ examples, example, deprecated, not }: JsonObject, jsonType: JsonType): string[] {
  const all = [...toArray(examples), ...(example === undefined ? [] : [example])];
  const matching = all.filter((value) => jsonTypeOf(value) === jsonType).slice(0, MAX_EXAMPLES);
  return [
    ...(matching.length === 0 ? [] : [`For example: ${matching.map(truncateJson).join(", ")}.`]),
    ...(deprecated === true ? ["Deprecated."] : []),
    ...noteSubschema(NOTE_LABELS.not, not),
  ];
}

function toTexts(value: unknown): readonly string[] | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : [text];
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
