/** The `clientInfo` that is sent to servers on initialize. */
export const CLIENT_INFO = { name: "langchain-mcp-runtime", version: "0.1.0" } as const;
