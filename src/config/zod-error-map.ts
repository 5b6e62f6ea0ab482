import type { z } from "zod";
import { describeValue } from "../json/describe-value.js";

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Makes zod say what is wrong in the words that all errors have. What a schema says itself comes first. */
export const PLAIN_WORDS: z.core.ParseContext<z.core.$ZodIssue> = { error: toPlainWords };

function toPlainWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type")
    return expected(EXPECTED[issue.expected] ?? `a ${issue.expected}`, issue.input);
  if (issue.code === "invalid_value") return expected(inQuotes(issue.values), issue.input);
  // What tells the kinds of an object apart has none of the words that it may have.
  if (issue.code === "invalid_union" && Array.isArray(issue.options))
    return `expected ${inQuotes(issue.options)}`;
  if (issue.code !== "too_small") return undefined;
  if (issue.origin === "string") return expected("a text that is not empty", issue.input);
  return `expected a number ${issue.inclusive === false ? "above" : "of at least"} ${issue.minimum}`;
}

function inQuotes(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

function expected(what: string, found: unknown): string {
  return `expected ${what}, found ${typeof found === "number" ? describeNumber(found) : describeValue(found)}`;
}

function describeNumber(found: number): string {
  if (!Number.isFinite(found)) return String(found);
  return Number.isInteger(found) ? "a number" : "a fraction";
}
