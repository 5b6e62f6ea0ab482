// Several test servers in a process of their own. Prints their addresses; takes an order a line, and
// answers each with a line; ends with its parent.
import { createInterface } from "node:readline";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../src/testing/index.js";
import type { FleetOrder, FleetReport } from "./fleet.js";

const say: TestTool = { name: "say", run: ({ text }) => String(text) };
const extra: TestTool = { name: "extra", run: () => "new" };

const count = Number(process.argv[2]);
const servers = await Promise.all(Array.from({ length: count }, () => startMcpTestServer({ tools: [say] })));
console.log(JSON.stringify(servers.map(({ url }) => url)));

const orders: Record<FleetOrder, (server: McpTestServer) => unknown> = {
  hang: (server) => server.addFault({ type: "hang" }, { on: "initialize" }),
  heal: (server) => server.clearFaults(),
  stop: (server) => server.stop(),
  start: (server) => server.start(),
  change: async (server) => {
    server.tools = [say, extra];
    await server.notifyToolsChanged();
  },
};

for await (const line of createInterface(process.stdin)) {
  const { order, server: index } = JSON.parse(line) as { order: FleetOrder | "report"; server: number };
  const server = servers[index];
  if (order !== "report" && server !== undefined) await orders[order](server);
  for (const { requests, executions } of servers) {
    requests.length = 0;
    executions.length = 0;
  }
  const report: FleetReport = {
    sessions: servers.reduce((sum, { openSessions }) => sum + openSessions.length, 0),
    sockets: servers.reduce((sum, { openSockets }) => sum + openSockets, 0),
  };
  console.log(JSON.stringify(report));
}
process.exit(0);
