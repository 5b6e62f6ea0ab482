import { findClosestMatch } from "../errors/find-closest-match.js";

/** The exit codes of all commands. The table in the docs is generated from here. */
export const EXIT_CODES = {
  ok: [0, "Success."],
  failed: [1, "A server failed, `doctor` found an error, or the output or the store cannot be written."],
  usage: [2, "The command line is invalid, or there is no server to use."],
  drifted: [3, "`drift`: the tools of a server differ from the baseline."],
  declined: [
    4,
    "A project file would start a command, use your AWS credentials or receive variables, and this was not approved.",
  ],
  toolError: [5, "`call`: the tool ran and reported an error."],
  interrupted: [130, "Interrupted by Ctrl-C; all connections were closed."],
} as const;

export type ExitReason = keyof typeof EXIT_CODES;

export function toExitCode(exit: ExitReason): number {
  return EXIT_CODES[exit][0];
}

/** An error that the user can fix, with a hint. */
export class UsageError extends Error {
  readonly hint: string;
  readonly exit: ExitReason;

  constructor(message: string, hint: string, exit: ExitReason = "usage") {
    super(message);
    this.name = "UsageError";
    this.hint = hint;
    this.exit = exit;
  }
}

/** Returns the hint for an unknown name: the closest known one, or `otherwise` if none is close. */
export function suggestName(name: string, known: readonly string[], otherwise: string): string {
  const closest = findClosestMatch(name, known);
  return closest === undefined ? otherwise : `Did you mean ${closest}?`;
}
