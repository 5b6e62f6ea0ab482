import { formatPath, truncateJson } from "../json/describe-value.js";
import { isPlainObject, isStringArray, type JsonObject, toArray, toObject } from "../json/json.js";
import { printValue, stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { toSegments, type ValidationError, type ValuePath } from "./validation-context.js";
import { countCharacters } from "./keyword-checks.js";
import { followTargets, type SanitizedSchema } from "./sanitize-schema.js";

/** One problem of the arguments of a call. */
export interface ArgumentIssue {
  /** `items[2].price`; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const MAX_ISSUES = 10;
/** Several errors may be the same issue. */
const MAX_EXPLAINED_ERRORS = 50;

/**
 * Returns one issue per problem that a model has to fix, without the cascade of parent errors. `targets` are those of
 * the sanitized schema.
 */
export function explainValidation(
  errors: readonly ValidationError[],
  targets: SanitizedSchema["targets"],
): ArgumentIssue[] {
  const issues = explainErrors(errors, targets);
  if (issues.length === 0) return [{ path: "", message: "does not match its schema" }];
  const distinct = new Map(issues.map((issue) => [`${issue.path}\n${issue.message}`, issue]));
  return [...distinct.values()].slice(0, MAX_ISSUES);
}

/** `"oneOf" at filter.value`: without the value, for a log. */
export function describeConstraint({ keyword, path }: ValidationError): string {
  const location = formatPath(toReadableSegments(path));
  const name = keyword === "false" ? "not allowed" : JSON.stringify(keyword);
  return location === "" ? name : `${name} at ${location}`;
}

function explainErrors(
  errors: readonly ValidationError[],
  targets: SanitizedSchema["targets"],
): ArgumentIssue[] {
  return errors
    .slice(0, MAX_EXPLAINED_ERRORS)
    .flatMap((error) => (error.branches.length > 0 ? explainUnion(error, targets) : explainError(error)));
}

function explainError({ keyword, schema, value, path }: ValidationError): ArgumentIssue[] {
  const segments = toReadableSegments(path);
  if (REQUIRING_KEYWORDS.has(keyword))
    return findMissing(keyword, schema, value, MAX_EXPLAINED_ERRORS).map(({ name, message }) => ({
      path: formatPath([...segments, stripHiddenCharacters(name)]),
      message,
    }));
  const message = DESCRIPTIONS[keyword]?.(schema, value) ?? "does not match its schema";
  return [{ path: formatPath(segments), message }];
}

/** Keywords whose problem is with a missing property of the value. */
const REQUIRING_KEYWORDS: ReadonlySet<string> = new Set(["required", "dependentRequired", "dependencies"]);

/** Explains the branch that was most likely intended; without one, describes all branches. */
function explainUnion(error: ValidationError, targets: SanitizedSchema["targets"]): ArgumentIssue[] {
  const { keyword, schema, value, branches } = error;
  const path = formatPath(toReadableSegments(error.path));
  const describe = () => describeAlternatives(toArray(schema[keyword]), targets);
  if (branches.some((errors) => errors.length === 0)) {
    const message = `matches more than one alternative; exactly one must match: ${describe()}`;
    return [{ path, message }];
  }
  const intended = findIntendedBranch(error);
  if (intended !== undefined) return explainErrors(intended, targets);
  return [{ path, message: `expected ${describe()}, got ${describeActualKeys(value)}` }];
}

/** The only branch whose type and discriminator (`kind: "circle"`) match, or the only one without missing properties. */
function findIntendedBranch({ branches, path }: ValidationError): readonly ValidationError[] | undefined {
  const candidates = branches.filter((errors) => !hasTypeMismatch(errors, path));
  if (candidates.length <= 1) return candidates[0];
  const complete = candidates.filter(
    (errors) => !errors.some((error) => error.keyword === "required" && error.path === path),
  );
  return complete.length === 1 ? complete[0] : undefined;
}

const TYPE_KEYWORDS: ReadonlySet<string> = new Set(["type", "const", "enum", "false"]);

/** Whether the value at a path has another type, or one of its properties another constant. */
function hasTypeMismatch(errors: readonly ValidationError[], path: ValuePath | undefined): boolean {
  return errors.some((error) => {
    if (error.path !== path) return error.keyword === "const" && error.path?.parent === path;
    const { keyword, branches } = error;
    if (branches.length > 0) return branches.every((nested) => hasTypeMismatch(nested, path));
    return TYPE_KEYWORDS.has(keyword);
  });
}

function toReadableSegments(path: ValuePath | undefined): (string | number)[] {
  return toSegments(path).map((key) => (typeof key === "number" ? key : stripHiddenCharacters(key)));
}

/** Describes what was expected and received, so that a model can correct it. */
const DESCRIPTIONS: Readonly<Record<string, (schema: JsonObject, value: unknown) => string>> = {
  // The value is included: for `integer`, 1.5 is a number, too.
  type: ({ type }, value) => `expected ${describeTypes(type)}, got ${describeActualValue(value)}`,
  const: ({ const: constValue }, value) => `expected ${truncateJson(constValue)}, got ${truncateJson(value)}`,
  enum: ({ enum: values }, value) =>
    `expected one of ${describeValues(toArray(values))}, got ${truncateJson(value)}`,
  false: ({ properties }) => {
    const known = toObject(properties);
    const names = Object.keys(known).filter((name) => known[name] !== false);
    return names.length === 0
      ? "is not allowed"
      : `is not allowed; known properties: ${describeValues(names)}`;
  },
  not: () => "has a value that is not allowed",
  propertyNames: () => "has a property whose name is not allowed",
  contains: () => "has no item that matches the required schema",
  minContains: ({ minContains }) =>
    `needs at least ${printValue(minContains)} items that match the required schema`,
  maxContains: ({ maxContains }) =>
    `may have at most ${printValue(maxContains)} items that match the required schema`,
  minimum: ({ minimum }, value) => describeBound("at least", minimum, value),
  maximum: ({ maximum }, value) => describeBound("at most", maximum, value),
  exclusiveMinimum: ({ exclusiveMinimum }, value) => describeBound("more than", exclusiveMinimum, value),
  exclusiveMaximum: ({ exclusiveMaximum }, value) => describeBound("less than", exclusiveMaximum, value),
  multipleOf: ({ multipleOf }, value) => describeBound("a multiple of", multipleOf, value),
  pattern: ({ pattern }, value) => describeBound("a string that matches", pattern, value),
  minLength: ({ minLength }, value) => describeSize("at least", minLength, "characters", value),
  maxLength: ({ maxLength }, value) => describeSize("at most", maxLength, "characters", value),
  minItems: ({ minItems }, value) => describeSize("at least", minItems, "items", value),
  maxItems: ({ maxItems }, value) => describeSize("at most", maxItems, "items", value),
  minProperties: ({ minProperties }, value) => describeSize("at least", minProperties, "properties", value),
  maxProperties: ({ maxProperties }, value) => describeSize("at most", maxProperties, "properties", value),
  uniqueItems: () => "has duplicate items",
};

function describeBound(limit: string, bound: unknown, value: unknown): string {
  return `expected ${limit} ${printValue(bound)}, got ${truncateJson(value)}`;
}

function describeSize(limit: string, bound: unknown, unit: string, value: unknown): string {
  return `expected ${limit} ${printValue(bound)} ${unit}, got ${sizeOf(value)}`;
}

function sizeOf(value: unknown): number {
  return typeof value === "string" ? countCharacters(value) : Object.keys(Object(value)).length;
}

/** Returns up to `max` missing properties of the value that the schema requires, always or with another property. */
export function findMissing(
  keyword: string,
  schema: JsonObject,
  value: unknown,
  max = Number.POSITIVE_INFINITY,
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
  const missing: { name: string; message: string }[] = [];
  for (const { names, message } of requirements)
    for (const name of toArray(names).map(String)) {
      if (missing.length >= max) return missing;
      if (!Object.hasOwn(present, name) || present[name] === undefined) missing.push({ name, message });
    }
  return missing;
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
  return types.map((name) => TYPE_LABELS[printValue(name)] ?? printValue(name)).join(" or ");
}

/** With more branches, the rest is only counted. */
const MAX_DESCRIBED_BRANCHES = 100;

/** `an object with manga_id, or an object with isbn`: what distinguishes the branches of a union. */
function describeAlternatives(branches: readonly unknown[], targets: SanitizedSchema["targets"]): string {
  const described = branches
    .slice(0, MAX_DESCRIBED_BRANCHES)
    .map((branch) => describeAlternative(followTargets(branch, targets)));
  const texts = [...new Set(described)];
  const shown = texts.slice(0, MAX_ALTERNATIVES);
  const omitted = texts.length - shown.length + branches.length - described.length;
  return [...shown, ...(omitted > 0 ? [`${omitted} more`] : [])].join(", or ");
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
