// Behavior that the tests of LangChain's adapter check, as far as no other test of this package does.
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { entrypoint, getCurrentTaskInput, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it, vi } from "vitest";
import { createMcpTools, McpRuntimeError, type McpToolset } from "../../../src/index.js";
import type { JsonObject } from "../../../src/json/json.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { createTestClient, eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";
import { INITIALIZE_RESULT, sendError, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { startToolset } from "../../fixtures/toolsets.js";

const STDIO_SERVER = join(import.meta.dirname, "../../fixtures/quick-stdio-server.mjs");
const repeat = (inputSchema: JsonObject): TestTool => ({
  name: "repeat",
  inputSchema,
  run: (args) => JSON.stringify(args),
});
const returning = (result: unknown, tool: Partial<TestTool> = {}): TestTool => ({
  name: "get",
  run: () => result,
  ...tool,
});
const showHeader = (name: string): TestTool => ({
  name: "show",
  run: (_, { headers }) => String(headers[name]),
});

describe("arguments that a hook returns are not sent if they do not match", () => {
  const object = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const value = (constraint: JsonObject) => ({ properties: { n: constraint } });

  it.each<[string, JsonObject, JsonObject]>([
    ["not", { ...object, not: value({ const: 2 }) }, { n: 2 }],
    ["anyOf", { ...object, anyOf: [value({ const: 1 }), value({ const: 3 })] }, { n: 2 }],
    ["allOf", { ...object, allOf: [value({ minimum: 1 }), value({ maximum: 2 })] }, { n: 3 }],
    ["if and then", { ...object, if: value({ minimum: 2 }), then: value({ minimum: 4 }) }, { n: 3 }],
    ["additionalProperties", { ...object, additionalProperties: false }, { n: 1, other: true }],
    ["required", object, { n: undefined } as unknown as JsonObject],
  ])("%s", async (_, inputSchema, args) => {
    await using toolset = await startToolset({
      tools: [repeat(inputSchema)],
      options: { beforeToolCall: () => ({ args }) },
    });
    const message = await toolset.call({ n: 1 });
    expect(message.status).toBe("error");
    expect(message.text).toContain("the tool was not called");
    expect(toolset.server.executions).toEqual([]);
  });
});

describe("arguments that a hook returns", () => {
  it("are sent if they match by a local reference", async () => {
    const inputSchema = {
      type: "object",
      properties: { n: { $ref: "#/$defs/n" } },
      $defs: { n: { type: "integer", minimum: 1 } },
      additionalProperties: false,
    };
    const options = { beforeToolCall: () => ({ args: { n: 3 } }) };
    await using toolset = await startToolset({ tools: [repeat(inputSchema)], options });
    expect((await toolset.call({ n: 1 })).content).toBe('{"n":3}');
  });
});

describe("an input schema", () => {
  it("has its own constraints, also if a schema of another server has the same $id", async () => {
    const atMost = (maximum: number) => ({
      $id: "https://example.com/shared",
      type: "object",
      properties: { n: { $ref: "#/$defs/n" } },
      $defs: { n: { type: "number", maximum } },
    });
    await using small = await startToolset({ tools: [repeat(atMost(1))] });
    await using large = await startToolset({ tools: [repeat(atMost(9))] });
    expect((await small.call({ n: 5 })).status).toBe("error");
    expect((await large.call({ n: 5 })).status).toBe("success");
    expect((await small.call({ n: 5 })).status).toBe("error");
  });
});

describe("a result", () => {
  it("that is an error keeps its content, structured content and _meta", async () => {
    const content = [{ type: "text", text: "not allowed" }];
    const failed = { content, structuredContent: { rule: 7 }, _meta: { reason: "policy" }, isError: true };
    await using toolset = await startToolset({ tools: [returning(failed)] });
    const message = await toolset.call({});
    expect(message.status).toBe("error");
    expect(message.artifact).toMatchObject({
      content,
      structuredContent: { rule: 7 },
      meta: { reason: "policy" },
      isError: true,
    });
  });

  it.each([false, 0, null, [], "text"])("keeps %j as structured content", async (structuredContent) => {
    const result = { content: [{ type: "text", text: "ok" }], structuredContent };
    await using toolset = await startToolset({ tools: [returning(result)], era: "modern" });
    const message = await toolset.call({});
    expect(message.content).toBe("ok");
    expect(message.artifact).toMatchObject({ structuredContent });
  });
});

describe("hooks", () => {
  it("can read the state of the graph or the input of the workflow", async () => {
    const seen: unknown[] = [];
    const hook = () => void seen.push(getCurrentTaskInput());
    await using toolset = await startToolset({
      tools: [returning("x")],
      options: { beforeToolCall: hook, afterToolCall: hook },
    });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode([...toolset.mcp.tools]))
      .addEdge("__start__", "tools")
      .compile();
    const tool_calls = [{ id: "1", name: "srv__get", args: {} }];
    await graph.invoke({ messages: [new AIMessage({ content: "", tool_calls })] });
    const state = { messages: [expect.objectContaining({ tool_calls: [expect.anything()] })] };
    expect(seen.splice(0)).toEqual([state, state]);
    const workflow = entrypoint("workflow", async (input: string) => [input, await toolset.tool.invoke({})]);
    expect(await workflow.invoke("any input")).toEqual(["any input", "x"]);
    expect(seen).toEqual(["any input", "any input"]);
  });

  it("that set headers for a program cause one warning, because they are not sent", async () => {
    const logger = new RecordingLogger();
    const beforeToolCall = () => ({ headers: { "x-tenant": "a" } });
    const servers = { local: { command: process.execPath, args: [STDIO_SERVER] } };
    await using mcp = await createMcpTools(servers, { logger, beforeToolCall });
    await mcp.callTool({ name: "local__echo", args: { text: "1" } });
    await mcp.callTool({ name: "local__echo", args: { text: "2" } });
    expect(logger.warnings).toEqual([expect.stringContaining("type stdio receives no headers")]);
  });
});

describe("the credentials of a server", () => {
  it.each([
    [
      "auth before headers",
      { headers: { Authorization: "a" }, auth: () => "b", identity: () => "i" },
      "Bearer b",
    ],
    ["the last spelling of a header", { headers: { authorization: "a", AUTHORIZATION: "b" } }, "b"],
  ])("are sent once: %s", async (_, definition, expected) => {
    await using toolset = await startToolset({ tools: [showHeader("authorization")], definition });
    expect((await toolset.mcp.callTool({ name: "show" })).text()).toBe(expected);
  });

  const provider = { tokens: () => undefined, saveTokens: () => undefined };
  it.each<[string, object, string]>([
    ["a method that is not a function", { ...provider, tokens: 42 }, "auth.tokens: expected a function"],
    ["another method", { ...provider, codeVerifier: "v" }, "auth.codeVerifier: expected a function"],
    ["only token()", { token: () => "t" }, "auth: is an SDK provider with token()"],
    ["nothing", {}, "auth: expected a function that returns a token, an OAuth provider, or a grant"],
  ])("are refused before anything is sent if a provider has %s", async (_, auth, problem) => {
    const failure = await rejection(
      createMcpTools({ s: { url: "http://127.0.0.1:9/", auth: auth as never } }),
    );
    expect(failure.message).toContain(problem);
  });
});

describe("a call", () => {
  it("is limited by timeoutMs in the metadata of the run", async () => {
    const run = (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    await using toolset = await startToolset({ tools: [{ name: "wait", run }], definition: NO_RETRY });
    const message = await toolset.call({}, { metadata: { timeoutMs: 30 } });
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "timeout" } } });
  });
});

describe("server definitions", () => {
  it("may be changed after the start without effect", async () => {
    await using server = await startMcpTestServer({ tools: [showHeader("x-a")] });
    const definition = { url: server.url, headers: { "x-a": "1" } };
    await using mcp = await createMcpTools({ s: definition });
    definition.headers["x-a"] = "2";
    definition.url = "http://127.0.0.1:9/";
    expect((await mcp.callTool({ name: "show" })).text()).toBe("1");
  });

  it("may have names that are keys of a definition or of every object", async () => {
    await using server = await startMcpTestServer();
    const names = ["servers", "url", "command", "constructor", "toString"];
    await using mcp = await createMcpTools(
      Object.fromEntries(names.map((name) => [name, { url: server.url }])),
    );
    expect(mcp.tools.map(({ name }) => name)).toEqual(names.map((name) => `${name}__echo`));
    const result = await mcp.callTool({ name: "constructor__echo", args: { text: "x" } });
    expect(result.text()).toBe("x");
  });

  it("under a key that is not mcpServers are refused with a hint", async () => {
    const failure = await rejection(
      createMcpTools({ servers: { s: { url: "http://127.0.0.1:9/" } } } as never),
    );
    expect(failure.message).toContain("it contains servers: pass them without this key");
  });
});

describe("a server", () => {
  const TOOLS = { tools: [{ name: "get", inputSchema: { type: "object" } }] };

  it.each([
    ["a call that names it", (mcp: McpToolset) => mcp.callTool({ server: "s", name: "get" })],
    ["refresh()", (mcp: McpToolset) => mcp.refresh()],
  ])("that rejected the credentials at the start is tried again by %s", async (_, retry) => {
    let status = 401;
    await using server = await startRawServer(({ method, id, response }) => {
      if (status !== 200) return void response.writeHead(status).end();
      return method === "tools/list" ? sendJson(response, id, TOOLS) : false;
    });
    await using mcp = await createMcpTools({ s: { url: server.url, optional: true, ...NO_RETRY } });
    await eventually(() => mcp.status().s.state === "failed");
    expect(await rejection(mcp.callTool({ server: "s", name: "get" }))).toMatchObject({ status: 401 });
    status = 200;
    await retry(mcp);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["s__get"]);
    expect((await mcp.callTool({ name: "get" })).text()).toBe("ok");
  });

  it("may be one of several that are optional and all fail", async () => {
    const down = { url: "http://127.0.0.1:9/", optional: true, ...NO_RETRY };
    await using mcp = await createMcpTools({ a: down, b: down });
    await eventually(() => mcp.status().a.state === "failed" && mcp.status().b.state === "failed");
    expect(mcp.tools).toEqual([]);
  });

  it("is known by its name, and another name is unknown", async () => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools({ s: { url: server.url } });
    const clients: Readonly<Record<string, unknown>> = mcp.clients;
    expect(clients["s"]).toBeDefined();
    expect(clients["t"]).toBeUndefined();
  });

  it("gets nothing if the provider of its credentials throws, whose error is the cause", async () => {
    await using server = await startRawServer();
    const reason = new Error("vault is sealed");
    const auth = () => {
      throw reason;
    };
    await using client = createTestClient(server, { auth, identity: () => "me" });
    const failure = await rejection(client.callTool({ name: "get" }));
    expect(failure).toMatchObject({ server: "test", cause: { message: "vault is sealed" } });
    expect(server.requests).toEqual([]);
  });

  it("that has no subscriptions rejects one with an error", async () => {
    const initialized = { ...INITIALIZE_RESULT, capabilities: { resources: {} } };
    await using server = await startRawServer((request) => {
      if (request.method === "initialize") return sendJson(request.response, request.id, initialized);
      return (
        request.method === "resources/subscribe" && sendError(request, { code: -32601, message: "unknown" })
      );
    });
    await using client = createTestClient(server);
    expect(await rejection(client.subscribeResource("a:b"))).toBeInstanceOf(McpRuntimeError);
  });

  it("may declare resources and not list them; _meta of a resource is returned", async () => {
    const contents = [{ uri: "a:b", text: "t", _meta: { revision: 1 } }];
    await using server = await startRawServer((request) => {
      const { method, id, response } = request;
      if (method === "initialize")
        return sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { resources: {} } });
      if (method === "resources/read") return sendJson(response, id, { contents });
      return method === "resources/list" && sendError(request, { code: -32601, message: "unknown" });
    });
    await using client = createTestClient(server);
    expect(await client.listResources()).toEqual([]);
    expect(await client.readResource("a:b")).toMatchObject([{ text: "t", meta: { revision: 1 } }]);
  });

  it.each([{}, undefined])("may require another round without a question: %j", async (inputRequests) => {
    const run: TestTool["run"] = (_, context) => {
      const { requestState } = context as unknown as ModernToolContext;
      if (requestState === "1") return "done";
      return { resultType: "input_required", inputRequests, requestState: "1" };
    };
    await using server = await startEraServer("modern", { tools: [{ name: "get", run }] });
    await using client = createTestClient(server);
    expect((await client.callTool({ name: "get" })).text()).toBe("done");
  });
});

describe("an error", () => {
  it("is recognized by another copy of this package, and one that only looks like it is not", async () => {
    // Last in this file: modules that are loaded later belong to the copy.
    vi.resetModules();
    const copy = await import("../../../src/index.js");
    expect(copy.McpRuntimeError).not.toBe(McpRuntimeError);
    expect(new copy.McpRuntimeError("closed", "x")).toBeInstanceOf(McpRuntimeError);
    expect(new McpRuntimeError("closed", "x")).toBeInstanceOf(copy.McpRuntimeError);
    const lookalike = Object.assign(new Error("x"), { name: "McpRuntimeError", kind: "closed" });
    expect(lookalike).not.toBeInstanceOf(McpRuntimeError);
    expect({ name: "McpRuntimeError", kind: "closed" }).not.toBeInstanceOf(McpRuntimeError);
  });
});
