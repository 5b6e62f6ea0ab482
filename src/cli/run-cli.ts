import { CLIENT_INFO } from "../config/client-info.js";
import { redactText } from "../errors/redaction.js";
import { type CommandLine, parseCommandLine } from "./command-line.js";
import type { Command, Outcome } from "./command-context.js";
import type { CommandName } from "./commands.js";
import { type Exit, exitCodeOf } from "./exit-codes.js";
import { helpText } from "./help-text.js";
import { LiveLine } from "./terminal/spinner.js";
import { markText } from "./terminal/symbols.js";
import { createPaint } from "./terminal/colors.js";
import { createStderrLogger } from "./terminal/stderr-logger.js";
import { columnsOf, type OutputStream, type Terminal } from "./terminal/terminal.js";
import { wrapToWidth } from "./terminal/text-width.js";
import { UsageError } from "./usage-error.js";

/** Loaded when they are needed: help is there at once. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  list: async () => (await import("./list-command.js")).listCommand,
  call: async () => (await import("./call/call-command.js")).callCommand,
  doctor: async () => (await import("./doctor/doctor-command.js")).doctorCommand,
  drift: async () => (await import("./drift/drift-command.js")).driftCommand,
  snapshot: async () => (await import("./drift/snapshot-command.js")).snapshotCommand,
};

/** What is known of a command line that is wrong. */
interface Asked {
  readonly command: CommandName | undefined;
  readonly wantsJson: boolean;
}

/** Carries out one command line, and gives its exit code. An aborted `signal` closes what is open. */
export async function runCli(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  // What is wrong with a command line is told the way its rest asks for.
  const wantsJson = args
    .slice(0, args.indexOf("--") === -1 ? undefined : args.indexOf("--"))
    .includes("--json");
  let command: CommandName | undefined;
  try {
    const line = parseCommandLine(args);
    ({ command } = line);
    const exit = isAnswered(line, terminal) ? "ok" : await runCommand(line, terminal, signal);
    return exitCodeOf(exit);
  } catch (error) {
    if (signal.aborted) return exitCodeOf("interrupted");
    return exitCodeOf(tellFailure(error, terminal, { command, wantsJson }));
  }
}

/** Help and version need nothing else. */
function isAnswered({ flags, command }: CommandLine, { stdout, env }: Terminal): boolean {
  const wantsHelp = flags.has("help") || (command === undefined && !flags.has("version"));
  if (wantsHelp) stdout.write(helpText(command, pageOf(stdout, env)));
  else if (flags.has("version")) stdout.write(`${CLIENT_INFO.version}\n`);
  else return false;
  return true;
}

async function runCommand(line: CommandLine, terminal: Terminal, signal: AbortSignal): Promise<Exit> {
  const command = await COMMANDS[line.command ?? "list"]();
  const live = new LiveLine(terminal, { isQuiet: line.flags.has("json") });
  const logger = createStderrLogger(terminal.env, (text) => live.log(text));
  const outcome = await command({ line, terminal, live, logger, signal });
  signal.throwIfAborted();
  print(outcome, line, terminal);
  return outcome.exit;
}

function print(outcome: Outcome, { command, flags }: CommandLine, terminal: Terminal): void {
  const { exit, document, view, stream = "stdout" } = outcome;
  const { stdout, env } = terminal;
  if (flags.has("json"))
    printJson({ command, ok: exit === "ok", exitCode: exitCodeOf(exit), ...document }, stdout);
  else terminal[stream].write(view(pageOf(terminal[stream], env)));
}

function printJson(document: object, stdout: OutputStream): void {
  stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** What the user can act on, in two lines; what they cannot is a mistake of ours, and told as such. */
function tellFailure(error: unknown, { stdout, stderr, env }: Terminal, { command, wantsJson }: Asked): Exit {
  const isUsage = error instanceof UsageError;
  const text = redactText(error instanceof Error ? error.message : String(error));
  const next = isUsage ? error.next : "Run it again with LANGCHAIN_MCP_LOG=debug, and report it if it stays.";
  const exit = isUsage ? error.exit : "failed";
  if (wantsJson) {
    printJson({ command, ok: false, exitCode: exitCodeOf(exit), error: { text, next } }, stdout);
    return exit;
  }
  const { paint, columns } = pageOf(stderr, env);
  const [first = "", ...others] = wrapToWidth(text, columns - 2);
  const advice = wrapToWidth(next, columns - 4).map(
    (part, index) => `${index === 0 ? "  → " : "    "}${part}`,
  );
  const lines = [`${markText("error", paint)} ${first}`, ...others.map((part) => `  ${part}`), ...advice];
  stderr.write(`${lines.join("\n")}\n`);
  return exit;
}

function pageOf(stream: OutputStream, env: Terminal["env"]) {
  return { paint: createPaint(stream, env), columns: columnsOf(stream) };
}
