import { CLIENT_INFO } from "../config/message-transport.js";
import { redactText } from "../errors/redaction.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import { type CommandLine, parseCommandLine, type CommandName } from "./command-line.js";
import type { Command, Outcome } from "./command-context.js";
import { toExitCode, UsageError } from "./exit-codes.js";
import { renderHelp } from "./render-help.js";
import {
  Spinner,
  createPage,
  formatJson,
  renderStatus,
  type Terminal,
  writeLines,
  writeVerbatim,
} from "./terminal.js";
import { wrapIndented } from "./text-format.js";

/** Lazy-loaded, so that help is printed quickly. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  list: async () => (await import("./list-command.js")).listCommand,
  describe: async () => (await import("./describe-command.js")).describeCommand,
  call: async () => (await import("./call-command.js")).callCommand,
  doctor: async () => (await import("./doctor/doctor-command.js")).doctorCommand,
  drift: async () => (await import("./drift-command.js")).driftCommand,
  snapshot: async () => (await import("./snapshot-command.js")).snapshotCommand,
  publish: async () => (await import("./registry-command.js")).publishCommand,
  withdraw: async () => (await import("./registry-command.js")).withdrawCommand,
};

/** Runs one command line and returns its exit code. Aborting `signal` closes all connections. */
export async function runCli(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  let command: CommandName | undefined;
  const print = (outcome: Outcome): number => {
    // Not from the parsed command line: its errors also honor --json.
    const wantsJson = args.slice(0, args.includes("--") ? args.indexOf("--") : undefined).includes("--json");
    const { exit, json, render, stream: streamName = "stdout", isVerbatim = false } = outcome;
    const exitCode = toExitCode(exit);
    const document = { command, ok: exit === "ok", exitCode, ...json };
    const stream = terminal[streamName];
    const write = isVerbatim && stream.isTTY !== true ? writeVerbatim : writeLines;
    if (wantsJson) writeLines(terminal.stdout, formatJson(document).split("\n"));
    else write(stream, render(createPage(stream, terminal.env)));
    return exitCode;
  };
  try {
    const line = parseCommandLine(args);
    ({ command } = line);
    if (printHelpOrVersion(line, terminal)) return toExitCode("ok");
    const outcome = await runCommand(line, terminal, signal);
    signal.throwIfAborted();
    return print(outcome);
  } catch (error) {
    return signal.aborted ? toExitCode("interrupted") : print(toErrorOutcome(error));
  }
}

/** Returns true if help or the version was requested and printed. */
function printHelpOrVersion({ flags, command }: CommandLine, { stdout, env }: Terminal): boolean {
  const wantsHelp = flags.has("help") || (command === undefined && !flags.has("version"));
  if (wantsHelp) writeLines(stdout, renderHelp(command, createPage(stdout, env)));
  else if (flags.has("version")) writeLines(stdout, [CLIENT_INFO.version]);
  else return false;
  return true;
}

async function runCommand(line: CommandLine, terminal: Terminal, signal: AbortSignal): Promise<Outcome> {
  const command = await COMMANDS[line.command ?? "list"]();
  const spinner = new Spinner(terminal, { isQuiet: line.flags.has("json") });
  const level = terminal.env["LANGCHAIN_MCP_LOG"] ?? "warn";
  const logger = createConsoleLogger(level, (text) => spinner.log(text));
  return command({ line, terminal, spinner, logger, signal });
}

/** An error that is not a `UsageError` is a bug. */
function toErrorOutcome(error: unknown): Outcome {
  const isUsage = error instanceof UsageError;
  const text = redactText(describeThrown(error));
  const hint = isUsage
    ? error.hint
    : "Run again with LANGCHAIN_MCP_LOG=debug, and report this if it persists.";
  return {
    exit: isUsage ? error.exit : "failed",
    json: { error: { text, hint } },
    stream: "stderr",
    render: ({ colors, columns }) => [
      ...wrapIndented(text, columns, 2, `${renderStatus("error", colors)} `),
      ...wrapIndented(hint, columns, 4, "  → "),
    ],
  };
}
