import { findLargest } from "../../json/json.js";
import { mapConcurrent } from "../../async/semaphore.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import type { TokenCosts } from "../../tool-search/estimate-tokens.js";
import { pluralize } from "../../errors/sanitize-text.js";
import { MODERN_VERSION } from "../../transports/http/modern-era.js";
import type { Command, CommandContext } from "../command-context.js";
import { createFinding, type Finding, type Severity, toExit } from "../report/finding.js";
import { getWorstStatus, renderSections } from "../report/render-findings.js";
import { estimateCosts, renderServers, renderTotalTokens, serverToJson } from "../report/render-servers.js";
import {
  type ConnectedSelection,
  type ConnectedServer,
  type ServerResult,
  withConnectedServers,
} from "../servers/connect-servers.js";
import { selectServers, type ServerSelection } from "../servers/select-servers.js";
import { SILENT_LOGGER, type Page, renderStatus } from "../terminal.js";
import { padToWidth, textWidth, wrapToWidth } from "../text-format.js";
import { fetchLoginHint } from "./login-hint.js";
import { canHandshake, checkRecovery, findMcpPath, MCP_PATHS } from "./probe.js";
import { checkNames, checkTokens, checkTools } from "./tool-findings.js";

const MAX_CONCURRENT = 16;

/** What the doctor found. */
interface DoctorReport {
  readonly files: ServerSelection["files"];
  readonly results: readonly ServerResult[];
  readonly findings: readonly Finding[];
  readonly tokenCosts: TokenCosts;
  readonly counts: { readonly errors: number; readonly warnings: number; readonly notes: number };
  /** True if `--recovery` applies but was not used. */
  readonly suggestRecoveryCheck: boolean;
}

/** Diagnoses config files, connections, logins and tools. */
export const doctorCommand: Command = async (baseContext) => {
  // Warnings are reported as findings; logging is enabled only by LANGCHAIN_MCP_LOG.
  const isLoggingEnabled = baseContext.terminal.env["LANGCHAIN_MCP_LOG"] !== undefined;
  const context = isLoggingEnabled ? baseContext : { ...baseContext, logger: SILENT_LOGGER };
  const { line, spinner } = context;
  const selection = await selectServers(context, line.positionals);
  return withConnectedServers(selection, context, async (connectedSelection) => {
    const { results, connected } = connectedSelection;
    const { files } = selection;
    const diagnosed = await spinner.during(
      (elapsed) => `diagnosing  ${elapsed}`,
      () => diagnose(connectedSelection, context),
    );
    const tokenCosts = estimateCosts(results);
    const findings = [...diagnosed, ...checkTokens(tokenCosts)];
    const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
    const counts = { errors: count("error"), warnings: count("warning"), notes: count("note") };
    // Only sessions of Streamable HTTP can be lost; others end with their connection.
    const hasSession = connected.some(
      ({ server, client }) => server.kind === "http" && client.sessionId !== undefined,
    );
    const suggestRecoveryCheck = hasSession && !line.flags.has("recovery");
    const servers = results.map((result) => ({ ...serverToJson(result), tools: result.tools?.length }));
    return {
      exit: toExit(findings),
      json: { files, servers, tokenCosts, findings, counts },
      render: (page) =>
        renderDoctor({ files, results, findings, tokenCosts, counts, suggestRecoveryCheck }, page),
    };
  });
};

async function diagnose(
  { connected, findings }: ConnectedSelection,
  { signal, line }: CommandContext,
): Promise<Finding[]> {
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
}

/** The states of servers that are in a file and not checked, as shown after its name. */
const UNUSED_STATES = [
  ["broken", "invalid"],
  ["disabled", "disabled"],
  ["shadowed", "not used"],
] as const;

/** Renders files, servers with findings, and the summary. */
function renderDoctor(report: DoctorReport, page: Page): string[] {
  const { files, results, findings, tokenCosts, counts, suggestRecoveryCheck } = report;
  const { colors, columns } = page;
  const width = findLargest(files.map(({ file }) => textWidth(file)));
  const fileLines = files.map(({ file, servers, states }) => {
    const unused = UNUSED_STATES.flatMap(([state, label]) =>
      states[state] === undefined ? [] : [`${states[state]} ${label}`],
    );
    const count = `${pluralize(servers, "server")}${unused.length === 0 ? "" : ` (${unused.join(", ")})`}`;
    const status = renderStatus(states.broken === undefined ? "ok" : "error", colors);
    return `${status} ${padToWidth(file, width)}  ${colors.dim(count)}`;
  });
  const sections = renderServers(results, page, {
    costs: tokenCosts,
    statusOf: ({ server: { name } }) => getWorstStatus(findings.filter(({ server }) => server === name)),
  });
  const { errors, warnings, notes } = counts;
  const summary = `${pluralize(errors, "error")}, ${pluralize(warnings, "warning")}, ${pluralize(notes, "note")}.`;
  const hint = "doctor --recovery also checks recovery from a lost session.";
  return [
    ...fileLines,
    ...renderSections(sections, findings, page),
    "",
    errors > 0 ? colors.error(summary) : colors.success(summary),
    ...renderTotalTokens(tokenCosts, page),
    ...(suggestRecoveryCheck ? wrapToWidth(hint, columns).map(colors.dim) : []),
  ];
}

/** Checks a connected server: warnings, transport and tools. */
async function diagnoseServer(connected: ConnectedServer, signal: AbortSignal): Promise<Finding[]> {
  const { server, tools = [], error } = connected;
  const toolFindings = error === undefined ? checkTools(server, tools) : [];
  return [...toWarnings(connected), ...(await detectSse(connected, signal)), ...toolFindings];
}

/** Adds login information or the correct path to a finding about a failed connection. */
async function addFailureHints(
  finding: Finding,
  { server }: ConnectedServer,
  signal: AbortSignal,
): Promise<Finding> {
  if (finding.code === "login-needed") {
    const hint = await fetchLoginHint(server, signal);
    return hint === undefined
      ? finding
      : { ...finding, text: server.redactor.redact(`${finding.text} ${hint}`) };
  }
  if (finding.code !== "wrong-path") return finding;
  const mcpUrl = await findMcpPath(server, signal);
  const where = server.file === undefined ? "" : ` in ${server.file}`;
  const hint =
    mcpUrl === undefined
      ? `Correct the path of the URL${where}. None of the common paths is an MCP server: ${MCP_PATHS.join(", ")}.`
      : `Use ${mcpUrl}${where}: it is an MCP server.`;
  return { ...finding, hint };
}

function toWarnings({ server, warnings }: ConnectedServer): Finding[] {
  return warnings.map(({ message, code }) => {
    const isNoise = code === "stdout-noise";
    const [text = ""] = message.split("\n");
    const hint = isNoise
      ? "Change the server to log to stderr; stdout is for protocol messages."
      : "Correct this on the server.";
    return createFinding(isNoise ? "stdout-noise" : "server-warned", { server: server.name, text, hint });
  });
}

/** An SSE server sends its endpoint event at once; other streams never do. */
const SSE_PROBE_MS = 1_000;

/** The `http` type falls back to SSE silently, so SSE is detected by a handshake with type `sse`. */
async function detectSse(connected: ConnectedServer, signal: AbortSignal): Promise<Finding[]> {
  const { server, client, error, latencyMs } = connected;
  const { name, kind, definition } = server;
  if (error !== undefined || (kind !== "http" && kind !== "sse")) return [];
  if (client.protocolVersion === MODERN_VERSION) return [];
  // A configured session belongs to the transport of the definition.
  const { transport: _, session: __, ...rest } = definition;
  const sseDefinition = { ...rest, type: "sse" } as ServerDefinition;
  const limits = { signal, maxMs: SSE_PROBE_MS + latencyMs };
  const isSse = kind === "sse" || (await canHandshake(name, sseDefinition, limits));
  if (!isSse) return [];
  const text = "The server uses HTTP+SSE, the transport of protocol version 2024-11-05.";
  const hint =
    kind === "sse"
      ? "No action needed. A newer version of the server may support Streamable HTTP."
      : 'If it supports nothing newer, type: "sse" saves a rejected request at every start.';
  return [createFinding("legacy-sse", { server: name, text, hint })];
}
