import type { z } from "zod";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import { formatPath, describeValue } from "../../json/describe-value.js";

/** Converts all issues of a zod error. `basePath` is the path of the input in what the user wrote. */
export function zodToIssues(error: z.ZodError, basePath: readonly PropertyKey[] = []): ConfigIssue[] {
  return error.issues.flatMap((issue) => flattenIssue(issue, basePath));
}

function maxPathLength(branch: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...branch.map(({ path }) => path.length));
}

/**
 * For a union, reports the branch that matched deepest, because that is most likely the one that was meant.
 */
function flattenIssue(issue: z.core.$ZodIssue, basePath: readonly PropertyKey[]): ConfigIssue[] {
  const path = [...basePath, ...issue.path];
  // Do not show the key: it may be a whole header with its secret value, written in place of the name.
  if (issue.code === "invalid_key") {
    return issue.issues.map(({ message }) => ({ path: formatPath(path.slice(0, -1)), message }));
  }
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return [{ path: formatPath(path), message: issue.message }];
  }
  const best = issue.errors.reduce((a, b) => (maxPathLength(b) > maxPathLength(a) ? b : a));
  if (maxPathLength(best) > 0) return best.flatMap((inner) => flattenIssue(inner, path));
  return [
    { path: formatPath(path), message: mergeExpectations(issue.errors.flat().map(({ message }) => message)) },
  ];
}

/**
 * Merges `expected false, got 5` and `expected an object, got 5` into `expected false or an object, got 5`.
 */
function mergeExpectations(messages: readonly string[]): string {
  const matches = messages.map((message) => /^expected (.*?)(?:, got (.*))?$/s.exec(message));
  const expectations = matches.map((match) => match?.[1]);
  if (expectations.includes(undefined)) return [...new Set(messages)].join(", or ");
  const actual = matches.find((match) => match?.[2] !== undefined)?.[2];
  const sentence = `expected ${[...new Set(expectations)].join(" or ")}`;
  return actual === undefined ? sentence : `${sentence}, got ${actual}`;
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

/** Makes zod report problems in the format of all our errors. Messages of a schema take precedence. */
export const ZOD_ERROR_MAP: z.core.ParseContext<z.core.$ZodIssue> = { error: zodErrorMap };

function zodErrorMap(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type")
    return expectedMessage(TYPE_LABELS[issue.expected] ?? `a ${issue.expected}`, issue.input);
  if (issue.code === "invalid_value") return expectedMessage(joinQuoted(issue.values), issue.input);
  // The discriminator of a discriminated union has an unknown value.
  if (issue.code === "invalid_union" && Array.isArray(issue.options))
    return `expected ${joinQuoted(issue.options)}`;
  if (issue.code !== "too_small") return undefined;
  if (issue.origin === "string") return expectedMessage("a non-empty string", issue.input);
  return `expected a number ${issue.inclusive === false ? "above" : "of at least"} ${issue.minimum}`;
}

function joinQuoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

function expectedMessage(what: string, actual: unknown): string {
  return `expected ${what}, got ${typeof actual === "number" ? describeNumber(actual) : describeValue(actual)}`;
}

function describeNumber(actual: number): string {
  if (!Number.isFinite(actual)) return String(actual);
  return Number.isInteger(actual) ? "a number" : "a fraction";
}
