import type { ChosenServer } from "./servers/selected-server.js";
import { chooseServers, requireServers } from "./servers/select-servers.js";
import type { Command } from "./command-context.js";
import { exitOf } from "./to-exit.js";
import { listText } from "./render/render-list.js";
import { withOpenChoice } from "./servers/with-connected-selection.js";
import type { OpenedServer } from "./servers/connect-servers.js";
import { serverDocument } from "./render/server-to-json.js";
import { toolDocument } from "./render/tool-to-json.js";

/** What servers offer. */
export const listCommand: Command = async (context) => {
  const choice = requireServers(await chooseServers(context, context.line.words));
  return withOpenChoice(choice, context, async ({ opened, findings }) => {
    const openedOf = (server: ChosenServer): OpenedServer | undefined =>
      opened.find((one) => one.server === server);
    const listed = choice.servers.map((server) => ({ server, opened: openedOf(server) }));
    return {
      exit: exitOf(findings),
      document: {
        servers: listed.map(({ server, opened: one }) => ({
          ...serverDocument(server, one),
          tools: (one?.tools ?? []).map((tool) => toolDocument(tool, server.redactor)),
        })),
        findings,
      },
      view: (page) => listText({ listed, findings }, page),
    };
  });
};
