import { basename } from "node:path";
import type { JsonObject } from "../json/json.js";
import type { Command } from "./command-context.js";
import { toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import { renderServers, toolToJson } from "./report/render-servers.js";
import { type ConnectedServer, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers } from "./servers/select-servers.js";
import { assertDoesNotExist, formatJson, renderStatus, writeOutput } from "./terminal.js";

/** Creates an agent definition for `createMcpToolsFromAgent` from live servers. Writes nothing if any server fails. */
export const snapshotCommand: Command = async (context) => {
  const { line, terminal } = context;
  const output = line.value("output");
  if (output !== undefined && !line.flags.has("force")) assertDoesNotExist(output, terminal);
  const selection = requireServers(await selectServers(context, line.positionals));
  return withConnectedServers(selection, context, async ({ results, connected, findings }) => {
    const exit = toExit(findings);
    const agent = { name: basename(terminal.cwd) || "agent", resources: connected.map(toResource) };
    const text = formatJson(agent);
    const isWritten = exit === "ok" && output !== undefined;
    if (isWritten) await writeOutput(output, `${text}\n`, terminal);
    return {
      exit,
      json: { agent: exit === "ok" ? agent : undefined, file: isWritten ? output : undefined, findings },
      stream: exit === "ok" ? "stdout" : "stderr",
      render: (page) => {
        if (exit === "ok" && output === undefined) return text.split("\n");
        const allowed = results.filter((result) => result.connected !== undefined);
        const file = isWritten ? [`${renderStatus("ok", page.colors)} ${output}`] : [];
        return [...renderSections(renderServers(allowed, page), findings, page), ...file];
      },
    };
  });
};

/** Contains the name and tools of the server. Address and credentials are configured where the agent runs. */
function toResource({ server, tools = [] }: ConnectedServer): JsonObject {
  const availableTools = tools.map((tool) => {
    const { name, description, inputSchema, outputSchema } = toolToJson(tool, server.redactor);
    return { name, description, inputSchema, outputSchema };
  });
  const toolsConfiguration = { discoveryMode: { type: "cached", refreshSchemaBeforeCall: true } };
  return {
    $resourceType: "mcp",
    name: server.name,
    slug: server.name,
    isEnabled: true,
    availableTools,
    toolsConfiguration,
  };
}
