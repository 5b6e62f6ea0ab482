import { GraphInterrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type BeforeToolCallInput, createMcpTools, type AfterToolCallResult } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { rejection, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
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
