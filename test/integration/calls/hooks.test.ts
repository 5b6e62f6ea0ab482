import type { ToolMessage } from "@langchain/core/messages";
import { GraphInterrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type BeforeToolCallInput, createMcpTools, type AfterToolCallResult } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { failureOf, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const call = (text: string, id = "call-1") => ({
  type: "tool_call" as const,
  id,
  name: "echo",
  args: { text },
});

describe.each(ERAS)("a hook before the call (%s)", (era) => {
  it("gives each call headers of its own, in one session", async () => {
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
    const others = server.requests.filter(({ method }) => method !== "tools/call");
    expect(others.every(({ headers }) => headers["x-order"] === undefined)).toBe(true);
  });

  it("cannot replace what the protocol owns", async () => {
    await using server = await startEraServer(era);
    const stolen = { "Mcp-Session-Id": "stolen", "Mcp-Method": "tools/list", Accept: "text/plain" };
    const headers = { ...stolen, "x-mine": "1" };
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

  it("gets a copy of the arguments, and what it does to it harms nobody", async () => {
    await using server = await startEraServer(era);
    const given = { text: "mine", list: [1, 2] };
    const beforeToolCall = ({ args }: BeforeToolCallInput) => {
      (args["list"] as number[]).push(3);
      args["text"] = "changed";
      return {};
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    await mcp.tools[0]?.invoke(given);
    expect(given).toEqual({ text: "mine", list: [1, 2] });
    expect(server.executions[0]?.args).toEqual({ text: "mine", list: [1, 2] });
  });

  it("is told who calls by a plain object, which can be copied", async () => {
    await using server = await startEraServer(era);
    const seen: object[] = [];
    const beforeToolCall = ({ context }: BeforeToolCallInput) => void seen.push({ ...context });
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    await mcp.tools[0]?.invoke({ text: "x" }, { configurable: { user: "ada" }, runName: "mine" });
    expect(seen).toMatchObject([
      { server: "s", tool: "echo", configurable: { user: "ada" }, config: { runName: "mine" } },
    ]);
  });

  it("may interrupt a graph: nothing is sent, and the interrupt goes through as it is", async () => {
    await using server = await startEraServer(era);
    const interrupt = new GraphInterrupt([{ id: "1", value: "ask a person" }]);
    const beforeToolCall = () => {
      throw interrupt;
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { beforeToolCall });
    const [tool] = mcp.tools;
    expect(await failureOf(tool?.invoke(call("x")) ?? Promise.resolve())).toBe(interrupt);
    expect(server.received("tools/call")).toEqual([]);
  });
});

describe("a hook after the call", () => {
  it("may interrupt a graph as well, and is told by nobody as a failure of the tool", async () => {
    await using server = await startMcpTestServer();
    const interrupt = new GraphInterrupt([{ id: "1", value: "look at this" }]);
    const afterToolCall = () => {
      throw interrupt;
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { afterToolCall });
    expect(await failureOf(mcp.tools[0]?.invoke(call("x")) ?? Promise.resolve())).toBe(interrupt);
    expect(server.executions).toHaveLength(1);
  });
});

describe("customData", () => {
  const priced = {
    name: "echo",
    run: () => ({ content: [{ type: "text", text: "done" }], structuredContent: { price: 7, unit: "EUR" } }),
  };

  it("keeps what it finds in a result in the artifact, where no model sees it", async () => {
    await using server = await startMcpTestServer({ tools: [priced] });
    const customData = ({ structuredContent, content }: AfterToolCallResult) => {
      (content as unknown[]).length = 0;
      return { cost: (structuredContent as { price: number }).price };
    };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { customData });
    const message = (await mcp.tools[0]?.invoke(call("x"))) as ToolMessage;
    expect(message.text).toBe("done");
    expect(message.artifact).toMatchObject({ customData: { cost: 7 }, content: [{ text: "done" }] });
  });

  it.each([
    ["finds nothing", () => undefined, []],
    [
      "fails",
      () => {
        throw new Error("my fault");
      },
      [expect.stringContaining("my fault")],
    ],
    ["takes its time", () => Promise.reject(new Error("late")), [expect.stringContaining("at once")]],
  ])("that %s changes nothing", async (_, customData, said) => {
    await using server = await startMcpTestServer({ tools: [priced] });
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn: (text: string) => warnings.push(text), error() {} };
    await using mcp = await createMcpTools({ s: { url: server.url } }, { customData, logger });
    const message = (await mcp.tools[0]?.invoke(call("x"))) as ToolMessage;
    expect(message.text).toBe("done");
    expect(message.artifact).not.toHaveProperty("customData");
    expect(warnings).toEqual(said);
  });

  it("has to be a function", async () => {
    const failure = await failureOf(createMcpTools({}, { customData: "cost" as never }));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path: "customData" }] });
  });
});
