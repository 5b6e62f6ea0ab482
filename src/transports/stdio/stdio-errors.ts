import { existsSync } from "node:fs";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import type { Logger } from "../../telemetry/logger.js";
import type { ProcessEnd, StdioAddress } from "./child-process.js";

interface FailureContext {
  readonly server: string;
  readonly address: StdioAddress;
  readonly redactor: Redactor;
}

/** A process that ended, with the last that it said. */
interface EndedServer {
  readonly server: string;
  readonly end: ProcessEnd;
  readonly lastLines: readonly string[];
}

/** The system could not start the command. */
export function toStartFailure(
  error: unknown,
  { server, address, redactor }: FailureContext,
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const code = typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
  const why = redactor.text(whyNotStarted(String(code), address));
  return new McpRuntimeError("not-sent", `Server "${server}" was not started: ${why}`, {
    server,
    cause: redactor.cause(error),
  });
}

function whyNotStarted(code: string, { command, cwd }: StdioAddress): string {
  if (cwd !== undefined && !existsSync(cwd)) return `its working directory "${cwd}" does not exist.`;
  switch (code) {
    case "ENOENT":
      return `the command "${command}" was not found. ${adviceForMissing(command)}`;
    case "EACCES":
      return `the command "${command}" may not be executed. Is it a program, and is its execute permission set?`;
    default:
      return `the system refused to start "${command}" (${code}).`;
  }
}

function adviceForMissing(command: string): string {
  if (/[/\\]/.test(command)) return "Is the path right?";
  if (process.platform !== "win32") return "Is it installed, and in a directory of PATH?";
  return 'Is it installed? A script such as npx is started with command: "cmd", args: ["/c", "npx", …].';
}

/** It ended before it said its first word. */
export function endedAtStart(ended: EndedServer): McpRuntimeError {
  const advice =
    "Does its command work in a terminal? It gets a clean environment: name what it needs in env.";
  const text = `${howItEnded(ended)} before it answered the handshake. ${advice}${lastWords(ended)}`;
  return new McpRuntimeError("not-sent", text, { server: ended.server });
}

export function endedBeforeSending(ended: EndedServer): McpRuntimeError {
  const text = `${howItEnded(ended)} before the request was sent.${lastWords(ended)}`;
  return new McpRuntimeError("not-sent", text, { server: ended.server });
}

export function endedBeforeAnswering(ended: EndedServer): McpRuntimeError {
  const text = `${howItEnded(ended)} before it answered. It may have run the request.${lastWords(ended)}`;
  return new McpRuntimeError("connection-lost", text, { server: ended.server, outcomeUnknown: true });
}

/** Nobody waited for anything: it costs no call, and the next one starts it again. */
export function tellIdleEnd(ended: EndedServer, log: Pick<Logger, "info" | "warn">): void {
  const text = `${howItEnded(ended)}; the next request starts it again.`;
  // A server that goes by itself after a quiet time does nothing wrong.
  if (ended.end.code === 0) log.info(text);
  else log.warn(`${text}${lastWords(ended)}`);
}

function howItEnded({ server, end: { code, signal } }: EndedServer): string {
  if (code !== null) return `Server "${server}" ended with exit code ${code}`;
  if (signal !== null) return `Server "${server}" was ended by ${signal}`;
  return `Server "${server}" closed its input or output`;
}

function lastWords({ lastLines }: EndedServer): string {
  if (lastLines.length === 0) return "";
  return ["\nIts last lines on stderr:", ...lastLines].join("\n  ");
}
