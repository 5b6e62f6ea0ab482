/** How this package introduces itself to servers. */
export const CLIENT_INFO = { name: "langchain-mcp-runtime", version: "0.1.0" } as const;
