import type { ServerDefinition } from "../../config/server-definition.js";
import { toReadable } from "../../errors/sanitize-text.js";
import { MODERN_VERSION } from "../../transports/http/modern-era.js";
import { createFinding, type Finding } from "../findings/finding.js";
import { loginHint } from "./login-hint.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { otherPath } from "./find-mcp-path.js";
import { isAnswering } from "./probe.js";
import { findingsOfTools } from "../findings/tool-findings.js";

/** What else can be found out about a server that was opened. */
export async function diagnoseServer(opened: OpenedServer, signal: AbortSignal): Promise<Finding[]> {
  const { server, tools = [], error } = opened;
  const ofTools = error === undefined ? findingsOfTools(server.name, tools) : [];
  const redacted = ofTools.map((finding) => ({ ...finding, text: server.redactor.text(finding.text) }));
  return [...warningsOf(opened), ...(await legacyOf(opened, signal)), ...redacted];
}

/** A failure, with what the server says about it when it is asked. */
export async function explainFailure(
  finding: Finding,
  { server }: OpenedServer,
  signal: AbortSignal,
): Promise<Finding> {
  if (finding.code === "login-needed") {
    const hint = await loginHint(server, signal);
    return hint === undefined
      ? finding
      : { ...finding, text: server.redactor.text(`${finding.text} ${hint}`) };
  }
  if (finding.code !== "wrong-path") return finding;
  const found = await otherPath(server, signal);
  const where = server.file === undefined ? "" : ` in ${server.file}`;
  return found === undefined
    ? finding
    : { ...finding, next: `${found} answers: write that address${where}.` };
}

function warningsOf({ server, warnings }: OpenedServer): Finding[] {
  return warnings.map(({ message, code }) => {
    const isNoise = code === "stdout-noise";
    const [text = ""] = toReadable(message).split("\n");
    const next = isNoise
      ? "Make it write logs to stderr: stdout is for messages. It is used all the same."
      : "Correct it on the server.";
    return createFinding(isNoise ? "stdout-noise" : "server-warned", { server: server.name, text, next });
  });
}

/** The first word of an older server is its endpoint; one that streams something else is waited for in vain. */
const LEGACY_MS = 1_000;

/** `http` falls back to the older transport by itself: which one it is shows by asking for the older one. */
async function legacyOf(opened: OpenedServer, signal: AbortSignal): Promise<Finding[]> {
  const { server, client, error, latencyMs } = opened;
  const { name, kind, definition } = server;
  if (error !== undefined || (kind !== "http" && kind !== "sse")) return [];
  if (client.protocolVersion === MODERN_VERSION) return [];
  const { transport: _, ...others } = definition;
  const older = { ...others, type: "sse" } as ServerDefinition;
  const limits = { signal, mostMs: LEGACY_MS + latencyMs };
  const isLegacy = kind === "sse" || (await isAnswering(name, older, limits));
  if (!isLegacy) return [];
  const text = "It speaks HTTP+SSE, the transport of protocol version 2024-11-05.";
  const next =
    kind === "sse"
      ? "Nothing to do. A newer version of the server may speak Streamable HTTP."
      : 'If it speaks nothing newer, type: "sse" saves a refused request at every start.';
  return [createFinding("legacy-sse", { server: name, text, next })];
}
