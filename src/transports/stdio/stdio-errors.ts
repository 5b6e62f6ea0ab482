import { existsSync } from "node:fs";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Logger } from "../../telemetry/logger.js";
import type { ExitStatus, StdioAddress } from "./server-process.js";
import { errorCode } from "../../errors/failure-kinds.js";
import { printValue } from "../../errors/sanitize-text.js";
import type { ErrorContext } from "../json-rpc.js";

interface StartContext extends ErrorContext {
  readonly address: StdioAddress;
}

/** A process that exited, with what it wrote to stderr. */
interface ExitedServer {
  readonly server: string;
  readonly exitStatus: ExitStatus;
  readonly stderr: readonly string[];
}

/** Converts an error of starting the command. */
export function toStartError(error: unknown, { server, address, redactor }: StartContext): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const reason = redactor.redact(describeStartFailure(printValue(errorCode(error)), address));
  return new McpRuntimeError("not-sent", `Server "${server}" could not be started: ${reason}`, {
    server,
    cause: redactor.redactCause(error),
  });
}

function describeStartFailure(code: string, { command, cwd }: StdioAddress): string {
  if (cwd !== undefined && !existsSync(cwd)) return `the working directory "${cwd}" does not exist.`;
  switch (code) {
    case "ENOENT":
      return `the command "${command}" was not found. ${hintForMissing(command)}`;
    case "EACCES":
      return `the command "${command}" is not executable. Check that it is a program with the execute permission.`;
    default:
      return `the system could not run "${command}" (${code}).`;
  }
}

function hintForMissing(command: string): string {
  const [program, ...args] = command.split(/\s+/);
  if (args.length > 0 && /^[\w.-]+$/.test(program ?? ""))
    return `Put its arguments into args: command: "${program}", args: […].`;
  if (/[/\\]/.test(command)) return "Check the path.";
  if (process.platform !== "win32") return "Check that it is installed and in a directory of PATH.";
  return 'Check that it is installed. To run a script such as npx, use command: "cmd", args: ["/c", "npx", …].';
}

/**
 * The process exited before it sent any message. A program that succeeds (code 0) is probably another one than intended,
 * and its environment is not the problem. `stdout` is an excerpt of what it wrote instead of messages.
 */
export function createExitAtStartError(exited: ExitedServer, stdout: string | undefined): McpRuntimeError {
  const hint =
    exited.exitStatus.code === 0
      ? NOT_A_SERVER
      : "Check that its command works in a terminal. It gets a minimal environment; set the variables that it needs in env.";
  const written = stdout === undefined && exited.exitStatus.code !== 0 ? "" : ` ${describeStdout(stdout)}`;
  const text = `${describeExit(exited)} before it completed the handshake. ${hint}${written}${formatStderr(exited.stderr)}`;
  return new McpRuntimeError("not-sent", text, { server: exited.server });
}

export function createExitBeforeSendError(exited: ExitedServer): McpRuntimeError {
  const text = `${describeExit(exited)} before the request was sent.${formatStderr(exited.stderr)}`;
  return new McpRuntimeError("not-sent", text, { server: exited.server });
}

export function createExitBeforeResponseError(exited: ExitedServer): McpRuntimeError {
  const text = `${describeExit(exited)} before it responded. It may have run the request.${formatStderr(exited.stderr)}`;
  return new McpRuntimeError("connection-lost", text, { server: exited.server, outcomeUnknown: true });
}

/** Logs the exit of a process without pending requests. The next request starts it again. */
export function logIdleExit(exited: ExitedServer, log: Pick<Logger, "info" | "warn">): void {
  const text = `${describeExit(exited)}; the next request starts it again.`;
  // Exiting with code 0 after being idle is normal.
  if (exited.exitStatus.code === 0) log.info(text);
  else log.warn(`${text}${formatStderr(exited.stderr)}`);
}

function describeExit({ server, exitStatus: { code, signal } }: ExitedServer): string {
  if (code !== null) return `Server "${server}" exited with code ${code}`;
  if (signal !== null) return `Server "${server}" was terminated by ${signal}`;
  return `Server "${server}" closed its stdin or stdout`;
}

/** The question about a program that does not respond as an MCP server. */
export const NOT_A_SERVER = "Is it an MCP server? Check command and args.";

export function describeStdout(excerpt: string | undefined): string {
  return excerpt === undefined ? "It wrote nothing to stdout." : `It wrote to stdout: ${excerpt}`;
}

/** Returns lines of stderr for the end of a message. */
export function formatStderr(lines: readonly string[]): string {
  return lines.length === 0 ? "" : ["\nOn stderr:", ...lines].join("\n  ");
}
