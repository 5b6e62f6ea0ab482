import { respond } from "./support.mjs";

export const packages = ["langchain-mcp-runtime", "ws"];

/** A call over a WebSocket. */
export async function check(modules) {
  const { McpClient } = modules["langchain-mcp-runtime"];
  const ws = modules["ws"];
  const WebSocketServer = ws.WebSocketServer ?? ws.Server ?? ws.default.Server;
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: () => "mcp",
  });
  server.on("connection", (socket) =>
    socket.on("message", (data) => {
      const response = respond(JSON.parse(String(data)));
      if (response !== undefined) socket.send(JSON.stringify(response));
    }),
  );
  await new Promise((resolve) => server.on("listening", resolve));
  const client = new McpClient({ name: "socket", url: `ws://127.0.0.1:${server.address().port}/` });
  try {
    return (await client.callTool({ name: "echo", args: { text: "works" } })).text();
  } finally {
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  }
}
