import { basename } from "node:path";
import type { JsonObject } from "../../json/json.js";
import { selectServers, requireServers } from "../servers/select-servers.js";
import type { Command } from "../command-context.js";
import { toExit } from "../findings/finding.js";
import { renderStatus } from "../terminal/colors.js";
import { withConnectedSelection, type ConnectedServer } from "../servers/connect-servers.js";
import { toServerRow } from "../render/render-list.js";
import { renderSections } from "../render/render-sections.js";
import { renderServers } from "../render/render-servers.js";
import { toolToJson } from "../render/to-json.js";
import { assertDoesNotExist, writeOutput } from "../terminal/write-output.js";

/** Creates an agent definition for `createMcpToolsFromAgent` from live servers. Writes nothing if any server fails. */
export const snapshotCommand: Command = async (context) => {
  const { line, terminal } = context;
  const output = line.value("output");
  if (output !== undefined && !line.flags.has("force")) await assertDoesNotExist(output, terminal);
  const selection = requireServers(await selectServers(context, line.positionals));
  return withConnectedSelection(selection, context, async ({ connected, findings }) => {
    const exit = toExit(findings);
    const agent = { name: basename(terminal.cwd) || "agent", resources: connected.map(toResource) };
    const text = `${JSON.stringify(agent, undefined, 2)}\n`;
    const isWritten = exit === "ok" && output !== undefined;
    if (isWritten) await writeOutput(output, text, terminal);
    return {
      exit,
      json: { agent: exit === "ok" ? agent : undefined, file: isWritten ? output : undefined, findings },
      stream: exit === "ok" ? "stdout" : "stderr",
      render: (page) => {
        if (exit === "ok" && output === undefined) return text;
        const rows = renderServers(
          connected.map((result) => toServerRow(result.server, result)),
          page,
        );
        const file = isWritten ? [`${renderStatus("ok", page.colors)} ${output}`] : [];
        const sections = connected.map(({ server }, index) => ({
          server: server.name,
          lines: [rows[index] ?? ""],
        }));
        return `${[...renderSections(sections, findings, page), ...file].join("\n")}\n`;
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
