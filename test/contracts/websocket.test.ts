import { ERAS, EraServer } from "../fixtures/era-server.js";
import { WebSocketTestServer } from "../fixtures/websocket-server.js";
import { describeTransport } from "./transport-contract.js";
import { createTestClient } from "../fixtures/clients.js";

for (const era of ERAS) {
  describeTransport(`WebSocket, a ${era} server`, async (tools) => {
    const server = new EraServer(era, { tools });
    const host = await WebSocketTestServer.serve(server);
    const client = createTestClient(host);
    return {
      server,
      client,
      kill: () => host.stop(),
      revive: () => host.start(),
      isClean: () => host.openConnections === 0,
      async [Symbol.asyncDispose]() {
        await client.close();
        await host.stop();
      },
    };
  });
}
