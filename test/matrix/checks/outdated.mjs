export const packages = [
  "langchain-mcp-runtime",
  "langchain-mcp-runtime/stores",
  "langchain-mcp-runtime/testing",
];

/** Beside versions that are too old, everything that does not use them works, and what uses them says what to update. */
export async function check(modules) {
  const { createMcpTools, McpClient } = modules["langchain-mcp-runtime"];
  const { redisStore } = modules["langchain-mcp-runtime/stores"];
  const { startMcpTestServer } = modules["langchain-mcp-runtime/testing"];
  const server = await startMcpTestServer();
  const mcp = await createMcpTools({ web: { url: server.url } });
  const socket = new McpClient({ name: "socket", url: server.url.replace("http:", "ws:") });
  try {
    const { error } = await socket.tryCallTool({ name: "echo" });
    expectUpdate(error, "ws");
    const store = redisStore("redis://127.0.0.1:1");
    expectUpdate(await store.get("key").catch((reason) => reason), "ioredis");
    return (await mcp.callTool({ name: "web__echo", args: { text: "works" } })).text();
  } finally {
    await socket.close();
    await mcp.close();
    await server.close();
  }
}

function expectUpdate(error, name) {
  if (error?.kind !== "invalid-config" || !error.message.includes(`npm install ${name}@latest`))
    throw new Error(`expected advice to update ${name}, got ${error}`);
}
