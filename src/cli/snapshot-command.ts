import { basename } from "node:path";
import { isOfferedToModels } from "../config/server-features.js";
import type { JsonObject } from "../json/json.js";
import type { Command } from "./command-context.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import { renderServers, toolToJson } from "./report/render-servers.js";
import { type ConnectedServer, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers } from "./servers/select-servers.js";
import {
  assertDoesNotExist,
  createPage,
  formatJson,
  type Page,
  renderStatus,
  writeLines,
  writeOutput,
} from "./terminal.js";

/**
 * Creates an agent definition for `createMcpToolsFromAgent` from live servers. A server that failed is left out and
 * reported; nothing is written if all of them failed.
 */
export const snapshotCommand: Command = async (context) => {
  const { line, terminal } = context;
  const output = line.value("output");
  if (output !== undefined && !line.flags.has("force")) assertDoesNotExist(output, terminal);
  const selection = requireServers(await selectServers(context, line.positionals));
  return withConnectedServers(selection, context, async ({ connected, findings }) => {
    const exit = toExit(findings);
    const listed = connected.filter(({ tools }) => tools !== undefined);
    const left = findLeftOut(findings, listed);
    const hasName = line.value("name") !== undefined;
    const unnamed = hasName ? [] : listed.filter(({ server }) => server.scope === "command-line");
    const agent = { name: basename(terminal.cwd) || "agent", resources: listed.map(toResource) };
    const text = formatJson(agent);
    const hasTools = listed.length > 0;
    const file = hasTools ? output : undefined;
    if (file !== undefined) await writeOutput(file, `${text}\n`, terminal);
    const renderReport = (page: Page) => [
      ...renderSections(renderServers(connected, page), findings, page),
      ...(hasTools ? renderWritten(file, left, page) : []),
      ...unnamed.map((server) => renderNameHint(server, page)),
    ];
    const errorPage = createPage(terminal.stderr, terminal.env);
    const isPrinted = hasTools && output === undefined;
    if (isPrinted && !line.flags.has("json")) {
      const hints = unnamed.map((server) => renderNameHint(server, errorPage));
      const lines = exit === "ok" ? hints : renderReport(errorPage);
      if (lines.length > 0) writeLines(terminal.stderr, lines);
    }
    return {
      exit,
      json: { agent: hasTools ? agent : undefined, file, findings },
      stream: isPrinted || exit === "ok" ? "stdout" : "stderr",
      render: (page) => (isPrinted ? text.split("\n") : renderReport(page)),
    };
  });
};

/** The servers with an error, and the files whose servers are unknown because they cannot be read. */
function findLeftOut(findings: readonly Finding[], listed: readonly ConnectedServer[]): string[] {
  const errors = findings.filter(({ severity }) => severity === "error");
  const servers = new Set(errors.flatMap(({ server }) => server ?? []));
  for (const { server } of listed) servers.delete(server.name);
  const files = errors.flatMap(({ server, location }) =>
    server === undefined && location !== undefined ? [`the servers of ${location.file}`] : [],
  );
  return [...servers, ...new Set(files)];
}

/** Names the file, and the servers that are not in it. */
function renderWritten(file: string | undefined, left: readonly string[], { colors }: Page): string[] {
  const subject = file ?? "The agent definition";
  if (left.length === 0) return file === undefined ? [] : [`${renderStatus("ok", colors)} ${file}`];
  return [`${renderStatus("warning", colors)} ${subject} was written without ${left.join(", ")}.`];
}

/** The option `servers` of the agent has to use the name of the resource, which was derived from the address. */
function renderNameHint({ server }: ConnectedServer, { colors }: Page): string {
  return `${renderStatus("note", colors)} The server is named "${server.name}". To choose its name, use --name weather.`;
}

/** Contains the name and tools of the server. Address and credentials are configured where the agent runs. */
function toResource({ server, tools = [] }: ConnectedServer): JsonObject {
  const availableTools = tools.filter(isOfferedToModels).map((tool) => {
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
