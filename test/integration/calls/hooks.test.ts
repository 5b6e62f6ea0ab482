import { inspect } from "node:util";
import { ToolMessage } from "@langchain/core/messages";
import { Command, GraphInterrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type BeforeToolCallInput, createMcpTools, type AfterToolCallResult } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { rejection, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { invokeTool } from "../../fixtures/toolsets.js";

describe.each(ERAS)("beforeToolCall (%s)", (era) => {
  it("adds headers to each call within one session", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools(
      { s: { url: server.url } },
      {
        beforeToolCall: ({ args }: BeforeToolCallInput) => ({ headers: { "x-order": String(args["text"]) } }),
      },
    );
    await Promise.all(times(10, async (n) => mcp.tools[0]?.invoke({ text: `order-${n}` })));
    for (const { args, headers } of server.executions) expect(headers["x-order"]).toBe(args["text"]);
    expect(server.executions).toHaveLength(10);
    expect(server.received("initialize")).toHaveLength(1);
    const otherRequests = server.requests.filter(({ method }) => method !== "tools/call");
    expect(otherRequests.every(({ headers }) => headers["x-order"] === undefined)).toBe(true);
  });

  it("cannot replace protocol headers", async () => {
    await using server = await startEraServer(era);
    const reserved = { "Mcp-Session-Id": "stolen", "Mcp-Method": "tools/list", Accept: "text/plain" };
    const headers = { ...reserved, "x-mine": "1" };
    await using mcp = await createMcpTools(
      { s: { url: server.url } },
      { beforeToolCall: () => ({ headers }) },
    );
    expect(await mcp.tools[0]?.invoke({ text: "fine" })).toBe("fine");
    const [received] = server.received("tools/call");
    expect(received?.headers["mcp-session-id"]).toBe(server.openSessions[0]);
    expect(received?.headers["mcp-method"]).toBe(era === "modern" ? "tools/call" : undefined);
    expect(received?.headers["accept"]).toBe("application/json, text/event-stream");
    expect(received?.headers["x-mine"]).toBe("1");
  });

  it("gets a copy of the arguments", async () => {
    await using server = await startEraServer(era);
    const input = { text: "mine", list: [1, 2] };
    const beforeToolCall = ({ args }: BeforeToolCallInput) => {
      (args["list"] as number[]).push(3);
      args["text"] = "changed";
      return {};
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    await mcp.tools[0]?.invoke(input);
    expect(input).toEqual({ text: "mine", list: [1, 2] });
    expect(server.executions[0]?.args).toEqual({ text: "mine", list: [1, 2] });
  });

  it("gets the caller context as a plain object", async () => {
    await using server = await startEraServer(era);
    const seen: object[] = [];
    const beforeToolCall = ({ context }: BeforeToolCallInput) => void seen.push({ ...context });
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    await mcp.tools[0]?.invoke({ text: "x" }, { configurable: { user: "ada" }, runName: "mine" });
    expect(seen).toMatchObject([
      { server: "s", tool: "echo", configurable: { user: "ada" }, config: { runName: "mine" } },
    ]);
  });

  it("may interrupt a graph: nothing is sent, and the interrupt is rethrown unchanged", async () => {
    await using server = await startEraServer(era);
    const interrupt = new GraphInterrupt([{ id: "1", value: "ask a person" }]);
    const beforeToolCall = () => {
      throw interrupt;
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    expect(await rejection(invokeTool(mcp.tools[0], { text: "x" }))).toBe(interrupt);
    expect(server.received("tools/call")).toEqual([]);
  });
});

describe("beforeToolCall that returns", () => {
  it.each<[string, unknown, string]>([
    ["a misspelled denial", { denied: "never" }, 'unknown key "denied"; valid keys: args, headers, deny'],
    ["an unknown key next to a known one", { args: {}, allow: false }, '"allow"'],
    [
      "the headers of another adapter's example",
      { header: { a: "1" } },
      '"header" (did you mean "headers"?)',
    ],
    ["false", false, "expected an object or undefined, got a boolean"],
    ["an array", [{ deny: "no" }], "got an array"],
    ["a Map", new Map([["deny", "no"]]), "got an instance of a class"],
    [
      "a class instance",
      new (class Denial {
        get deny() {
          return "no";
        }
      })(),
      "got an instance of a class",
    ],
    ["a reason that is no string", { deny: true }, "deny: expected a string"],
    ["arguments that are no object", { args: [1] }, "args: expected an object"],
    ["a symbol as key", { [Symbol("deny")]: true }, "unknown key (name not shown); valid keys: args"],
    ["a symbol next to a known key", { headers: {}, [Symbol("deny")]: true }, "unknown key (name not shown)"],
    ["a hidden key", Object.defineProperty({}, "denied", { value: "no" }), '"denied"'],
    ["an inherited key", Object.create({ __proto__: null, denied: "no" }), '"denied"'],
    ["an inherited symbol", Object.create({ __proto__: null, [Symbol("deny")]: true }), "unknown key"],
    ["the key __proto__", JSON.parse('{ "__proto__": { "deny": "no" } }'), '"__proto__"'],
    ["a hidden symbol", Object.defineProperty({}, Symbol("deny"), { value: true }), "unknown key"],
  ])("%s denies the call with a clear error", async (_, returned, problem) => {
    await using server = await startMcpTestServer();
    const beforeToolCall = async () => returned as never;
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    const failure = await rejection(invokeTool(mcp.tools[0], { text: "x" }));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "s" });
    expect(failure.message).toContain("was denied");
    expect(failure.message).toContain(problem);
    expect(server.received("tools/call")).toEqual([]);
  });

  it.each([undefined, null, {}, { deny: undefined }])("%j lets the call run", async (returned) => {
    await using server = await startMcpTestServer();
    const beforeToolCall = () => returned as never;
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    expect(await mcp.tools[0]?.invoke({ text: "x" })).toBe("x");
  });
});

describe("afterToolCall that returns", () => {
  const secretTool = {
    name: "read",
    run: () => ({
      content: [{ type: "text", text: "canary-4711" }],
      structuredContent: { key: "canary-4711" },
      _meta: { key: "canary-4711" },
    }),
  };
  const call = async (returned: unknown) => {
    await using server = await startMcpTestServer({ tools: [secretTool] });
    const afterToolCall = () => returned as never;
    await using mcp = await createMcpTools({ s: { url: server.url } }, { afterToolCall });
    const settled = await invokeTool(mcp.tools[0]).then(
      (message) => ({ message, failure: undefined }),
      (failure: unknown) => ({ message: undefined, failure }),
    );
    expect(server.executions).toHaveLength(1);
    return settled;
  };

  it.each<[string, unknown, string]>([
    ["a misspelled field", { contents: [] }, '"contents" (did you mean "content"?)'],
    ["the result next to another key", { result: ["-", []], name: "read" }, '"name"'],
    ["the result next to a symbol", { result: ["-", []], [Symbol("redact")]: true }, "unknown key"],
    ["a symbol as key", { [Symbol("redact")]: true }, "unknown key (name not shown); valid keys: content"],
    ["a hidden key", Object.defineProperty({}, "contents", { value: [] }), '"contents"'],
    ["a string", "redacted", "expected an object or undefined"],
    ["a tuple", ["redacted", []], "got an array"],
    [
      "a result of this library under result",
      { result: { content: [] } },
      "result: expected a string, a ToolMessage",
    ],
    [
      "artifacts",
      { result: ["redacted", [{ type: "resource" }]] },
      "result: expected an empty array of artifacts",
    ],
    ["a Command", { result: new Command({}) }, "result: expected a string, a ToolMessage"],
    [
      "unknown blocks",
      { result: [[{ type: "image_url", image_url: "x" }], []] },
      "result: expected a string, or an array",
    ],
    ["a flag that is no boolean", { isError: "yes" }, "isError: expected true or false"],
    ["content that is no array", { content: "redacted" }, "content: expected an array of blocks"],
  ])("%s withholds the result and says that the tool ran", async (_, returned, problem) => {
    const { failure } = await call(returned);
    expect(failure).toMatchObject({ kind: "invalid-config", server: "s" });
    const { message } = failure as Error;
    expect(message).toContain('Tool "read" of server "s" ran, but its result is withheld');
    expect(message).toContain(problem);
    expect(inspect(failure, { depth: 9 })).not.toContain("canary");
  });

  it.each<[string, unknown]>([
    ["a string", "redacted"],
    ["content without artifacts", ["redacted", []]],
    ["blocks", [[{ type: "text", text: "redacted" }], []]],
    ["a ToolMessage", new ToolMessage({ content: "redacted", tool_call_id: "1" })],
    [
      "a ToolMessage with blocks",
      new ToolMessage({ content: [{ type: "text", text: "redacted" }], tool_call_id: "1" }),
    ],
  ])("the result of LangChain's adapter replaces everything: %s", async (_, result) => {
    const { message } = await call({ result });
    expect(message?.content).toBe("redacted");
    expect(message?.status).toBe("success");
    expect(inspect(message, { depth: 9 })).not.toContain("canary");
  });

  it("an error message of LangChain is an error", async () => {
    const result = new ToolMessage({ content: "broken", status: "error", tool_call_id: "1" });
    const { message } = await call({ result });
    expect(message).toMatchObject({ status: "error", content: "broken" });
  });

  it("fields that are undefined removes them", async () => {
    const { message } = await call({
      content: [{ type: "text", text: "redacted" }],
      structuredContent: undefined,
      meta: undefined,
    });
    expect(message?.content).toBe("redacted");
    expect(inspect(message, { depth: 9 })).not.toContain("canary");
  });
});

describe("afterToolCall", () => {
  it("may interrupt a graph: the interrupt is rethrown unchanged, not as a tool failure", async () => {
    await using server = await startMcpTestServer();
    const interrupt = new GraphInterrupt([{ id: "1", value: "look at this" }]);
    const afterToolCall = () => {
      throw interrupt;
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { afterToolCall });
    expect(await rejection(invokeTool(mcp.tools[0], { text: "x" }))).toBe(interrupt);
    expect(server.executions).toHaveLength(1);
  });
});

describe("customData", () => {
  const priced = {
    name: "echo",
    run: () => ({ content: [{ type: "text", text: "done" }], structuredContent: { price: 7, unit: "EUR" } }),
  };

  it("is stored in the artifact, which the model does not see", async () => {
    await using server = await startMcpTestServer({ tools: [priced] });
    const customData = ({ structuredContent, content }: AfterToolCallResult) => {
      (content as unknown[]).length = 0;
      return { cost: (structuredContent as { price: number }).price };
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { customData });
    const message = await invokeTool(mcp.tools[0], { text: "x" });
    expect(message.text).toBe("done");
    expect(message.artifact).toMatchObject({ customData: { cost: 7 }, content: [{ text: "done" }] });
  });

  it.each([
    ["returns undefined", () => undefined, []],
    [
      "throws",
      () => {
        throw new Error("my fault");
      },
      [expect.stringContaining("my fault")],
    ],
    ["is async", () => Promise.reject(new Error("late")), [expect.stringContaining("synchronously")]],
  ])("that %s does not change the result", async (_, customData, expectedWarnings) => {
    await using server = await startMcpTestServer({ tools: [priced] });
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ s: { url: server.url } }, { customData, logger });
    const message = await invokeTool(mcp.tools[0], { text: "x" });
    expect(message.text).toBe("done");
    expect(message.artifact).not.toHaveProperty("customData");
    expect(logger.warnings).toEqual(expectedWarnings);
  });

  it("must be a function", async () => {
    const failure = await rejection(createMcpTools({}, { customData: "cost" as never }));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path: "customData" }] });
  });
});

describe("a result of a server with sessions that claims to require input", () => {
  const text = { type: "text", text: "secret" };
  async function createFixture(options: object) {
    const outputSchema = { type: "object", required: ["count"] };
    const server = await startRawServer(({ method, id, response }) => {
      if (method === "tools/list")
        sendJson(response, id, { tools: [{ name: "read", inputSchema: { type: "object" }, outputSchema }] });
      else if (method === "tools/call")
        sendJson(response, id, { resultType: "input_required", inputRequests: {}, content: [text] });
      else return false;
      return;
    });
    const mcp = await createMcpTools({ raw: { url: server.url } }, options);
    return disposeWith({ invoke: () => invokeTool(mcp.tools[0]) }, mcp, server);
  }

  it("is changed by afterToolCall", async () => {
    const content = [{ type: "text", text: "redacted" }];
    await using fixture = await createFixture({
      outputValidation: "off",
      afterToolCall: () => ({ content }),
    });
    expect(await fixture.invoke()).toMatchObject({ content: "redacted", artifact: { content } });
  });

  it("is validated", async () => {
    await using fixture = await createFixture({ outputValidation: "error" });
    const message = await fixture.invoke();
    expect(message).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-response", issues: [{ path: "" }] } },
    });
  });
});
