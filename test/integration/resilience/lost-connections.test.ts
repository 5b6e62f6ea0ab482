import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, it } from "vitest";
import { createMcpTools, McpServerManager } from "../../../src/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { eventually, ONCE, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { LegacySseServer } from "../../fixtures/sse-server.js";
import { factsOf, stdioServer, untilGone } from "../../fixtures/stdio-servers.js";
import { WebSocketHost } from "../../fixtures/websocket-server.js";

describe("a program that ends by itself", () => {
  it("comes back by itself, and the tools that were held go on working", async () => {
    await using mcp = await createMcpTools({ child: { ...stdioServer(), ...ONCE } });
    const { pid } = await factsOf(mcp.clients.child);
    const states: string[] = [];
    mcp.on("serverChanged", ({ state }) => states.push(state));
    const held = mcp.tools.find(({ mcp: { name } }) => name === "echo");
    await mcp.callTool({ name: "leave" });
    await untilGone(pid);
    await eventually(() => states.includes("connected"));
    expect(states).toEqual(["reconnecting", "connected"]);
    expect(mcp.status().child).not.toHaveProperty("error");
    expect(await held?.invoke({ text: "again" })).toBe("again");
    expect((await factsOf(mcp.clients.child)).pid).not.toBe(pid);
  });

  it("comes back at once when somebody calls", async () => {
    const clock = new FakeClock();
    await using manager = new McpServerManager({ child: { ...stdioServer(), ...ONCE } }, { clock });
    await manager.connect();
    const child = await manager.waitFor("child");
    await child.callTool({ name: "leave" });
    await eventually(() => manager.status()["child"]?.state === "reconnecting");
    expect(manager.errors.get("child")).toMatchObject({ kind: "connection-lost" });
    expect((await child.callTool({ name: "echo", args: { text: "hi" } })).text()).toBe("hi");
    expect(manager.connected).toEqual(["child"]);
  });

  it.each(["disconnect", "remove"] as const)("does not come back after %s", async (how) => {
    const clock = new FakeClock();
    await using manager = new McpServerManager({ child: { ...stdioServer(), ...ONCE } }, { clock });
    await manager.connect();
    const child = await manager.waitFor("child");
    await child.callTool({ name: "leave" });
    await eventually(() => manager.status()["child"]?.state === "reconnecting");
    await manager[how]("child");
    clock.advance(3_600_000);
    expect(child.state).toBe("closed");
    expect(manager.connected).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("a server elsewhere whose connection breaks", () => {
  it.each([
    ["a WebSocket", () => WebSocketHost.serve(new McpTestServer()), {}],
    ["an event stream", () => LegacySseServer.start(), { type: "sse" }],
  ] as const)("comes back by itself when it is there again: %s", async (_, start, kind) => {
    const clock = new FakeClock();
    await using server = await start();
    await using manager = new McpServerManager({ far: { ...kind, url: server.url, ...ONCE } }, { clock });
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

describe("a connection that cannot be had again", () => {
  it("is tried four times where the server is here, and then given up; reconnect() tries again", async () => {
    const clock = new FakeClock();
    const server = new McpTestServer();
    let farSide: InMemoryTransport | undefined;
    let tries = 0;
    let isGone = false;
    const openTransport = async () => {
      tries += 1;
      if (isGone) throw new Error("gone");
      const [near, far] = InMemoryTransport.createLinkedPair();
      farSide = far;
      await server.connect(far);
      return near;
    };
    await using manager = new McpServerManager({ here: { openTransport, ...ONCE } }, { clock });
    await manager.connect();
    isGone = true;
    await farSide?.close();
    expect(manager.status()).toMatchObject({ here: { state: "reconnecting" } });
    for (const [n, ms] of [500, 1_000, 2_000, 4_000].entries()) {
      await eventually(() => clock.pending === 1);
      clock.advance(ms);
      await eventually(() => tries === n + 2);
    }
    await eventually(() => manager.failed.length === 1);
    expect(clock.pending).toBe(0);
    isGone = false;
    await manager.reconnect();
    expect(manager.connected).toEqual(["here"]);
  });

  it("is left alone when it is lost again and again", async () => {
    const server = new McpTestServer();
    const clock = new FakeClock();
    let farSide: InMemoryTransport | undefined;
    const openTransport = async () => {
      const [near, far] = InMemoryTransport.createLinkedPair();
      farSide = far;
      await server.connect(far);
      return near;
    };
    await using manager = new McpServerManager({ flapping: { openTransport, ...ONCE } }, { clock });
    await manager.connect();
    for (const _ of times(5, (n) => n)) {
      await farSide?.close();
      await eventually(() => clock.pending === 1);
      clock.advance(500);
      await eventually(() => manager.connected.length === 1);
    }
    await farSide?.close();
    expect(manager.failed).toEqual(["flapping"]);
    expect(manager.errors.get("flapping")?.message).toContain("again and again");
    await manager.clients.get("flapping")?.callTool({ name: "echo", args: { text: "hi" } });
    expect(manager.connected).toEqual(["flapping"]);
  });
});
