import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { clientOf, echo, failureOf, times } from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

describe("without a word about the protocol", () => {
  it("a server with sessions costs one handshake and nothing more", async () => {
    await using server = await startEraServer("legacy");
    await using client = clientOf(server);
    await client.callTool(echo());
    const methods = server.requests.map(({ method }) => method);
    expect(methods).toEqual(["initialize", "notifications/initialized", "tools/call"]);
    expect(client.sessionId).toBeDefined();
  });

  it.each(["modern", "dual"] as const)("a %s server is found out once", async (era) => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    const methods = server.requests.map(({ method }) => method);
    expect(methods).toEqual(["initialize", "server/discover", "tools/call", "server/discover", "tools/call"]);
  });
});

describe("that a server has no sessions", () => {
  it("is known to another process through the store of sessions", async () => {
    await using server = await startEraServer("modern");
    const store = memoryStore();
    for (const _ of [1, 2]) {
      await using client = clientOf(server, { session: { store } });
      await client.callTool(echo());
    }
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("server/discover")).toHaveLength(2);
  });

  it("is known to another process through the store of lists", async () => {
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

  it("is believed for as long as it is so", async () => {
    await using server = await startEraServer("modern");
    const store = memoryStore();
    const session = { store };
    await using first = clientOf(server, { session });
    await first.callTool(echo());
    server.era = "legacy";
    await using second = clientOf(server, { session });
    expect((await second.callTool(echo("hi"))).text()).toBe("hi");
    expect((await first.callTool(echo("hi"))).text()).toBe("hi");
    expect(second.sessionId).toBeDefined();
    expect(first.sessionId).toBe(second.sessionId);
  });
});

describe("a server that speaks neither", () => {
  it("is told with what was tried, and what to look at", async () => {
    await using server = await startRawServer(({ response, id }) => {
      const error = { code: -32601, message: "Method not found" };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    await using client = clientOf(server as never);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", code: -32601 });
    expect(failure.message).toContain("server/discover was tried as well");
    expect(failure.message).toContain("Is there an MCP server at this address?");
    expect(server.seen.map(({ method }) => method)).toEqual(["initialize", "server/discover"]);
  });
});

describe("a server that is replaced by one of another revision while its tools are held", () => {
  it("is called on as if nothing had happened, there and back", async () => {
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
