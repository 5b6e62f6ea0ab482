import { mapLimited } from "../../async/map-concurrent.js";
import { chooseServers } from "../servers/select-servers.js";
import type { Command, CommandContext } from "../command-context.js";
import { diagnoseServer, explainFailure } from "./diagnose-server.js";
import { doctorText } from "../render/render-doctor.js";
import { exitOf } from "../to-exit.js";
import type { Finding, Severity } from "../findings/finding.js";
import { findingsOfNames } from "../findings/name-findings.js";
import { type OpenedChoice, withOpenChoice } from "../servers/with-connected-selection.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { checkRecovery } from "./recovery-check.js";
import { serverDocument } from "../render/server-to-json.js";
import { SILENT_LOGGER } from "../terminal/silent-logger.js";
import { secondsText } from "../terminal/format-time.js";

const MOST_AT_ONCE = 16;

/** What is wrong, and what to do about it. */
export const doctorCommand: Command = async (given) => {
  // Warnings are among the findings; whoever asks for a log gets it as well.
  const isLogWanted = given.terminal.env["LANGCHAIN_MCP_LOG"] !== undefined;
  const context = isLogWanted ? given : { ...given, logger: SILENT_LOGGER };
  const choice = await chooseServers(context, context.line.words);
  return withOpenChoice(choice, context, async (opening) => {
    const findings = await examine(opening, context);
    const servers = choice.servers.map((server) => ({
      server,
      opened: opening.opened.find((one) => one.server === server),
    }));
    const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
    const hintsAtRecovery = !context.line.flags.has("recovery") && opening.opened.some(hasSession);
    const counts = { errors: count("error"), warnings: count("warning"), notes: count("note") };
    return {
      exit: exitOf(findings),
      document: {
        files: choice.files,
        servers: servers.map(({ server, opened }) => ({
          ...serverDocument(server, opened),
          tools: opened?.tools?.length,
        })),
        findings,
        counts,
      },
      view: (page) => doctorText({ files: choice.files, servers, findings, counts, hintsAtRecovery }, page),
    };
  });
};

/** One that can be lost: others end with their connection. */
function hasSession({ server, client }: OpenedServer): boolean {
  return server.kind === "http" && client.sessionId !== undefined;
}

async function examine({ opened, findings }: OpenedChoice, context: CommandContext): Promise<Finding[]> {
  const { signal, live, line } = context;
  const startedAt = performance.now();
  const hide = live.show(() => `looking closer  ${secondsText(performance.now() - startedAt)}`);
  try {
    const explained = await mapLimited(findings, MOST_AT_ONCE, async (finding) => {
      const failed = opened.find(
        ({ server, error }) => server.name === finding.server && error !== undefined,
      );
      return failed === undefined ? finding : explainFailure(finding, failed, signal);
    });
    const diagnosed = await mapLimited(opened, MOST_AT_ONCE, (one) => diagnoseServer(one, signal));
    const working = line.flags.has("recovery") ? opened.filter(({ error }) => error === undefined) : [];
    const recovered = await mapLimited(working, MOST_AT_ONCE, ({ server }) => checkRecovery(server, signal));
    const tools = opened.flatMap(({ server, tools: listed = [] }) =>
      listed.map(({ name }) => ({ server: server.name, tool: name })),
    );
    return [
      ...explained,
      ...diagnosed.flat(),
      ...recovered.filter((finding) => finding !== undefined),
      ...findingsOfNames(tools),
    ];
  } finally {
    hide();
  }
}
