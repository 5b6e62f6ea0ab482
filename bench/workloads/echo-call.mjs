/** The tool call that most workloads make. */
export const ECHO_CALL = { server: "s0", tool: "echo", args: { text: "hello" } };
