import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createMcpTools, McpClient } from "../../../src/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { echo, NO_RETRY, QUICK_RETRY, recordWarnings, rejection } from "../../fixtures/clients.js";
import {
  INITIALIZE_RESULT,
  openStream,
  sendJson,
  sendText,
  startRawServer,
} from "../../fixtures/raw-server.js";
import { startRawSseServer } from "../../fixtures/raw-sse-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const DOWN = { name: "down", url: "http://127.0.0.1:1/mcp", ...NO_RETRY };

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

  it("what a LangChain tool of another server returned, with its error", async () => {
    await using spareServer = await startMcpTestServer({
      tools: [
        {
          name: "data",
          run: () => ({ content: [{ type: "text", text: "n" }], structuredContent: { n: 1 } }),
        },
        { name: "fail", run: () => ({ content: [{ type: "text", text: "no" }], isError: true }) },
      ],
    });
    await using spare = await createMcpTools({ spare: { url: spareServer.url } });
    await using client = new McpClient({
      name: "down",
      url: "http://127.0.0.1:1/mcp",
      ...NO_RETRY,
      fallback: async (_, { tool: name, args }) => {
        const tool = spare.tools.find(({ mcp }) => mcp.name === name);
        return (await tool?.invoke({ type: "tool_call", id: "1", name, args })) as ToolMessage;
      },
    });
    expect(await client.callTool({ name: "data" })).toMatchObject({
      isError: false,
      structuredContent: { n: 1 },
    });
    expect(await client.callTool({ name: "fail" })).toMatchObject({ isError: true });
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

describe("a fallback may be another client", () => {
  it("of another server and transport, also for a toolset", async () => {
    await using spareServer = await startMcpTestServer();
    const local = { name: "local", server: new McpTestServer() };
    for (const definition of [{ name: "spare", url: spareServer.url }, local]) {
      await using spare = new McpClient(definition);
      await using server = await startMcpTestServer();
      await using mcp = await createMcpTools({ main: { url: server.url, ...NO_RETRY, fallback: spare } });
      await server.stop();
      const result = await mcp.callTool({ name: "echo", args: { text: definition.name } });
      expect(result.text()).toBe(definition.name);
    }
  });

  it("which knows the caller, but receives no headers of the first server", async () => {
    await using spareServer = await startMcpTestServer();
    await using spare = new McpClient({
      name: "spare",
      url: spareServer.url,
      identity: ({ configurable }) => String(configurable["user"]),
      headers: ({ configurable }) => ({ "x-user": String(configurable["user"]) }),
    });
    await using client = new McpClient({ ...DOWN, fallback: spare });
    const context = { configurable: { user: "ann" } };
    await client.callTool(echo(), { context, headers: { "x-secret": "s3cret" }, meta: { trace: "1" } });
    const [call] = spareServer.received("tools/call");
    expect(call?.headers).toMatchObject({ "x-user": "ann" });
    expect(call?.headers["x-secret"]).toBeUndefined();
    expect(call?.body).toMatchObject({ params: { _meta: { trace: "1" } } });
  });

  it("which does not run a call that may have run, unless it is idempotent", async () => {
    await using spareServer = await startMcpTestServer();
    await using spare = new McpClient({ name: "spare", url: spareServer.url });
    await using server = await startMcpTestServer();
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call" });
    await using client = new McpClient({ name: "main", url: server.url, ...NO_RETRY, fallback: spare });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ outcomeUnknown: true });
    expect(spareServer.executions).toHaveLength(0);
    expect((await client.callTool(echo("again"), { idempotent: true })).text()).toBe("again");
  });

  it("but not a toolset, whose tools may have other names", () => {
    const toolset = { callTool: () => undefined, getTools: () => [] };
    const { issues } = catchConfigError(() => new McpClient({ ...DOWN, fallback: toolset as never }));
    expect(issues).toMatchObject([{ path: "fallback" }]);
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

  it("of a toolset accepts them, too, and so does getPrompt", async () => {
    const prompts = [{ name: "greet", get: ({ who }: Readonly<Record<string, string>>) => `Hello ${who}` }];
    await using server = await startMcpTestServer({ prompts });
    await using mcp = await createMcpTools({ test: { url: server.url } });
    expect((await mcp.callTool({ name: "echo", arguments: { text: "hi" } })).text()).toBe("hi");
    expect(await mcp.tryCallTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({ ok: true });
    const both = { name: "echo", args: { text: "a" }, arguments: { text: "b" } };
    expect(await rejection(mcp.callTool(both))).toMatchObject({ kind: "invalid-config" });
    expect(server.executions.map(({ args }) => args)).toEqual([{ text: "hi" }, { text: "hi" }]);
    const call = { name: "greet", arguments: { who: "Ann" } };
    const [message] = await mcp.getPrompt({ ...call, server: "test" });
    expect(message?.content).toBe("Hello Ann");
    expect((await mcp.clients.test.getPrompt(call)).messages[0]?.content).toEqual([
      { type: "text", text: "Hello Ann" },
    ]);
    const twice = { ...call, args: { who: "Bob" } };
    expect(await rejection(mcp.clients.test.getPrompt(twice))).toMatchObject({ kind: "invalid-config" });
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
    const logger = new RecordingLogger();
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY }, { logger });
    expect((await client.callTool(echo())).text()).toBe("good");
    expect(logger.lines).toContainEqual(expect.stringMatching(/^debug: .*unexpected message/));
  });

  it.each(["garbage", "7", "DEBUG {}"])("(%s) does not end a call over SSE", async (data) => {
    await using server = await startRawSseServer(({ method, stream, respond }) => {
      if (method !== "tools/call") return false;
      stream.write(`event: message\ndata: ${data}\n\n`);
      return respond("good");
    });
    const logger = new RecordingLogger();
    const definition = { name: "raw", type: "sse", url: server.url, ...NO_RETRY } as const;
    await using client = new McpClient(definition, { logger });
    expect((await client.callTool(echo())).text()).toBe("good");
    expect(logger.lines).toContainEqual(expect.stringMatching(/^debug: .*"raw"/));
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
    ["is repeated with new tools", { "": { tools: [tool("b")], nextCursor: "" } }, ["a", "b"], 3],
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

  it("with -32002 is not-found, and not even an idempotent call is repeated", async () => {
    await using server = await respondWith(-32_002, "no such thing");
    await using client = new McpClient({ name: "raw", url: server.url, ...QUICK_RETRY });
    const failure = await rejection(client.callTool(echo(), { idempotent: true }));
    expect(failure).toMatchObject({ kind: "not-found", attempts: 1 });
  });

  it("with -32003 has no agreed meaning: only an idempotent call is repeated", async () => {
    await using server = await respondWith(-32_003, "try later");
    await using client = new McpClient({ name: "raw", url: server.url, ...QUICK_RETRY });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error", attempts: 1 });
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({ attempts: 3 });
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
  interface LostSession {
    readonly code?: number;
    readonly message?: string;
    readonly format?: "json" | "sse";
    readonly hasSessionId?: boolean;
  }
  const start = (lost: LostSession = {}) => {
    const { code = -32_001, message = "Session not found", format = "json", hasSessionId = true } = lost;
    let sessions = 0;
    let isLost = true;
    return startRawServer(({ method, id, response }) => {
      if (method === "initialize") {
        sessions += 1;
        if (!hasSessionId) return sendJson(response, id, INITIALIZE_RESULT);
        response.setHeader("mcp-session-id", `session-${sessions}`);
        return false;
      }
      if (method !== "tools/call") return false;
      if (!isLost) return sendText(response, id, `session ${sessions}`);
      isLost = false;
      const answer = { jsonrpc: "2.0", id, error: { code, message } };
      if (format === "sse") {
        openStream(response)(answer);
        return void response.end();
      }
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify(answer));
    });
  };

  it.each([
    { code: -32_001, message: "Session not found" },
    { code: -32_600, message: "Session not found" },
    { code: -32_000, message: "Bad Request: No valid session ID provided" },
    { code: -32_000, message: "Bad Request: Server not initialized" },
  ])("is recognized by code and exact text: $code $message", async (error) => {
    for (const format of ["json", "sse"] as const) {
      await using server = await start({ ...error, format });
      await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
      expect((await client.callTool(echo(), { idempotent: true })).text()).toBe("session 2");
    }
  });

  it.each<[difference: string, lost: LostSession]>([
    ["another text", { message: "Session not found: 7" }],
    ["another code", { code: -32_000 }],
    ["a server without session ids", { hasSessionId: false }],
  ])("is not assumed for %s", async (_, lost) => {
    await using server = await start(lost);
    await using client = new McpClient({ name: "raw", url: server.url, ...NO_RETRY });
    const failure = await rejection(client.callTool(echo(), { idempotent: true }));
    expect(failure).toMatchObject({ kind: "server-error", attempts: 1 });
    expect((await client.callTool(echo())).text()).toBe("session 1");
  });

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
