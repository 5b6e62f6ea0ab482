import { isPlainObject, type JsonObject } from "../json/json.js";
import { describeFoundKind, describeFoundValue, describeTypes, describeValues } from "./describe-schema.js";
import { toShortJson } from "./truncate-json.js";

/** A keyword that was not met, the schema it stands in, and the value it was about. */
export interface Problem {
  readonly keyword: string;
  readonly schema: JsonObject;
  readonly value: unknown;
}

/** `name`: the problem is with this member of the value, which may be missing. */
export interface ProblemText {
  readonly name?: string;
  readonly message: string;
}

/** What is wrong, and what would be right, in words that a language model can act on. */
export function describeProblem(problem: Problem): ProblemText[] {
  return DESCRIPTIONS[problem.keyword]?.(problem) ?? say("does not fit its schema");
}

const DESCRIPTIONS: Readonly<Record<string, (problem: Problem) => ProblemText[]>> = {
  type: ({ schema, value }) => {
    // A fraction is a number, but no whole one: the value tells it.
    return say(`expected ${describeTypes(schema["type"])}, found ${describeFoundValue(value)}`);
  },
  const: ({ schema, value }) => say(`expected ${toShortJson(schema["const"])}, found ${toShortJson(value)}`),
  enum: ({ schema, value }) =>
    say(`expected one of ${describeValues(listOf(schema["enum"]))}, found ${toShortJson(value)}`),
  required: ({ schema, value }) =>
    missing(listOf(schema["required"]), value).map((name) => ({ name, message: "is missing" })),
  dependentRequired: describeDependencies,
  dependencies: describeDependencies,
  false: ({ schema }) => {
    const names = isPlainObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    return say(names.length === 0 ? "is not allowed" : `is not allowed; known are ${describeValues(names)}`);
  },
  not: () => say("has a value that is not allowed"),
  propertyNames: () => say("has a member whose name is not allowed"),
  contains: () => say("has no item of the kind that must be in it"),
  minContains: ({ schema }) => say(`needs at least ${String(schema["minContains"])} items of a certain kind`),
  maxContains: ({ schema }) =>
    say(`may have at most ${String(schema["maxContains"])} items of a certain kind`),
  minimum: ({ schema, value }) => {
    const limit = schema["exclusiveMinimum"] === true ? "more than" : "at least";
    return say(`expected ${limit} ${String(schema["minimum"])}, found ${toShortJson(value)}`);
  },
  maximum: ({ schema, value }) => {
    const limit = schema["exclusiveMaximum"] === true ? "less than" : "at most";
    return say(`expected ${limit} ${String(schema["maximum"])}, found ${toShortJson(value)}`);
  },
  exclusiveMinimum: expectValue("more than", "exclusiveMinimum"),
  exclusiveMaximum: expectValue("less than", "exclusiveMaximum"),
  multipleOf: expectValue("a multiple of", "multipleOf"),
  pattern: ({ schema, value }) =>
    say(`expected a string that matches ${String(schema["pattern"])}, found ${toShortJson(value)}`),
  minLength: expectSize("at least", "minLength", "characters"),
  maxLength: expectSize("at most", "maxLength", "characters"),
  minItems: expectSize("at least", "minItems", "items"),
  maxItems: expectSize("at most", "maxItems", "items"),
  minProperties: expectSize("at least", "minProperties", "members"),
  maxProperties: expectSize("at most", "maxProperties", "members"),
  uniqueItems: () => say("has an item twice"),
};

function expectValue(limit: string, keyword: string): (problem: Problem) => ProblemText[] {
  return ({ schema, value }) =>
    say(`expected ${limit} ${String(schema[keyword])}, found ${toShortJson(value)}`);
}

function expectSize(limit: string, keyword: string, unit: string): (problem: Problem) => ProblemText[] {
  return ({ schema, value }) =>
    say(`expected ${limit} ${String(schema[keyword])} ${unit}, found ${sizeOf(value)}`);
}

function sizeOf(value: unknown): string {
  if (typeof value === "string") return String(Array.from(value).length);
  if (typeof value !== "object" || value === null) return describeFoundKind(value);
  return String(Object.keys(value).length);
}

function describeDependencies({ schema, value }: Problem): ProblemText[] {
  return [schema["dependentRequired"], schema["dependencies"]].filter(isPlainObject).flatMap((map) =>
    Object.entries(map)
      .filter(([name]) => isPlainObject(value) && Object.hasOwn(value, name))
      .flatMap(([name, others]) =>
        missing(listOf(others), value).map((other) => ({
          name: other,
          message: `is missing; it is needed with ${name}`,
        })),
      ),
  );
}

function missing(names: readonly unknown[], value: unknown): string[] {
  return names
    .map(String)
    .filter((name) => !isPlainObject(value) || !Object.hasOwn(value, name) || value[name] === undefined);
}

function say(message: string): ProblemText[] {
  return [{ message }];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
