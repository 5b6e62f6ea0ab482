// The official SDK server with tools registered one by one, as in its documentation: it converts their
// zod schemas for every tools/list. Usage: registered-server.mjs '{"toolCount":1000}'
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { serveUntilParentExits } from "./serve-until-parent-exits.mjs";

const { toolCount = 3 } = JSON.parse(process.argv[2] ?? "{}");
const transports = new Map();

const httpServer = createServer(async (request, response) => {
  const transport = transports.get(request.headers["mcp-session-id"]) ?? (await openSession());
  await transport.handleRequest(request, response);
});
await serveUntilParentExits([httpServer]);

async function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  const server = new McpServer({ name: "registered", version: "1.0.0" });
  for (let n = 0; n < toolCount; n += 1) {
    const config = { description: `Finds record ${n}.`, inputSchema: createShape(n) };
    server.registerTool(`tool_${n}`, config, async () => ({ content: [] }));
  }
  await server.connect(transport);
  return transport;
}

function createShape(n) {
  return {
    [`key_${n}`]: z.string().describe(`The key of record ${n}.`),
    limit: z
      .number()
      .int()
      .min(1)
      .max(10 + n)
      .optional(),
    filter: z.object({ since: z.string(), tags: z.array(z.string()) }).optional(),
  };
}
