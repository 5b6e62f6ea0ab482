import { selectServers, requireServers } from "../servers/select-servers.js";
import type { Command } from "../command-context.js";
import { toExit } from "../findings/finding.js";
import { renderList } from "../render/render-list.js";
import { withConnectedSelection } from "../servers/connect-servers.js";
import { serverToJson, toolToJson } from "../render/to-json.js";

/** Lists servers and their tools. */
export const listCommand: Command = async (context) => {
  const selection = requireServers(await selectServers(context, context.line.positionals));
  return withConnectedSelection(selection, context, async ({ connected, findings }) => {
    const listed = selection.servers.map((server) => ({
      server,
      connected: connected.find((candidate) => candidate.server === server),
    }));
    return {
      exit: toExit(findings),
      json: {
        servers: listed.map(({ server, connected: result }) => ({
          ...serverToJson(server, result),
          tools: (result?.tools ?? []).map((tool) => toolToJson(tool, server.redactor)),
        })),
        findings,
      },
      render: (page) => renderList({ listed, findings }, page),
    };
  });
};
