import { isPlainObject, type JsonObject } from "../json/json.js";
import { ANNOTATIONS } from "./sanitize-schema.js";

/** Returns whether a value is certainly valid. `false` means unknown. */
type Predicate = (value: unknown) => boolean;

/** Compiles one keyword; `undefined` if its value is too complex for a fast check. */
type KeywordCompiler = (keywordValue: unknown, schema: JsonObject) => Predicate | undefined;

/**
 * Compiles a predicate that quickly confirms valid values, which most calls have. The validator that can explain
 * errors takes three to ten times as long. Returns `undefined` for schemas with an unsupported keyword.
 */
export function compileFastCheck(schema: unknown): Predicate | undefined {
  if (schema === true) return isJson;
  if (!isPlainObject(schema)) return undefined;
  const predicates: Predicate[] = [];
  for (const [keyword, keywordValue] of Object.entries(schema)) {
    const predicate = KEYWORD_COMPILERS.get(keyword)?.(keywordValue, schema);
    if (predicate !== undefined) predicates.push(predicate);
    else if (KEYWORD_COMPILERS.has(keyword) || !ANNOTATIONS.has(keyword)) return undefined;
  }
  return (value) => {
    if (!isJson(value)) return false;
    for (const matches of predicates) if (!matches(value)) return false;
    return true;
  };
}

const TYPE_PREDICATES: ReadonlyMap<unknown, Predicate> = new Map<unknown, Predicate>([
  ["string", (value) => typeof value === "string"],
  ["number", Number.isFinite],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isPlainObject],
]);

const KEYWORD_COMPILERS: ReadonlyMap<string, KeywordCompiler> = new Map<string, KeywordCompiler>([
  ["type", (types) => anyOf([types].flat().map((type) => TYPE_PREDICATES.get(type)))],
  ["enum", (values) => (Array.isArray(values) ? anyOf(values.map(equals)) : undefined)],
  ["const", equals],
  ["anyOf", (branches) => (Array.isArray(branches) ? anyOf(branches.map(compileFastCheck)) : undefined)],
  ["minimum", compareNumber((min) => (value) => typeof value !== "number" || value >= min)],
  ["maximum", compareNumber((max) => (value) => typeof value !== "number" || value <= max)],
  // A character has one or two UTF-16 code units.
  ["minLength", compareNumber((min) => (value) => typeof value !== "string" || value.length >= min * 2 - 1)],
  ["maxLength", compareNumber((max) => (value) => typeof value !== "string" || value.length <= max)],
  ["minItems", compareNumber((min) => (value) => !Array.isArray(value) || value.length >= min)],
  ["maxItems", compareNumber((max) => (value) => !Array.isArray(value) || value.length <= max)],
  ["items", compileItems],
  ["properties", compileProperties],
  ["required", compileRequired],
  ["additionalProperties", compileAdditionalProperties],
]);

/** Whether the value has a JSON type. Nested values are checked by their own schemas. */
function isJson(value: unknown): boolean {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object";
}

function anyOf(candidates: readonly (Predicate | undefined)[]): Predicate | undefined {
  const predicates = candidates.filter((predicate) => predicate !== undefined);
  if (predicates.length < candidates.length) return undefined;
  const [only] = predicates;
  return predicates.length === 1 ? only : (value) => predicates.some((matches) => matches(value));
}

function equals(expected: unknown): Predicate | undefined {
  return typeof expected === "object" && expected !== null ? undefined : (value) => value === expected;
}

function compareNumber(createPredicate: (limit: number) => Predicate): KeywordCompiler {
  return (keywordValue) => (typeof keywordValue === "number" ? createPredicate(keywordValue) : undefined);
}

function compileItems(schema: unknown): Predicate | undefined {
  const matches = compileFastCheck(schema);
  // Not `every`, which skips holes.
  return matches && ((value) => !Array.isArray(value) || !Array.from(value).some((item) => !matches(item)));
}

/** Accepts values that are not objects, but not class instances, whose JSON form is unknown. */
function forObjects(matches: (value: JsonObject) => boolean): Predicate {
  return (value) =>
    typeof value !== "object" ||
    value === null ||
    Array.isArray(value) ||
    (isPlainObject(value) && matches(value));
}

function compileProperties(properties: unknown): Predicate | undefined {
  if (!isPlainObject(properties)) return undefined;
  const predicates: [string, Predicate][] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const matches = compileFastCheck(schema);
    if (matches === undefined) return undefined;
    predicates.push([name, matches]);
  }
  return forObjects((value) =>
    predicates.every(([name, matches]) => !Object.hasOwn(value, name) || matches(value[name])),
  );
}

function compileRequired(required: unknown): Predicate | undefined {
  if (!Array.isArray(required)) return undefined;
  return forObjects((value) => required.every((name) => Object.hasOwn(value, String(name))));
}

function compileAdditionalProperties(
  additionalSchema: unknown,
  { properties, patternProperties }: JsonObject,
): Predicate | undefined {
  if (patternProperties !== undefined) return undefined;
  const declared = new Set(isPlainObject(properties) ? Object.keys(properties) : []);
  const matches = additionalSchema === false ? () => false : compileFastCheck(additionalSchema);
  if (matches === undefined) return undefined;
  return forObjects((value) =>
    Object.keys(value).every((name) => declared.has(name) || matches(value[name])),
  );
}
