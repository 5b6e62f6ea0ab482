import { CLIENT_INFO } from "../config/client-info.js";
import { redactText } from "../errors/redaction.js";
import { type CommandLine, parseCommandLine } from "./command-line.js";
import type { Command, Outcome } from "./command-context.js";
import type { CommandName } from "./commands.js";
import { type ExitReason, toExitCode, UsageError } from "./exit-codes.js";
import { renderHelp } from "./render/render-help.js";
import { Spinner } from "./terminal/spinner.js";
import { renderStatus, createColors } from "./terminal/colors.js";
import { createStderrLogger } from "./terminal/loggers.js";
import { getColumns, type OutputStream, type Terminal } from "./terminal/terminal.js";
import { wrapToWidth } from "./terminal/text-format.js";

/** Lazy-loaded, so that help is printed quickly. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  list: async () => (await import("./list/list-command.js")).listCommand,
  call: async () => (await import("./call/call-command.js")).callCommand,
  doctor: async () => (await import("./doctor/doctor-command.js")).doctorCommand,
  drift: async () => (await import("./drift/drift-command.js")).driftCommand,
  snapshot: async () => (await import("./drift/snapshot-command.js")).snapshotCommand,
};

/** What is known about a command line that failed. */
interface FailedCommand {
  readonly command: CommandName | undefined;
  readonly wantsJson: boolean;
}

/** Runs one command line and returns its exit code. Aborting `signal` closes all connections. */
export async function runCli(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  // Errors of the command line itself also honor --json.
  const wantsJson = args
    .slice(0, args.indexOf("--") === -1 ? undefined : args.indexOf("--"))
    .includes("--json");
  let command: CommandName | undefined;
  try {
    const line = parseCommandLine(args);
    ({ command } = line);
    const exit = printHelpOrVersion(line, terminal) ? "ok" : await runCommand(line, terminal, signal);
    return toExitCode(exit);
  } catch (error) {
    if (signal.aborted) return toExitCode("interrupted");
    return toExitCode(printError(error, terminal, { command, wantsJson }));
  }
}

/** Returns true if help or the version was requested and printed. */
function printHelpOrVersion({ flags, command }: CommandLine, { stdout, env }: Terminal): boolean {
  const wantsHelp = flags.has("help") || (command === undefined && !flags.has("version"));
  if (wantsHelp) stdout.write(renderHelp(command, createPage(stdout, env)));
  else if (flags.has("version")) stdout.write(`${CLIENT_INFO.version}\n`);
  else return false;
  return true;
}

async function runCommand(line: CommandLine, terminal: Terminal, signal: AbortSignal): Promise<ExitReason> {
  const command = await COMMANDS[line.command ?? "list"]();
  const spinner = new Spinner(terminal, { isQuiet: line.flags.has("json") });
  const logger = createStderrLogger(terminal.env, (text) => spinner.log(text));
  const outcome = await command({ line, terminal, spinner, logger, signal });
  signal.throwIfAborted();
  printOutcome(outcome, line, terminal);
  return outcome.exit;
}

function printOutcome(outcome: Outcome, { command, flags }: CommandLine, terminal: Terminal): void {
  const { exit, json, render, stream = "stdout" } = outcome;
  const { stdout, env } = terminal;
  if (flags.has("json"))
    printJson({ command, ok: exit === "ok", exitCode: toExitCode(exit), ...json }, stdout);
  else terminal[stream].write(render(createPage(terminal[stream], env)));
}

function printJson(document: object, stdout: OutputStream): void {
  stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** Prints the error and a hint. An error that is not a `UsageError` is a bug. */
function printError(
  error: unknown,
  { stdout, stderr, env }: Terminal,
  { command, wantsJson }: FailedCommand,
): ExitReason {
  const isUsage = error instanceof UsageError;
  const text = redactText(error instanceof Error ? error.message : String(error));
  const hint = isUsage
    ? error.hint
    : "Run again with LANGCHAIN_MCP_LOG=debug, and report this if it persists.";
  const exit = isUsage ? error.exit : "failed";
  if (wantsJson) {
    printJson({ command, ok: false, exitCode: toExitCode(exit), error: { text, hint } }, stdout);
    return exit;
  }
  const { colors, columns } = createPage(stderr, env);
  const [first = "", ...rest] = wrapToWidth(text, columns - 2);
  const hintRows = wrapToWidth(hint, columns - 4).map(
    (row, index) => `${index === 0 ? "  → " : "    "}${row}`,
  );
  const lines = [`${renderStatus("error", colors)} ${first}`, ...rest.map((row) => `  ${row}`), ...hintRows];
  stderr.write(`${lines.join("\n")}\n`);
  return exit;
}

function createPage(stream: OutputStream, env: Terminal["env"]) {
  return { colors: createColors(stream, env), columns: getColumns(stream) };
}
