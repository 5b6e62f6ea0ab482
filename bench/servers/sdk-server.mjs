// The official SDK server with one transport per session, as in its examples. The body is parsed first
// and passed in, as the examples do with Express: reading it through a web stream takes 1.6 times as long
// per request, and the server would then hide the differences between clients.
// Usage: sdk-server.mjs '{"responseType":"sse"}'
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { callBenchTool, createBenchTools } from "./bench-tools.mjs";
import { serveUntilParentExits } from "./serve-until-parent-exits.mjs";

const { responseType = "sse" } = JSON.parse(process.argv[2] ?? "{}");
const tools = createBenchTools(3);
const transports = new Map();

const httpServer = createServer(async (request, response) => {
  const transport = transports.get(request.headers["mcp-session-id"]) ?? (await openSession());
  await transport.handleRequest(request, response, await readBody(request));
});
await serveUntilParentExits([httpServer]);

function readBody(request) {
  if (request.method !== "POST") return undefined;
  return new Promise((resolve, reject) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => resolve(JSON.parse(Buffer.concat(chunks))));
    request.on("error", reject);
  });
}

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: responseType === "json",
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  const server = new Server({ name: "sdk", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: callBenchTool(params.name, params.arguments) }],
  }));
  await server.connect(transport);
  return transport;
}
