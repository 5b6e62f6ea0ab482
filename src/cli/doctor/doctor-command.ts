import { mapConcurrent } from "../../async/map-concurrent.js";
import { selectServers } from "../servers/select-servers.js";
import type { Command, CommandContext } from "../command-context.js";
import { diagnoseServer, addFailureHints } from "./diagnose-server.js";
import { renderDoctor } from "../render/render-doctor.js";
import { toExit, type Finding, type Severity } from "../findings/finding.js";
import { checkNames } from "../findings/tool-findings.js";
import {
  type ConnectedSelection,
  withConnectedSelection,
  type ConnectedServer,
} from "../servers/connect-servers.js";
import { checkRecovery } from "./recovery-check.js";
import { serverToJson } from "../render/to-json.js";
import { SILENT_LOGGER } from "../terminal/loggers.js";
import { formatSeconds } from "../terminal/text-format.js";

const MAX_CONCURRENT = 16;

/** Diagnoses config files, connections, logins and tools. */
export const doctorCommand: Command = async (baseContext) => {
  // Warnings are reported as findings; logging is enabled only by LANGCHAIN_MCP_LOG.
  const isLoggingEnabled = baseContext.terminal.env["LANGCHAIN_MCP_LOG"] !== undefined;
  const context = isLoggingEnabled ? baseContext : { ...baseContext, logger: SILENT_LOGGER };
  const selection = await selectServers(context, context.line.positionals);
  return withConnectedSelection(selection, context, async (connectedSelection) => {
    const findings = await diagnose(connectedSelection, context);
    const servers = selection.servers.map((server) => ({
      server,
      connected: connectedSelection.connected.find((candidate) => candidate.server === server),
    }));
    const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
    const suggestRecoveryCheck =
      !context.line.flags.has("recovery") && connectedSelection.connected.some(hasSession);
    const counts = { errors: count("error"), warnings: count("warning"), notes: count("note") };
    return {
      exit: toExit(findings),
      json: {
        files: selection.files,
        servers: servers.map(({ server, connected }) => ({
          ...serverToJson(server, connected),
          tools: connected?.tools?.length,
        })),
        findings,
        counts,
      },
      render: (page) =>
        renderDoctor({ files: selection.files, servers, findings, counts, suggestRecoveryCheck }, page),
    };
  });
};

/** Only sessions of Streamable HTTP can be lost; others end with their connection. */
function hasSession({ server, client }: ConnectedServer): boolean {
  return server.kind === "http" && client.sessionId !== undefined;
}

async function diagnose(
  { connected, findings }: ConnectedSelection,
  context: CommandContext,
): Promise<Finding[]> {
  const { signal, spinner, line } = context;
  const startedAt = performance.now();
  const stopSpinner = spinner.show(() => `diagnosing  ${formatSeconds(performance.now() - startedAt)}`);
  try {
    const withHints = await mapConcurrent(findings, MAX_CONCURRENT, async (finding) => {
      const failed = connected.find(
        ({ server, error }) => server.name === finding.server && error !== undefined,
      );
      return failed === undefined ? finding : addFailureHints(finding, failed, signal);
    });
    const diagnosed = await mapConcurrent(connected, MAX_CONCURRENT, (result) =>
      diagnoseServer(result, signal),
    );
    const working = line.flags.has("recovery") ? connected.filter(({ error }) => error === undefined) : [];
    const recovered = await mapConcurrent(working, MAX_CONCURRENT, ({ server }) =>
      checkRecovery(server, signal),
    );
    const tools = connected.flatMap(({ server, tools: listed = [] }) =>
      listed.map(({ name }) => ({ server: server.name, tool: name })),
    );
    return [
      ...withHints,
      ...diagnosed.flat(),
      ...recovered.filter((finding) => finding !== undefined),
      ...checkNames(tools),
    ];
  } finally {
    stopSpinner();
  }
}
