import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import { type ChosenServer, toChosenServer } from "./selected-server.js";
import type { CommandLine } from "../command-line.js";
import { UsageError } from "../usage-error.js";

/** Programs that run other programs: the server is what they run. */
const RUNNERS = /^(?:npx|pnpx|bunx|uvx|pipx|node|tsx|bun|deno|python[\d.]*|uv|docker)(?:\.exe|\.cmd)?$/;

/** The servers that the command line itself names: `--url`, and what stands behind `--`. */
export function directServers(line: CommandLine): ChosenServer[] {
  const url = line.value("url");
  const [command, ...args] = line.program;
  if (url !== undefined && command !== undefined)
    throw new UsageError("Both --url and a command behind -- were given.", "Give one of them.");
  if (url === undefined && line.flags.has("header"))
    throw new UsageError("--header is for --url.", "Headers of a config file stand in the file.");
  if (url === undefined && command === undefined) {
    if (line.flags.has("name"))
      throw new UsageError("--name is for --url and --.", "Choose servers by writing their names.");
    return [];
  }
  if (url !== undefined) return [chosen(line.value("name") ?? nameOfHost(url), toRemote(url, line))];
  if (command === undefined) return [];
  return [chosen(line.value("name") ?? programName(command, args), { command, args })];
}

function chosen(name: string, definition: ServerDefinition): ChosenServer {
  try {
    return toChosenServer({ name, definition, scope: "command-line", file: undefined, variables: [] });
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
    throw new UsageError(
      `The server cannot be used: ${problems}.`,
      "An address starts with http:// or https://.",
    );
  }
}

/** `localhost:3000/mcp` is what people type. */
function toRemote(url: string, line: CommandLine): ServerDefinition {
  const headers = Object.fromEntries(line.values("header").map(toHeader));
  return { url: withScheme(url), headers };
}

function withScheme(url: string): string {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(url)) return url;
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(url);
  return `${isLocal ? "http" : "https"}://${url}`;
}

function toHeader(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    // What was written may be a token.
    throw new UsageError("A --header has no name.", 'Write --header "authorization: Bearer …".');
  }
  return [name, value];
}

/** `https://mcp.weather.example.com` is `weather`: without what many hosts begin with. */
function nameOfHost(url: string): string {
  const address = withScheme(url);
  const { hostname = "" } = URL.canParse(address) ? new URL(address) : {};
  if (/^[\d.]+$|:/.test(hostname)) return "server";
  const label = hostname.split(".").find((part) => !/^(?:www|mcp|api)$/.test(part));
  return label || hostname || "server";
}

/** `npx -y @scope/server-files@1.2 .` is `server-files`. */
function programName(command: string, args: readonly string[]): string {
  const program = baseName(command);
  const run = RUNNERS.test(program) ? args.find((arg) => !arg.startsWith("-") && arg !== "run") : undefined;
  return (
    baseName(run ?? command)
      .replace(/(.)@[^@]*$/, "$1")
      .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, "") || "server"
  );
}

function baseName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}
