import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent } from "../../../src/index.js";
import { type McpTestServer, type TestTool } from "../../../src/testing/index.js";
import { eventually, rejection, NO_RETRY } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

const failing: TestTool = {
  name: "failing",
  run: () => {
    throw new Error("Unknown tool: failing");
  },
};
const leaving: TestTool = { name: "leaving", run: () => "still here" };

/** As specified; the official SDK responds with an error result instead. */
function respondInvalidParams(server: McpTestServer): void {
  const error = { code: -32_602, message: "Unknown tool" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
  const headers = { "content-type": "application/json" };
  server.addFault({ type: "status", status: 200, headers, body }, { method: "tools/call" });
}

describe.each(ERAS)("a tool that the server no longer has (%s)", (era) => {
  it("is not-found when the server responds with an error result", async () => {
    await using toolset = await startToolset({ tools: [leaving], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    server.tools = [failing];
    expect(await rejection(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "not-found",
      server: "srv",
      tool: "leaving",
      outcomeUnknown: false,
    });
  });

  it("is not-found when the server responds with -32602", async () => {
    await using toolset = await startToolset({ tools: [leaving], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    server.tools = [];
    respondInvalidParams(server);
    expect(await rejection(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "not-found",
      code: -32_602,
    });
  });

  it("is reported to the model with its own message", async () => {
    await using toolset = await startToolset({ tools: [leaving], era, definition: NO_RETRY });
    const { server } = toolset;
    server.tools = [];
    const message = await toolset.call({});
    expect(message.content).toBe(
      'Tool "srv__leaving" failed: The server does not have this tool.\nCalling it again will not help. Tell the user.',
    );
    expect(message.artifact.error).toMatchObject({ kind: "not-found" });
  });

  it("is not-found when only the agent snapshot has it", async () => {
    await using server = await startEraServer(era, { tools: [failing] });
    const availableTools = [{ name: "invented", inputSchema: { type: "object" } }];
    await using mcp = await createMcpToolsFromAgent(
      { resources: [{ $resourceType: "mcp", name: "srv", availableTools }] },
      { servers: { srv: { url: server.url, ...NO_RETRY } } },
    );
    expect(await rejection(mcp.callTool({ name: "invented" }))).toMatchObject({ kind: "not-found" });
  });
});

describe.each(ERAS)("a tool that the server has (%s)", (era) => {
  it("keeps its error result, even if its text looks like an unknown tool", async () => {
    await using toolset = await startToolset({ tools: [failing], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    for (let n = 0; n < 3; n += 1) {
      const result = await mcp.callTool({ name: "failing" });
      expect(result).toMatchObject({ isError: true });
    }
    expect(server.received("tools/list")).toHaveLength(2);
  });

  it("stays invalid-request when it rejects its arguments", async () => {
    await using toolset = await startToolset({ tools: [leaving], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    respondInvalidParams(server);
    expect(await rejection(mcp.callTool({ name: "leaving" }))).toMatchObject({
      kind: "invalid-request",
      code: -32_602,
    });
  });

  it("is not looked up in the list when it succeeds", async () => {
    await using toolset = await startToolset({ tools: [leaving], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    for (let n = 0; n < 3; n += 1) await mcp.callTool({ name: "leaving" });
    expect(server.received("tools/list")).toHaveLength(1);
  });

  it("keeps its error result when listing fails", async () => {
    await using toolset = await startToolset({ tools: [failing], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    expect(await mcp.callTool({ name: "failing" })).toMatchObject({ isError: true });
  });

  it("can be aborted while the list is requested", async () => {
    await using toolset = await startToolset({ tools: [failing], era, definition: NO_RETRY });
    const { server, mcp } = toolset;
    server.addFault({ type: "hang" }, { method: "tools/list" });
    const controller = new AbortController();
    const call = rejection(mcp.callTool({ name: "failing" }, { signal: controller.signal }));
    await eventually(() => server.received("tools/list").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
  });
});
