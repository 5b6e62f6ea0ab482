// Behavior that the tests of OpenAI's Agents SDK check, as far as no other test of this package does.
import { describe, expect, it } from "vitest";
import { createMcpTools, type ToolRules } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { createTestClient } from "../../fixtures/clients.js";
import { sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

const get: TestTool = { name: "get", run: () => "got" };

describe("a tool", () => {
  it("without a single ASCII character in its names can be called", async () => {
    await using server = await startMcpTestServer({ tools: [{ name: "検索", run: () => "found" }] });
    await using mcp = await createMcpTools({ 天気: { url: server.url } });
    expect(mcp.tools[0]?.name).toMatch(/^[a-zA-Z][\w-]{1,63}$/);
    expect(await mcp.tools[0]?.invoke({})).toBe("found");
  });
});

describe("_meta", () => {
  it("is sent with every call of a toolset, as a function of the run", async () => {
    await using toolset = await startToolset({
      tools: [get],
      options: { meta: ({ configurable }) => ({ tenant: String(configurable["tenant"]) }) },
    });
    for (const tenant of ["a", "b"]) await toolset.call({}, { configurable: { tenant } });
    expect(toolset.server.received("tools/call").map(({ body }) => body)).toMatchObject([
      { params: { _meta: { tenant: "a" } } },
      { params: { _meta: { tenant: "b" } } },
    ]);
  });
});

describe("a list of tools", () => {
  it("goes on with the same page after a token was renewed", async () => {
    const cursors: unknown[] = [];
    let token = "old";
    await using server = await startRawServer(({ method, id, body, request, response }) => {
      if (method !== "tools/list") return false;
      const cursor = (body["params"] as { cursor?: string } | undefined)?.cursor;
      cursors.push(cursor);
      if (cursor !== undefined && request.headers.authorization === "Bearer old") {
        token = "new";
        return void response.writeHead(401).end();
      }
      const tools = [{ name: cursor ?? "first", inputSchema: { type: "object" } }];
      return sendJson(response, id, cursor === undefined ? { tools, nextCursor: "second" } : { tools });
    });
    await using client = createTestClient(server, { auth: () => token, identity: () => "me" });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["first", "second"]);
    expect(cursors).toEqual([undefined, "second", "second"]);
  });

  it("counts empty pages towards its limit, and is complete at the next try", async () => {
    let isEndless = true;
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method !== "tools/list") return false;
      const { cursor = "0" } = (body["params"] ?? {}) as { cursor?: string };
      return sendJson(
        response,
        id,
        isEndless ? { tools: [], nextCursor: `${Number(cursor) + 1}` } : { tools: [] },
      );
    });
    await using client = createTestClient(server, { limits: { pages: 3 } });
    await expect(client.listTools()).rejects.toMatchObject({ kind: "too-large" });
    expect(server.requests.filter(({ method }) => method === "tools/list")).toHaveLength(3);
    isEndless = false;
    expect(await client.listTools()).toEqual([]);
  });

  it("does not change for others if a filter changes what it is given", async () => {
    const filter = (tool: { readonly mcp: object }) => {
      expect(() => Object.assign(tool.mcp, { name: "other" })).toThrow();
      return true;
    };
    await using toolset = await startToolset({ tools: [get], options: { filter } });
    const [tool] = await toolset.mcp.toolsFor({});
    expect(tool?.mcp.name).toBe("get");
    expect(await tool?.invoke({})).toBe("got");
  });
});

describe("a call", () => {
  it("that fails with an AbortError of its own is an error for the model, not the end of the run", async () => {
    await using server = await startMcpTestServer({ tools: [get] });
    let isBroken = false;
    const definition = {
      url: server.url,
      retry: false,
      fetch: (async (url: string, init: RequestInit) => {
        if (isBroken) throw new DOMException("socket", "AbortError");
        return fetch(url, init);
      }) as never,
    } as const;
    await using mcp = await createMcpTools({ s: definition });
    isBroken = true;
    const message = await mcp.tools[0]?.invoke({
      type: "tool_call",
      id: "1",
      name: "s__get",
      args: {},
    } as never);
    expect(message).toMatchObject({ status: "error" });
  });

  it("is validated with the output schema of its tool on a new session, too", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const run = () => ({ content: [], structuredContent: { n: "one" } });
    await using toolset = await startToolset({
      tools: [{ name: "get", outputSchema, run }],
      options: { outputValidation: "error" },
    });
    for (const _ of [1, 2]) {
      expect(await toolset.call({})).toMatchObject({
        status: "error",
        artifact: { error: { kind: "invalid-response" } },
      });
      toolset.server.dropSessions();
    }
    expect(toolset.server.received("initialize")).toHaveLength(2);
  });
});

describe("a tool that a rule excludes", () => {
  it.each<[string, ToolRules]>([
    ["an allow list", ["get"]],
    ["a block list", { wipe: false }],
    ["both", { "*": true, wipe: false }],
  ])("is not called, although a model asks for it: %s", async (_, rules) => {
    const wipe: TestTool = { name: "wipe", run: () => "wiped" };
    await using toolset = await startToolset({ tools: [get, wipe], rules });
    expect(toolset.mcp.tools.map(({ mcp }) => mcp.name)).toEqual(["get"]);
    await expect(toolset.mcp.callTool({ name: "srv__wipe" })).rejects.toMatchObject({ kind: "not-found" });
    expect(toolset.server.executions).toEqual([]);
  });
});

describe("a toolset", () => {
  it("is closed at the end of its scope", async () => {
    await using server = await startMcpTestServer({ tools: [get] });
    {
      await using mcp = await createMcpTools({ a: { url: server.url }, b: { url: server.url } });
      expect(mcp.tools).toHaveLength(2);
      expect(server.openSessions).toHaveLength(2);
    }
    expect(server.openSessions).toEqual([]);
  });
});
