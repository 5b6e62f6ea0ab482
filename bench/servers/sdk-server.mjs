// The official SDK's server, one transport for each session, as its own examples have it. The body is
// read before and handed over, as they do with express: a server that reads it by itself, through a web
// stream, takes 1.6 times as long for a request, and clients wait for it more than they differ.
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
  await transport.handleRequest(request, response, await bodyOf(request));
});
await serveUntilParentEnds([httpServer]);

function bodyOf(request) {
  if (request.method !== "POST") return undefined;
  return new Promise((resolve, reject) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => resolve(JSON.parse(Buffer.concat(parts))));
    request.on("error", reject);
  });
}

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
