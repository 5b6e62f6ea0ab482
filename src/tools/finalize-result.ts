import { ToolResult } from "../client/tool-result.js";
import type { CancelScope } from "../async/cancel-scope.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isBubblingUp } from "./tool-failure.js";
import type { BeforeToolCallInput } from "./tool-options.js";
import type { ToolParts } from "./tool-runtime.js";
import { ask, checkReplacement } from "./user-hooks.js";

/** A result, checked and as `afterToolCall` wants it. The tool has run: whatever goes wrong from here on must not be told as if it had not. */
export async function usableResult(
  parts: ToolParts,
  result: ToolResult,
  {
    preview,
    cancellation,
  }: { readonly preview: BeforeToolCallInput | undefined; readonly cancellation: CancelScope },
): Promise<ToolResult> {
  try {
    checkOutput(parts, result);
    const { afterToolCall: hook } = parts.settings;
    if (hook === undefined || preview === undefined) return result;
    const { content, structuredContent, isError, meta } = result;
    const copy = structuredClone({ content, structuredContent, isError, meta });
    const changed = checkReplacement(await ask(cancellation, () => hook({ ...preview, result: copy })));
    if (changed === undefined) return result;
    const whole = { content, structuredContent, isError, meta, ...changed };
    const json = { content: whole.content, isError: whole.isError, _meta: whole.meta };
    return new ToolResult(json, whole.structuredContent, {
      server: parts.server,
      tool: parts.schema.info.name,
    });
  } catch (error) {
    cancellation.throwIfCancelled();
    if (isBubblingUp(error) || (error instanceof McpRuntimeError && error.kind === "invalid-config"))
      throw error;
    throw unusable(parts, error);
  }
}

function checkOutput(parts: ToolParts, result: ToolResult): void {
  const { settings, warn } = parts;
  const { outputCheck } = parts.schema;
  if (outputCheck === undefined || settings.outputValidation === "off" || result.isError) return;
  const issues = outputCheck.issuesOf(result.structuredContent);
  for (const warning of outputCheck.newWarnings()) warn(warning);
  if (issues.length === 0) return;
  const lines = issues.map(({ path, message }) => `${path === "" ? "structuredContent" : path}: ${message}`);
  const text = `does not fit its output schema: ${lines.join("; ")}`;
  if (settings.outputValidation === "error") throw unusable(parts, new Error(`It ${text}`), issues);
  warn(`The result ${text}`);
}

function unusable(
  { server, schema: { info } }: ToolParts,
  cause: unknown,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  if (cause instanceof McpRuntimeError) return cause;
  const text = `Tool "${info.name}" ran, but its result cannot be used.`;
  return new McpRuntimeError("invalid-response", text, {
    server,
    tool: info.name,
    issues,
    cause,
    attempts: 1,
  });
}
