import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, deferred } from "../../fixtures/clients.js";

describe("an interrupted stream", () => {
  it("is resumed if the server assigns event ids: one execution, one POST, and the response by GET", async () => {
    await using server = await startMcpTestServer({ resumable: true });
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("resumed"))).text()).toBe("resumed");
    expect(server.executions).toHaveLength(1);
    expect(server.received("tools/call")).toHaveLength(1);
    const [resumption] = server.received("GET");
    expect(resumption?.headers["last-event-id"]).toMatch(/^event-\d+$/);
  });

  it("fails within a second when the server does not restart", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      resumable: true,
      tools: [{ name: "slow", run: async () => (await promise, "late") }],
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await server.stop();
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    resolve();
  });

  it("fails when the server has restarted and does not know the stream", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      resumable: true,
      tools: [{ name: "slow", run: async () => (await promise, "late") }],
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await server.restart();
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(server.received("tools/call")).toHaveLength(1);
    resolve();
  });

  it("fails at once without event ids", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
    expect(server.received("GET")).toHaveLength(0);
  });
});

function stream(response: ServerResponse, text: string) {
  return response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
}

/** A minimal server that ends its streams and sends a `retry` time. */
async function startPollingServer() {
  const gets: { lastEventId: string | undefined; at: number }[] = [];
  const http = createServer((request, response) => {
    if (request.method === "GET") {
      gets.push({ lastEventId: String(request.headers["last-event-id"]), at: performance.now() });
      if (gets.length < 5) return stream(response, `id: e${gets.length + 1}\ndata:\n\n`);
      const message = { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "polled" }] } };
      return stream(response, `id: last\ndata: ${JSON.stringify(message)}\n\n`);
    }
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
      if (method === "tools/call") return stream(response, "id: e1\nretry: 120\ndata:\n\n");
      if (id === undefined) return response.writeHead(202).end();
      const result = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        serverInfo: { name: "p", version: "1" },
      };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    return undefined;
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    gets,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

describe("a stream that the server ends", () => {
  it("is resumed after the retry time until the response arrives", async () => {
    await using server = await startPollingServer();
    await using client = new McpClient({ name: "polling", url: server.url });
    expect((await client.callTool(echo())).text()).toBe("polled");
    expect(server.gets.map(({ lastEventId }) => lastEventId)).toEqual(["e1", "e2", "e3", "e4", "e5"]);
    const waits = server.gets.slice(1).map(({ at }, index) => at - (server.gets[index]?.at ?? 0));
    expect(Math.min(...waits)).toBeGreaterThan(100);
  });

  it("is not resumed after the call was cancelled", async () => {
    await using server = await startPollingServer();
    await using client = new McpClient({ name: "polling", url: server.url });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await eventually(() => server.gets.length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
    const count = server.gets.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.gets.length).toBeLessThanOrEqual(count + 1);
  });
});
