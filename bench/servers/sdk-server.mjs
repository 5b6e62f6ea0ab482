// The official SDK's server, one transport for each session, as its own examples have it.
// Usage: sdk-server.mjs '{"answers":"sse"}'
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { answerOf, benchTools } from "./bench-tools.mjs";
import { serveUntilParentEnds } from "./serve-until-parent-ends.mjs";

const { answers = "sse" } = JSON.parse(process.argv[2] ?? "{}");
const tools = benchTools(3);
const transports = new Map();

const httpServer = createServer(async (request, response) => {
  const transport = transports.get(request.headers["mcp-session-id"]) ?? (await openSession());
  await transport.handleRequest(request, response);
});
await serveUntilParentEnds([httpServer]);

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: answers === "json",
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  const server = new Server({ name: "sdk", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: answerOf(params.name, params.arguments) }],
  }));
  await server.connect(transport);
  return transport;
}
