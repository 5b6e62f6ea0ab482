import { PROJECT_FILES } from "../../config/files/config-locations.js";
import type { ConfigProblem, ConfigProblemKind, ConfigSource } from "../../config/files/config-source.js";
import type { LoadedMcpServers } from "../../config/files/load-servers.js";
import { loadMcpServers } from "../../config/files/load-mcp-servers.js";
import { type SelectedServer, toSelectedServer } from "./selected-server.js";
import { findClosestMatch } from "../did-you-mean.js";
import type { CommandContext } from "../command-context.js";
import { parseInlineServers } from "./inline-servers.js";
import { displayPath, type Terminal } from "../terminal/terminal.js";
import { createFinding, formatFinding, type Finding, type FindingCode } from "../findings/finding.js";
import { UsageError } from "../exit-codes.js";

/** The servers that a command works on, and the findings about their config files. */
export interface ServerSelection {
  readonly servers: readonly SelectedServer[];
  readonly findings: readonly Finding[];
  /** Disabled servers with the reason. Reported only if one is named on the command line. */
  readonly disabled: readonly { readonly name: string; readonly text: string }[];
  /** The files that were read, with display paths. */
  readonly files: readonly { readonly file: string; readonly servers: number }[];
}

const FINDING_CODES: Readonly<Record<ConfigProblemKind, FindingCode>> = {
  "missing-file": "config-missing",
  unreadable: "config-broken",
  "broken-json": "config-broken",
  "unknown-format": "config-broken",
  "unset-variable": "variable-unset",
  "bad-definition": "config-invalid",
  "unknown-server": "config-invalid",
};

const HINTS: Readonly<Record<ConfigProblemKind, string>> = {
  "missing-file": "Correct the path after --config.",
  unreadable: "Correct the file or its permissions.",
  "broken-json": "Correct the file at this position; comments and trailing commas are allowed.",
  "unknown-format": 'Write { "mcpServers": { "name": { "url": "http://localhost:3000/mcp" } } }.',
  "unset-variable": "Set it for this command (NAME=value npx …). For an input, use --input id=value.",
  "bad-definition": "Correct the definition in the file.",
  "unknown-server": "Correct the name.",
};

const NO_SERVERS_HINT =
  "Create a .mcp.json in this folder, or use --config <file> or --url http://localhost:3000/mcp.";

/** Selects servers by name, or all if no names are given. Does not connect. */
export async function selectServers(
  context: CommandContext,
  names: readonly string[],
): Promise<ServerSelection> {
  const inline = parseInlineServers(context.line);
  const selection =
    inline.length > 0
      ? { servers: inline, findings: [], disabled: [], files: [] }
      : await loadFromFiles(context);
  return names.length === 0 ? selection : filterByName(selection, names);
}

/** Throws a `UsageError` if the selection has no servers. */
export function requireServers(selection: ServerSelection): ServerSelection {
  if (selection.servers.length > 0) return selection;
  const reason = selection.findings.find(({ severity }) => severity === "error");
  if (reason === undefined) throw new UsageError("No servers found.", NO_SERVERS_HINT);
  throw new UsageError(formatFinding(reason), reason.hint);
}

async function loadFromFiles({ line, terminal, signal }: CommandContext): Promise<ServerSelection> {
  const { cwd, env } = terminal;
  const files = line.values("config");
  const home = env["HOME"] ?? env["USERPROFILE"];
  const loaded = await loadMcpServers({
    files,
    project: files.length === 0,
    user: line.flags.has("user"),
    cwd,
    ...(home === undefined ? {} : { home }),
    env,
    inputs: parseInputs(line.values("input")),
    signal,
  });
  const servers = Object.entries(loaded.servers).map(([name, definition]) => {
    const source = findSource(name, loaded);
    const variables = source?.servers.find((entry) => isLoaded(entry, name))?.variables ?? [];
    const file = source === undefined ? undefined : displayPath(source.file, terminal);
    return toSelectedServer({ name, definition, scope: source?.scope ?? "project", file, variables });
  });
  const findings = [
    ...loaded.problems.map((problem) => toProblemFinding(problem, terminal)),
    ...loaded.sources.flatMap((source) => toSourceFindings(source, terminal)),
  ];
  const isEmpty = servers.length === 0 && findings.every(({ severity }) => severity !== "error");
  return {
    servers,
    findings: isEmpty ? [...findings, toNoServersFinding(loaded)] : findings,
    disabled: loaded.sources.flatMap((source) => findDisabled(source, terminal)),
    files: loaded.sources.map((source) => ({
      file: displayPath(source.file, terminal),
      servers: source.servers.filter(({ state }) => state === "loaded").length,
    })),
  };
}

function parseInputs(inputs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    inputs.map((input) => {
      const [, id, value] = /^([^=]+)=(.*)$/s.exec(input) ?? [];
      if (id === undefined || value === undefined)
        throw new UsageError("--input has no id.", "Write --input id=value.");
      return [id, value];
    }),
  );
}

function findSource(name: string, { sources }: LoadedMcpServers): ConfigSource | undefined {
  return sources.find(({ servers }) => servers.some((entry) => isLoaded(entry, name)));
}

function isLoaded(entry: ConfigSource["servers"][number], name: string): boolean {
  return entry.name === name && entry.state === "loaded";
}

function toProblemFinding(
  { kind, message, server, file, line, column }: ConfigProblem,
  terminal: Terminal,
): Finding {
  const location = file === undefined ? undefined : { file: displayPath(file, terminal), line, column };
  return createFinding(FINDING_CODES[kind], { server, location, text: message, hint: HINTS[kind] });
}

/** Reports entries of a config file that have no effect. */
function toSourceFindings({ file, servers }: ConfigSource, terminal: Terminal): Finding[] {
  const location = { file: displayPath(file, terminal) };
  return servers.flatMap(({ name: server, state, reason = "already defined", ignored }) => {
    const notes =
      state === "shadowed"
        ? [{ text: `"${server}" in this file is not used: ${reason}.`, hint: "Remove or rename it." }]
        : [];
    if (state === "loaded" && ignored.length > 0)
      notes.push({
        text: `Ignored keys: ${ignored.join(", ")}.`,
        hint: "Remove or correct them.",
      });
    return notes.map((note) => createFinding("config-warning", { server, location, ...note }));
  });
}

function findDisabled({ file, servers }: ConfigSource, terminal: Terminal): ServerSelection["disabled"] {
  return servers.flatMap(({ name, state, reason = "disabled in the file" }) =>
    state === "disabled"
      ? [{ name, text: `"${name}" of ${displayPath(file, terminal)} is disabled: ${reason}.` }]
      : [],
  );
}

function toNoServersFinding({ sources }: LoadedMcpServers): Finding {
  const text =
    sources.length === 0
      ? `No config file in this folder (${PROJECT_FILES.join(", ")}).`
      : "The config files in this folder have no enabled server.";
  return createFinding("config-missing", { text, hint: NO_SERVERS_HINT });
}

function filterByName(selection: ServerSelection, names: readonly string[]): ServerSelection {
  const serverNames = selection.servers.map(({ name }) => name);
  const failedNames = selection.findings.flatMap(({ server, severity }) =>
    severity === "error" && server !== undefined ? [server] : [],
  );
  for (const name of names)
    if (![...serverNames, ...failedNames].includes(name)) throw unknownServerError(name, selection);
  return {
    ...selection,
    servers: selection.servers.filter(({ name }) => names.includes(name)),
    findings: selection.findings.filter(({ server }) => server === undefined || names.includes(server)),
  };
}

function unknownServerError(name: string, { servers, findings, disabled }: ServerSelection): UsageError {
  const names = servers.map((server) => server.name);
  const disabledServer = disabled.find((server) => server.name === name);
  if (disabledServer !== undefined) return new UsageError(disabledServer.text, "Enable it in that file.");
  const unused = findings.find(({ server }) => server === name);
  if (unused !== undefined) return new UsageError(formatFinding(unused), unused.hint);
  const closest = findClosestMatch(name, names);
  const all = names.length === 0 ? NO_SERVERS_HINT : `Servers: ${names.join(", ")}.`;
  return new UsageError(
    `Unknown server "${name}".`,
    closest === undefined ? all : `Did you mean ${closest}?`,
  );
}
