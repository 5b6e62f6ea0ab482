import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import type { ChosenServer } from "../servers/selected-server.js";
import { createFinding, type Finding, type FindingCode } from "./finding.js";

const UNTRUSTED =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE)$/;

/** What the system or TLS calls it. The first that matches counts. */
const BY_NETWORK: readonly (readonly [RegExp, FindingCode])[] = [
  [/^ECONNREFUSED$/, "connection-refused"],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "unknown-host"],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, "tls-expired"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "tls-wrong-host"],
  [UNTRUSTED, "tls-untrusted"],
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

const NEXT: Partial<Record<FindingCode, (server: ChosenServer) => string>> = {
  "connection-refused": (server) => `Start the server, or correct its address${inFile(server)}.`,
  "unknown-host": (server) => `Correct the host${inFile(server)}, or check your network and VPN.`,
  unreachable: () => "Check network, firewall and proxy (HTTPS_PROXY, NO_PROXY).",
  "tls-untrusted": () =>
    "Give the authority: NODE_EXTRA_CA_CERTS=company-ca.pem for this command, tls.ca in code.",
  "tls-expired": () => "Have the certificate renewed, or set the clock of this machine.",
  "tls-wrong-host": (server) => `Use a name that the certificate has${inFile(server)}.`,
  "tls-failed": (server) => `Check whether the address should begin with http://${inFile(server)}.`,
  "login-needed": (server) =>
    server.scope === "command-line"
      ? 'Give a token: --header "authorization: Bearer …". In code, auth takes an OAuth provider.'
      : `Give a token as headers.authorization${inFile(server)}. In code, auth takes an OAuth provider.`,
  forbidden: () => "Use credentials that may do this, or ask whoever runs the server.",
  "wrong-path": (server) =>
    `Correct the path of the address${inFile(server)}; many servers answer at /mcp, and doctor looks for it.`,
  redirected: (server) => `Write the address it redirects to${inFile(server)}.`,
  "protocol-mismatch": () => "Update the server, or this package.",
  "not-mcp": (server) => `Check that the address${inFile(server)} is that of an MCP server.`,
  "handshake-timeout": () => "Look at the server's own log; give it longer with --timeout 60.",
  "too-slow": () => "Look at the server's own log; give it longer with --timeout 120.",
  "server-failing": () => "Look at the server's own log.",
  "command-not-found": (server) => `Install it, or correct the command${inFile(server)}.`,
  "command-not-executable": (server) =>
    `Make it executable (chmod +x), or correct the command${inFile(server)}.`,
  "command-exited": (server) =>
    `Run it yourself: ${server.address}. It gets a clean environment: name what it needs in env.`,
  "config-invalid": (server) => `Correct the definition${inFile(server)}.`,
};

/** A failure to connect or to list, with its cause told by what it is and never by its words. */
export function toFailureFinding(error: McpRuntimeError, server: ChosenServer, hasSession: boolean): Finding {
  const code = codeOf(error, server, hasSession);
  const next = NEXT[code]?.(server) ?? "Run it again with LANGCHAIN_MCP_LOG=debug.";
  return createFinding(code, { server: server.name, text: server.redactor.text(error.message), next });
}

function codeOf(
  error: McpRuntimeError,
  { kind: serverKind }: ChosenServer,
  hasSession: boolean,
): FindingCode {
  const { status, kind } = error;
  if (serverKind === "stdio" && (kind === "not-sent" || kind === "connection-lost"))
    return codeOfCommand(error);
  if (status !== undefined && !hasSession && BY_STATUS[status] !== undefined) return BY_STATUS[status];
  if (status === 401 || status === 403) return status === 401 ? "login-needed" : "forbidden";
  if (kind === "timeout") return hasSession ? "too-slow" : "handshake-timeout";
  const network = networkCodesOf(error);
  const known = BY_NETWORK.find(([pattern]) => network.some((name) => pattern.test(name)));
  return known?.[1] ?? BY_KIND[kind] ?? "failed";
}

function codeOfCommand(error: McpRuntimeError): FindingCode {
  const codes = networkCodesOf(error);
  if (codes.includes("ENOENT") || codes.includes("ENOTDIR")) return "command-not-found";
  if (codes.includes("EACCES")) return "command-not-executable";
  return "command-exited";
}

/** The codes of a failure and of what caused it. */
function networkCodesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const inner = at instanceof AggregateError ? (at.errors as unknown[]) : [];
    for (const one of [at, ...inner]) {
      const code: unknown = Reflect.get(Object(one), "code");
      if (typeof code === "string") codes.push(code);
    }
  }
  return codes;
}

function inFile({ file }: ChosenServer): string {
  return file === undefined ? "" : ` in ${file}`;
}
