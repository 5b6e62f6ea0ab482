import { addProtocol } from "../../config/http-options.js";
import { parseServer } from "../../config/parse-server.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import type { ServerConfig, TransportType } from "../../config/server-config.js";
import type { ConfigScope } from "../../config/files/config-locations.js";
import { Redactor, redactUrl } from "../../errors/redaction.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { CommandLine } from "../command-line.js";
import { UsageError } from "../exit-codes.js";
import type { Terminal } from "../terminal.js";

/** A server that a command works on. */
export interface SelectedServer {
  readonly name: string;
  readonly definition: ServerDefinition;
  /** The parsed definition. */
  readonly config: ServerConfig;
  readonly scope: "command-line" | ConfigScope;
  /** Display path of the file that defines it. */
  readonly file: string | undefined;
  /** The variables that its definition uses, as in `ConfigServer`. */
  readonly variables: readonly string[];
  /** The secret values of the user that its definition may contain: of its variables, and of all inputs. */
  readonly variableSecrets: readonly string[];
  readonly kind: TransportType;
  /** URL, function or command line, with secrets redacted. */
  readonly address: string;
  readonly redactor: Redactor;
}

type DerivedFields = "config" | "kind" | "address" | "redactor";

/** Throws `invalid-config` for an invalid definition. */
export function toSelectedServer(server: Omit<SelectedServer, DerivedFields>): SelectedServer {
  const config = parseServer(server.name, server.definition);
  const redactor = new Redactor(config.secrets);
  const address = hideValues(redactor.redact(formatAddress(config.address)), server.variableSecrets);
  return { ...server, config, kind: config.address.kind, address, redactor };
}

/** Formats a URL, a command line or the name of a function. */
export function formatAddress(address: ServerConfig["address"]): string {
  if ("url" in address) return redactUrl(address.url) ?? "";
  if (address.kind === "stdio") return [address.command, ...address.args].map(shellQuote).join(" ");
  return address.kind === "lambda" ? address.functionName : "";
}

/** Quotes an argument for a POSIX shell. */
function shellQuote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${escapeQuotes(argument)}'`;
}

function escapeQuotes(argument: string): string {
  return argument.replaceAll("'", "'\\''");
}

/** Hiding shorter values would damage ordinary words. */
const MIN_HIDDEN_LENGTH = 4;

/**
 * Hides the secret values of variables in an address, also if they are quoted for a shell, encoded in the path of a
 * URL or in lower case as a host.
 */
export function hideValues(text: string, values: readonly string[]): string {
  const forms = values
    .filter(({ length }) => length >= MIN_HIDDEN_LENGTH)
    .flatMap((value) => [value, escapeQuotes(value), toUrlPath(value)])
    .toSorted((a, b) => b.length - a.length)
    .map((form) => form.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return forms.length === 0 ? text : text.replaceAll(new RegExp(forms.join("|"), "gi"), "[redacted]");
}

function toUrlPath(value: string): string {
  const url = new URL("https://host");
  url.pathname = value;
  return url.pathname.slice(1);
}

/** Programs that run another program; the server is named after that program. */
const PACKAGE_RUNNERS =
  /^(?:npx|pnpx|bunx|uvx|pipx|node|tsx|bun|deno|python[\d.]*|uv|docker)(?:\.exe|\.cmd)?$/;

/** Returns the server given by `--url` or by a command after `--`, if any. Throws a `UsageError`. */
export function parseInlineServer(line: CommandLine, env: Terminal["env"]): SelectedServer | undefined {
  const url = line.value("url");
  const name = line.value("name");
  const [command, ...args] = line.program;
  if (url !== undefined && command !== undefined)
    throw new UsageError("Both --url and a command after -- were given.", "Use only one of them.");
  if (url === undefined && line.flags.has("header"))
    throw new UsageError("--header requires --url.", "For a config file, write headers in the file.");
  if (command === undefined && line.flags.has("env"))
    throw new UsageError("--env requires a command after --.", "For a config file, write env in the file.");
  if (url !== undefined) {
    const headers = Object.fromEntries(line.values("header").map(parseHeader));
    return toInlineServer(name ?? toNameFromUrl(url), { url: addScheme(url), headers });
  }
  if (command !== undefined)
    return toInlineServer(name ?? toNameFromCommand(command, args), {
      command,
      args,
      env: Object.fromEntries(line.values("env").map((variable) => parseVariable(variable, env))),
    });
  if (name === undefined) return undefined;
  throw new UsageError(
    "--name requires --url or --.",
    "To select servers of a config file, write their names.",
  );
}

const NO_VARIABLES = { variables: [], variableSecrets: [] } as const;

function toInlineServer(name: string, definition: ServerDefinition): SelectedServer {
  try {
    return toSelectedServer({ name, definition, scope: "command-line", file: undefined, ...NO_VARIABLES });
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
    throw new UsageError(`Invalid server: ${problems}.`, "A URL starts with http:// or https://.");
  }
}

/** Accepts URLs without a scheme, such as `localhost:3000/mcp`. */
function addScheme(url: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : addProtocol(url, ["http:", "https:"]);
}

function parseHeader(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    // The value may be a token: do not repeat it.
    throw new UsageError(
      "--header needs a name and a colon.",
      'Example: --header "authorization: Bearer …".',
    );
  }
  return [name, value];
}

/** Parses `NAME=value`, and `NAME`, whose value is that of the user's environment. */
function parseVariable(text: string, env: Terminal["env"]): [string, string] {
  const [, name, assigned] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? [];
  // The value may be a secret: do not repeat it.
  if (name === undefined)
    throw new UsageError("--env has no valid name.", "Write --env NAME=value, or --env NAME.");
  const value = assigned ?? env[name];
  if (value === undefined)
    throw new UsageError(`--env ${name}: the variable is not set.`, `Set it, or write --env ${name}=value.`);
  return [name, value];
}

/** `https://mcp.weather.example.com` becomes `weather`: common first labels are skipped. */
function toNameFromUrl(url: string): string {
  const address = addScheme(url);
  const { hostname = "" } = URL.canParse(address) ? new URL(address) : {};
  if (/^[\d.]+$|:/.test(hostname)) return "server";
  const label = hostname.split(".").find((candidate) => !/^(?:www|mcp|api)$/.test(candidate));
  return label || hostname || "server";
}

/** `npx -y @scope/server-files@1.2 .` becomes `server-files`. */
function toNameFromCommand(command: string, args: readonly string[]): string {
  const program = getBaseName(command);
  const target = PACKAGE_RUNNERS.test(program)
    ? args.find((arg) => !arg.startsWith("-") && arg !== "run")
    : undefined;
  return (
    getBaseName(target ?? command)
      .replace(/(.)@[^@]*$/, "$1")
      .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, "") || "server"
  );
}

function getBaseName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}
