import type { z } from "zod";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { formatPath } from "../json/describe-value.js";

/** All problems of one input, or none. `at` is where the input stands in what the user wrote. */
export function zodToIssues(error: z.ZodError, at: readonly PropertyKey[] = []): ConfigIssue[] {
  return error.issues.flatMap((issue) => flatten(issue, at));
}

function depth(branch: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...branch.map(({ path }) => path.length));
}

/** A union reports each branch; the one that came furthest knows best what was meant. */
function flatten(issue: z.core.$ZodIssue, at: readonly PropertyKey[]): ConfigIssue[] {
  const here = [...at, ...issue.path];
  // The key itself may be what must not be shown: a whole header, written into the place of its name.
  if (issue.code === "invalid_key") {
    return issue.issues.map(({ message }) => ({ path: formatPath(here.slice(0, -1)), message }));
  }
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return [{ path: formatPath(here), message: issue.message }];
  }
  const best = issue.errors.reduce((a, b) => (depth(b) > depth(a) ? b : a));
  if (depth(best) > 0) return best.flatMap((inner) => flatten(inner, here));
  return [
    { path: formatPath(here), message: inOneSentence(issue.errors.flat().map(({ message }) => message)) },
  ];
}

/** `expected false, found 5` and `expected an object, found 5` are `expected false or an object, found 5`. */
function inOneSentence(messages: readonly string[]): string {
  const parts = messages.map((message) => /^expected (.*?)(?:, found (.*))?$/s.exec(message));
  const wanted = parts.map((part) => part?.[1]);
  if (wanted.includes(undefined)) return [...new Set(messages)].join(", or ");
  const found = parts.find((part) => part?.[2] !== undefined)?.[2];
  const sentence = `expected ${[...new Set(wanted)].join(" or ")}`;
  return found === undefined ? sentence : `${sentence}, found ${found}`;
}
