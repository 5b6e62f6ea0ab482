import type { JsonObject } from "../json/json.js";
import type { Logger } from "../telemetry/logger.js";
import type { CommandLine } from "./command-line.js";
import type { Exit } from "./exit-codes.js";
import type { LiveLine } from "./terminal/spinner.js";
import type { Paint } from "./terminal/colors.js";
import type { Terminal } from "./terminal/terminal.js";

/** What a command works with. */
export interface CommandContext {
  readonly line: CommandLine;
  readonly terminal: Terminal;
  readonly live: LiveLine;
  readonly logger: Logger;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** What a text is laid out for. */
export interface Page {
  readonly paint: Paint;
  readonly columns: number;
}

/** What came of a command: for its caller, for programs, and for people. */
export interface Outcome {
  readonly exit: Exit;
  readonly document: JsonObject;
  readonly view: (page: Page) => string;
  /** Where people are told; what was asked for goes to stdout, and why there is none of it to stderr. */
  readonly stream?: "stdout" | "stderr";
}

export type Command = (context: CommandContext) => Promise<Outcome>;
