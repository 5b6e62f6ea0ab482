import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { HttpListener } from "../../../src/testing/http-listener.js";
import { eventually, NO_RETRY, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { getProcessInfo, stdioServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

// Delays are exact.
beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

describe("a stdio server that exits unexpectedly", () => {
  it("is restarted automatically, and held tools keep working", async () => {
    await using mcp = await createMcpTools({ child: { ...stdioServer(), ...NO_RETRY } });
    const { pid } = await getProcessInfo(mcp.clients.child);
    const states: string[] = [];
    mcp.on("serverChanged", ({ state }) => states.push(state));
    const held = mcp.tools.find(({ mcp: { name } }) => name === "echo");
    await mcp.callTool({ name: "exit" });
    await waitForExit(pid);
    await eventually(() => states.includes("connected"));
    expect(states).toEqual(["reconnecting", "connected"]);
    expect(mcp.status().child).not.toHaveProperty("error");
    expect(await held?.invoke({ text: "again" })).toBe("again");
    expect((await getProcessInfo(mcp.clients.child)).pid).not.toBe(pid);
  });

  it("is restarted at once by a call", async () => {
    const clock = new FakeClock();
    await using manager = new McpServerManager({ child: { ...stdioServer(), ...NO_RETRY } }, { clock });
    await manager.connect();
    const child = await manager.waitFor("child");
    await child.callTool({ name: "exit" });
    await eventually(() => manager.status()["child"]?.state === "reconnecting");
    expect(manager.errors.get("child")).toMatchObject({ kind: "connection-lost" });
    expect((await child.callTool({ name: "echo", args: { text: "hi" } })).text()).toBe("hi");
    expect(manager.connected).toEqual(["child"]);
  });

  it.each(["disconnect", "remove"] as const)("is not restarted after %s", async (how) => {
    const clock = new FakeClock();
    await using manager = new McpServerManager({ child: { ...stdioServer(), ...NO_RETRY } }, { clock });
    await manager.connect();
    const child = await manager.waitFor("child");
    await child.callTool({ name: "exit" });
    await eventually(() => manager.status()["child"]?.state === "reconnecting");
    await manager[how]("child");
    clock.advance(3_600_000);
    expect(child.state).toBe("closed");
    expect(manager.connected).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("a remote server whose connection is lost", () => {
  it.each([
    ["a WebSocket", () => WebSocketTestServer.serve(new McpTestServer()), {}],
    ["an SSE stream", () => SseServer.start(), { type: "sse" }],
  ] as const)("is reconnected automatically when it is available again: %s", async (_, start, kind) => {
    const clock = new FakeClock();
    await using server = await start();
    await using manager = new McpServerManager({ far: { ...kind, url: server.url, ...NO_RETRY } }, { clock });
    await manager.connect();
    await server.stop();
    await eventually(() => manager.status()["far"]?.state === "reconnecting");
    clock.advance(500);
    await eventually(() => manager.clients.get("far")?.state !== "connecting" && clock.pending === 1);
    expect(manager.connected).toEqual([]);
    await server.start();
    clock.advance(1_000);
    await eventually(() => manager.connected.length === 1);
    await manager.clients.get("far")?.callTool({ name: "echo", args: { text: "hi" } });
  });
});

describe("a lost server that rejects the credentials when it is back", () => {
  it("is tried again without a login", async () => {
    await using world = await startProtectedServer();
    const provider = new MemoryOAuthProvider();
    Object.assign(provider, {
      discoveryState: () => ({ authorizationServerUrl: world.oauth.origin }),
      saveDiscoveryState: () => undefined,
    });
    await using server = await SseServer.start();
    const far = {
      type: "sse" as const,
      url: server.url,
      auth: provider,
      allowAddress: () => true,
      ...NO_RETRY,
    };
    await using manager = new McpServerManager({ far }, { reconnection: { delaysMs: [10] } });
    await manager.connect();
    await server.stop();
    let requests = 0;
    const rejecting = new HttpListener(
      async (_, response) => {
        requests += 1;
        response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      },
      Number(new URL(server.url).port),
    );
    await rejecting.start();
    try {
      await eventually(() => requests >= 5);
      expect(provider.redirects).toEqual([]);
    } finally {
      await rejecting.stop();
    }
  });
});

describe("the option reconnection", () => {
  it("sets the delays and the number of attempts", async () => {
    const clock = new FakeClock();
    await using server = await WebSocketTestServer.serve(new McpTestServer());
    const reconnection = { delaysMs: [7_000], maxAttempts: 2 };
    const far = { url: server.url, ...NO_RETRY };
    await using manager = new McpServerManager({ far }, { clock, reconnection });
    await manager.connect();
    await server.stop();
    await eventually(() => manager.status()["far"]?.state === "reconnecting");
    for (const failed of [[], ["far"]]) {
      await eventually(() => clock.hasTimerIn(7_000));
      clock.advance(7_000);
      await eventually(() => manager.failed.length === failed.length && clock.pending === 1 - failed.length);
    }
    await server.start();
    await manager.reconnect("far");
    expect(manager.connected).toEqual(["far"]);
  });

  it("leaves a lost connection to the next call with false", async () => {
    await using server = await WebSocketTestServer.serve(new McpTestServer());
    const servers = { far: { url: server.url, ...NO_RETRY } };
    await using mcp = await createMcpTools(servers, { reconnection: false });
    await server.stop();
    await eventually(() => mcp.servers.failed.length === 1);
    expect(mcp.status().far.error).toMatchObject({
      kind: "connection-lost",
      message: 'The connection to server "far" was lost. A call or reconnect() connects again.',
    });
    await server.start();
    await mcp.callTool({ name: "far__echo", args: { text: "hi" } });
    expect(mcp.servers.connected).toEqual(["far"]);
  });
});

describe("a connection that cannot be reopened", () => {
  it("is tried four times for a local server, then fails; reconnect() tries again", async () => {
    const clock = new FakeClock();
    const server = new McpTestServer();
    let farSide: InMemoryTransport | undefined;
    let attempts = 0;
    let isDown = false;
    const openTransport = async () => {
      attempts += 1;
      if (isDown) throw new Error("down");
      const [near, far] = InMemoryTransport.createLinkedPair();
      farSide = far;
      await server.connect(far);
      return near;
    };
    await using manager = new McpServerManager({ here: { openTransport, ...NO_RETRY } }, { clock });
    await manager.connect();
    isDown = true;
    await farSide?.close();
    expect(manager.status()).toMatchObject({ here: { state: "reconnecting" } });
    for (const [n, ms] of [500, 1_000, 2_000, 4_000].entries()) {
      await eventually(() => clock.pending === 1);
      clock.advance(ms);
      await eventually(() => attempts === n + 2);
    }
    await eventually(() => manager.failed.length === 1);
    expect(clock.pending).toBe(0);
    isDown = false;
    await manager.reconnect();
    expect(manager.connected).toEqual(["here"]);
  });

  it("is not reopened after it was lost repeatedly", async () => {
    const server = new McpTestServer();
    const clock = new FakeClock();
    let farSide: InMemoryTransport | undefined;
    const openTransport = async () => {
      const [near, far] = InMemoryTransport.createLinkedPair();
      farSide = far;
      await server.connect(far);
      return near;
    };
    await using manager = new McpServerManager({ flapping: { openTransport, ...NO_RETRY } }, { clock });
    await manager.connect();
    for (const _ of times(5, (n) => n)) {
      await farSide?.close();
      await eventually(() => clock.pending === 1);
      clock.advance(500);
      await eventually(() => manager.connected.length === 1);
    }
    await farSide?.close();
    expect(manager.failed).toEqual(["flapping"]);
    expect(manager.errors.get("flapping")?.message).toContain("repeatedly");
    await manager.clients.get("flapping")?.callTool({ name: "echo", args: { text: "hi" } });
    expect(manager.connected).toEqual(["flapping"]);
  });
});
