import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type JsonRpcMessage, McpClient, type MessageTransport } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, NO_RETRY, rejection, times } from "../../fixtures/clients.js";
import { openStream, startRawServer } from "../../fixtures/raw-server.js";
import { SseServer } from "../../fixtures/sse-server.js";

const hanging = { name: "hang", run: () => new Promise<string>(() => undefined) };
const INITIALIZE_RESULT = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "raw", version: "1" },
};

describe("a client that is closed while calls are running tells the server that they are cancelled", () => {
  it("over HTTP, before it terminates the session", async () => {
    await using server = await startMcpTestServer({ tools: [hanging] });
    const client = new McpClient({ name: "test", url: server.url, ...NO_RETRY });
    const running = times(3, () => rejection(client.callTool({ name: "hang" })));
    await eventually(() => server.executions.length === 3);
    await client.close();
    await Promise.all(running);
    const sent = server.requests.map(({ method, httpMethod }) => method ?? httpMethod);
    expect(sent.slice(-4)).toEqual([...times(3, () => "notifications/cancelled"), "DELETE"]);
  });

  it("over SSE", async () => {
    await using server = new SseServer({ tools: [hanging] });
    await server.start();
    const client = new McpClient({ name: "test", url: server.url, ...NO_RETRY });
    const running = times(3, () => rejection(client.callTool({ name: "hang" })));
    await eventually(() => server.executions.length === 3);
    await client.close();
    await Promise.all(running);
    expect(server.requests.filter(({ method }) => method === "notifications/cancelled")).toHaveLength(3);
  });

  it("over stdio, before its stdin is closed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "cancelled-"));
    const file = join(folder, "received");
    const script = `
      const { appendFileSync } = require("node:fs");
      const lines = require("node:readline").createInterface({ input: process.stdin });
      lines.on("line", (line) => {
        const { id, method } = JSON.parse(line);
        appendFileSync(${JSON.stringify(file)}, method + " ");
        const result = ${JSON.stringify(INITIALIZE_RESULT)};
        if (method === "initialize") process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
      });
      lines.on("close", () => appendFileSync(${JSON.stringify(file)}, "closed"));`;
    const client = new McpClient({
      name: "test",
      command: process.execPath,
      args: ["-e", script],
      ...NO_RETRY,
    });
    const running = rejection(client.callTool({ name: "hang" }));
    await eventually(() => existsSync(file) && readFileSync(file, "utf8").includes("tools/call"));
    await client.close();
    await running;
    expect(readFileSync(file, "utf8")).toContain("tools/call notifications/cancelled closed");
    await rm(folder, { recursive: true });
  });

  it("over a custom transport, before it is terminated and closed", async () => {
    const calls: string[] = [];
    const transport: MessageTransport = {
      start: async () => undefined,
      send: async ({ id, method = "" }) => {
        calls.push(method);
        if (method === "initialize")
          transport.onmessage?.({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT } as JsonRpcMessage);
      },
      terminateSession: async () => void calls.push("terminate"),
      close: async () => void calls.push("close"),
    };
    const client = new McpClient({ name: "custom", openTransport: () => transport, ...NO_RETRY });
    const running = rejection(client.callTool(echo()));
    await eventually(() => calls.includes("tools/call"));
    await client.close();
    await running;
    expect(calls.slice(-4)).toEqual(["tools/call", "notifications/cancelled", "terminate", "close"]);
  });
});

describe("a resumed session", () => {
  it("opens the stream for requests of the server, if there are handlers for them", async () => {
    await using server = await startMcpTestServer();
    await using first = new McpClient({ name: "first", url: server.url, ...NO_RETRY });
    await first.callTool(echo());
    const id = String(first.sessionId);
    await using second = new McpClient({
      name: "second",
      url: server.url,
      session: { id, protocolVersion: "2025-11-25" },
      onSamplingRequest: async () => ({ model: "test", content: "hi" }),
      ...NO_RETRY,
    });
    const before = server.received("GET").length;
    await second.callTool(echo());
    expect(server.received("GET").length).toBe(before + 1);
  });

  it("over a custom transport that closes after a call was sent: the call may have run", async () => {
    const transport: MessageTransport = {
      sessionId: "preset",
      start: async () => undefined,
      send: async ({ method }) => {
        if (method === "tools/call") transport.onclose?.();
      },
      close: async () => undefined,
    };
    await using client = new McpClient({ name: "custom", openTransport: () => transport, ...NO_RETRY });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
  });
});

describe("the server stream of Streamable HTTP", () => {
  /** A server whose GET stream is under control of the test, and a client that listens to it. */
  async function open(
    onCall: (id: number, response: ServerResponse, send: (message: unknown) => void) => void,
  ) {
    let send: ((message: unknown) => void) | undefined;
    const server = await startRawServer(({ httpMethod, method, id, response }) => {
      if (httpMethod === "GET") {
        send = openStream(response);
        send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "open" } });
        return;
      }
      if (method !== "tools/call") return false;
      onCall(Number(id), response, (message) => send?.(message));
      return;
    });
    const client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    let isOpen = false;
    client.on("notification", () => (isOpen = true));
    await client.ensureSession();
    await eventually(() => isOpen);
    return { server, client };
  }

  it("an error without an id does not fail a running call", async () => {
    const { server, client } = await open((id, response, send) => {
      send({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: "about something else" } });
      const result = { content: [{ type: "text", text: "fine" }] };
      setTimeout(() => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      }, 20);
    });
    expect((await client.callTool(echo())).text()).toBe("fine");
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it("a call whose response arrives there does not keep its own stream open", async () => {
    const closed: number[] = [];
    const { server, client } = await open((id, response, send) => {
      response.once("close", () => closed.push(id));
      openStream(response)({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info" } });
      const result = { content: [{ type: "text", text: "there" }] };
      setTimeout(() => send({ jsonrpc: "2.0", id, result }), 20);
    });
    expect((await client.callTool(echo())).text()).toBe("there");
    await eventually(() => closed.length === 1);
    await client.close();
    await server[Symbol.asyncDispose]();
  });
});

describe("an invalid result", () => {
  it("counts the attempt that produced it", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: "not an array" } }));
    });
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    const outcome = await client.tryCallTool(echo());
    expect(outcome).toMatchObject({
      ok: false,
      attempts: 1,
      error: { kind: "invalid-response", attempts: 1 },
    });
  });
});
