import type { OutputUnit } from "@cfworker/json-schema";
import { formatPath, truncateJson } from "../json/describe-value.js";
import { isPlainObject, isStringArray, type JsonObject, toArray, toObject } from "../json/json.js";
import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { dereference, resolveRef, unescapeSegment } from "./resolve-ref.js";

/** One problem of the arguments of a call. */
export interface ArgumentIssue {
  /** `items[2].price`; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const MAX_ISSUES = 10;

interface ValidationFailure {
  readonly schema: JsonObject;
  readonly args: JsonObject;
}

/**
 * Returns one issue per problem that a model has to fix, without the cascade of parent errors. `errors` are in the
 * order of the validator: each parent is directly followed by its children.
 */
export function explainValidation(
  errors: readonly OutputUnit[],
  failure: ValidationFailure,
): ArgumentIssue[] {
  const issues = explainErrors(errors, failure);
  if (issues.length === 0) return [{ path: "", message: "does not match its schema" }];
  const distinct = new Map(issues.map((issue) => [`${issue.path}\n${issue.message}`, issue]));
  return [...distinct.values()].slice(0, MAX_ISSUES);
}

/** Keywords that only report that a nested schema failed; the nested errors follow. */
const CONTAINER_KEYWORDS: ReadonlySet<string> = new Set([
  "$ref",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords that describe the problem themselves; their nested errors are skipped. */
const SUMMARY_KEYWORDS: ReadonlySet<string> = new Set(["contains", "propertyNames"]);

/** Keywords whose problem is with a missing property of the value. */
const REQUIRING_KEYWORDS: ReadonlySet<string> = new Set(["required", "dependentRequired", "dependencies"]);

function explainErrors(errors: readonly OutputUnit[], failure: ValidationFailure): ArgumentIssue[] {
  const issues: ArgumentIssue[] = [];
  for (let index = 0; index < errors.length; index += 1) {
    const error = errors[index];
    if (error === undefined || CONTAINER_KEYWORDS.has(error.keyword)) continue;
    const isUnion = error.keyword === "anyOf" || error.keyword === "oneOf";
    const children = isUnion || SUMMARY_KEYWORDS.has(error.keyword) ? findChildren(errors, index) : [];
    if (isUnion) issues.push(...explainUnion(error, children, failure));
    else issues.push(...explainError(error, errors[index - 1], failure));
    index += children.length;
  }
  return issues;
}

function findChildren(errors: readonly OutputUnit[], index: number): OutputUnit[] {
  const prefix = `${errors[index]?.keywordLocation}/`;
  const location = errors[index]?.instanceLocation ?? "";
  const rest = errors.slice(index + 1);
  // The keyword location of a `false` schema is an instance location.
  const end = rest.findIndex(({ keyword, keywordLocation, instanceLocation }) =>
    keyword === "false" ? !instanceLocation.startsWith(location) : !keywordLocation.startsWith(prefix),
  );
  return end === -1 ? rest : rest.slice(0, end);
}

function explainError(
  error: OutputUnit,
  previous: OutputUnit | undefined,
  failure: ValidationFailure,
): ArgumentIssue[] {
  const parent = error.keyword === "false" ? previous : error;
  const schema = (parent && findSchema(parent, failure.schema)) ?? {};
  const segments = toSegments(error.instanceLocation);
  const value = resolveRef(error.instanceLocation, failure.args);
  if (REQUIRING_KEYWORDS.has(error.keyword))
    return findMissing(error.keyword, schema, value).map(({ name, message }) => ({
      path: toPath(failure.args, [...segments, name]),
      message,
    }));
  const message = DESCRIPTIONS[error.keyword]?.(schema, value) ?? "does not match its schema";
  return [{ path: toPath(failure.args, segments), message }];
}

/** Explains the branch that was most likely intended; without one, describes all branches. */
function explainUnion(
  error: OutputUnit,
  children: readonly OutputUnit[],
  failure: ValidationFailure,
): ArgumentIssue[] {
  const schema = findSchema(error, failure.schema);
  const branches = schema?.[error.keyword];
  const path = toPath(failure.args, toSegments(error.instanceLocation));
  if (!Array.isArray(branches)) return [{ path, message: "matches none of the alternatives" }];
  const failures = branches.map((_, index) => {
    const prefix = `${error.keywordLocation}/${index}/`;
    const start = children.findIndex(({ keywordLocation }) => keywordLocation.startsWith(prefix));
    if (start === -1) return [];
    const next = children.findIndex(
      ({ keyword, keywordLocation }, at) =>
        at > start && keyword !== "false" && !keywordLocation.startsWith(prefix),
    );
    return children.slice(start, next === -1 ? undefined : next);
  });
  const rejecting = branches.filter((branch, index) => branch === false || failures[index]?.length !== 0);
  const alternatives = branches.map((branch) => dereference(branch, failure.schema));
  if (rejecting.length < branches.length) {
    const message = `matches more than one alternative; exactly one must match: ${describeAlternatives(alternatives)}`;
    return [{ path, message }];
  }
  const intended = bestBranch(failures, error.instanceLocation);
  if (intended !== undefined) return explainErrors(intended, failure);
  const received = describeActualKeys(resolveRef(error.instanceLocation, failure.args));
  return [{ path, message: `expected ${describeAlternatives(alternatives)}, got ${received}` }];
}

/** The only branch whose type and discriminator (`kind: "circle"`) match, or the only one without missing properties. */
function bestBranch(
  branches: readonly (readonly OutputUnit[])[],
  location: string,
): readonly OutputUnit[] | undefined {
  const candidates = branches.filter((errors) => errors.length > 0 && !hasTypeMismatch(errors, location));
  if (candidates.length <= 1) return candidates[0];
  const complete = candidates.filter(
    (errors) => !errors.some((error) => error.keyword === "required" && error.instanceLocation === location),
  );
  return complete.length === 1 ? complete[0] : undefined;
}

const TYPE_KEYWORDS: ReadonlySet<string> = new Set(["type", "const", "enum", "false"]);

function hasTypeMismatch(errors: readonly OutputUnit[], location: string): boolean {
  return errors.some(({ keyword, instanceLocation }) => {
    if (instanceLocation === location) return TYPE_KEYWORDS.has(keyword);
    return keyword === "const" && !instanceLocation.slice(location.length + 1).includes("/");
  });
}

/** Finds the schema whose keyword failed by following the keyword location. */
function findSchema({ keywordLocation }: OutputUnit, root: JsonObject): JsonObject | undefined {
  let current: unknown = root;
  for (const segment of toSegments(keywordLocation).slice(0, -1)) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, segment)) return undefined;
    const next: unknown = Reflect.get(current, segment);
    current = segment === "$ref" && typeof next === "string" ? resolveRef(next, root) : next;
  }
  return isPlainObject(current) ? current : undefined;
}

function toSegments(location: string): string[] {
  return location.split("/").slice(1).map(unescapeSegment);
}

function toPath(args: JsonObject, segments: readonly string[]): string {
  let parent: unknown = args;
  const keys = segments.map((segment) => {
    const key = Array.isArray(parent) ? Number(segment) : stripHiddenCharacters(segment);
    parent = typeof parent === "object" && parent !== null ? Reflect.get(parent, segment) : undefined;
    return key;
  });
  return formatPath(keys);
}

/** Describes what was expected and received, so that a model can correct it. */
const DESCRIPTIONS: Readonly<Record<string, (schema: JsonObject, value: unknown) => string>> = {
  // The value is included: for `integer`, 1.5 is a number, too.
  type: ({ type }, value) => `expected ${describeTypes(type)}, got ${describeActualValue(value)}`,
  const: ({ const: constValue }, value) => `expected ${truncateJson(constValue)}, got ${truncateJson(value)}`,
  enum: ({ enum: values }, value) =>
    `expected one of ${describeValues(toArray(values))}, got ${truncateJson(value)}`,
  false: ({ properties }) => {
    const names = Object.keys(toObject(properties));
    return names.length === 0
      ? "is not allowed"
      : `is not allowed; known properties: ${describeValues(names)}`;
  },
  not: () => "has a value that is not allowed",
  propertyNames: () => "has a property whose name is not allowed",
  contains: () => "has no item that matches the required schema",
  minContains: ({ minContains }) =>
    `needs at least ${String(minContains)} items that match the required schema`,
  maxContains: ({ maxContains }) =>
    `may have at most ${String(maxContains)} items that match the required schema`,
  minimum: ({ minimum, exclusiveMinimum }, value) =>
    describeBound(exclusiveMinimum === true ? "more than" : "at least", minimum, value),
  maximum: ({ maximum, exclusiveMaximum }, value) =>
    describeBound(exclusiveMaximum === true ? "less than" : "at most", maximum, value),
  exclusiveMinimum: ({ exclusiveMinimum }, value) => describeBound("more than", exclusiveMinimum, value),
  exclusiveMaximum: ({ exclusiveMaximum }, value) => describeBound("less than", exclusiveMaximum, value),
  multipleOf: ({ multipleOf }, value) => describeBound("a multiple of", multipleOf, value),
  pattern: ({ pattern }, value) => describeBound("a string that matches", pattern, value),
  minLength: ({ minLength }, value) =>
    `expected at least ${String(minLength)} characters, got ${sizeOf(value)}`,
  maxLength: ({ maxLength }, value) =>
    `expected at most ${String(maxLength)} characters, got ${sizeOf(value)}`,
  minItems: ({ minItems }, value) => `expected at least ${String(minItems)} items, got ${sizeOf(value)}`,
  maxItems: ({ maxItems }, value) => `expected at most ${String(maxItems)} items, got ${sizeOf(value)}`,
  minProperties: ({ minProperties }, value) =>
    `expected at least ${String(minProperties)} properties, got ${sizeOf(value)}`,
  maxProperties: ({ maxProperties }, value) =>
    `expected at most ${String(maxProperties)} properties, got ${sizeOf(value)}`,
  uniqueItems: () => "has duplicate items",
};

function describeBound(limit: string, bound: unknown, value: unknown): string {
  return `expected ${limit} ${String(bound)}, got ${truncateJson(value)}`;
}

function sizeOf(value: unknown): string {
  if (typeof value === "string") return String(Array.from(value).length);
  if (typeof value !== "object" || value === null) return describeActualType(value);
  return String(Object.keys(value).length);
}

/** Returns the missing properties of the value that the schema requires, always or with another property. */
function findMissing(
  keyword: string,
  schema: JsonObject,
  value: unknown,
): { name: string; message: string }[] {
  const present = toObject(value);
  const { required, dependentRequired, dependencies } = schema;
  const dependent = [
    ...Object.entries(toObject(dependentRequired)),
    ...Object.entries(toObject(dependencies)),
  ]
    .filter(([trigger]) => Object.hasOwn(present, trigger))
    .map(([trigger, names]) => ({ names, message: `is missing; it is required with ${trigger}` }));
  const requirements = keyword === "required" ? [{ names: required, message: "is missing" }] : dependent;
  return requirements.flatMap(({ names, message }) =>
    toArray(names)
      .map(String)
      .filter((name) => !Object.hasOwn(present, name) || present[name] === undefined)
      .map((name) => ({ name, message })),
  );
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  integer: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

const MAX_ALTERNATIVES = 8;
const MAX_NAME_LENGTH = 60;

/** `a string ("three")`, `a number (3)`, `an array`. */
function describeActualValue(value: unknown): string {
  const type = describeActualType(value);
  const isPlain = typeof value === "string" || typeof value === "number";
  return isPlain ? `${type} (${truncateJson(value)})` : type;
}

export function describeActualType(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "boolean") return String(value);
  return TYPE_LABELS[typeof value] ?? `a ${typeof value}`;
}

/** `an object with kind, radius`. */
function describeActualKeys(value: unknown): string {
  if (!isPlainObject(value)) return describeActualValue(value);
  const names = Object.keys(value).map((name) => truncate(stripHiddenCharacters(name), MAX_NAME_LENGTH));
  const shown = names.slice(0, MAX_ALTERNATIVES).join(", ");
  return names.length === 0 ? "an empty object" : `an object with ${shown}`;
}

/** `"C", "F"`. */
function describeValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_ALTERNATIVES * 3).map(truncateJson);
  const more = values.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** `a string or null`. */
function describeTypes(type: unknown): string {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.map((name) => TYPE_LABELS[String(name)] ?? String(name)).join(" or ");
}

/** `an object with manga_id, or an object with isbn`: what distinguishes the branches of a union. */
function describeAlternatives(branches: readonly unknown[]): string {
  const texts = [...new Set(branches.map(describeAlternative))];
  const shown = texts.slice(0, MAX_ALTERNATIVES);
  const more = texts.length > shown.length ? [`${texts.length - shown.length} more`] : [];
  return [...shown, ...more].join(", or ");
}

function describeAlternative(schema: unknown): string {
  if (!isPlainObject(schema)) return schema === false ? "nothing" : "anything";
  if (Object.hasOwn(schema, "const")) return truncateJson(schema["const"]);
  const { enum: values, required, type } = schema;
  if (Array.isArray(values) && values.length > 0) return `one of ${describeValues(values)}`;
  if (isStringArray(required) && required.length > 0) {
    const properties = toObject(schema["properties"]);
    return `an object with ${required.map((name) => name + describeDiscriminator(properties[name])).join(" and ")}`;
  }
  return type === undefined ? "something else" : describeTypes(type);
}

function describeDiscriminator(property: unknown): string {
  const isConst = isPlainObject(property) && Object.hasOwn(property, "const");
  return isConst ? ` ${truncateJson(property["const"])}` : "";
}
