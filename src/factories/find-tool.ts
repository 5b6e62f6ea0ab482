import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpTool } from "../tools/mcp-tool.js";
import type { ToolsetCall } from "./mcp-toolset.js";

/** The tool that a call means: by the name models see, else by the server's own name if that is enough. */
export function findTool(tools: readonly McpTool[], call: ToolsetCall): McpTool {
  if (typeof call?.name !== "string") {
    throw new McpRuntimeError("definition", "A call needs the name of a tool: { name, args }.");
  }
  const { name, server } = call;
  const candidates = tools.filter((tool) => server === undefined || tool.mcp.server === server);
  const shown = candidates.filter((tool) => tool.name === name);
  const found = shown.length > 0 ? shown : candidates.filter((tool) => tool.mcp.name === name);
  const [tool, another] = found;
  if (tool !== undefined && another === undefined) return tool;
  if (tool === undefined) throw notFound(candidates, name, server);
  const servers = found.map(({ mcp }) => `"${mcp.server}"`).join(", ");
  throw new McpRuntimeError(
    "definition",
    `Several servers have a tool "${name}": ${servers}. Say which one: { server, name }.`,
    {
      tool: name,
    },
  );
}

const MOST_NAMES = 20;

function notFound(
  candidates: readonly McpTool[],
  name: unknown,
  server: string | undefined,
): McpRuntimeError {
  const names = candidates
    .slice(0, MOST_NAMES)
    .map((tool) => tool.name)
    .join(", ");
  const rest = candidates.length > MOST_NAMES ? `, and ${candidates.length - MOST_NAMES} more` : "";
  const where = server === undefined ? "This toolset" : `Server "${server}"`;
  const there = candidates.length === 0 ? "no tools" : `these: ${names}${rest}`;
  return new McpRuntimeError("not-found", `${where} has no tool "${String(name)}"; it has ${there}.`, {
    server,
    tool: String(name),
  });
}
