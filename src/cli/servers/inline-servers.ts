import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import { type SelectedServer, toSelectedServer } from "./selected-server.js";
import type { CommandLine } from "../command-line.js";
import { UsageError } from "../exit-codes.js";

/** Programs that run another program; the server is named after that program. */
const PACKAGE_RUNNERS =
  /^(?:npx|pnpx|bunx|uvx|pipx|node|tsx|bun|deno|python[\d.]*|uv|docker)(?:\.exe|\.cmd)?$/;

/** Returns the server given by `--url` or by a command after `--`. Throws a `UsageError`. */
export function parseInlineServers(line: CommandLine): SelectedServer[] {
  const url = line.value("url");
  const [command, ...args] = line.program;
  if (url !== undefined && command !== undefined)
    throw new UsageError("Both --url and a command after -- were given.", "Use only one of them.");
  if (url === undefined && line.flags.has("header"))
    throw new UsageError("--header requires --url.", "For a config file, write headers in the file.");
  if (url === undefined && command === undefined) {
    if (line.flags.has("name"))
      throw new UsageError(
        "--name requires --url or --.",
        "To select servers of a config file, write their names.",
      );
    return [];
  }
  if (url !== undefined)
    return [toInlineServer(line.value("name") ?? toNameFromUrl(url), toRemoteDefinition(url, line))];
  if (command === undefined) return [];
  return [toInlineServer(line.value("name") ?? toNameFromCommand(command, args), { command, args })];
}

function toInlineServer(name: string, definition: ServerDefinition): SelectedServer {
  try {
    return toSelectedServer({ name, definition, scope: "command-line", file: undefined, variables: [] });
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
    throw new UsageError(`Invalid server: ${problems}.`, "A URL starts with http:// or https://.");
  }
}

/** Accepts URLs without a scheme, such as `localhost:3000/mcp`. */
function toRemoteDefinition(url: string, line: CommandLine): ServerDefinition {
  const headers = Object.fromEntries(line.values("header").map(parseHeader));
  return { url: addScheme(url), headers };
}

function addScheme(url: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(url)) return url;
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(url);
  return `${isLocal ? "http" : "https"}://${url}`;
}

function parseHeader(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    // The value may be a token: do not repeat it.
    throw new UsageError("--header has no name.", 'Example: --header "authorization: Bearer …".');
  }
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
