import { Agent, request } from "node:http";

/**
 * The minimum cost of a call: the same bytes over a keep-alive connection, with the body read as text.
 * The handshake and the tool list are sent without a library; nothing is parsed or converted.
 */
export async function open(servers) {
  const agent = new Agent({ keepAlive: true });
  const sessions = await Promise.all(
    Object.entries(servers).map(async ([server, url]) => [server, await openSession(agent, new URL(url))]),
  );
  const sessionsByServer = new Map(sessions);
  let id = 100;
  return {
    toolCount: 0,
    call: async ({ server, tool, args }) => {
      const params = { name: tool, arguments: args };
      const { text } = await post(agent, sessionsByServer.get(server), {
        id: (id += 1),
        method: "tools/call",
        params,
      });
      return text;
    },
    close: async () => agent.destroy(),
  };
}

async function openSession(agent, url) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "baseline", version: "1" },
  };
  const { headers } = await post(agent, { url }, { id: 1, method: "initialize", params });
  const session = { url, id: headers["mcp-session-id"] };
  await post(agent, session, { method: "notifications/initialized" });
  await post(agent, session, { id: 2, method: "tools/list", params: {} });
  return session;
}

function post(agent, { url, id }, message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    accept: "application/json, text/event-stream",
    ...(id === undefined ? {} : { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }),
  };
  return new Promise((resolve, reject) => {
    const clientRequest = request(url, { agent, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode < 300) resolve({ text, headers: response.headers });
        else reject(new Error(`HTTP ${response.statusCode}`));
      });
    });
    clientRequest.on("error", reject);
    clientRequest.end(body);
  });
}
