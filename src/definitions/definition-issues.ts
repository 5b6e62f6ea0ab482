import { McpRuntimeError, type DefinitionIssue } from "../errors/mcp-runtime-error.js";
import type { z } from "zod";

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
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return [{ path: toPath(here), message: issue.message }];
  }
  const best = issue.errors.reduce((a, b) => (depth(b) > depth(a) ? b : a));
  if (depth(best) > 0) return best.flatMap((inner) => flatten(inner, here));
  const messages = new Set(issue.errors.flat().map((inner) => inner.message));
  return [{ path: toPath(here), message: [...messages].join(", or ") }];
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
