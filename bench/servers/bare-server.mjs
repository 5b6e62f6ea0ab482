// MCP by hand on node:http, as cheap as a server can be: what is measured is the client.
// Usage: bare-server.mjs '{"answers":"json","latencyMs":0,"toolCount":3,"servers":1}'
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { answerOf, benchTools } from "./bench-tools.mjs";
import { serveUntilParentEnds } from "./serve-until-parent-ends.mjs";

const { answers = "json", latencyMs = 0, toolCount = 3, servers = 1 } = JSON.parse(process.argv[2] ?? "{}");
const tools = benchTools(toolCount);

await serveUntilParentEnds(Array.from({ length: servers }, createBareServer));

function createBareServer() {
  const sessions = new Set();
  /** When the first 404 of a forgotten session was sent; the clock is the same in all processes. */
  let firstRefusal;

  return createServer((request, response) => {
    if (request.url === "/forget") {
      sessions.clear();
      firstRefusal = undefined;
      response.end();
    } else if (request.url === "/first-refusal") {
      response.end(String(firstRefusal));
    } else if (request.method !== "POST") {
      response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    } else {
      readJson(request, (message) => later(() => answer(message, request, response)));
    }
  });

  function answer(message, request, response) {
    const { id, method, params } = message;
    if (method === "initialize") {
      const sessionId = randomUUID();
      sessions.add(sessionId);
      send(response, { id, result: handshake(params) }, { "mcp-session-id": sessionId });
    } else if (method === "server/discover") {
      send(response, { id, error: { code: -32601, message: "Method not found" } }, {}, 404);
    } else if (!sessions.has(request.headers["mcp-session-id"])) {
      firstRefusal ??= process.hrtime.bigint();
      send(response, { id, error: { code: -32001, message: "Session not found" } }, {}, 404);
    } else if (id === undefined) {
      response.writeHead(202).end();
    } else if (method === "tools/list") {
      send(response, { id, result: { tools } });
    } else if (method === "tools/call") {
      const content = [{ type: "text", text: answerOf(params.name, params.arguments) }];
      send(response, { id, result: { content } });
    } else {
      send(response, { id, error: { code: -32601, message: "Method not found" } });
    }
  }
}

function handshake({ protocolVersion }) {
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "bare", version: "1.0.0" } };
}

function send(response, message, headers = {}, status = 200) {
  const json = JSON.stringify({ jsonrpc: "2.0", ...message });
  const isStream = answers === "sse" && status === 200;
  const body = isStream ? `event: message\ndata: ${json}\n\n` : json;
  response.writeHead(status, {
    "content-type": isStream ? "text/event-stream" : "application/json",
    // A stream does not know its length.
    ...(isStream ? {} : { "content-length": Buffer.byteLength(body) }),
    ...headers,
  });
  response.end(body);
}

function later(work) {
  if (latencyMs === 0) work();
  else setTimeout(() => work(), latencyMs);
}

function readJson(request, use) {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (part) => (text += part));
  request.on("end", () => use(JSON.parse(text)));
}
