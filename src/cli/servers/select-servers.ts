import { PROJECT_FILES } from "../../config/files/config-locations.js";
import type { ConfigProblem, ConfigProblemKind } from "../../config/files/config-problem.js";
import type { ConfigSource } from "../../config/files/config-source.js";
import type { LoadedMcpServers } from "../../config/files/load-servers.js";
import { loadMcpServers } from "../../config/files/load-mcp-servers.js";
import { type ChosenServer, toChosenServer } from "./selected-server.js";
import { closestWord } from "../did-you-mean.js";
import type { CommandContext } from "../command-context.js";
import { directServers } from "./inline-servers.js";
import { shownPath } from "../terminal/display-path.js";
import { createFinding, factText, type Finding, type FindingCode } from "../findings/finding.js";
import type { Terminal } from "../terminal/terminal.js";
import { UsageError } from "../usage-error.js";

/** The servers that a command is about, and what is wrong with the files they stand in. */
export interface Choice {
  readonly servers: readonly ChosenServer[];
  readonly findings: readonly Finding[];
  /** Servers that are switched off, with who says so: nothing to tell, unless one is asked for by name. */
  readonly off: readonly { readonly name: string; readonly text: string }[];
  /** The files that were read, as they are shown. */
  readonly files: readonly { readonly file: string; readonly servers: number }[];
}

const CODES: Readonly<Record<ConfigProblemKind, FindingCode>> = {
  "missing-file": "config-missing",
  unreadable: "config-broken",
  "broken-json": "config-broken",
  "unknown-format": "config-broken",
  "unset-variable": "variable-unset",
  "bad-definition": "config-invalid",
  "unknown-server": "config-invalid",
};

const NEXT: Readonly<Record<ConfigProblemKind, string>> = {
  "missing-file": "Correct the path behind --config.",
  unreadable: "Correct the file or its permissions.",
  "broken-json": "Correct the file there; comments and trailing commas are allowed.",
  "unknown-format": 'Write { "mcpServers": { "name": { "url": "http://localhost:3000/mcp" } } }.',
  "unset-variable": "Set it for this command (NAME=value npx …), or --input id=value for an input.",
  "bad-definition": "Correct the definition there.",
  "unknown-server": "Correct the name.",
};

const NOWHERE =
  "Write a .mcp.json here, name a file with --config, or a server with --url http://localhost:3000/mcp.";

/** Opens nothing. Names choose among the servers that are found; none means all. */
export async function chooseServers(context: CommandContext, names: readonly string[]): Promise<Choice> {
  const direct = directServers(context.line);
  const choice =
    direct.length > 0 ? { servers: direct, findings: [], off: [], files: [] } : await fromFiles(context);
  return names.length === 0 ? choice : chosen(choice, names);
}

/** For commands that have nothing to do without a server. */
export function requireServers(choice: Choice): Choice {
  if (choice.servers.length > 0) return choice;
  const reason = choice.findings.find(({ severity }) => severity === "error");
  if (reason === undefined) throw new UsageError("There are no servers here.", NOWHERE);
  throw new UsageError(factText(reason), reason.next);
}

async function fromFiles({ line, terminal, signal }: CommandContext): Promise<Choice> {
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
    inputs: inputsOf(line.values("input")),
    signal,
  });
  const servers = Object.entries(loaded.servers).map(([name, definition]) => {
    const source = sourceOf(name, loaded);
    const variables = source?.servers.find((one) => isTaken(one, name))?.variables ?? [];
    const file = source === undefined ? undefined : shownPath(source.file, terminal);
    return toChosenServer({ name, definition, scope: source?.scope ?? "project", file, variables });
  });
  const findings = [
    ...loaded.problems.map((problem) => ofProblem(problem, terminal)),
    ...loaded.sources.flatMap((source) => ofSource(source, terminal)),
  ];
  const missing = servers.length === 0 && findings.every(({ severity }) => severity !== "error");
  return {
    servers,
    findings: missing ? [...findings, noServers(loaded)] : findings,
    off: loaded.sources.flatMap((source) => offIn(source, terminal)),
    files: loaded.sources.map((source) => ({
      file: shownPath(source.file, terminal),
      servers: source.servers.filter(({ state }) => state === "taken").length,
    })),
  };
}

function inputsOf(answers: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    answers.map((answer) => {
      const [, id, value] = /^([^=]+)=(.*)$/s.exec(answer) ?? [];
      if (id === undefined || value === undefined)
        throw new UsageError("An --input has no id.", "Write --input id=value.");
      return [id, value];
    }),
  );
}

function sourceOf(name: string, { sources }: LoadedMcpServers): ConfigSource | undefined {
  return sources.find(({ servers }) => servers.some((one) => isTaken(one, name)));
}

function isTaken(one: ConfigSource["servers"][number], name: string): boolean {
  return one.name === name && one.state === "taken";
}

function ofProblem(
  { kind, message, server, file, line, column }: ConfigProblem,
  terminal: Terminal,
): Finding {
  const place = file === undefined ? undefined : { file: shownPath(file, terminal), line, column };
  return createFinding(CODES[kind], { server, place, text: message, next: NEXT[kind] });
}

/** What a file says without effect. */
function ofSource({ file, servers }: ConfigSource, terminal: Terminal): Finding[] {
  const place = { file: shownPath(file, terminal) };
  return servers.flatMap(({ name: server, state, reason = "it was defined before", ignored }) => {
    const notes =
      state === "shadowed"
        ? [{ text: `"${server}" of this file is not used: ${reason}.`, next: "Take it away, or rename it." }]
        : [];
    if (state === "taken" && ignored.length > 0)
      notes.push({
        text: `Keys without effect: ${ignored.join(", ")}.`,
        next: "Take them away, or correct them.",
      });
    return notes.map((note) => createFinding("config-doubtful", { server, place, ...note }));
  });
}

function offIn({ file, servers }: ConfigSource, terminal: Terminal): Choice["off"] {
  return servers.flatMap(({ name, state, reason = "its file says so" }) =>
    state === "disabled"
      ? [{ name, text: `"${name}" of ${shownPath(file, terminal)} is switched off: ${reason}.` }]
      : [],
  );
}

function noServers({ sources }: LoadedMcpServers): Finding {
  const text =
    sources.length === 0
      ? `There is no config file here: no ${PROJECT_FILES.join(", ")}.`
      : "No config file here has a server that is switched on.";
  return createFinding("config-missing", { text, next: NOWHERE });
}

function chosen(choice: Choice, names: readonly string[]): Choice {
  const known = choice.servers.map(({ name }) => name);
  const broken = choice.findings.flatMap(({ server, severity }) =>
    severity === "error" && server !== undefined ? [server] : [],
  );
  for (const name of names)
    if (![...known, ...broken].includes(name)) throw unknownServer(name, { ...choice, known });
  return {
    ...choice,
    servers: choice.servers.filter(({ name }) => names.includes(name)),
    findings: choice.findings.filter(({ server }) => server === undefined || names.includes(server)),
  };
}

function unknownServer(
  name: string,
  { known, findings, off }: Pick<Choice, "findings" | "off"> & { readonly known: readonly string[] },
): UsageError {
  const idle = off.find((one) => one.name === name);
  if (idle !== undefined) return new UsageError(idle.text, "Switch it on there.");
  const unused = findings.find(({ server }) => server === name);
  if (unused !== undefined) return new UsageError(factText(unused), unused.next);
  const meant = closestWord(name, known);
  const all = known.length === 0 ? NOWHERE : `Servers are ${known.join(", ")}.`;
  return new UsageError(
    `There is no server "${name}".`,
    meant === undefined ? all : `Did you mean ${meant}?`,
  );
}
