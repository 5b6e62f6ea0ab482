import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, NO_RETRY, recordWarnings, rejection } from "../../fixtures/clients.js";
import { openStream, sendJson, sendText, startRawServer } from "../../fixtures/raw-server.js";

describe("a fallback may return", () => {
  it("the result of a tool of another server", async () => {
    await using spareServer = await startMcpTestServer();
    await using spare = new McpClient({ name: "spare", url: spareServer.url });
    await using server = await startMcpTestServer();
    await using client = new McpClient({
      name: "main",
      url: server.url,
      ...NO_RETRY,
      fallback: (_, { args }) => spare.callTool({ name: "echo", args }),
    });
    await client.ensureSession();
    await server.stop();
    expect((await client.callTool(echo("from the spare"))).text()).toBe("from the spare");
  });

  it.each([
    ["a string", "text", "text"],
    ["an array of strings and blocks", ["a", { type: "text", text: "b" }], "a\nb"],
    ["a plain result", { content: [{ type: "text", text: "plain" }] }, "plain"],
    ["a plain result with a string", { content: "short" }, "short"],
    ["a message of LangChain", new ToolMessage({ content: "message", tool_call_id: "1" }), "message"],
  ])("%s", async (_, result, text) => {
    await using client = new McpClient({
      name: "down",
      url: "http://127.0.0.1:1/mcp",
      ...NO_RETRY,
      fallback: () => result as never,
    });
    expect((await client.callTool(echo())).text()).toBe(text);
  });

  it.each([7, true, [7], new Map()])("not %s: the failure is kept, with a warning", async (result) => {
    await using client = new McpClient({
      name: "down",
      url: "http://127.0.0.1:1/mcp",
      ...NO_RETRY,
      fallback: () => result as never,
    });
    const warnings = recordWarnings(client);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    expect(warnings).toHaveLength(1);
  });
});

describe("callTool", () => {
  it("accepts the arguments by their name in the protocol, but not twice", async () => {
    await using server = await startMcpTestServer();
    await using client = new McpClient({ name: "test", url: server.url });
    expect((await client.callTool({ name: "echo", arguments: { text: "hi" } })).text()).toBe("hi");
    const both = { name: "echo", args: { text: "a" }, arguments: { text: "b" } };
    expect(await rejection(client.callTool(both))).toMatchObject({ kind: "invalid-config", attempts: 0 });
    expect(server.executions).toHaveLength(1);
  });
});

describe("an event that is not a message, on the stream of a call", () => {
  it.each(["garbage", "7", '{"jsonrpc":"1.0"}'])("(%s) does not end the call", async (data) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      const write = openStream(response);
      response.write(`data: ${data}\n\n`);
      write({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "good" }] } });
      return void response.end();
    });
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    expect((await client.callTool(echo())).text()).toBe("good");
  });

  it("is the reason if no response follows", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end("data: garbage\n\n");
    });
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
    });
  });
});

describe("an empty cursor", () => {
  const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

  it.each([
    ["is a cursor like any other", { "": { tools: [tool("b")] } }, ["a", "b"], 2],
    ["is ignored by the server, which sends the first page again", {}, ["a"], 2],
    ["is repeated with new tools", { "": { tools: [tool("b")], nextCursor: "" } }, ["a", "b"], 2],
  ])("that %s ends the list without a warning", async (_, pages, names, requests) => {
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method !== "tools/list") return false;
      const { cursor } = (body["params"] ?? {}) as { cursor?: string };
      const first = { tools: [tool("a")], nextCursor: "" };
      return sendJson(response, id, (cursor === undefined ? first : (pages as never)[cursor]) ?? first);
    });
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    const warnings = recordWarnings(client);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(names);
    expect(server.requests.filter(({ method }) => method === "tools/list")).toHaveLength(requests);
    expect(warnings).toEqual([]);
  });
});

describe("a JSON-RPC error", () => {
  const respondWith = (code: number, message: string) =>
    startRawServer(({ method, id, response }) => {
      if (method !== "tools/call" && method !== "prompts/get") return false;
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
    });

  it("with -32002 is not-found", async () => {
    await using server = await respondWith(-32_002, "no such thing");
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-found", attempts: 1 });
  });

  it.each(["Unknown prompt: nope", "Prompt nope not found"])("%s is not-found", async (message) => {
    await using server = await respondWith(-32_602, message);
    await using client = new McpClient({ name: "raw", url: server.url, session: { id: "s" }, ...NO_RETRY });
    expect(await rejection(client.getPrompt({ name: "nope" }))).toMatchObject({ kind: "not-found" });
  });

  it("about invalid arguments of a prompt is invalid-request", async () => {
    await using server = await respondWith(-32_602, "Invalid arguments for prompt nope");
    await using client = new McpClient({ name: "raw", url: server.url, session: { id: "s" }, ...NO_RETRY });
    expect(await rejection(client.getPrompt({ name: "nope" }))).toMatchObject({ kind: "invalid-request" });
  });
});

describe("a lost session that is reported with HTTP 200", () => {
  const start = () => {
    let sessions = 0;
    let isLost = true;
    return startRawServer(({ method, id, response }) => {
      if (method === "initialize") {
        sessions += 1;
        response.setHeader("mcp-session-id", `session-${sessions}`);
        return false;
      }
      if (method !== "tools/call") return false;
      if (!isLost) return sendText(response, id, `session ${sessions}`);
      isLost = false;
      const error = { code: -32_001, message: "Session not found" };
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
  };

  it("is replaced, and an idempotent call is repeated", async () => {
    await using server = await start();
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    expect((await client.callTool(echo(), { idempotent: true })).text()).toBe("session 2");
  });

  it("is replaced for the next call; a call that may have run is not repeated", async () => {
    await using server = await start();
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error", code: -32_001 });
    expect((await client.callTool(echo())).text()).toBe("session 2");
  });
});
