import { isPlainObject, type JsonObject } from "../json/json.js";
import { toShortJson } from "./truncate-json.js";
import { isListOfText } from "./schema-keywords.js";
import type { Bounds, Facts, Kind } from "./schema-type-model.js";

/** What the plain keywords of a schema say about one kind; schemas within it are read elsewhere. */
export function readFacts(schema: JsonObject, kind: Kind): Facts {
  const { title, description, pattern, format } = schema;
  return {
    title: ifText(title),
    description: ifText(description),
    default:
      Object.hasOwn(schema, "default") && kindOf(schema["default"]) === kind
        ? { value: schema["default"] }
        : undefined,
    notes: [...NOTES[kind](schema), ...notesForAll(schema, kind)],
    values: readValues(schema, kind),
    bounds: BOUNDS[kind](schema),
    pattern: kind === "string" ? ifText(pattern) : undefined,
    format: kind === "string" || kind === "number" ? ifText(format) : undefined,
    integer:
      kind === "number" &&
      typesOf(schema)?.includes("integer") === true &&
      !typesOf(schema)?.includes("number"),
    required: kind === "object" && isListOfText(schema["required"]) ? schema["required"] : undefined,
  };
}

/** The kinds that a schema names or whose values it lists; all, when it does neither. */
export function namesKind(schema: JsonObject, kind: Kind): boolean {
  const types = typesOf(schema)?.map((type) => (type === "integer" ? "number" : type));
  const isNamed =
    types === undefined || types.includes(kind) || (kind === "null" && schema["nullable"] === true);
  return isNamed && readValues(schema, kind)?.length !== 0;
}

export function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? type : "object";
}

function typesOf({ type }: JsonObject): readonly unknown[] | undefined {
  if (type === undefined) return undefined;
  return Array.isArray(type) ? type : [type];
}

function readValues(schema: JsonObject, kind: Kind): readonly unknown[] | undefined {
  const listed = Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
  const values = Object.hasOwn(schema, "const") ? [schema["const"]] : listed;
  return values?.filter((value) => kindOf(value) === kind);
}

const BOUNDS: Readonly<Record<Kind, (schema: JsonObject) => Bounds>> = {
  string: ({ minLength, maxLength }) => ({ minLength: ifNumber(minLength), maxLength: ifNumber(maxLength) }),
  number: readRange,
  boolean: () => ({}),
  object: ({ minProperties, maxProperties }) => ({
    minProperties: ifNumber(minProperties),
    maxProperties: ifNumber(maxProperties),
  }),
  array: ({ minItems, maxItems }) => ({ minItems: ifNumber(minItems), maxItems: ifNumber(maxItems) }),
  null: () => ({}),
};

/** Exclusive bounds become inclusive ones, which accept one value more. */
function readRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): Bounds {
  const lower = [ifNumber(minimum), ifNumber(exclusiveMinimum)].filter((bound) => bound !== undefined);
  const upper = [ifNumber(maximum), ifNumber(exclusiveMaximum)].filter((bound) => bound !== undefined);
  return {
    minimum: lower.length === 0 ? undefined : Math.max(...lower),
    maximum: upper.length === 0 ? undefined : Math.min(...upper),
  };
}

const NOTES: Readonly<Record<Kind, (schema: JsonObject) => string[]>> = {
  string: ({ contentEncoding }) =>
    typeof contentEncoding === "string" ? [`Encoded as ${contentEncoding}.`] : [],
  number: ({ multipleOf, exclusiveMinimum, exclusiveMaximum }) => [
    ...(typeof multipleOf === "number" ? [`A multiple of ${multipleOf}.`] : []),
    ...(typeof exclusiveMinimum === "number" ? [`More than ${exclusiveMinimum}.`] : []),
    ...(typeof exclusiveMaximum === "number" ? [`Less than ${exclusiveMaximum}.`] : []),
  ],
  boolean: () => [],
  object: ({ dependentRequired, dependencies }) =>
    [...entriesOf(dependentRequired), ...entriesOf(dependencies)].flatMap(([name, others]) =>
      isListOfText(others) && others.length > 0 ? [`With ${name} also give ${others.join(", ")}.`] : [],
    ),
  array: ({ uniqueItems }) => (uniqueItems === true ? ["No item twice."] : []),
  null: () => [],
};

const MOST_EXAMPLES = 3;

function notesForAll({ examples, example, deprecated }: JsonObject, kind: Kind): string[] {
  const given = [...(Array.isArray(examples) ? examples : []), ...(example === undefined ? [] : [example])];
  const fitting = given.filter((value) => kindOf(value) === kind).slice(0, MOST_EXAMPLES);
  return [
    ...(fitting.length === 0 ? [] : [`For example: ${fitting.map(toShortJson).join(", ")}.`]),
    ...(deprecated === true ? ["Deprecated."] : []),
  ];
}

function entriesOf(map: unknown): [string, unknown][] {
  return isPlainObject(map) ? Object.entries(map) : [];
}

function ifText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function ifNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
