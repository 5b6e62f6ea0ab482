export const packages = ["langchain-mcp-runtime", "langchain-mcp-runtime/testing"];

/** A held LangChain tool works after its server restarts. */
export async function check(modules) {
  const { createMcpTools } = modules["langchain-mcp-runtime"];
  const { startMcpTestServer } = modules["langchain-mcp-runtime/testing"];
  const server = await startMcpTestServer();
  const mcp = await createMcpTools({ web: { url: server.url } });
  try {
    const tool = mcp.tools.find(({ name }) => name === "web__echo");
    await tool.invoke({ text: "before" });
    await server.restart();
    return await tool.invoke({ text: "works" });
  } finally {
    await mcp.close();
    await server.close();
  }
}
