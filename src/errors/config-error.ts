import { McpRuntimeError, type DefinitionIssue } from "./mcp-runtime-error.js";

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
