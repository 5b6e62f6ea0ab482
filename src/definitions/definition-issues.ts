import { McpRuntimeError, type DefinitionIssue } from "../errors/mcp-runtime-error.js";
import type { z } from "zod";
import { isJsonObject } from "./json.js";

/** What was found, in words that cannot give anything away. */
export function describeFound(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return isPlainWord(value) ? JSON.stringify(value) : "another text";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (value instanceof Promise) return "a promise (is an await missing?)";
  return isJsonObject(value) ? "an object" : "an instance of a class";
}

/** Short and without digits: a slip of the pen, hardly a token. */
function isPlainWord(text: string): boolean {
  return /^[A-Za-z][A-Za-z_-]{0,24}$/.test(text) || text === "";
}

/** `["resources", 2, "name"]` -> `resources[2].name`. */
export function toPath(segments: readonly PropertyKey[]): string {
  const path = segments.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    const name = String(segment);
    return /^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return path.join("").replace(/^\./, "");
}

/** All problems of one input, or none. `at` is where the input stands in what the user wrote. */
export function toIssues(error: z.ZodError, at: readonly PropertyKey[] = []): DefinitionIssue[] {
  return error.issues.flatMap((issue) => flatten(issue, at));
}

function depth(branch: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...branch.map(({ path }) => path.length));
}

/** A union reports each branch; the one that came furthest knows best what was meant. */
function flatten(issue: z.core.$ZodIssue, at: readonly PropertyKey[]): DefinitionIssue[] {
  const here = [...at, ...issue.path];
  // The key itself may be what must not be shown: a whole header, written into the place of its name.
  if (issue.code === "invalid_key") {
    return issue.issues.map(({ message }) => ({ path: toPath(here.slice(0, -1)), message }));
  }
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return [{ path: toPath(here), message: issue.message }];
  }
  const best = issue.errors.reduce((a, b) => (depth(b) > depth(a) ? b : a));
  if (depth(best) > 0) return best.flatMap((inner) => flatten(inner, here));
  return [{ path: toPath(here), message: inOneSentence(issue.errors.flat().map(({ message }) => message)) }];
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

/** The error for a definition that cannot be used: every problem with its path, all together. */
export function definitionError(
  subject: string,
  issues: readonly DefinitionIssue[],
  details: { readonly server?: string } = {},
): McpRuntimeError {
  const lines = issues.map(({ path, message }) => (path === "" ? `  ${message}` : `  ${path}: ${message}`));
  return new McpRuntimeError("definition", [`${subject} is not valid:`, ...lines].join("\n"), {
    ...details,
    issues,
  });
}
