export type Severity = "error" | "warning" | "note";

/**
 * What can be found, how bad it is, and what it means. Programs decide by the code, so none is
 * renamed. The README's table is printed from here.
 */
export const FINDINGS = {
  "config-missing": ["error", "there are no servers: no config file, or none with a server in it"],
  "config-broken": ["error", "a config file cannot be read; where is told by line and column"],
  "config-invalid": ["error", "a server in a config file is wrong, and left out"],
  "config-doubtful": ["note", "something in a config file has no effect"],
  "variable-unset": ["error", "a server needs an environment variable that is not set"],
  "yes-needed": [
    "error",
    "a project's file would start a command, or be sent variables, and nobody said yes",
  ],
  "connection-refused": ["error", "nothing listens at the port"],
  "unknown-host": ["error", "the host name leads nowhere"],
  unreachable: ["error", "no connection came about: no route, a firewall, a proxy"],
  "tls-untrusted": ["error", "a certificate of an authority that is not trusted, such as a self-signed one"],
  "tls-expired": ["error", "a certificate that has expired, or is not valid yet"],
  "tls-wrong-host": ["error", "a certificate for other names"],
  "tls-failed": ["error", "another failure of TLS"],
  "login-needed": ["error", "401: the server wants to know who asks, and says how to log in"],
  forbidden: ["error", "403: it knows who asks, and says no"],
  "wrong-path": ["error", "404 or 405: a web server, but no MCP server at this path"],
  redirected: ["error", "the server redirects to another origin"],
  "legacy-sse": ["note", "the server speaks the older HTTP+SSE transport"],
  "protocol-mismatch": ["error", "the server speaks no protocol version that this client speaks"],
  "not-mcp": ["error", "something answers, but not as an MCP server"],
  "handshake-timeout": ["error", "connected, and then no answer to the handshake"],
  "too-slow": ["error", "the handshake works, and what comes after it takes too long"],
  "server-failing": ["error", "the server answers with errors (5xx, 429, JSON-RPC)"],
  "command-not-found": ["error", "the command of a server does not exist here"],
  "command-not-executable": ["error", "the command may not be executed"],
  "command-exited": ["error", "the command ended before it answered; its last lines are shown"],
  "stdout-noise": ["warning", "a program prints on stdout what is no message"],
  "server-warned": ["warning", "something else that costs nobody a call, such as a tool that is left out"],
  "no-tools": ["note", "the server lists no tools"],
  "name-changed": ["note", "models see the tool by another name"],
  "name-collision": ["error", "two tools get the same name: createMcpTools throws"],
  "name-shared": ["note", "two servers have a tool of this name: it matters without a prefix"],
  "schema-changed": ["note", "providers refuse the schema as it is; models see a portable one"],
  "schema-loosened": ["warning", "a part of the schema cannot be used, and was left out"],
  "hidden-characters": ["warning", "a text has characters that nobody sees; they are removed"],
  "no-description": ["note", "a model has only the name of the tool to go by"],
  "session-recovered": ["note", "a lost session was replaced, and the list came"],
  "session-none": ["note", "the server keeps no session that could be lost"],
  "session-not-recovered": ["warning", "after a lost session nothing works any more"],
  "nothing-saved": ["error", "there is nothing to compare a server with"],
  failed: ["error", "anything else"],
} as const satisfies Record<string, readonly [Severity, string]>;

/** What comes next, where all is well. */
export const NOTHING_TO_DO = "Nothing to do.";

export type FindingCode = keyof typeof FINDINGS;

/** Where something stands in a file. */
interface FilePlace {
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** One thing that somebody should know, and what to do about it. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly place?: FilePlace | undefined;
  readonly text: string;
  readonly next: string;
}

export function createFinding(code: FindingCode, details: Omit<Finding, "code" | "severity">): Finding {
  return { code, severity: FINDINGS[code][0], ...details };
}

/** What is wrong, and where. */
export function factText({ place, text }: Finding): string {
  return place === undefined ? text : `${placeText(place)}: ${text}`;
}

/** `.mcp.json:3:5`. */
function placeText({ file, line, column }: FilePlace): string {
  return [file, line, column].filter((part) => part !== undefined).join(":");
}
