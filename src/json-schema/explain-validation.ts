import type { OutputUnit } from "@cfworker/json-schema";
import { formatPath } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { toReadable } from "../errors/sanitize-text.js";
import { describeProblem } from "./describe-keyword-error.js";
import { resolveFragment, unescapeSegment } from "./json-pointer.js";
import { describeAlternatives, describeFoundKind, describeFoundMembers } from "./describe-schema.js";

export interface ArgumentIssue {
  /** `items[2].price`; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
}

const MOST_ISSUES = 10;

export interface Failure {
  readonly schema: JsonObject;
  readonly args: unknown;
  /** As the validator tells them: each parent before its children, next to each other. */
  readonly errors: readonly OutputUnit[];
}

/** What a model must change, one issue a problem: not the cascade from the root to the problem. */
export function explainFailure(failure: Failure): ArgumentIssue[] {
  if (!isPlainObject(failure.args)) {
    return [{ path: "", message: `expected an object, found ${describeFoundKind(failure.args)}` }];
  }
  const issues = explainErrors(failure.errors, failure);
  if (issues.length === 0) return [{ path: "", message: "does not fit its schema" }];
  const distinct = new Map(issues.map((issue) => [`${issue.path}\n${issue.message}`, issue]));
  return [...distinct.values()].slice(0, MOST_ISSUES);
}

/** Keywords that only say that something within them failed; what failed follows. */
const PARENTS: ReadonlySet<string> = new Set([
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

/** Keywords that tell the problem themselves; what follows within them is detail. */
const SUMMARIES: ReadonlySet<string> = new Set(["contains", "propertyNames"]);

function explainErrors(errors: readonly OutputUnit[], failure: Failure): ArgumentIssue[] {
  const issues: ArgumentIssue[] = [];
  for (let index = 0; index < errors.length; index += 1) {
    const error = errors[index];
    if (error === undefined) break;
    const within = childrenOf(errors, index);
    if (error.keyword === "anyOf" || error.keyword === "oneOf") {
      issues.push(...explainUnion(error, within, failure));
      index += within.length;
    } else if (SUMMARIES.has(error.keyword)) {
      issues.push(...explainOne(error, errors[index - 1], failure));
      index += within.length;
    } else if (!PARENTS.has(error.keyword)) {
      issues.push(...explainOne(error, errors[index - 1], failure));
    }
  }
  return issues;
}

function childrenOf(errors: readonly OutputUnit[], index: number): OutputUnit[] {
  const prefix = `${errors[index]?.keywordLocation}/`;
  const place = errors[index]?.instanceLocation ?? "";
  const rest = errors.slice(index + 1);
  // The place of a `false` schema is told as a place in the arguments.
  const end = rest.findIndex(({ keyword, keywordLocation, instanceLocation }) =>
    keyword === "false" ? !instanceLocation.startsWith(place) : !keywordLocation.startsWith(prefix),
  );
  return end === -1 ? rest : rest.slice(0, end);
}

function explainOne(error: OutputUnit, before: OutputUnit | undefined, failure: Failure): ArgumentIssue[] {
  const parent = error.keyword === "false" ? before : error;
  const schema = parent === undefined ? undefined : schemaOf(parent, failure.schema);
  const segments = segmentsOf(error.instanceLocation);
  const value = valueAt(failure.args, segments);
  return describeProblem({ keyword: error.keyword, schema: schema ?? {}, value }).map(
    ({ name, message }) => ({
      path: pathOf(failure.args, name === undefined ? segments : [...segments, name]),
      message,
    }),
  );
}

/** The branch that was meant explains best what is wrong; when none stands out, all are told. */
function explainUnion(error: OutputUnit, within: readonly OutputUnit[], failure: Failure): ArgumentIssue[] {
  const schema = schemaOf(error, failure.schema);
  const branches = schema?.[error.keyword];
  const segments = segmentsOf(error.instanceLocation);
  const path = pathOf(failure.args, segments);
  if (!Array.isArray(branches)) return [{ path, message: "fits none of the alternatives" }];
  const failures = branches.map((_, index) => {
    const prefix = `${error.keywordLocation}/${index}/`;
    const start = within.findIndex(({ keywordLocation }) => keywordLocation.startsWith(prefix));
    if (start === -1) return [];
    const next = within.findIndex(
      ({ keyword, keywordLocation }, at) =>
        at > start && keyword !== "false" && !keywordLocation.startsWith(prefix),
    );
    return within.slice(start, next === -1 ? undefined : next);
  });
  const refused = branches.filter((branch, index) => branch === false || failures[index]?.length !== 0);
  const alternatives = branches.map((branch) => followed(branch, failure.schema));
  if (refused.length < branches.length) {
    const message = `fits more than one alternative; allowed is exactly one of: ${describeAlternatives(alternatives)}`;
    return [{ path, message }];
  }
  const meant = branchMeant(failures, error.instanceLocation);
  if (meant !== undefined) return explainErrors(meant, failure);
  const found = describeFoundMembers(valueAt(failure.args, segments));
  return [{ path, message: `expected ${describeAlternatives(alternatives)}, found ${found}` }];
}

/** The one branch whose type and tag (`kind: "circle"`) fit, or else the one that misses nothing. */
function branchMeant(
  branches: readonly (readonly OutputUnit[])[],
  place: string,
): readonly OutputUnit[] | undefined {
  const fitting = branches.filter((errors) => errors.length > 0 && !isOfAnotherKind(errors, place));
  if (fitting.length <= 1) return fitting[0];
  const complete = fitting.filter(
    (errors) => !errors.some((error) => error.keyword === "required" && error.instanceLocation === place),
  );
  return complete.length === 1 ? complete[0] : undefined;
}

const KIND_KEYWORDS: ReadonlySet<string> = new Set(["type", "const", "enum", "false"]);

function isOfAnotherKind(errors: readonly OutputUnit[], place: string): boolean {
  return errors.some(({ keyword, instanceLocation }) => {
    if (instanceLocation === place) return KIND_KEYWORDS.has(keyword);
    return keyword === "const" && !instanceLocation.slice(place.length + 1).includes("/");
  });
}

/** The schema whose keyword failed, found along the way that the validator went. */
function schemaOf({ keywordLocation }: OutputUnit, root: JsonObject): JsonObject | undefined {
  let found: unknown = root;
  for (const segment of segmentsOf(keywordLocation).slice(0, -1)) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, segment)) return undefined;
    const next: unknown = Reflect.get(found, segment);
    found = segment === "$ref" && typeof next === "string" ? resolveFragment(root, next) : next;
  }
  return isPlainObject(found) ? found : undefined;
}

function followed(schema: unknown, root: JsonObject): unknown {
  const isReference = isPlainObject(schema) && typeof schema["$ref"] === "string";
  return isReference ? resolveFragment(root, String(schema["$ref"])) : schema;
}

function segmentsOf(location: string): string[] {
  return location.split("/").slice(1).map(unescapeSegment);
}

function valueAt(args: unknown, segments: readonly string[]): unknown {
  return segments.reduce<unknown>(
    (value, segment) =>
      typeof value === "object" && value !== null ? Reflect.get(value, segment) : undefined,
    args,
  );
}

function pathOf(args: unknown, segments: readonly string[]): string {
  const keys = segments.map((segment, index) =>
    Array.isArray(valueAt(args, segments.slice(0, index))) ? Number(segment) : toReadable(segment),
  );
  return formatPath(keys);
}
