import { describeValue } from "../json/describe-value.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpTool } from "../tools/mcp-tool.js";
import type { ToolsetCall } from "./mcp-toolset.js";

interface Tools {
  /** Those that are offered, and all that have an answer. */
  readonly shown: readonly McpTool[];
  readonly all: readonly McpTool[];
}

/**
 * The tool that a call means: by the name models see, else by the server's own name if that is enough.
 * `silent`: servers of which no tools are known.
 */
export function findTool({ shown, all }: Tools, call: ToolsetCall, silent: readonly string[]): McpTool {
  if (typeof call?.name !== "string") {
    throw new McpRuntimeError("invalid-config", "A call needs the name of a tool: { name, args }.");
  }
  const { name, server } = call;
  if (server !== undefined && typeof server !== "string") {
    const text = `A call names its server by a text, found ${describeValue(server)}.`;
    throw new McpRuntimeError("invalid-config", text, { tool: name });
  }
  const isCandidate = (tool: McpTool) => server === undefined || tool.mcp.server === server;
  const offered = shown.filter(isCandidate);
  const found = [offered, all.filter(isCandidate)].map((tools) => named(tools, name)).find(isAny) ?? [];
  const [tool, another] = found;
  if (tool !== undefined && another === undefined) return tool;
  if (tool === undefined) throw notFound(offered, call, silent);
  const servers = found.map(({ mcp }) => `"${mcp.server}"`).join(", ");
  throw new McpRuntimeError(
    "invalid-config",
    `Several servers have a tool "${name}": ${servers}. Say which one: { server, name }.`,
    {
      tool: name,
    },
  );
}

function named(tools: readonly McpTool[], name: string): McpTool[] {
  const shown = tools.filter((tool) => tool.name === name);
  return shown.length > 0 ? shown : tools.filter(({ mcp }) => mcp.name === name);
}

function isAny({ length }: readonly McpTool[]): boolean {
  return length > 0;
}

const MOST_NAMES = 20;

function notFound(
  candidates: readonly McpTool[],
  { name, server }: ToolsetCall,
  silent: readonly string[],
): McpRuntimeError {
  const names = candidates
    .slice(0, MOST_NAMES)
    .map((tool) => tool.name)
    .join(", ");
  const rest = candidates.length > MOST_NAMES ? `, and ${candidates.length - MOST_NAMES} more` : "";
  const where = server === undefined ? "This toolset" : `Server "${server}"`;
  const there = candidates.length === 0 ? "no tools" : `these: ${names}${rest}`;
  const unheard = silent.length === 0 ? "" : ` Nothing is known yet of ${silent.join(", ")}.`;
  return new McpRuntimeError("not-found", `${where} has no tool "${name}"; it has ${there}.${unheard}`, {
    server,
    tool: name,
  });
}
