import { type ConfigScope, PROJECT_FILES } from "../../config/files/config-locations.js";
import type {
  ConfigProblem,
  ConfigProblemKind,
  ConfigServer,
  ConfigServerState,
  ConfigSource,
  LoadedMcpServers,
} from "../../config/files/config-options.js";
import { isSecretName } from "../../config/collect-secrets.js";
import { joinNames } from "../../errors/sanitize-text.js";
import { loadMcpServers } from "../../config/files/load-mcp-servers.js";
import { type SelectedServer, toSelectedServer, parseInlineServer } from "./selected-server.js";
import type { CommandContext } from "../command-context.js";
import { displayPath, type Terminal } from "../terminal.js";
import { createFinding, formatFinding, type Finding, type FindingCode } from "../report/finding.js";
import { suggestName, UsageError } from "../exit-codes.js";
import { findClosestMatch } from "../../errors/find-closest-match.js";

/** The servers that a command works on, and the findings about their config files. */
export interface ServerSelection {
  readonly servers: readonly SelectedServer[];
  readonly findings: readonly Finding[];
  /** Disabled servers with the reason. Reported only if one is named on the command line. */
  readonly disabled: readonly { readonly name: string; readonly text: string }[];
  readonly files: readonly FileSummary[];
}

/** A file that was read. */
interface FileSummary {
  /** Its display path. */
  readonly file: string;
  /** How many servers it has, by state and in total. */
  readonly servers: number;
  readonly states: Readonly<Partial<Record<ConfigServerState, number>>>;
}

const PROBLEMS: Readonly<Record<ConfigProblemKind, readonly [code: FindingCode, hint: string]>> = {
  "missing-file": ["config-missing", "Correct the path after --config."],
  unreadable: ["config-broken", "Correct the file or its permissions."],
  "broken-json": [
    "config-broken",
    "Correct the file at this position; comments and trailing commas are allowed.",
  ],
  "unknown-format": [
    "config-broken",
    'Write { "mcpServers": { "name": { "url": "http://localhost:3000/mcp" } } }.',
  ],
  "unset-variable": [
    "variable-unset",
    "Set it before the command, as in NAME=value npx …, or in your shell. For an input, use --input id=value.",
  ],
  "bad-definition": ["config-invalid", "Correct the definition in the file."],
  "restricted-option": [
    "config-restricted",
    "Set it in code, or name the file with --config if you wrote it.",
  ],
  "unknown-server": ["config-invalid", "Correct the name."],
};

const NO_SERVERS_HINT =
  "Create a .mcp.json in this folder, or use --config <file> or --url http://localhost:3000/mcp.";

/** A server in a config file, with the display path of the file. */
interface FileEntry extends ConfigServer {
  readonly scope: ConfigScope;
  readonly file: string;
}

/** Selects servers by name, or all if no names are given. Does not connect. */
export async function selectServers(
  context: CommandContext,
  names: readonly string[],
): Promise<ServerSelection> {
  const inline = parseInlineServer(context.line, context.terminal.env);
  const selection =
    inline === undefined
      ? await loadFromFiles(context)
      : { servers: [inline], findings: [], disabled: [], files: [] };
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
  const inputs = parseInputs(line.values("input"));
  const loaded = await loadMcpServers({
    files,
    project: files.length === 0,
    user: line.flags.has("user"),
    cwd,
    ...(home === undefined ? {} : { home }),
    env,
    inputs,
    signal,
  });
  const entries = loaded.sources.flatMap((source): FileEntry[] => {
    const { scope } = source;
    const file = displayPath(source.file, terminal);
    return source.servers.map((server) => {
      const ignored = server.ignored.filter((key) => !isReported(key, server, source, loaded));
      return { ...server, ignored, scope, file };
    });
  });
  const servers = Object.entries(loaded.servers).map(([name, definition]) => {
    const entry = entries.find((candidate) => candidate.name === name && candidate.state === "loaded");
    // Without its source, it is unknown whether a server needs consent.
    if (entry === undefined) throw new Error(`The server "${name}" has no source.`);
    const { scope, file, variables } = entry;
    const variableSecrets = [...findSecrets(variables, env), ...Object.values(inputs)];
    return toSelectedServer({ name, definition, scope, file, variables, variableSecrets });
  });
  const findings = [
    ...loaded.problems.map((problem) => toProblemFinding(problem, terminal)),
    ...entries.flatMap(toEntryFindings),
  ];
  const isEmpty = servers.length === 0 && findings.every(({ severity }) => severity !== "error");
  return {
    servers,
    findings: isEmpty ? [...findings, toNoServersFinding(loaded)] : findings,
    disabled: entries.flatMap(({ name, file, state, reason = "disabled in the file" }) =>
      state === "disabled" ? [{ name, text: `"${name}" of ${file} is disabled: ${reason}.` }] : [],
    ),
    files: loaded.sources.map((source) => ({
      file: displayPath(source.file, terminal),
      servers: source.servers.length,
      states: countStates(source.servers),
    })),
  };
}

function countStates(servers: readonly ConfigServer[]): FileSummary["states"] {
  const states: Partial<Record<ConfigServerState, number>> = {};
  for (const { state } of servers) states[state] = (states[state] ?? 0) + 1;
  return states;
}

/** Whether a problem reports that this key of a server is ignored. */
function isReported(
  key: string,
  { name }: ConfigServer,
  { file }: ConfigSource,
  { problems }: LoadedMcpServers,
): boolean {
  return problems.some(
    (problem) =>
      problem.kind === "restricted-option" &&
      problem.file === file &&
      problem.server === name &&
      problem.path?.endsWith(`.${key}`) === true,
  );
}

/** The values of variables with secret-like names. */
function findSecrets(variables: readonly string[], env: Terminal["env"]): string[] {
  return variables.filter(isSecretName).flatMap((name) => env[name] ?? []);
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

function toProblemFinding(
  { kind, message, server, file, line, column }: ConfigProblem,
  terminal: Terminal,
): Finding {
  const [code, hint] = PROBLEMS[kind];
  const location = file === undefined ? undefined : { file: displayPath(file, terminal), line, column };
  return createFinding(code, { server, location, text: message, hint });
}

const MAX_IGNORED = 20;

/** The keys of an entry in most formats, as suggestions for misspelled ones. */
const ENTRY_KEYS = ["type", "url", "headers", "command", "args", "env", "cwd", "auth", "tools", "disabled"];

/** Reports an entry of a config file that has no effect, or keys of it. */
function toEntryFindings({ name, file, state, reason = "already defined", ignored }: FileEntry): Finding[] {
  const toNotes = (text: string, hint: string) => [
    createFinding("config-warning", { server: name, location: { file }, text, hint }),
  ];
  if (state === "shadowed")
    return toNotes(`"${name}" in this file is not used: ${reason}.`, "Remove or rename it.");
  if (state !== "loaded" || ignored.length === 0) return [];
  const suggested = ignored.slice(0, MAX_IGNORED).map((key) => {
    const closest = findClosestMatch(key, ENTRY_KEYS);
    return closest === undefined ? key : `${key} (did you mean "${closest}"?)`;
  });
  const keys = [...suggested, ...ignored.slice(MAX_IGNORED)];
  return toNotes(`Ignored keys: ${joinNames(keys, MAX_IGNORED)}.`, "Remove or correct them.");
}

function toNoServersFinding({ sources }: LoadedMcpServers): Finding {
  const text =
    sources.length === 0
      ? `No config file in this folder (${PROJECT_FILES.join(", ")}).`
      : "The config files in this folder have no enabled server.";
  return createFinding("config-missing", { text, hint: NO_SERVERS_HINT });
}

/** Throws a `UsageError` for an unknown name. */
export function filterByName(selection: ServerSelection, names: readonly string[]): ServerSelection {
  const failed = selection.findings.filter(({ severity }) => severity === "error");
  const known = new Set([
    ...selection.servers.map(({ name }) => name),
    ...failed.flatMap(({ server }) => server ?? []),
  ]);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw unknownServerError(unknown, selection);
  return {
    ...selection,
    servers: selection.servers.filter(({ name }) => names.includes(name)),
    findings: selection.findings.filter(({ server }) => server === undefined || names.includes(server)),
  };
}

/** Programs that start servers: a server of such a name is probably a command without `--`. */
const PROGRAM_NAME = /^(?:npx|node|bunx|deno|uvx?|python3?|docker)$/;

function unknownServerError(name: string, { servers, findings, disabled }: ServerSelection): UsageError {
  const names = servers.map((server) => server.name);
  const disabledServer = disabled.find((server) => server.name === name);
  if (disabledServer !== undefined) return new UsageError(disabledServer.text, "Enable it in that file.");
  const unused = findings.find(({ server }) => server === name);
  if (unused !== undefined) return new UsageError(formatFinding(unused), unused.hint);
  if (PROGRAM_NAME.test(name))
    return new UsageError(`Unknown server "${name}".`, `Write a command after --: -- ${name} ….`);
  const all = names.length === 0 ? NO_SERVERS_HINT : `Servers: ${names.join(", ")}.`;
  return new UsageError(`Unknown server "${name}".`, suggestName(name, names, all));
}
