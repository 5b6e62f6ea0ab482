import type { OutputUnit } from "@cfworker/json-schema";
import { formatPath } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import {
  describeKeywordError,
  describeAlternatives,
  describeActualType,
  describeActualKeys,
} from "./describe-keyword-error.js";
import { resolvePointer, unescapeSegment } from "./json-pointer.js";

/** One problem of the arguments of a call. */
export interface ArgumentIssue {
  /** `items[2].price`; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const MAX_ISSUES = 10;

export interface ValidationFailure {
  readonly schema: JsonObject;
  readonly args: unknown;
  /** In the order of the validator: each parent is directly followed by its children. */
  readonly errors: readonly OutputUnit[];
}

/** Returns one issue per problem that a model has to fix, without the cascade of parent errors. */
export function explainValidation(failure: ValidationFailure): ArgumentIssue[] {
  if (!isPlainObject(failure.args)) {
    return [{ path: "", message: `expected an object, got ${describeActualType(failure.args)}` }];
  }
  const issues = explainErrors(failure.errors, failure);
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

function explainErrors(errors: readonly OutputUnit[], failure: ValidationFailure): ArgumentIssue[] {
  const issues: ArgumentIssue[] = [];
  for (let index = 0; index < errors.length; index += 1) {
    const error = errors[index];
    if (error === undefined) break;
    const children = findChildren(errors, index);
    if (error.keyword === "anyOf" || error.keyword === "oneOf") {
      issues.push(...explainUnion(error, children, failure));
      index += children.length;
    } else if (SUMMARY_KEYWORDS.has(error.keyword)) {
      issues.push(...explainError(error, errors[index - 1], failure));
      index += children.length;
    } else if (!CONTAINER_KEYWORDS.has(error.keyword)) {
      issues.push(...explainError(error, errors[index - 1], failure));
    }
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
  const schema = parent === undefined ? undefined : findSchema(parent, failure.schema);
  const segments = toSegments(error.instanceLocation);
  const value = getValueAt(failure.args, segments);
  return describeKeywordError({ keyword: error.keyword, schema: schema ?? {}, value }).map(
    ({ name, message }) => ({
      path: toPath(failure.args, name === undefined ? segments : [...segments, name]),
      message,
    }),
  );
}

/** Explains the branch that was most likely intended; without one, describes all branches. */
function explainUnion(
  error: OutputUnit,
  children: readonly OutputUnit[],
  failure: ValidationFailure,
): ArgumentIssue[] {
  const schema = findSchema(error, failure.schema);
  const branches = schema?.[error.keyword];
  const segments = toSegments(error.instanceLocation);
  const path = toPath(failure.args, segments);
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
  const received = describeActualKeys(getValueAt(failure.args, segments));
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
    current = segment === "$ref" && typeof next === "string" ? resolvePointer(root, next) : next;
  }
  return isPlainObject(current) ? current : undefined;
}

function dereference(schema: unknown, root: JsonObject): unknown {
  const isReference = isPlainObject(schema) && typeof schema["$ref"] === "string";
  return isReference ? resolvePointer(root, String(schema["$ref"])) : schema;
}

function toSegments(location: string): string[] {
  return location.split("/").slice(1).map(unescapeSegment);
}

function getValueAt(args: unknown, segments: readonly string[]): unknown {
  return segments.reduce<unknown>(
    (value, segment) =>
      typeof value === "object" && value !== null ? Reflect.get(value, segment) : undefined,
    args,
  );
}

function toPath(args: unknown, segments: readonly string[]): string {
  const keys = segments.map((segment, index) =>
    Array.isArray(getValueAt(args, segments.slice(0, index)))
      ? Number(segment)
      : stripHiddenCharacters(segment),
  );
  return formatPath(keys);
}
