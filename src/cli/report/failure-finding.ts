import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { errorCode, type FailureKind } from "../../errors/failure-kinds.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { createFinding, type Finding, type FindingCode } from "./finding.js";

const MAX_CAUSES = 8;
const UNTRUSTED_CERT =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE)$/;

/** System and TLS error codes. The first match wins. */
const BY_NETWORK: readonly (readonly [RegExp, FindingCode])[] = [
  [/^ECONNREFUSED$/, "connection-refused"],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "unknown-host"],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, "tls-expired"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "tls-wrong-host"],
  [UNTRUSTED_CERT, "tls-untrusted"],
  [/^(?:CERT_|ERR_SSL_|ERR_TLS_)/, "tls-failed"],
];

const BY_STATUS: readonly (readonly [readonly number[], FindingCode])[] = [
  [[301, 302, 303, 307, 308], "redirected"],
  [[401], "login-needed"],
  [[403], "forbidden"],
  [[404, 405, 410], "wrong-path"],
];

const BY_KIND: Partial<Record<FailureKind, FindingCode>> = {
  "not-sent": "unreachable",
  "connection-lost": "not-mcp",
  "rate-limited": "server-failing",
  unavailable: "server-failing",
  "server-error": "server-failing",
  "not-found": "server-failing",
  "invalid-request": "server-failing",
  unauthorized: "login-needed",
  "invalid-response": "not-mcp",
  "unsupported-protocol": "protocol-mismatch",
  "invalid-config": "config-invalid",
};

/** What to do. `where` names the file of the server: " in .mcp.json". */
const HINTS: Partial<Record<FindingCode, (where: string, server: SelectedServer) => string>> = {
  "connection-refused": (where) => `Start the server, or correct its URL${where}.`,
  "unknown-host": (where) => `Correct the host${where}, or check your network and VPN.`,
  unreachable: () => "Check network, firewall and proxy (HTTPS_PROXY, NO_PROXY).",
  "tls-untrusted": () =>
    "Add the certificate authority: NODE_EXTRA_CA_CERTS=company-ca.pem for this command, tls.ca in code.",
  "tls-expired": () => "Renew the certificate, or correct the clock of this machine.",
  "tls-wrong-host": (where) => `Use a host name of the certificate${where}.`,
  "tls-failed": (where) => `Check whether the URL should start with http://${where}.`,
  "login-needed": (where, server) =>
    server.scope === "command-line"
      ? 'Pass a token: --header "authorization: Bearer …". In code, use auth with an OAuth provider.'
      : `Set a token as headers.authorization${where}. In code, use auth with an OAuth provider.`,
  forbidden: () => "Use credentials with this permission, or ask the operator of the server.",
  "wrong-path": (where) =>
    `Correct the path of the URL${where}; many servers use /mcp. The doctor command searches common paths.`,
  redirected: (where) => `Use the URL it redirects to${where}.`,
  "protocol-mismatch": () => "Update the server, or this package.",
  "not-mcp": (where) => `Check that the URL${where} is an MCP server.`,
  "handshake-timeout": (where, { kind }) =>
    kind === "stdio"
      ? `Correct the command${where}, or allow more time to start with --timeout 120.`
      : `Check the URL${where} and the log of the server, or allow more time with --timeout 60.`,
  "too-slow": () => "Check the log of the server, or allow more time with --timeout 120.",
  "server-failing": () => "Check the log of the server.",
  "command-not-found": (where) => `Install it, or correct its command or cwd${where}.`,
  "command-not-executable": (where) => `Make it executable (chmod +x), or correct the command${where}.`,
  "command-exited": (_, server) => `Run it manually: ${server.address}.`,
  "config-invalid": (where) => `Correct the definition${where}.`,
};

interface ConnectionState {
  /** Whether the server has accepted a session before the failure. */
  readonly hasSession: boolean;
}

/** Converts a connection error to a finding. The code is derived from kinds, codes and statuses, never from the message. */
export function toFailureFinding(
  error: McpRuntimeError,
  server: SelectedServer,
  state: ConnectionState,
): Finding {
  const code = toFindingCode(error, server, state);
  const where = server.file === undefined ? "" : ` in ${server.file}`;
  const hint = HINTS[code]?.(where, server) ?? "Run it again with LANGCHAIN_MCP_LOG=debug.";
  return createFinding(code, { server: server.name, text: server.redactor.redact(error.message), hint });
}

function toFindingCode(
  error: McpRuntimeError,
  server: SelectedServer,
  { hasSession }: ConnectionState,
): FindingCode {
  const { status, kind } = error;
  const codes = collectErrorCodes(error);
  if (server.kind === "stdio" && (kind === "not-sent" || kind === "connection-lost")) {
    if (codes.includes("ENOENT") || codes.includes("ENOTDIR")) return "command-not-found";
    return codes.includes("EACCES") ? "command-not-executable" : "command-exited";
  }
  const isCredentialStatus = status === 401 || status === 403;
  const byStatus = BY_STATUS.find(([statuses]) => status !== undefined && statuses.includes(status));
  if (byStatus !== undefined && (!hasSession || isCredentialStatus)) return byStatus[1];
  if (kind === "timeout") return hasSession ? "too-slow" : "handshake-timeout";
  const match = BY_NETWORK.find(([pattern]) => codes.some((code) => pattern.test(code)));
  return match?.[1] ?? BY_KIND[kind] ?? "failed";
}

/** Collects the `code` properties of an error and its causes. */
function collectErrorCodes(error: Error): string[] {
  const codes: unknown[] = [];
  let current: unknown = error;
  for (let depth = 0; current instanceof Error && depth < MAX_CAUSES; depth += 1) {
    codes.push(errorCode(current));
    if (current instanceof AggregateError) for (const inner of current.errors) codes.push(errorCode(inner));
    current = current.cause;
  }
  return codes.filter((code) => typeof code === "string");
}
