import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent } from "../../../src/index.js";
import { type McpTestServer, type TestTool } from "../../../src/testing/index.js";
import { eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const failing: TestTool = {
  name: "failing",
  run: () => {
    throw new Error("Unknown tool: failing");
  },
};
const leaving: TestTool = { name: "leaving", run: () => "still here" };

function toolsOf(server: McpTestServer) {
  return createMcpTools({ srv: { url: server.url, ...ONCE } });
}

/** As the specification has it; the official SDK answers with an error result instead. */
function answerInvalidParams(server: McpTestServer): void {
  const error = { code: -32_602, message: "Unknown tool" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
  const headers = { "content-type": "application/json" };
  server.addFault({ type: "status", status: 200, headers, body }, { method: "tools/call" });
}

describe.each(ERAS)("a tool that its server no longer has (%s)", (era) => {
  it("is not-found when the server answers with an error result", async () => {
    await using server = await startEraServer(era, { tools: [leaving] });
    await using mcp = await toolsOf(server);
    server.tools = [failing];
    expect(await failureOf(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "not-found",
      server: "srv",
      tool: "leaving",
      outcomeUnknown: false,
    });
  });

  it("is not-found when the server answers -32602", async () => {
    await using server = await startEraServer(era, { tools: [leaving] });
    await using mcp = await toolsOf(server);
    server.tools = [];
    answerInvalidParams(server);
    expect(await failureOf(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "not-found",
      code: -32_602,
    });
  });

  it("is told to a model in words of its own", async () => {
    await using server = await startEraServer(era, { tools: [leaving] });
    await using mcp = await toolsOf(server);
    server.tools = [];
    const call = { type: "tool_call" as const, id: "1", name: "srv__leaving", args: {} };
    const message = await mcp.tools[0]?.invoke(call);
    expect(message?.content).toBe(
      'Tool "srv__leaving" failed: The server does not know this tool.\nCalling it again will not help. Tell the user.',
    );
    expect(message?.artifact.error).toMatchObject({ kind: "not-found" });
  });

  it("is not-found when only an agent's snapshot knew it", async () => {
    await using server = await startEraServer(era, { tools: [failing] });
    const availableTools = [{ name: "invented", inputSchema: { type: "object" } }];
    await using mcp = await createMcpToolsFromAgent(
      { resources: [{ $resourceType: "mcp", name: "srv", availableTools }] },
      { servers: { srv: { url: server.url, ...ONCE } } },
    );
    expect(await failureOf(mcp.callTool({ name: "invented" }))).toMatchObject({ kind: "not-found" });
  });
});

describe.each(ERAS)("a tool that its server has (%s)", (era) => {
  it("and that reports an error is believed, whatever it says", async () => {
    await using server = await startEraServer(era, { tools: [failing] });
    await using mcp = await toolsOf(server);
    for (let n = 0; n < 3; n += 1) {
      const result = await mcp.callTool({ name: "failing" });
      expect(result).toMatchObject({ isError: true });
    }
    expect(server.received("tools/list")).toHaveLength(2);
  });

  it("and that rejects its arguments stays invalid-request", async () => {
    await using server = await startEraServer(era, { tools: [leaving] });
    await using mcp = await toolsOf(server);
    answerInvalidParams(server);
    expect(await failureOf(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "invalid-request",
      code: -32_602,
    });
  });

  it("costs no list when it works", async () => {
    await using server = await startEraServer(era, { tools: [leaving] });
    await using mcp = await toolsOf(server);
    for (let n = 0; n < 3; n += 1) await mcp.callTool({ name: "leaving" });
    expect(server.received("tools/list")).toHaveLength(1);
  });

  it("keeps its error when the list cannot be had", async () => {
    await using server = await startEraServer(era, { tools: [failing] });
    await using mcp = await toolsOf(server);
    server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    expect(await mcp.callTool({ name: "failing" })).toMatchObject({ isError: true });
  });

  it("lets its caller go while the list is on its way", async () => {
    await using server = await startEraServer(era, { tools: [failing] });
    await using mcp = await toolsOf(server);
    server.addFault({ type: "hang" }, { method: "tools/list" });
    const controller = new AbortController();
    const call = failureOf(mcp.callTool({ name: "failing" }, { signal: controller.signal }));
    await eventually(() => server.received("tools/list").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
  });
});
