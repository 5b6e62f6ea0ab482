import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, it } from "vitest";
import { type ServerDefinition } from "../../../src/index.js";
import {
  McpServerManager,
  type McpServerManagerOptions,
  type OnServerError,
} from "../../../src/manager/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, rejection, deferred, NO_RETRY } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

type Name = "a" | "b" | "c";

/** How long a cancelled handshake may take to end its session on the server. */
const HANDSHAKE_GRACE_MS = 1_000;

/** Three real servers and a manager, all closed at the end. */
async function createFixture(options: McpServerManagerOptions = {}, b: Partial<ServerDefinition> = {}) {
  const [one, two, three] = await Promise.all([
    startMcpTestServer(),
    startMcpTestServer(),
    startMcpTestServer(),
  ]);
  const servers: Record<Name, McpTestServer> = { a: one, b: two, c: three };
  const manager = new McpServerManager(
    {
      a: { url: one.url, ...NO_RETRY },
      b: { url: two.url, ...NO_RETRY, ...b } as ServerDefinition,
      c: { url: three.url, ...NO_RETRY },
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
  it("connects all servers and lists their tools", async () => {
    await using fixture = await createFixture(options);
    expect(fixture.manager.connected).toEqual([]);
    await fixture.manager.connect();
    const { configured, connected, failed, active, errors } = fixture.manager;
    expect({ configured, connected, failed, active }).toEqual({
      configured: ["a", "b", "c"],
      connected: ["a", "b", "c"],
      failed: [],
      active: ["a", "b", "c"],
    });
    expect(errors.size).toBe(0);
    expect(fixture.manager.toolsOf("b")?.map(({ name }) => name)).toEqual(["echo"]);
  });

  it("one failure is reported, or rolls back all with strict", async () => {
    await using fixture = await createFixture(options);
    await fixture.servers.b.stop();
    if (options.strict) {
      const failure = await rejection(fixture.manager.connect());
      expect(failure).toMatchObject({ kind: "not-sent", server: "b" });
      const { connected, failed, active, errors } = fixture.manager;
      expect({ connected, failed, active }).toEqual({ connected: [], failed: ["b"], active: ["a", "c"] });
      expect(errors).toEqual(new Map([["b", failure]]));
      await fixture.untilClosed();
      await fixture.servers.b.start();
      await fixture.manager.reconnect({ failedOnly: true });
      expect(fixture.manager.connected).toEqual(["b"]);
      expect(fixture.manager.errors.size).toBe(0);
      return;
    }
    await fixture.manager.connect();
    expect(fixture.manager).toMatchObject({ connected: ["a", "c"], failed: ["b"], active: ["a", "c"] });
    expect(fixture.manager.errors.get("b")).toMatchObject({ kind: "not-sent" });
  });

  it("a server that hangs fails after its timeout without affecting the others", async () => {
    const clock = new FakeClock();
    await using fixture = await createFixture({ ...options, clock }, { timeouts: { connectMs: 100 } });
    fixture.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const connecting = fixture.manager.connect();
    if (options.strict) {
      const failure = await clock.advanceUntilSettled(rejection(connecting), HANDSHAKE_GRACE_MS);
      expect(failure).toMatchObject({ kind: "timeout", server: "b" });
      expect([fixture.manager.connected, fixture.manager.failed]).toEqual([[], ["b"]]);
      await fixture.untilClosed();
      return;
    }
    await clock.advanceUntilSettled(connecting, HANDSHAKE_GRACE_MS);
    expect(fixture.manager).toMatchObject({ connected: ["a", "c"], failed: ["b"] });
  });

  it("a signal that is aborted closes what this attempt has opened", async () => {
    const clock = new FakeClock();
    await using fixture = await createFixture({ ...options, clock });
    fixture.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const controller = new AbortController();
    const cancelled = rejection(fixture.manager.connect({ signal: controller.signal }));
    const expected = options.concurrency === 1 ? ["a"] : ["a", "c"];
    await fixture.servers.b.waitFor("initialize");
    await eventually(() => fixture.manager.connected.length === expected.length);
    controller.abort("enough");
    expect(await clock.advanceUntilSettled(cancelled, HANDSHAKE_GRACE_MS)).toBe("enough");
    expect(Object.values(fixture.manager.status()).map(({ state }) => state)).toEqual([
      "idle",
      "idle",
      "idle",
    ]);
    await eventually(() => fixture.sessions().join() === "0,0,0");
    fixture.servers.b.clearFaults();
    await fixture.manager.connect();
    expect(fixture.manager.connected).toEqual(["a", "b", "c"]);
  });

  it("connect during close is rejected and opens nothing", async () => {
    await using fixture = await createFixture(options);
    await fixture.manager.connect();
    const closing = fixture.manager.close();
    expect(await rejection(fixture.manager.connect())).toMatchObject({ kind: "closed" });
    await closing;
    expect(fixture.manager).toMatchObject({ connected: [], active: [] });
    expect(fixture.handshakes()).toEqual([1, 1, 1]);
    await fixture.untilClosed();
  });

  it("close during connect cancels it and closes everything", async () => {
    const clock = new FakeClock();
    await using fixture = await createFixture({ ...options, clock });
    fixture.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const connecting = rejection(fixture.manager.connect());
    await fixture.servers.b.waitFor("initialize");
    await eventually(() => fixture.manager.connected.length === (options.concurrency === 1 ? 1 : 2));
    await clock.advanceUntilSettled(fixture.manager.close(), HANDSHAKE_GRACE_MS);
    expect(await connecting).toMatchObject({ kind: "closed" });
    expect(Object.values(fixture.manager.status()).map(({ state }) => state)).toEqual([
      "disconnected",
      "disconnected",
      "disconnected",
    ]);
    await fixture.untilClosed();
  });

  it("repeated calls connect once", async () => {
    await using fixture = await createFixture(options);
    await Promise.all([fixture.manager.connect(), fixture.manager.connect()]);
    await fixture.manager.connect();
    await fixture.manager.reconnect();
    expect(fixture.handshakes()).toEqual([1, 1, 1]);
    await Promise.all([fixture.manager.close(), fixture.manager.close()]);
    await fixture.manager.close();
    await fixture.untilClosed();
  });
});

describe("the manager", () => {
  it("reconnects only failed servers, or all with failedOnly: false", async () => {
    await using fixture = await createFixture();
    await fixture.servers.b.stop();
    await fixture.manager.connect();
    expect(fixture.manager.failed).toEqual(["b"]);
    await fixture.servers.b.start();
    await fixture.manager.reconnect();
    expect(fixture.manager).toMatchObject({ connected: ["a", "b", "c"], failed: [] });
    expect(fixture.handshakes()).toEqual([1, 1, 1]);
    await fixture.manager.reconnect({ failedOnly: false });
    expect(fixture.manager.connected).toEqual(["a", "b", "c"]);
    expect(fixture.handshakes()).toEqual([2, 2, 2]);
  });

  it("keeps failed servers active with dropFailed: false", async () => {
    await using fixture = await createFixture({ dropFailed: false });
    await fixture.servers.b.stop();
    await fixture.manager.connect();
    expect(fixture.manager).toMatchObject({ failed: ["b"], active: ["a", "b", "c"] });
  });

  it("with strict, restores the state before the attempt, except for what has failed", async () => {
    await using fixture = await createFixture({ strict: true });
    await fixture.manager.connect();
    await fixture.manager.disconnect("a");
    await fixture.manager.disconnect("b");
    await fixture.servers.b.stop();
    expect(await rejection(fixture.manager.connect())).toMatchObject({ server: "b" });
    expect(Object.values(fixture.manager.status()).map(({ state }) => state)).toEqual([
      "disconnected",
      "failed",
      "connected",
    ]);
    expect(
      await rejection(fixture.manager.add("d", { url: fixture.servers.b.url, ...NO_RETRY })),
    ).toMatchObject({
      server: "d",
    });
    expect(fixture.manager.configured).toEqual(["a", "b", "c"]);
  });

  it("runs the operations of a server in order, and a disconnect ends the attempt before it", async () => {
    await using fixture = await createFixture();
    const states: string[] = [];
    fixture.manager.on("serverChanged", ({ server, state }) => server === "a" && states.push(state));
    await Promise.all([
      fixture.manager.connect(),
      fixture.manager.disconnect("a"),
      fixture.manager.connect(),
    ]);
    expect(states).toEqual(["disconnected", "connecting", "connected"]);
    await Promise.all([
      fixture.manager.reconnect({ failedOnly: false }),
      fixture.manager.reconnect({ failedOnly: false }),
    ]);
    const reconnected = ["idle", "connecting", "connected"];
    expect(states.slice(3)).toEqual([...reconnected, ...reconnected]);
  });

  it("a disconnect that follows a connect wins, also before the connect has begun", async () => {
    await using fixture = await createFixture({ concurrency: 1 });
    await Promise.all([fixture.manager.connect(), fixture.manager.disconnect("c")]);
    expect(fixture.manager.connected).toEqual(["a", "b"]);
    expect(fixture.manager.status()["c"]?.state).toBe("disconnected");
    expect(fixture.handshakes()).toEqual([1, 1, 0]);
  });

  it.each<[string, boolean, (manager: McpServerManager) => Promise<void>]>([
    ["reconnect(name)", false, (manager) => manager.reconnect("x")],
    ["reconnect()", false, (manager) => manager.reconnect({ failedOnly: false })],
    ["connect() of a lazy server", true, (manager) => manager.connect()],
  ])("a disconnect wins at any moment of %s", async (_, lazy, begin) => {
    await using server = await startMcpTestServer();
    for (let microtasks = 0; microtasks < 20; microtasks += 1) {
      await using manager = new McpServerManager({ x: { url: server.url, lazy } });
      await (lazy ? manager.disconnect("x") : manager.connect());
      const begun = Promise.allSettled([begin(manager)]);
      for (let n = 0; n < microtasks; n += 1) await Promise.resolve();
      await manager.disconnect("x");
      await begun;
      expect([microtasks, manager.status()["x"]?.state]).toEqual([microtasks, "disconnected"]);
    }
  });

  it("adds and removes servers", async () => {
    await using fixture = await createFixture();
    await using late = await startMcpTestServer({ tools: [{ name: "late", run: () => "at last" }] });
    await fixture.manager.connect();
    const changed: string[] = [];
    fixture.manager.on("toolsChanged", ({ server }) => changed.push(server));
    await fixture.manager.add("late", { url: late.url });
    await fixture.manager.remove("a");
    expect(fixture.manager).toMatchObject({ configured: ["b", "c", "late"], connected: ["b", "c", "late"] });
    expect(changed).toEqual(["late", "a"]);
    expect(fixture.sessions()).toEqual([0, 1, 1]);
    expect(await rejection(fixture.manager.add("late", { url: late.url }))).toMatchObject({
      kind: "invalid-config",
    });
    expect(await rejection(fixture.manager.remove("a"))).toMatchObject({ kind: "invalid-config" });
    expect(await rejection(fixture.manager.add("odd", { url: "nowhere" }))).toMatchObject({
      kind: "invalid-config",
    });
    await fixture.manager.close();
    await eventually(() => late.openSessions.length === 0);
  });

  it("waits for one server", async () => {
    await using fixture = await createFixture({}, { lazy: true });
    const { promise, resolve } = deferred();
    fixture.servers.a.tools = [{ name: "echo", run: () => promise }];
    const connecting = fixture.manager.connect();
    expect((await fixture.manager.waitFor("c")).name).toBe("c");
    await connecting;
    expect(fixture.manager.status()).toMatchObject({ b: { state: "idle", tools: 0 } });
    await fixture.manager.waitFor("b");
    expect(fixture.manager.status()).toMatchObject({ b: { state: "connected", tools: 1 } });
    await fixture.manager.disconnect("b");
    expect(await rejection(fixture.manager.waitFor("b"))).toMatchObject({ kind: "not-sent", server: "b" });
    expect(await rejection(fixture.manager.waitFor("c", { signal: AbortSignal.abort("no") }))).toBe("no");
    expect(await rejection(fixture.manager.waitFor("unknown"))).toMatchObject({ kind: "invalid-config" });
    resolve();
  });

  it("reports the state, its start and the latency of each server", async () => {
    await using fixture = await createFixture();
    expect(fixture.manager.status()["a"]).toMatchObject({ state: "idle", tools: 0, breaker: undefined });
    const before = Date.now();
    await fixture.manager.connect();
    const { a } = fixture.manager.status();
    expect(a).toEqual({
      state: "connected",
      since: expect.any(Number),
      tools: 1,
      breaker: undefined,
      latencyMs: expect.any(Number),
      provenance: { source: "code" },
    });
    expect(a?.since).toBeGreaterThanOrEqual(before);
  });

  it("closes the last server first", async () => {
    const server = new McpTestServer();
    const closed: string[] = [];
    const recordClose = (name: string): ServerDefinition => ({
      openTransport: async () => {
        const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
        await server.connect(serverEnd);
        const close = clientEnd.close.bind(clientEnd);
        clientEnd.close = async () => {
          closed.push(name);
          await close();
        };
        return clientEnd;
      },
    });
    const manager = new McpServerManager({ a: recordClose("a"), b: recordClose("b"), c: recordClose("c") });
    await manager.connect();
    await manager.close();
    expect([...new Set(closed)]).toEqual(["c", "b", "a"]);
  });

  it("closes the others if one server cannot be closed in time", async () => {
    const logger = new RecordingLogger();
    const clock = new FakeClock();
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
          ...NO_RETRY,
        },
      },
      { closeTimeoutMs: 200, logger, clock },
    );
    const connecting = rejection(manager.connect());
    await manager.waitFor("a");
    await clock.advanceUntilSettled(manager.close(), 200);
    await clock.advanceUntilSettled(connecting, 2_000);
    expect(logger.messages.join()).toContain('Server "stuck" could not be closed');
    await eventually(() => server.openSockets === 0);
  });

  it.each([
    [{ concurrency: 0 }, "concurrency"],
    [{ closeTimeoutMs: -1 }, "closeTimeoutMs"],
    [{ strict: "yes" }, "strict"],
    [{ listTools: true }, "listTools"],
    [{ onServerError: "ignore" }, "onServerError"],
    [{ reconnection: true }, "reconnection"],
    [{ reconnection: { delaysMs: [] } }, "reconnection.delaysMs"],
    [{ reconnection: { delayMs: 5 } }, "reconnection", '(did you mean "delaysMs"?)'],
    [{ reconnection: { maxAttempts: 0 } }, "reconnection.maxAttempts"],
    [{ parallel: true }, "", 'unknown key "parallel"'],
    [null, "", "got null"],
  ])("rejects options %j", (options, path, words = "expected") => {
    const message: unknown = expect.stringContaining(words);
    expect(() => new McpServerManager({}, options as never)).toThrow(
      expect.objectContaining({ kind: "invalid-config", issues: [{ path, message }] }),
    );
  });
});

describe("while one server hangs in its handshake", () => {
  async function createHangingFixture(options: McpServerManagerOptions = {}) {
    const fixture = await createFixture(options, { timeouts: { connectMs: 600_000 } });
    fixture.servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const connecting = fixture.manager.connect();
    connecting.catch(() => undefined);
    await fixture.servers.b.waitFor("initialize");
    return { ...fixture, connecting };
  }

  it("others are added, disconnected, connected and removed", async () => {
    await using fixture = await createHangingFixture();
    const { manager, servers } = fixture;
    await manager.waitFor("a");
    await manager.disconnect("a");
    await manager.add("late", { url: servers.a.url, ...NO_RETRY });
    await manager.remove("c");
    expect(manager.configured).toEqual(["a", "b", "late"]);
    expect(manager.connected).toEqual(["late"]);
    expect(manager.status()["b"]?.state).toBe("connecting");
  });

  it.each([{}, { strict: true }, { concurrency: 1 }])("it is disconnected at once (%j)", async (options) => {
    await using fixture = await createHangingFixture(options);
    const { manager, servers, connecting } = fixture;
    await manager.disconnect("b");
    expect(manager.status()["b"]?.state).toBe("disconnected");
    if (options.strict === true) expect(await rejection(connecting)).toMatchObject({ kind: "cancelled" });
    else await connecting;
    expect(manager.connected).toEqual(options.strict === true ? [] : ["a", "c"]);
    servers.b.clearFaults();
    await manager.connect();
    expect(manager.connected).toEqual(["a", "b", "c"]);
  });

  it("it is removed at once, also if it is just being added", async () => {
    await using fixture = await createHangingFixture();
    const { manager, servers } = fixture;
    await manager.remove("b");
    await fixture.connecting;
    const adding = rejection(manager.add("b", { url: servers.b.url, ...NO_RETRY }));
    await eventually(() => servers.b.received("initialize").length === 2);
    await manager.remove("b");
    expect(await adding).toMatchObject({ kind: "cancelled" });
    expect(manager.configured).toEqual(["a", "c"]);
    const abandoned = rejection(manager.add("b", { url: servers.b.url, ...NO_RETRY }));
    await manager.remove("b");
    expect(await abandoned).toMatchObject({ kind: "cancelled" });
    await fixture.manager.close();
    await fixture.untilClosed();
  });

  it("a strict attempt that fails does not change a server that was disconnected meanwhile", async () => {
    const clock = new FakeClock();
    await using fixture = await createHangingFixture({ strict: true, clock });
    await eventually(() => fixture.manager.connected.length === 2);
    await fixture.manager.disconnect("a");
    const failure = await clock.advanceUntilSettled(rejection(fixture.connecting), 600_000);
    expect(failure).toMatchObject({ kind: "timeout", server: "b" });
    expect(Object.values(fixture.manager.status()).map(({ state }) => state)).toEqual([
      "disconnected",
      "failed",
      "idle",
    ]);
  });
});

describe("one server of a manager", () => {
  it("is reconnected with a new session, whatever its state, and its failure is thrown", async () => {
    await using fixture = await createFixture({}, { lazy: true });
    const { manager, servers } = fixture;
    await manager.connect();
    await manager.reconnect("b");
    await manager.reconnect("c");
    await manager.disconnect("a");
    await manager.reconnect("a");
    expect(manager.connected).toEqual(["a", "b", "c"]);
    expect(fixture.handshakes()).toEqual([2, 1, 2]);
    await servers.b.stop();
    const failure = await rejection(manager.reconnect("b"));
    expect(failure).toMatchObject({ kind: "not-sent", server: "b" });
    expect([manager.failed, manager.errors.get("b")]).toEqual([["b"], failure]);
    expect(await rejection(manager.reconnect("nope"))).toMatchObject({ kind: "invalid-config" });
    expect(await rejection(manager.reconnect("a", { singal: 1 } as never))).toMatchObject({
      message: expect.stringContaining('did you mean "signal"') as unknown,
    });
  });

  it("is refreshed: its tools are listed again", async () => {
    await using fixture = await createFixture();
    const { manager, servers } = fixture;
    await manager.connect();
    const changed: string[] = [];
    manager.on("toolsChanged", ({ server }) => changed.push(server));
    servers.b.tools = [{ name: "other", run: () => "" }];
    expect((await manager.refresh("b")).map(({ name }) => name)).toEqual(["other"]);
    expect(manager.toolsOf("b")?.map(({ name }) => name)).toEqual(["other"]);
    expect(changed).toEqual(["b"]);
    await manager.disconnect("b");
    expect(await rejection(manager.refresh("b"))).toMatchObject({ kind: "not-sent", server: "b" });
    expect(await rejection(manager.refresh("nope"))).toMatchObject({ kind: "invalid-config" });
    expect(await rejection(manager.refresh("a", { signal: AbortSignal.abort("no") }))).toBe("no");
  });

  it("is disconnected together with all others, also while one is being connected", async () => {
    await using fixture = await createFixture();
    const { manager, servers } = fixture;
    servers.b.addFault({ type: "hang" }, { method: "initialize" });
    const connecting = manager.connect();
    await servers.b.waitFor("initialize");
    await manager.disconnectAll();
    await connecting;
    const states = () => Object.values(manager.status()).map(({ state }) => state);
    expect(states()).toEqual(["disconnected", "disconnected", "disconnected"]);
    await fixture.untilClosed();
    servers.b.clearFaults();
    await manager.connect();
    expect(states()).toEqual(["connected", "connected", "connected"]);
  });
});

describe("onServerError", () => {
  async function connectWith(onServerError: OnServerError, options: McpServerManagerOptions = {}) {
    const fixture = await createFixture({ ...options, onServerError }, { optional: true });
    await Promise.all([fixture.servers.b.stop(), fixture.servers.c.stop()]);
    const outcome = await fixture.manager.connect().catch((error: unknown) => error);
    return { fixture, outcome, connected: fixture.manager.connected, failed: fixture.manager.failed };
  }

  it("decides for each failed server whether connect throws", async () => {
    const asked: unknown[] = [];
    const { fixture, ...result } = await connectWith((error, context) => {
      asked.push([error.kind, context]);
      return context.optional ? "ignore" : "throw";
    });
    await using _ = fixture;
    expect(asked).toHaveLength(2);
    expect(asked).toContainEqual(["not-sent", { server: "b", optional: true }]);
    expect(result).toMatchObject({ outcome: { server: "c" }, connected: [], failed: ["b", "c"] });
  });

  it.each([
    [false, undefined, ["a"]],
    [true, "ignore", ["a"]],
    [true, undefined, []],
  ] as const)("with strict: %s, %s keeps %j", async (strict, decision, kept) => {
    const { fixture, connected } = await connectWith(() => decision, { strict });
    await using _ = fixture;
    expect(connected).toEqual(kept);
  });

  it("one error names all servers that have failed", async () => {
    const { fixture, outcome } = await connectWith(() => "throw");
    await using _ = fixture;
    expect(outcome).toMatchObject({
      kind: "not-sent",
      server: undefined,
      message: expect.stringMatching(/^2 servers failed:\n {2}b: .*\n {2}c: /) as unknown,
      cause: { errors: [{ server: "b" }, { server: "c" }] },
    });
  });

  it("may throw an error of its own, and must not be asynchronous", async () => {
    const own = new Error("mine");
    const thrown = await connectWith(() => {
      throw own;
    });
    await using _ = thrown.fixture;
    expect(thrown.outcome).toBe(own);
    const asynchronous = await connectWith((async () => "ignore") as never);
    await using __ = asynchronous.fixture;
    expect(asynchronous.outcome).toMatchObject({ kind: "invalid-config" });
    expect(asynchronous.connected).toEqual([]);
  });
});

describe("a listener that is notified of a new state", () => {
  it("may wait for the server without a second attempt", async () => {
    await using fixture = await createFixture();
    const { manager } = fixture;
    const waiting: Promise<unknown>[] = [];
    let reads = 0;
    manager.on("catalogRead", () => (reads += 1));
    manager.on("serverChanged", ({ server, state }) => {
      if (state === "connecting") waiting.push(manager.waitFor(server), manager.connect());
    });
    await manager.connect();
    await Promise.all(waiting);
    expect([waiting.length, reads]).toEqual([6, 3]);
    expect(fixture.handshakes()).toEqual([1, 1, 1]);
  });

  it("may disconnect the server that is being connected", async () => {
    await using fixture = await createFixture();
    const { manager } = fixture;
    const disconnecting: Promise<void>[] = [];
    manager.on("serverChanged", ({ server, state }) => {
      if (server === "b" && state === "connecting") disconnecting.push(manager.disconnect("b"));
    });
    await manager.connect();
    await Promise.all(disconnecting);
    expect(manager.connected).toEqual(["a", "c"]);
    expect(fixture.handshakes()).toEqual([1, 0, 1]);
  });
});

describe("servers", () => {
  it("may be given as a JSON string", async () => {
    await using manager = new McpServerManager('{ "a": { "url": "http://127.0.0.1:9/mcp" } }' as never);
    expect(manager.configured).toEqual(["a"]);
  });

  it("a name that is taken is reported before an invalid definition", async () => {
    await using manager = new McpServerManager({ a: { url: "http://127.0.0.1:9/mcp", lazy: true } });
    const failure = await rejection(manager.add("a", { url: 5 } as never));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "a", issues: [] });
  });
});
