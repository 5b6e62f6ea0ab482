import { describeValue } from "../json/describe-value.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpTool } from "../tools/mcp-tool.js";
import type { ToolsetCall } from "./mcp-toolset.js";

interface Tools {
  /** The tools that are offered to models. */
  readonly visible: readonly McpTool[];
  /** Includes blocked tools and those of disconnected servers. */
  readonly all: readonly McpTool[];
}

/**
 * Finds the tool of a call by the name that models see or, if it is unique, by its name on the server.
 * `serversWithoutTools` are mentioned in the error if the tool is not found.
 */
export function findTool(
  { visible, all }: Tools,
  call: ToolsetCall,
  serversWithoutTools: readonly string[],
): McpTool {
  if (typeof call?.name !== "string") {
    throw new McpRuntimeError("invalid-config", "Missing tool name. Expected { name, args }.");
  }
  const { name, server } = call;
  if (server !== undefined && typeof server !== "string") {
    const text = `The server of a tool call must be a string, got ${describeValue(server)}.`;
    throw new McpRuntimeError("invalid-config", text, { tool: name });
  }
  const isCandidate = (tool: McpTool) => server === undefined || tool.mcp.server === server;
  const candidates = visible.filter(isCandidate);
  const matches =
    [candidates, all.filter(isCandidate)]
      .map((tools) => findByName(tools, name))
      .find(({ length }) => length > 0) ?? [];
  const [tool, another] = matches;
  if (tool !== undefined && another === undefined) return tool;
  if (tool === undefined) throw createNotFoundError(candidates, call, serversWithoutTools);
  const servers = matches.map(({ mcp }) => `"${mcp.server}"`).join(", ");
  throw new McpRuntimeError(
    "invalid-config",
    `Several servers have a tool "${name}": ${servers}. Specify one: { server, name }.`,
    {
      tool: name,
    },
  );
}

function findByName(tools: readonly McpTool[], name: string): McpTool[] {
  const matches = tools.filter((tool) => tool.name === name);
  return matches.length > 0 ? matches : tools.filter(({ mcp }) => mcp.name === name);
}

const MAX_NAMES = 20;

function createNotFoundError(
  candidates: readonly McpTool[],
  { name, server }: ToolsetCall,
  serversWithoutTools: readonly string[],
): McpRuntimeError {
  const names = candidates
    .slice(0, MAX_NAMES)
    .map((tool) => tool.name)
    .join(", ");
  const rest = candidates.length > MAX_NAMES ? `, and ${candidates.length - MAX_NAMES} more` : "";
  const where = server === undefined ? "This toolset" : `Server "${server}"`;
  const available = candidates.length === 0 ? "none" : `${names}${rest}`;
  const pending =
    serversWithoutTools.length === 0 ? "" : ` Not listed yet: ${serversWithoutTools.join(", ")}.`;
  return new McpRuntimeError(
    "not-found",
    `${where} has no tool "${name}"; available tools: ${available}.${pending}`,
    {
      server,
      tool: name,
    },
  );
}
