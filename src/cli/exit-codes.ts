/** What a command's exit code tells. The README's table is printed from here. */
export const EXIT_CODES = {
  ok: [0, "Everything went well."],
  failed: [1, "A server could not be used, `doctor` found an error, or the output cannot be written."],
  usage: [2, "The command line is wrong, or there is nothing to work on."],
  drifted: [3, "`drift`: a server has other tools than were saved."],
  refused: [4, "A project's file wanted to start a command or to be sent variables, and nobody said yes."],
  toolError: [5, "`call`: the tool ran and reported an error."],
  interrupted: [130, "Ctrl-C. What was open has been closed."],
} as const;

export type Exit = keyof typeof EXIT_CODES;

export function exitCodeOf(exit: Exit): number {
  return EXIT_CODES[exit][0];
}
