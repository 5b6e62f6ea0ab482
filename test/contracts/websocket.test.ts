import { McpClient } from "../../src/index.js";
import { McpTestServer } from "../../src/testing/index.js";
import { ONCE } from "../support/clients.js";
import { WebSocketHost } from "../support/websocket-host.js";
import { describeTransport } from "./transport-contract.js";

describeTransport("WebSocket", async (tools) => {
  const server = new McpTestServer({ tools });
  const host = await WebSocketHost.serve(server);
  const client = new McpClient({ name: "socket", ...ONCE, url: host.url });
  return {
    server,
    client,
    kill: () => host.stop(),
    revive: () => host.start(),
    isLeft: () => host.openConnections === 0,
    async [Symbol.asyncDispose]() {
      await client.close();
      await host.stop();
    },
  };
});
