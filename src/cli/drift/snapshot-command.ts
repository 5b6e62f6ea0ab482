import { basename } from "node:path";
import type { JsonObject } from "../../json/json.js";
import { chooseServers, requireServers } from "../servers/select-servers.js";
import type { Command } from "../command-context.js";
import { exitOf } from "../to-exit.js";
import { markText } from "../terminal/symbols.js";
import { withOpenChoice } from "../servers/with-connected-selection.js";
import { toServerRow } from "../render/render-list.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { sectionLines } from "../render/render-sections.js";
import { serverLines } from "../render/render-servers.js";
import { toolDocument } from "../render/tool-to-json.js";
import { refuseToOverwrite, writeOutput } from "../terminal/write-output.js";

/** An agent definition from live servers, as `createMcpToolsFromAgent` takes it. All servers or none: half an agent helps nobody. */
export const snapshotCommand: Command = async (context) => {
  const { line, terminal } = context;
  const output = line.value("output");
  if (output !== undefined && !line.flags.has("force")) await refuseToOverwrite(output, terminal);
  const choice = requireServers(await chooseServers(context, line.words));
  return withOpenChoice(choice, context, async ({ opened, findings }) => {
    const exit = exitOf(findings);
    const agent = { name: basename(terminal.cwd) || "agent", resources: opened.map(toResource) };
    const text = `${JSON.stringify(agent, undefined, 2)}\n`;
    const isWritten = exit === "ok" && output !== undefined;
    if (isWritten) await writeOutput(output, text, terminal);
    return {
      exit,
      document: { agent: exit === "ok" ? agent : undefined, file: isWritten ? output : undefined, findings },
      stream: exit === "ok" ? "stdout" : "stderr",
      view: (page) => {
        if (exit === "ok" && output === undefined) return text;
        const rows = serverLines(
          opened.map((one) => toServerRow(one.server, one)),
          page,
        );
        const file = isWritten ? [`${markText("ok", page.paint)} ${output}`] : [];
        const sections = opened.map(({ server }, index) => ({
          server: server.name,
          lines: [rows[index] ?? ""],
        }));
        return `${[...sectionLines(sections, findings, page), ...file].join("\n")}\n`;
      },
    };
  });
};

/** What the server is called and what it offers. Where it is, and with which credentials, is said where the agent runs. */
function toResource({ server, tools = [] }: OpenedServer): JsonObject {
  const availableTools = tools.map((tool) => {
    const { name, description, inputSchema, outputSchema } = toolDocument(tool, server.redactor);
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
