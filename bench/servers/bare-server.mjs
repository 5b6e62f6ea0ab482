// A minimal MCP server on node:http, as cheap as possible, so that the client dominates the measurement.
// Usage: bare-server.mjs '{"responseType":"json","latencyMs":0,"toolCount":3,"servers":1}'
// With "hostileBytes", it is one server for each hostile tool, in their order.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { callBenchTool, createBenchTools } from "./bench-tools.mjs";
import { createHostileTools } from "./hostile-tools.mjs";
import { serveUntilParentExits } from "./serve-until-parent-exits.mjs";

const {
  responseType = "json",
  latencyMs = 0,
  toolCount = 3,
  servers = 1,
  // Announces changes of its tools on a GET stream, which stays open.
  listChanged = false,
  hostileBytes,
} = JSON.parse(process.argv[2] ?? "{}");

await serveUntilParentExits(hostileBytes === undefined ? createBenchServers() : createHostileServers());

function createBenchServers() {
  const tools = createBenchTools(toolCount);
  const callTool = ({ name, arguments: args }) => ({
    content: [{ type: "text", text: callBenchTool(name, args) }],
  });
  return Array.from({ length: servers }, () => createBareServer(tools, callTool));
}

function createHostileServers() {
  return Object.values(createHostileTools(hostileBytes)).map(({ inputSchema, outputSchema, result }) =>
    createBareServer([{ name: "hostile", inputSchema, outputSchema }], () => ({
      content: [],
      structuredContent: result,
    })),
  );
}

function createBareServer(tools, callTool) {
  const sessions = new Set();
  /** When the first 404 for a dropped session was sent; all processes share this clock. */
  let firstRejectionAt;
  let requestCount = 0;

  return createServer((request, response) => {
    if (request.url === "/request-count") {
      response.end(String(requestCount));
      requestCount = 0;
    } else if (request.url === "/drop-sessions") {
      sessions.clear();
      firstRejectionAt = undefined;
      response.end();
    } else if (request.url === "/first-rejection") {
      response.end(String(firstRejectionAt));
    } else if (request.method === "GET" && listChanged) {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
    } else if (request.method !== "POST") {
      response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    } else {
      requestCount += 1;
      readJson(request, (message) => afterLatency(() => handleMessage(message, request, response)));
    }
  });

  function handleMessage(message, request, response) {
    const { id, method, params } = message;
    if (method === "initialize") {
      const sessionId = randomUUID();
      sessions.add(sessionId);
      send(response, { id, result: createInitializeResult(params) }, { "mcp-session-id": sessionId });
    } else if (method === "server/discover") {
      send(response, { id, error: { code: -32601, message: "Method not found" } }, {}, 404);
    } else if (!sessions.has(request.headers["mcp-session-id"])) {
      firstRejectionAt ??= process.hrtime.bigint();
      send(response, { id, error: { code: -32001, message: "Session not found" } }, {}, 404);
    } else if (id === undefined) {
      response.writeHead(202).end();
    } else if (method === "tools/list") {
      send(response, { id, result: { tools } });
    } else if (method === "tools/call") {
      send(response, { id, result: callTool(params) });
    } else {
      send(response, { id, error: { code: -32601, message: "Method not found" } });
    }
  }
}

function createInitializeResult({ protocolVersion }) {
  return {
    protocolVersion,
    capabilities: { tools: { listChanged } },
    serverInfo: { name: "bare", version: "1.0.0" },
  };
}

function send(response, message, headers = {}, status = 200) {
  const json = JSON.stringify({ jsonrpc: "2.0", ...message });
  const isStream = responseType === "sse" && status === 200;
  const body = isStream ? `event: message\ndata: ${json}\n\n` : json;
  response.writeHead(status, {
    "content-type": isStream ? "text/event-stream" : "application/json",
    // The length of a stream is not known in advance.
    ...(isStream ? {} : { "content-length": Buffer.byteLength(body) }),
    ...headers,
  });
  response.end(body);
}

function afterLatency(callback) {
  if (latencyMs === 0) callback();
  else setTimeout(() => callback(), latencyMs);
}

function readJson(request, onMessage) {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => (text += chunk));
  request.on("end", () => onMessage(JSON.parse(text)));
}
