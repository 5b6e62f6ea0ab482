import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, it } from "vitest";
import { McpServerManager, type McpServerManagerOptions, type ServerDefinition } from "../../../src/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, failureOf, gate, ONCE } from "../../fixtures/clients.js";

type Name = "a" | "b" | "c";

/** Three real servers, and a manager of them that is closed in the end. */
async function scene(options: McpServerManagerOptions = {}, b: Partial<ServerDefinition> = {}) {
  const [one, two, three] = await Promise.all([
    startMcpTestServer(),
    startMcpTestServer(),
    startMcpTestServer(),
  ]);
  const servers: Record<Name, McpTestServer> = { a: one, b: two, c: three };
  const manager = new McpServerManager(
    {
      a: { url: one.url, ...ONCE },
      b: { url: two.url, ...ONCE, ...b } as ServerDefinition,
      c: { url: three.url, ...ONCE },
    },
    options,
  );
  return {
    manager,
    servers,
    handshakes: () => [one, two, three].map((server) => server.received("initialize").length),
    sessions: () => [one, two, three].map((server) => server.openSessions.length),
    untilClosed: () =>
      eventually(() =>
        [one, two, three].every(({ openSessions, openSockets }) => openSessions.length + openSockets === 0),
      ),
    async [Symbol.asyncDispose]() {
      await manager.close();
      await Promise.all([one, two, three].map((server) => server.close()));
    },
  };
}

const MODES = [
  { strict: false, concurrency: 16 },
  { strict: false, concurrency: 1 },
  { strict: true, concurrency: 16 },
  { strict: true, concurrency: 1 },
].map(({ strict, concurrency }) => ({
  name: `${strict ? "strict" : "non-strict"}, ${concurrency === 1 ? "sequential" : "parallel"}`,
  options: { strict, concurrency },
}));

describe.each(MODES)("$name", ({ options }) => {
  it("all answer: all are connected, and their tools are known", async () => {
    await using at = await scene(options);
    expect(at.manager.connected).toEqual([]);
    await at.manager.connect();
    const { configured, connected, failed, active, errors } = at.manager;
    expect({ configured, connected, failed, active }).toEqual({
      configured: ["a", "b", "c"],
      connected: ["a", "b", "c"],
      failed: [],
      active: ["a", "b", "c"],
    });
    expect(errors.size).toBe(0);
    expect(at.manager.toolsOf("b")?.map(({ name }) => name)).toEqual(["echo"]);
  });

  it("one fails: it is told, or undoes all", async () => {
    await using at = await scene(options);
    await at.servers.b.stop();
    if (options.strict) {
      expect(await failureOf(at.manager.connect())).toMatchObject({ kind: "not-sent", server: "b" });
      expect(at.manager).toMatchObject({ connected: [], failed: [], active: ["a", "b", "c"] });
      await at.untilClosed();
      return;
    }
    await at.manager.connect();
    expect(at.manager).toMatchObject({ connected: ["a", "c"], failed: ["b"], active: ["a", "c"] });
    expect(at.manager.errors.get("b")).toMatchObject({ kind: "not-sent" });
  });

  it("one hangs: it fails when its time is up, and costs the others nothing", async () => {
    await using at = await scene(options, { timeouts: { connectMs: 100 } });
    at.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    if (options.strict) {
      expect(await failureOf(at.manager.connect())).toMatchObject({ kind: "timeout", server: "b" });
      expect(at.manager).toMatchObject({ connected: [], failed: [] });
      await at.untilClosed();
      return;
    }
    await at.manager.connect();
    expect(at.manager).toMatchObject({ connected: ["a", "c"], failed: ["b"] });
  });

  it("cancelled half-way: what is connected stays, or nothing does", async () => {
    await using at = await scene(options);
    at.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const controller = new AbortController();
    const cancelled = failureOf(at.manager.connect({ signal: controller.signal }));
    const there = options.concurrency === 1 ? ["a"] : ["a", "c"];
    await at.servers.b.waitFor("initialize");
    await eventually(() => at.manager.connected.length === there.length);
    controller.abort("enough");
    expect(await cancelled).toBe("enough");
    expect(at.manager.connected).toEqual(options.strict ? [] : there);
    expect(at.manager.status()["b"]?.state).toBe("idle");
    at.servers.b.clearFaults();
    await at.manager.connect();
    expect(at.manager.connected).toEqual(["a", "b", "c"]);
  });

  it("connect during close: refused, and nothing is opened", async () => {
    await using at = await scene(options);
    await at.manager.connect();
    const closing = at.manager.close();
    expect(await failureOf(at.manager.connect())).toMatchObject({ kind: "closed" });
    await closing;
    expect(at.manager).toMatchObject({ connected: [], active: [] });
    expect(at.handshakes()).toEqual([1, 1, 1]);
    await at.untilClosed();
  });

  it("close during connect: ends it, and everything that it opened", async () => {
    await using at = await scene(options);
    at.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const connecting = failureOf(at.manager.connect());
    await at.servers.b.waitFor("initialize");
    await at.manager.close();
    expect(await connecting).toMatchObject({ kind: "closed" });
    expect(Object.values(at.manager.status()).map(({ state }) => state)).toEqual([
      "disconnected",
      "disconnected",
      "disconnected",
    ]);
    await at.untilClosed();
  });

  it("repeated: connects once", async () => {
    await using at = await scene(options);
    await Promise.all([at.manager.connect(), at.manager.connect()]);
    await at.manager.connect();
    await at.manager.reconnect();
    expect(at.handshakes()).toEqual([1, 1, 1]);
    await Promise.all([at.manager.close(), at.manager.close()]);
    await at.manager.close();
    await at.untilClosed();
  });
});

describe("the manager", () => {
  it("tries again only what failed, or everything when told so", async () => {
    await using at = await scene();
    await at.servers.b.stop();
    await at.manager.connect();
    expect(at.manager.failed).toEqual(["b"]);
    await at.servers.b.start();
    await at.manager.reconnect();
    expect(at.manager).toMatchObject({ connected: ["a", "b", "c"], failed: [] });
    expect(at.handshakes()).toEqual([1, 1, 1]);
    await at.manager.reconnect({ failedOnly: false });
    expect(at.manager.connected).toEqual(["a", "b", "c"]);
    expect(at.handshakes()).toEqual([2, 2, 2]);
  });

  it("keeps failed servers among the active ones when told so", async () => {
    await using at = await scene({ dropFailed: false });
    await at.servers.b.stop();
    await at.manager.connect();
    expect(at.manager).toMatchObject({ failed: ["b"], active: ["a", "b", "c"] });
  });

  it("with strict, restores what an earlier attempt had left", async () => {
    await using at = await scene({ strict: true });
    await at.manager.connect();
    await at.manager.disconnect("a");
    await at.manager.disconnect("b");
    await at.servers.b.stop();
    expect(await failureOf(at.manager.connect())).toMatchObject({ server: "b" });
    expect(Object.values(at.manager.status()).map(({ state }) => state)).toEqual([
      "disconnected",
      "disconnected",
      "connected",
    ]);
    expect(await failureOf(at.manager.add("d", { url: at.servers.b.url, ...ONCE }))).toMatchObject({
      server: "d",
    });
    expect(at.manager.configured).toEqual(["a", "b", "c"]);
  });

  it("does one thing after the other, in the order it was asked", async () => {
    await using at = await scene();
    const seen: string[] = [];
    at.manager.on("serverChanged", ({ server, state }) => server === "a" && seen.push(state));
    await Promise.all([at.manager.connect(), at.manager.disconnect("a"), at.manager.connect()]);
    expect(seen).toEqual(["connecting", "connected", "disconnected", "connecting", "connected"]);
  });

  it("adds and removes servers, in their order", async () => {
    await using at = await scene();
    await using late = await startMcpTestServer({ tools: [{ name: "late", run: () => "at last" }] });
    await at.manager.connect();
    const changed: string[] = [];
    at.manager.on("toolsChanged", ({ server }) => changed.push(server));
    await at.manager.add("late", { url: late.url });
    await at.manager.remove("a");
    expect(at.manager).toMatchObject({ configured: ["b", "c", "late"], connected: ["b", "c", "late"] });
    expect(changed).toEqual(["late", "a"]);
    expect(at.sessions()).toEqual([0, 1, 1]);
    expect(await failureOf(at.manager.add("late", { url: late.url }))).toMatchObject({
      kind: "invalid-config",
    });
    expect(await failureOf(at.manager.remove("a"))).toMatchObject({ kind: "invalid-config" });
    expect(await failureOf(at.manager.add("odd", { url: "nowhere" }))).toMatchObject({
      kind: "invalid-config",
    });
    await at.manager.close();
    await eventually(() => late.openSessions.length === 0);
  });

  it("waits for one server, whoever connects it", async () => {
    await using at = await scene({}, { lazy: true });
    const { opened, open } = gate();
    at.servers.a.tools = [{ name: "echo", run: () => opened }];
    const connecting = at.manager.connect();
    expect((await at.manager.waitFor("c")).name).toBe("c");
    await connecting;
    expect(at.manager.status()).toMatchObject({ b: { state: "idle", tools: 0 } });
    await at.manager.waitFor("b");
    expect(at.manager.status()).toMatchObject({ b: { state: "connected", tools: 1 } });
    await at.manager.disconnect("b");
    expect(await failureOf(at.manager.waitFor("b"))).toMatchObject({ kind: "not-sent", server: "b" });
    expect(await failureOf(at.manager.waitFor("c", { signal: AbortSignal.abort("no") }))).toBe("no");
    expect(await failureOf(at.manager.waitFor("nobody"))).toMatchObject({ kind: "invalid-config" });
    open();
  });

  it("tells of each server what it does, since when, and how it answers", async () => {
    await using at = await scene();
    expect(at.manager.status()["a"]).toMatchObject({ state: "idle", tools: 0, breaker: undefined });
    const before = Date.now();
    await at.manager.connect();
    const { a } = at.manager.status();
    expect(a).toEqual({
      state: "connected",
      since: expect.any(Number),
      tools: 1,
      breaker: undefined,
      latencyMs: expect.any(Number),
    });
    expect(a?.since).toBeGreaterThanOrEqual(before);
  });

  it("closes the last server first", async () => {
    const server = new McpTestServer();
    const closed: string[] = [];
    const named = (name: string): ServerDefinition => ({
      openTransport: async () => {
        const [near, far] = InMemoryTransport.createLinkedPair();
        await server.connect(far);
        const close = near.close.bind(near);
        near.close = async () => {
          closed.push(name);
          await close();
        };
        return near;
      },
    });
    const manager = new McpServerManager({ a: named("a"), b: named("b"), c: named("c") });
    await manager.connect();
    await manager.close();
    expect([...new Set(closed)]).toEqual(["c", "b", "a"]);
  });

  it("closes past a server that cannot be closed, within its time", async () => {
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    await using server = await startMcpTestServer();
    const manager = new McpServerManager(
      {
        a: { url: server.url },
        stuck: {
          openTransport: async () => ({
            start: async () => undefined,
            send: async () => undefined,
            close: () => new Promise<void>(() => undefined),
          }),
          ...ONCE,
        },
      },
      { closeTimeoutMs: 200, logger: { debug: warn, info: warn, warn, error: warn } },
    );
    const connecting = failureOf(manager.connect());
    await manager.waitFor("a");
    await manager.close();
    await connecting;
    expect(warnings.join()).toContain('Server "stuck" could not be closed');
    await eventually(() => server.openSockets === 0);
  });

  it.each([
    [{ concurrency: 0 }, "concurrency"],
    [{ closeTimeoutMs: -1 }, "closeTimeoutMs"],
    [{ strict: "yes" }, "strict"],
    [{ listTools: true }, "listTools"],
    [{ parallel: true }, "parallel"],
    [null, "expected an object"],
  ])("refuses options %j", (options, message) => {
    expect(() => new McpServerManager({}, options as never)).toThrow(message);
  });
});
