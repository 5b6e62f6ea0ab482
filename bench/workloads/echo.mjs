/** The call of most workloads. */
export const ECHO = { server: "s0", tool: "echo", args: { text: "hello" } };

/** Servers and ways to answer. */
export const WAYS = ["bare", "sdk"].flatMap((kind) => ["json", "sse"].map((answers) => ({ kind, answers })));

export function wayTitle({ kind, answers }) {
  return `${answers.toUpperCase()}, ${kind === "sdk" ? "SDK" : "bare"} server`;
}
