// Many MCP servers in one process: paths of one port each. Counts requests by method, and announces changes on GET streams.
// Usage: servers.mjs '{"servers":100,"ports":4,"tools":5,"latencyMs":5}'. Messages: { change: index } and { counts: true }, which also has the smallest number of open streams of a server.
import { once } from "node:events";
import { createServer } from "node:http";

const { servers = 10, ports = 4, tools: toolCount = 5, latencyMs = 5 } = JSON.parse(process.argv[2] ?? "{}");
const counts = {};
const state = Array.from({ length: servers }, () => ({ tools: toolCount, streams: new Set() }));

const toTool = (index) => ({
  name: `tool-${index}`,
  description: `Tool ${index} of a server in a fleet, with a description of the usual length for a model to read.`,
  inputSchema: { type: "object", properties: { text: { type: "string" }, limit: { type: "integer" } } },
});

function respond({ method, params }, server) {
  if (method === "initialize") {
    const { protocolVersion } = params;
    const capabilities = { tools: { listChanged: true } };
    return { protocolVersion, capabilities, serverInfo: { name: "fleet", version: "1.0.0" } };
  }
  if (method === "tools/list")
    return { tools: Array.from({ length: server.tools }, (_, index) => toTool(index)) };
  return { content: [{ type: "text", text: String(params?.arguments?.text) }] };
}

const listener = (request, response) => {
  const server = state[Number(/\d+/.exec(request.url)?.[0])];
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
    server.streams.add(response);
    response.on("close", () => server.streams.delete(response));
    return;
  }
  if (request.method !== "POST") return void response.end();
  let text = "";
  request.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  request.on("end", () => {
    const message = JSON.parse(text);
    counts[message.method] = (counts[message.method] ?? 0) + 1;
    if (message.id === undefined) return void response.writeHead(202).end();
    if (message.method === "server/discover")
      return void response.writeHead(404, { "content-type": "application/json" }).end(
        JSON.stringify({
          jsonrpc: "2.0",
          id: message.id,
          error: { code: -32601, message: "Method not found" },
        }),
      );
    setTimeout(() => {
      const session = message.method === "initialize" ? { "mcp-session-id": "fleet" } : {};
      response.writeHead(200, { "content-type": "application/json", ...session });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: respond(message, server) }));
    }, latencyMs);
  });
};

const origins = [];
for (let index = 0; index < ports; index += 1) {
  const http = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, "127.0.0.1");
  await once(http, "listening");
  origins.push(`http://127.0.0.1:${http.address().port}`);
}

process.on("message", ({ change }) => {
  if (change === undefined)
    return void process.send({
      counts: { ...counts, streams: Math.min(...state.map(({ streams }) => streams.size)) },
    });
  const server = state[change];
  server.tools += 1;
  const data = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  for (const stream of server.streams) stream.write(`event: message\ndata: ${data}\n\n`);
  process.send({ changedAt: Date.now() });
});
process.on("disconnect", () => process.exit(0));
process.send({ urls: state.map((_, index) => `${origins[index % ports]}/s${index}`) });
