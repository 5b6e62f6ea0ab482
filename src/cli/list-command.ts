import type { ChosenServer } from "./chosen-server.js";
import { chooseServers, requireServers } from "./choose-servers.js";
import type { Command } from "./command-context.js";
import { exitOf } from "./exit-of.js";
import { listText } from "./list-view.js";
import { withOpenChoice } from "./open-choice.js";
import type { OpenedServer } from "./open-servers.js";
import { serverDocument } from "./server-document.js";
import { toolDocument } from "./tool-document.js";

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
