import { describe, expect, it } from "vitest";
import { createMcpTools, type ServerDefinition } from "../../../src/index.js";
import { McpServerManager, publishServer, registryServers } from "../../../src/manager/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, NO_RETRY, times } from "../../fixtures/clients.js";
import { stdioServer } from "../../fixtures/stdio-servers.js";

function repeat(count: number, prefix: string, definition: ServerDefinition) {
  return Object.fromEntries(times(count, (n) => [`${prefix}${n}`, definition] as const));
}

describe("many remote servers", () => {
  it("are connected all at once", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "hang" }, { method: "initialize" });
    const servers = repeat(50, "s", { url: server.url, ...NO_RETRY });
    await using manager = new McpServerManager(servers);
    const connecting = manager.connect();
    await eventually(() => server.received("initialize").length === 50);
    await manager.close();
    await connecting.catch(() => undefined);
  });

  it("of one host that does not respond do not hold back those of others", async () => {
    await using slow = await startMcpTestServer();
    await using quick = await startMcpTestServer();
    slow.addFault({ type: "hang" }, { method: "initialize" });
    const servers = {
      ...repeat(20, "slow", { url: slow.url, ...NO_RETRY }),
      ...repeat(10, "quick", { url: quick.url, ...NO_RETRY }),
    };
    await using manager = new McpServerManager(servers, { concurrency: 8 });
    const connecting = manager.connect();
    await eventually(() => manager.connected.length === 10);
    expect(slow.received("initialize")).toHaveLength(4);
    await manager.close();
    await connecting.catch(() => undefined);
  });

  it("of a registry are connected as many at a time as concurrency says", async () => {
    await using server = await startMcpTestServer();
    await using store = memoryStore();
    for (const n of times(12, (index) => index))
      await publishServer(store, { name: `s${n}`, url: server.url });
    await using manager = new McpServerManager({}, { concurrency: 4 });
    const connecting = new Set<string>();
    let most = 0;
    manager.on("serverChanged", ({ server: name, state }) => {
      if (state === "connecting") connecting.add(name);
      else connecting.delete(name);
      most = Math.max(most, connecting.size);
    });
    await registryServers(store, { allow: [new URL(server.url).origin] }).attach(manager);
    await eventually(() => manager.connected.length === 12);
    // At most half of the slots are for one host.
    expect(most).toBe(2);
  });

  it("do not hold back a server that is added after one was cancelled", async () => {
    await using slow = await startMcpTestServer();
    await using quick = await startMcpTestServer();
    slow.addFault({ type: "hang" }, { method: "initialize" });
    await using manager = new McpServerManager({}, { concurrency: 1 });
    const adding = manager.add("slow", { url: slow.url, ...NO_RETRY }).catch(() => undefined);
    await slow.waitFor("initialize");
    const connecting = manager.add("quick", { url: quick.url, ...NO_RETRY });
    await manager.remove("slow");
    await connecting;
    await adding;
    expect(manager.connected).toEqual(["quick"]);
  });

  it("that are required are not overtaken by optional ones without a host", async () => {
    await using server = await startMcpTestServer();
    const hanging = { resolve: () => new Promise<never>(() => undefined), optional: true, ...NO_RETRY };
    const servers = { required: { url: server.url }, ...repeat(2, "optional", hanging) };
    await using manager = new McpServerManager(servers, { concurrency: 2 });
    const connecting = manager.connect();
    await eventually(() => manager.connected.length === 1);
    await manager.close();
    await connecting.catch(() => undefined);
  });

  it("start in the order of their definitions, however many there are", async () => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools(repeat(150, "s", { url: server.url, ...NO_RETRY }));
    expect(mcp.tools.map(({ name }) => name)).toEqual(times(150, (n) => `s${n}__echo`));
    expect(mcp.servers.connected).toHaveLength(150);
  });
});

describe("programs", () => {
  it("are started as many at a time as programConcurrency says, and do not hold back remote servers", async () => {
    await using server = await startMcpTestServer();
    const program: ServerDefinition = { ...stdioServer(), ...NO_RETRY };
    const servers = { ...repeat(3, "program", program), far: { url: server.url, ...NO_RETRY } };
    await using manager = new McpServerManager(servers, { programConcurrency: 1 });
    const connecting = new Set<string>();
    const connected: string[] = [];
    let most = 0;
    manager.on("serverChanged", ({ server: name, state }) => {
      if (state === "connected") connected.push(name);
      if (!name.startsWith("program")) return;
      if (state === "connecting") connecting.add(name);
      else connecting.delete(name);
      most = Math.max(most, connecting.size);
    });
    await manager.connect();
    expect(connected.filter((name) => name !== "far")).toEqual(["program0", "program1", "program2"]);
    expect([most, connected[0]]).toEqual([1, "far"]);
  });
});
