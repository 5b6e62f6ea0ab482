import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { createTestClient, echo, rejection, times } from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

describe("without the protocol option", () => {
  it("a legacy server needs one handshake and no extra request", async () => {
    await using server = await startEraServer("legacy");
    await using client = createTestClient(server);
    await client.callTool(echo());
    const methods = server.requests.map(({ method }) => method);
    expect(methods).toEqual(["initialize", "notifications/initialized", "tools/call"]);
    expect(client.sessionId).toBeDefined();
  });

  it.each(["modern", "dual"] as const)("a %s server is detected once", async (era) => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    const methods = server.requests.map(({ method }) => method);
    expect(methods).toEqual(["initialize", "server/discover", "tools/call", "server/discover", "tools/call"]);
  });
});

describe("a detected modern era", () => {
  it("is shared with other processes through the session store", async () => {
    await using server = await startEraServer("modern");
    const store = memoryStore();
    for (const _ of [1, 2]) {
      await using client = createTestClient(server, { session: { store } });
      await client.callTool(echo());
    }
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("server/discover")).toHaveLength(2);
  });

  it("is shared with other processes through the list cache", async () => {
    await using server = await startEraServer("dual");
    const store = memoryStore();
    for (const _ of [1, 2]) {
      await using mcp = await createMcpTools({ srv: { url: server.url } }, { cache: { store } });
      await mcp.callTool({ name: "echo", args: { text: "hi" } });
      expect(mcp.clients.srv.protocolVersion).toBe("2026-07-28");
    }
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("tools/list").length).toBeGreaterThan(0);
  });

  it("is detected again when the server changes", async () => {
    await using server = await startEraServer("modern");
    const store = memoryStore();
    const session = { store };
    await using first = createTestClient(server, { session });
    await first.callTool(echo());
    server.era = "legacy";
    await using second = createTestClient(server, { session });
    expect((await second.callTool(echo("hi"))).text()).toBe("hi");
    expect((await first.callTool(echo("hi"))).text()).toBe("hi");
    expect(second.sessionId).toBeDefined();
    expect(first.sessionId).toBe(second.sessionId);
  });
});

describe("a server of neither era", () => {
  it("fails with what was tried and what to check", async () => {
    await using server = await startRawServer(({ response, id }) => {
      const error = { code: -32601, message: "Method not found" };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    await using client = createTestClient(server as never);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", code: -32601 });
    expect(failure.message).toContain("server/discover was also tried");
    expect(failure.message).toContain("Is there an MCP server at this address?");
    expect(server.requests.map(({ method }) => method)).toEqual(["initialize", "server/discover"]);
  });
});

describe("a server that is replaced by one of another era", () => {
  it("is still called with tools created before", async () => {
    await using server = await startEraServer("legacy");
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const [tool] = mcp.tools;
    const callAll = async (text: string) => {
      const results = await Promise.all(times(10, async (n) => tool?.invoke({ text: `${text}${n}` })));
      expect(results).toEqual(times(10, (n) => `${text}${n}`));
    };
    await callAll("with sessions ");
    for (const era of ["modern", "legacy", "dual", "legacy", "modern", "dual", "modern"] as const) {
      server.era = era;
      if (era === "legacy") server.dropSessions("400 no valid id");
      await callAll(`${era} `);
    }
    expect(server.executions).toHaveLength(80);
  });
});
