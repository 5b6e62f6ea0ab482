import { describeValue } from "../json/describe-value.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** Its tools, or a promise of it, are easily taken for a toolset. */
export function checkToolset(user: string, toolset: unknown): void {
  const methods: readonly unknown[] = ["getTools", "on"].map((name) => Reflect.get(Object(toolset), name));
  if (methods.every((method) => typeof method === "function")) return;
  const text = `${user} needs a toolset, which createMcpTools and createMcpToolsFromAgent give; found ${describeValue(toolset)}.`;
  throw new McpRuntimeError("invalid-config", text);
}
