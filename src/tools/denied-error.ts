import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolParts } from "./tool-runtime.js";

/** Somebody, or a rule, said no before the call. */
export function refusal(
  { schema: { info }, server }: ToolParts,
  why: string,
  cause?: unknown,
): McpRuntimeError {
  const text = `The call of tool "${info.name}" was refused: ${why}`;
  return new McpRuntimeError("denied", text, { server, tool: info.name, cause });
}
