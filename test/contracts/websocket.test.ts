import { McpClient } from "../../src/index.js";
import { ONCE } from "../fixtures/clients.js";
import { ERAS, EraServer } from "../fixtures/era-server.js";
import { WebSocketHost } from "../fixtures/websocket-server.js";
import { describeTransport } from "./transport-contract.js";

for (const era of ERAS) {
  describeTransport(`WebSocket, a ${era} server`, async (tools) => {
    const server = new EraServer(era, { tools });
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
}
