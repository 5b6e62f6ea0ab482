import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { createFinding, type Finding, type FindingCode } from "./finding.js";

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

const BY_STATUS: Readonly<Record<number, FindingCode>> = {
  301: "redirected",
  302: "redirected",
  303: "redirected",
  307: "redirected",
  308: "redirected",
  401: "login-needed",
  403: "forbidden",
  404: "wrong-path",
  405: "wrong-path",
  410: "wrong-path",
};

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

const HINTS: Partial<Record<FindingCode, (server: SelectedServer) => string>> = {
  "connection-refused": (server) => `Start the server, or correct its URL${toFileSuffix(server)}.`,
  "unknown-host": (server) => `Correct the host${toFileSuffix(server)}, or check your network and VPN.`,
  unreachable: () => "Check network, firewall and proxy (HTTPS_PROXY, NO_PROXY).",
  "tls-untrusted": () =>
    "Add the certificate authority: NODE_EXTRA_CA_CERTS=company-ca.pem for this command, tls.ca in code.",
  "tls-expired": () => "Renew the certificate, or correct the clock of this machine.",
  "tls-wrong-host": (server) => `Use a host name of the certificate${toFileSuffix(server)}.`,
  "tls-failed": (server) => `Check whether the URL should start with http://${toFileSuffix(server)}.`,
  "login-needed": (server) =>
    server.scope === "command-line"
      ? 'Pass a token: --header "authorization: Bearer …". In code, use auth with an OAuth provider.'
      : `Set a token as headers.authorization${toFileSuffix(server)}. In code, use auth with an OAuth provider.`,
  forbidden: () => "Use credentials with this permission, or ask the operator of the server.",
  "wrong-path": (server) =>
    `Correct the path of the URL${toFileSuffix(server)}; many servers use /mcp. The doctor command searches common paths.`,
  redirected: (server) => `Use the URL it redirects to${toFileSuffix(server)}.`,
  "protocol-mismatch": () => "Update the server, or this package.",
  "not-mcp": (server) => `Check that the URL${toFileSuffix(server)} is an MCP server.`,
  "handshake-timeout": () => "Check the log of the server, or allow more time with --timeout 60.",
  "too-slow": () => "Check the log of the server, or allow more time with --timeout 120.",
  "server-failing": () => "Check the log of the server.",
  "command-not-found": (server) => `Install it, or correct the command${toFileSuffix(server)}.`,
  "command-not-executable": (server) =>
    `Make it executable (chmod +x), or correct the command${toFileSuffix(server)}.`,
  "command-exited": (server) =>
    `Run it manually: ${server.address}. The server gets a minimal environment; list the variables it needs in env.`,
  "config-invalid": (server) => `Correct the definition${toFileSuffix(server)}.`,
};

/** Converts a connection error to a finding. The code is derived from kinds, codes and statuses, never from the message. */
export function toFailureFinding(
  error: McpRuntimeError,
  server: SelectedServer,
  hasSession: boolean,
): Finding {
  const code = toFindingCode(error, server, hasSession);
  const hint = HINTS[code]?.(server) ?? "Run it again with LANGCHAIN_MCP_LOG=debug.";
  return createFinding(code, { server: server.name, text: server.redactor.redact(error.message), hint });
}

function toFindingCode(
  error: McpRuntimeError,
  { kind: serverKind }: SelectedServer,
  hasSession: boolean,
): FindingCode {
  const { status, kind } = error;
  if (serverKind === "stdio" && (kind === "not-sent" || kind === "connection-lost"))
    return toCommandCode(error);
  if (status !== undefined && !hasSession && BY_STATUS[status] !== undefined) return BY_STATUS[status];
  if (status === 401 || status === 403) return status === 401 ? "login-needed" : "forbidden";
  if (kind === "timeout") return hasSession ? "too-slow" : "handshake-timeout";
  const errorCodes = collectErrorCodes(error);
  const match = BY_NETWORK.find(([pattern]) => errorCodes.some((name) => pattern.test(name)));
  return match?.[1] ?? BY_KIND[kind] ?? "failed";
}

function toCommandCode(error: McpRuntimeError): FindingCode {
  const codes = collectErrorCodes(error);
  if (codes.includes("ENOENT") || codes.includes("ENOTDIR")) return "command-not-found";
  if (codes.includes("EACCES")) return "command-not-executable";
  return "command-exited";
}

/** Collects the `code` properties of an error and its causes. */
function collectErrorCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (
    let current = error, depth = 0;
    current instanceof Error && depth < 8;
    current = current.cause, depth += 1
  ) {
    const inner = current instanceof AggregateError ? (current.errors as unknown[]) : [];
    for (const source of [current, ...inner]) {
      const code: unknown = Reflect.get(Object(source), "code");
      if (typeof code === "string") codes.push(code);
    }
  }
  return codes;
}

function toFileSuffix({ file }: SelectedServer): string {
  return file === undefined ? "" : ` in ${file}`;
}
