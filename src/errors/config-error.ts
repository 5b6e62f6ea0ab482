import { McpRuntimeError, type ConfigIssue } from "./mcp-runtime-error.js";

/** Creates an `invalid-config` error that lists every problem with its path. */
export function configError(
  subject: string,
  issues: readonly ConfigIssue[],
  details: { readonly server?: string } = {},
): McpRuntimeError {
  const lines = issues.map(({ path, message }) => (path === "" ? `  ${message}` : `  ${path}: ${message}`));
  return new McpRuntimeError("invalid-config", [`${subject} is not valid:`, ...lines].join("\n"), {
    ...details,
    issues,
  });
}
