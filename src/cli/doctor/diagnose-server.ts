import type { ServerDefinition } from "../../config/server-definition.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { MODERN_VERSION } from "../../transports/http/modern-era.js";
import { createFinding, type Finding } from "../findings/finding.js";
import { fetchLoginHint } from "./login-hint.js";
import type { ConnectedServer } from "../servers/connect-servers.js";
import { findMcpPath, canHandshake } from "./probe.js";
import { checkTools } from "../findings/tool-findings.js";

/** Checks a connected server: warnings, transport and tools. */
export async function diagnoseServer(connected: ConnectedServer, signal: AbortSignal): Promise<Finding[]> {
  const { server, tools = [], error } = connected;
  const toolFindings = error === undefined ? checkTools(server.name, tools) : [];
  const redacted = toolFindings.map((finding) => ({
    ...finding,
    text: server.redactor.redact(finding.text),
  }));
  return [...toWarnings(connected), ...(await detectSse(connected, signal)), ...redacted];
}

/** Adds login information or the correct path to a finding about a failed connection. */
export async function addFailureHints(
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
  return mcpUrl === undefined ? finding : { ...finding, hint: `Use ${mcpUrl}${where}: it is an MCP server.` };
}

function toWarnings({ server, warnings }: ConnectedServer): Finding[] {
  return warnings.map(({ message, code }) => {
    const isNoise = code === "stdout-noise";
    const [text = ""] = stripHiddenCharacters(message).split("\n");
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
  const { transport: _, ...rest } = definition;
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
