// The entry of a bundle: everything is imported statically, as in an application.
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

async function main() {
  const server = await startMcpTestServer();
  const mcp = await createMcpTools({ web: { url: server.url } });
  try {
    await server.restart();
    const result = await mcp.callTool({ name: "web__echo", args: { text: "works" } });
    if (result.text() !== "works") throw new Error(`expected "works", got ${result.text()}`);
  } finally {
    await mcp.close();
    await server.close();
  }
}
void main();
