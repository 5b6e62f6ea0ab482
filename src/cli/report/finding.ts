import type { ExitReason } from "../exit-codes.js";

export type Severity = "error" | "warning" | "note";

/**
 * All finding codes with severity and meaning. Codes are part of the JSON output. The table in the documentation is
 * generated from here.
 */
export const FINDINGS = {
  "config-missing": ["error", "no servers: no config file, or no enabled server in it"],
  "config-broken": ["error", "a config file cannot be parsed; the location has line and column"],
  "config-invalid": ["error", "a server in a config file is invalid and was skipped"],
  "config-warning": ["note", "an entry of a config file has no effect"],
  "config-restricted": [
    "warning",
    "a project file sets an option that only your own files and code may set; it was ignored",
  ],
  "variable-unset": ["error", "a server needs an environment variable that is not set"],
  "consent-required": [
    "error",
    "a project file would start a command, use your AWS credentials or receive variables, and this was not approved",
  ],
  "connection-refused": ["error", "nothing is listening on the port"],
  "unknown-host": ["error", "the host name cannot be resolved"],
  unreachable: ["error", "no connection: no route, a firewall or a proxy"],
  "tls-untrusted": [
    "error",
    "the certificate authority is not trusted, for example a self-signed certificate",
  ],
  "tls-expired": ["error", "the certificate has expired or is not valid yet"],
  "tls-wrong-host": ["error", "the certificate is for other host names"],
  "tls-failed": ["error", "another TLS error"],
  "login-needed": ["error", "401: the server requires authentication"],
  forbidden: ["error", "403: the credentials do not permit the request"],
  "wrong-path": ["error", "404 or 405: a web server without an MCP endpoint at this path"],
  redirected: ["error", "the server redirects to another origin"],
  "legacy-sse": ["note", "the server uses the older HTTP+SSE transport"],
  "protocol-mismatch": ["error", "the server supports no protocol version of this client"],
  "not-mcp": ["error", "the endpoint responds, but not as an MCP server"],
  "handshake-timeout": ["error", "connected, but no response to the handshake"],
  "too-slow": ["error", "the handshake works, but a later request takes too long"],
  "server-failing": ["error", "the server responds with errors (5xx, 429, JSON-RPC)"],
  "command-not-found": ["error", "the command of a server was not found"],
  "command-not-executable": ["error", "the command is not executable"],
  "command-exited": ["error", "the command exited before it responded; its last output is shown"],
  "stdout-noise": ["warning", "a stdio server writes non-protocol output to stdout"],
  "server-warned": ["warning", "another warning that does not affect calls, such as a skipped tool"],
  "no-tools": ["note", "the server lists no tools"],
  "name-changed": ["note", "models see the tool under another name"],
  "name-collision": ["warning", "two tools get the same name; one is renamed or left out"],
  "name-shared": ["note", "two servers have a tool with this name; relevant only without a prefix"],
  "schema-changed": ["note", "some providers reject the schema; models see a portable one"],
  "schema-loosened": ["warning", "part of the schema cannot be used and was removed"],
  "hidden-characters": ["warning", "the text of a tool has invisible characters; they are removed"],
  "no-description": ["note", "the tool has no description"],
  "description-truncated": ["warning", "the description is too long, and models see only its beginning"],
  "too-many-tokens": [
    "warning",
    "the definitions of all tools take more than 25,000 tokens of every request to a model",
  ],
  "session-recovered": ["note", "a lost session was replaced and the tools were listed"],
  "session-none": ["note", "the server has no session that could be lost"],
  "session-not-recovered": ["warning", "the server does not work after a lost session"],
  "nothing-saved": ["error", "there is no baseline to compare a server with"],
  failed: ["error", "anything else"],
} as const satisfies Record<string, readonly [Severity, string]>;

/** The hint of a finding that needs no action. */
export const NO_ACTION = "No action needed.";

export type FindingCode = keyof typeof FINDINGS;

/** A position in a config file. */
interface SourceLocation {
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** A problem or a remark, with a hint on what to do. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly location?: SourceLocation | undefined;
  readonly text: string;
  readonly hint: string;
}

export function createFinding(code: FindingCode, details: Omit<Finding, "code" | "severity">): Finding {
  return { code, severity: FINDINGS[code][0], ...details };
}

/** Formats the location and text of a finding. */
export function formatFinding({ location, text }: Finding): string {
  return location === undefined ? text : `${formatLocation(location)}: ${text}`;
}

/** Formats as `.mcp.json:3:5`. */
function formatLocation({ file, line, column }: SourceLocation): string {
  return [file, line, column].filter((value) => value !== undefined).join(":");
}

/**
 * Returns `failed` for any error, `usage` if there are only files or servers that are missing, `declined` if missing
 * consent is the only error, else `ok`.
 */
export function toExit(findings: readonly Finding[]): ExitReason {
  const errors = findings.filter(({ severity }) => severity === "error");
  const isMissing = ({ code, server }: Finding) => code === "config-missing" && server === undefined;
  if (errors.length > 0 && errors.every(isMissing)) return "usage";
  if (errors.some(({ code }) => code !== "consent-required")) return "failed";
  return errors.length > 0 ? "declined" : "ok";
}
