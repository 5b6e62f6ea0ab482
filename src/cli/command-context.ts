import type { JsonObject } from "../json/json.js";
import type { Logger } from "../telemetry/logger.js";
import type { CommandLine } from "./command-line.js";
import type { ExitReason } from "./exit-codes.js";
import type { Spinner, Page, Terminal } from "./terminal.js";

/** The input of a command. */
export interface CommandContext {
  readonly line: CommandLine;
  readonly terminal: Terminal;
  readonly spinner: Spinner;
  readonly logger: Logger;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The result of a command: exit code, JSON output and text output. */
export interface Outcome {
  readonly exit: ExitReason;
  readonly json: JsonObject;
  /** Returns the lines of the text output. They are escaped when they are written. */
  readonly render: (page: Page) => readonly string[];
  /** The lines are the result of a tool, which is written to a pipe unchanged; for a terminal, it is always escaped. */
  readonly isVerbatim?: boolean;
  /** The stream of the text output. Results go to stdout, failures to stderr. */
  readonly stream?: "stdout" | "stderr";
}

export type Command = (context: CommandContext) => Promise<Outcome>;
