// Plain JavaScript on Node 20, which does not support `await using`: close in `finally`.
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const server = await startMcpTestServer();
try {
  const { tools, close } = await createMcpTools({ demo: { url: server.url } });
  try {
    console.log(await tools[0].invoke({ text: "hello" }));
  } finally {
    await close();
  }
} finally {
  await server.close();
}
