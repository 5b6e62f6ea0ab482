import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsFromAgent,
  type McpToolsOptions,
  type McpToolset,
  type ServerDefinition,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { eventually, rejection, deferred, NO_RETRY, times } from "../../fixtures/clients.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const say: TestTool = { name: "say", run: ({ text }) => String(text) };
const more: TestTool = { name: "more", run: () => "more" };

/** A server whose address is resolved when the promise resolves. */
function resolveAfter(opened: Promise<void>, server: McpTestServer): ServerDefinition {
  return { resolve: async () => (await opened, { url: server.url }), ...NO_RETRY };
}

function namesOf({ tools }: McpToolset): string[] {
  return tools.map(({ name }) => name);
}

/** A quick server, a slow server and a cache of both. */
async function createFixture() {
  const [quick, slow] = await Promise.all([
    startMcpTestServer({ tools: [say] }),
    startMcpTestServer({ tools: [say] }),
  ]);
  const store = memoryStore();
  const { promise: opened, resolve: open } = deferred();
  const servers = { quick: { url: quick.url, ...NO_RETRY }, slow: resolveAfter(opened, slow) };
  return {
    quick,
    slow,
    open,
    start: (options: McpToolsOptions = {}) => createMcpTools(servers, { startupWaitMs: 20, ...options }),
    /** Fills the cache as an earlier run would. */
    async warm(): Promise<McpToolsOptions> {
      const earlier = { ...servers, slow: resolveAfter(Promise.resolve(), slow) };
      await using _mcp = await createMcpTools(earlier, { cache: { store } });
      return { cache: { store } };
    },
    async [Symbol.asyncDispose]() {
      open();
      await Promise.all([quick.close(), slow.close(), store.close()]);
    },
  };
}

describe("a start", () => {
  it("uses cached tools of a slow server, and only a call of it waits", async () => {
    await using fixture = await createFixture();
    await using mcp = await fixture.start(await fixture.warm());
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    await mcp.servers.waitFor("quick");
    expect(mcp.status()).toMatchObject({ quick: { state: "connected" }, slow: { state: "connecting" } });
    const [quickTool, slowTool] = mcp.tools;
    const waiting = slowTool?.invoke({ text: "late" });
    expect(await quickTool?.invoke({ text: "now" })).toBe("now");

    const controller = new AbortController();
    const aborted = rejection(mcp.callTool({ name: "slow__say" }, { signal: controller.signal }));
    controller.abort("enough");
    expect(await aborted).toBe("enough");
    const limited = mcp.callTool({ name: "slow__say" }, { config: { metadata: { timeoutMs: 50 } } });
    expect(await rejection(limited)).toMatchObject({ kind: "timeout", server: "slow" });

    fixture.open();
    expect(await waiting).toBe("late");
    await mcp.servers.waitFor("slow");
    expect(mcp.tools).toEqual([quickTool, slowTool]);
    expect(mcp.tools[1]).toBe(slowTool);
    expect(fixture.slow.received("initialize")).toHaveLength(2);
  });

  it("waits for a slow server without cached tools", async () => {
    await using fixture = await createFixture();
    let isStarted = false;
    const starting = fixture.start().then((mcp) => {
      isStarted = true;
      return mcp;
    });
    await fixture.quick.waitFor("tools/list");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isStarted).toBe(false);
    fixture.open();
    await using mcp = await starting;
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
  });

  it("ends when requestMs expires during the handshake, also for an optional server", async () => {
    await using dead = await startMcpTestServer();
    dead.addFault({ type: "hang" });
    const silent = { url: dead.url, ...NO_RETRY, timeouts: { requestMs: 50 } };
    expect(await rejection(createMcpTools({ silent }))).toMatchObject({ kind: "timeout", server: "silent" });
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ silent: { ...silent, optional: true } }, { logger });
    expect(mcp.tools).toEqual([]);
    expect(logger.messages).toEqual([expect.stringMatching(/"silent" is excluded.*timeouts\.requestMs/)]);
  });

  it("does not wait with waitForUncached: false, and adds the tools later", async () => {
    await using fixture = await createFixture();
    await using mcp = await fixture.start({ waitForUncached: false });
    await mcp.servers.waitFor("quick");
    const [first] = mcp.tools;
    expect(namesOf(mcp)).toEqual(["quick__say"]);
    expect(await rejection(mcp.callTool({ name: "slow__say" }))).toMatchObject({
      kind: "not-found",
      message: expect.stringContaining('"slow" (connecting)'),
    });
    const events: unknown[] = [];
    mcp.on("toolsChanged", (event) => events.push(event));
    fixture.open();
    await eventually(() => events.length > 0);
    expect(events).toEqual([{ server: "slow" }]);
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    expect(mcp.tools[0]).toBe(first);
  });

  it("emits an event for a later failure", async () => {
    await using fixture = await createFixture();
    await fixture.slow.stop();
    await using mcp = await fixture.start({ waitForUncached: false });
    const events: unknown[] = [];
    mcp.on("serverChanged", ({ server, state, error }) => events.push([server, state, error?.kind]));
    fixture.open();
    await eventually(() => mcp.status().slow.state === "failed");
    expect(events).toContainEqual(["slow", "failed", "not-sent"]);
  });

  it("succeeds with a dead server whose tools are cached, and a call reconnects it", async () => {
    await using fixture = await createFixture();
    const cached = await fixture.warm();
    fixture.open();
    await fixture.slow.stop();
    await using mcp = await fixture.start(cached);
    await eventually(() => mcp.status().slow.state === "failed");
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    expect(await rejection(mcp.callTool({ name: "slow__say" }))).toMatchObject({ kind: "not-sent" });
    await fixture.slow.start();
    expect((await mcp.callTool({ name: "slow__say", args: { text: "back" } })).text()).toBe("back");
    expect(mcp.status().slow.state).toBe("connected");
  });

  it("fails immediately with a dead server without cached tools, while another one is slow", async () => {
    await using fixture = await createFixture();
    await fixture.quick.stop();
    expect(await rejection(fixture.start())).toMatchObject({ kind: "not-sent", server: "quick" });
  });
});

describe("a start with a server that hangs in its handshake", () => {
  /** Nine servers that work, and one that responds to `initialize` when the test lets it. */
  async function createHangingFixture() {
    const { promise: opened, resolve: open } = deferred();
    const working = await startMcpTestServer({ tools: [say] });
    const hanging = await startMcpTestServer({
      tools: [more],
      intercept: async ({ body }) => {
        const { method } = (body ?? {}) as { readonly method?: string };
        if (method === "initialize") await opened;
        return false;
      },
    });
    const names = times(9, (n) => `s${n}`);
    const others = Object.fromEntries(names.map((name) => [name, { url: working.url }]));
    return disposeWith(
      { working, hanging, others, open },
      { [Symbol.asyncDispose]: async () => open() },
      hanging,
      working,
    );
  }

  it("fails after one handshake, and says how long it took and how often it was tried", async () => {
    await using fixture = await createHangingFixture();
    const last = { url: fixture.hanging.url, timeouts: { connectMs: 300 } };
    const failure = await rejection(createMcpTools({ ...fixture.others, last }));
    expect(failure).toMatchObject({ kind: "timeout", server: "last" });
    expect(failure.message).toMatch(
      /within 300 ms \(timeouts\.connectMs\)\. Gave up after 1 attempt and \d+\.\d s\.$/,
    );
    expect(fixture.hanging.received("initialize")).toHaveLength(1);
  });

  it("is not repeated if the time limit of requests ends the wait for it", async () => {
    await using fixture = await createHangingFixture();
    const last = { url: fixture.hanging.url, timeouts: { connectMs: 300, requestMs: 290 } };
    const failure = await rejection(createMcpTools({ ...fixture.others, last }));
    expect(failure).toMatchObject({ kind: "timeout", server: "last" });
    expect(failure.message).toMatch(/Gave up after 1 attempt and \d+\.\d s\.$/);
    expect(fixture.hanging.received("initialize")).toHaveLength(1);
  });

  it("is not tried again while the failed start waits for other servers", async () => {
    await using fixture = await createHangingFixture();
    const { url } = fixture.hanging;
    const failure = await rejection(
      createMcpTools({ first: { url, timeouts: { connectMs: 100 } }, last: { url } }),
    );
    expect(failure).toMatchObject({ kind: "timeout", server: "first" });
    expect(fixture.hanging.received("initialize")).toHaveLength(2);
  });

  it("and one that does not respond to tools/list fails after one request", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "hang" }, { method: "tools/list" });
    const failure = await rejection(
      createMcpTools({ last: { url: server.url, timeouts: { requestMs: 300 } } }),
    );
    expect(failure).toMatchObject({ kind: "timeout", server: "last", attempts: 1 });
    expect(failure.message).toMatch(/within 300 ms.* Gave up after 1 attempt and \d+\.\d s\.$/);
    expect(server.received("tools/list")).toHaveLength(1);
  });

  it("of which the address cannot be resolved fails after one attempt", async () => {
    let resolutions = 0;
    const resolve = () => {
      resolutions += 1;
      return new Promise<never>(() => undefined);
    };
    const failure = await rejection(createMcpTools({ last: { resolve, timeouts: { connectMs: 100 } } }));
    expect(failure).toMatchObject({ kind: "timeout", server: "last" });
    expect(resolutions).toBe(1);
  });

  it.each([{}, { concurrency: 1 }])(
    "does not wait for an optional one, whose tools come later (%j)",
    async (options) => {
      await using fixture = await createHangingFixture();
      const logger = new RecordingLogger();
      const slow = { url: fixture.hanging.url, optional: true, timeouts: { connectMs: 600_000 } };
      await using mcp = await createMcpTools({ slow, ...fixture.others }, { ...options, logger });
      expect(mcp.servers.connected).toEqual(Object.keys(fixture.others));
      expect(mcp.tools).toHaveLength(9);
      expect(logger.warnings).toEqual([expect.stringContaining('"slow" is not connected yet')]);
      const changed = new Promise((resolve) => mcp.on("toolsChanged", resolve));
      fixture.open();
      expect(await changed).toEqual({ server: "slow" });
      expect(namesOf(mcp)[0]).toBe("slow__more");
    },
  );

  it("waits for an optional one until startupWaitMs after the slowest required one", async () => {
    await using fixture = await createHangingFixture();
    const { promise: resolved, resolve } = deferred();
    const slow = { url: fixture.hanging.url, optional: true };
    const required = resolveAfter(resolved, fixture.working);
    const starting = createMcpTools({ slow, required }, { startupWaitMs: 60_000 });
    await fixture.hanging.waitFor("initialize");
    resolve();
    await fixture.working.waitFor("tools/list");
    fixture.open();
    await using mcp = await starting;
    expect(namesOf(mcp)).toEqual(["slow__more", "required__say"]);
  });
});

describe("a start that has just succeeded", () => {
  it("reports its servers as connected, also if they took longer than startupWaitMs", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    server.addFault({ type: "delay", ms: 20 }, { method: "initialize" });
    const servers = { a: { url: server.url }, b: { url: server.url } };
    await using mcp = await createMcpTools(servers, { startupWaitMs: 1 });
    expect(mcp.servers.connected).toEqual(["a", "b"]);
    expect(mcp.status()).toMatchObject({ a: { state: "connected" }, b: { state: "connected" } });
  });

  it("from an agent definition does so, too", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    server.addFault({ type: "delay", ms: 20 }, { method: "initialize" });
    const agent = { resources: [{ $resourceType: "mcp", name: "a", dynamicTools: "all" }] };
    const servers = { a: { url: server.url } };
    await using mcp = await createMcpToolsFromAgent(agent, { servers, startupWaitMs: 1 });
    expect(mcp.servers.connected).toEqual(["a"]);
    expect(mcp.status()).toMatchObject({ a: { state: "connected" } });
  });
});

describe("the tools of a toolset", () => {
  it("follow changes of a server, and unchanged ones stay the same objects", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ a: { url: server.url } });
    const events: string[] = [];
    mcp.on("toolsChanged", ({ server: name }) => events.push(name));
    let notifications = 0;
    mcp.clients.a.on("toolsChanged", () => (notifications += 1));
    const [original] = mcp.tools;
    server.tools = [more, say];
    // The stream that carries it is opened in the background.
    await eventually(async () => {
      await server.notifyToolsChanged();
      return notifications > 0;
    });
    await eventually(() => events.length === 1);
    expect(namesOf(mcp)).toEqual(["a__more", "a__say"]);
    expect(mcp.tools[1]).toBe(original);
    server.tools = [{ ...say, description: "Says it." }];
    await server.notifyToolsChanged();
    await eventually(() => events.length === 2);
    expect(namesOf(mcp)).toEqual(["a__say"]);
    expect(mcp.tools[0]).not.toBe(original);
    expect(await original?.invoke({ text: "still" })).toBe("still");
  });

  it("are removed and restored with their server", async () => {
    await using one = await startMcpTestServer({ tools: [say] });
    await using other = await startMcpTestServer({ tools: [more] });
    await using mcp = await createMcpTools({ one: { url: one.url } });
    const events: string[] = [];
    mcp.on("toolsChanged", ({ server }) => events.push(server));
    await mcp.servers.add("other", { url: other.url });
    expect(namesOf(mcp)).toEqual(["one__say", "other__more"]);
    const [original, late] = mcp.tools;
    await mcp.servers.disconnect("one");
    expect(namesOf(mcp)).toEqual(["other__more"]);
    expect(await rejection(mcp.callTool({ name: "one__say" }))).toMatchObject({
      kind: "not-sent",
      server: "one",
      message: expect.stringContaining("disconnected"),
    });
    expect(await rejection(original?.invoke({ text: "?" }) as Promise<unknown>)).toMatchObject({
      kind: "not-sent",
    });
    await mcp.servers.connect();
    expect(mcp.tools).toEqual([original, late]);
    expect(mcp.tools[0]).toBe(original);
    await mcp.servers.remove("other");
    expect(namesOf(mcp)).toEqual(["one__say"]);
    expect(await rejection(late?.invoke({}) as Promise<unknown>)).toMatchObject({ kind: "not-sent" });
    expect(events).toEqual(["other", "one", "one", "other"]);
    expect(Object.keys(mcp.clients)).toEqual(["one"]);
  });
});

describe("many servers that change at once", () => {
  const SERVERS = 10;

  /** A toolset of servers with one tool each, whose rules take a while, and the number of rule decisions so far. */
  async function createExpensiveFixture(options: McpToolsOptions = {}) {
    const server = await startMcpTestServer({ tools: [say] });
    const decisions = { count: 0 };
    const decide = () => {
      decisions.count += 1;
      const end = performance.now() + 1;
      while (performance.now() < end);
      return {};
    };
    const servers = Object.fromEntries(times(SERVERS, (index) => [`s${index}`, { url: server.url }]));
    const mcp = await createMcpTools(servers, { tools: decide, ...options });
    return disposeWith({ server, mcp, decisions }, mcp, server);
  }

  it("cost two rebuilds, a read is never outdated, and each server has its event", async () => {
    await using fixture = await createExpensiveFixture();
    const { mcp, decisions } = fixture;
    const events: string[] = [];
    mcp.on("toolsChanged", ({ server }) => events.push(server));
    decisions.count = 0;
    const disconnecting = mcp.servers.disconnectAll();
    expect(namesOf(mcp)).toEqual([]);
    expect(decisions.count).toBe(2 * SERVERS);
    expect(events).toEqual(mcp.servers.configured);
    await disconnecting;
  });

  it("become current without a read, too", async () => {
    await using fixture = await createExpensiveFixture();
    const { mcp } = fixture;
    const missing = new Set(mcp.servers.configured);
    const changed = new Promise<void>((resolve) => {
      mcp.on("toolsChanged", ({ server }) => {
        missing.delete(server);
        if (missing.size === 0) resolve();
      });
    });
    await Promise.all([mcp.servers.disconnectAll(), changed]);
    expect(namesOf(mcp)).toEqual([]);
  });

  it("a server of which the names collide does not stop the others", async () => {
    const logger = new RecordingLogger();
    await using fixture = await createExpensiveFixture({
      logger,
      naming: { prefix: "none", onCollision: "error" },
      tools: (tool) => {
        const end = performance.now() + 3;
        while (performance.now() < end);
        return tool.name === "say" ? false : {};
      },
    });
    const { mcp, server } = fixture;
    // The shared server gets a tool with one name for all: only the first server can have it.
    server.tools = [more];
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual(["more"]);
    expect(logger.warnings).toHaveLength(SERVERS - 1);
    expect(logger.warnings[0]).toContain("the previous ones stay in use");
  });
});

describe("tools with the same name", () => {
  const odd: readonly TestTool[] = [
    { name: "a b", run: () => "with a space" },
    { name: "a_b", run: () => "with an underscore" },
  ];

  it("of one server get a suffix, and neither the start nor other servers are affected", async () => {
    const logger = new RecordingLogger();
    await using good = await startMcpTestServer({ tools: [say] });
    await using bad = await startMcpTestServer({ tools: [more] });
    const servers = { bad: { url: bad.url, optional: true }, good: { url: good.url } };
    await using mcp = await createMcpTools(servers, { logger });
    bad.tools = odd;
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual([
      expect.stringMatching(/^bad__a_b_[0-9a-f]{8}$/),
      expect.stringMatching(/^bad__a_b_[0-9a-f]{8}$/),
      "good__say",
    ]);
    expect(await mcp.tools[0]?.invoke({})).toBe("with a space");
    expect(logger.warnings).toHaveLength(2);
    good.tools = [say, more];
    await mcp.refresh();
    expect(namesOf(mcp).slice(2)).toEqual(["good__more", "good__say"]);
    await using again = await createMcpTools(servers, { logger });
    expect(namesOf(again)).toEqual(namesOf(mcp));
  });

  it("of two servers belong to the one that is defined first, although the other one responds first", async () => {
    const logger = new RecordingLogger();
    await using first = await startMcpTestServer({ tools: [{ ...say, run: () => "first" }] });
    await using second = await startMcpTestServer({ tools: [{ ...say, run: () => "second" }, more] });
    const { promise: opened, resolve: open } = deferred();
    const servers = { first: resolveAfter(opened, first), second: { url: second.url } };
    const options = { naming: { prefix: "none" }, waitForUncached: false, startupWaitMs: 1, logger } as const;
    await using mcp = await createMcpTools(servers, options);
    await mcp.servers.waitFor("second");
    expect(namesOf(mcp)).toEqual(["more", "say"]);
    open();
    await mcp.servers.waitFor("first");
    expect(namesOf(mcp)).toEqual(["say", "more"]);
    expect((await mcp.callTool({ name: "say" })).text()).toBe("first");
    expect(logger.warnings).toEqual([expect.stringContaining('Tool "say" of server "second" is left out')]);
    await mcp.servers.disconnect("first");
    expect(namesOf(mcp)).toEqual(["more"]);
    expect((await mcp.toolsFor({})).map(({ name }) => name)).toEqual(["more"]);
    await mcp.servers.remove("first");
    expect(namesOf(mcp)).toEqual(["more", "say"]);
  });

  it("of an added server are left out with a warning", async () => {
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools(
      { a: { url: server.url } },
      { naming: { prefix: "none" }, logger },
    );
    await mcp.servers.add("b", { url: server.url });
    expect(namesOf(mcp)).toEqual(["say"]);
    expect(logger.messages).toEqual([expect.stringContaining('"say" of server "b" is left out')]);
  });

  it("with error, throw at the start; later, only the server that causes the collision is not updated", async () => {
    const logger = new RecordingLogger();
    await using good = await startMcpTestServer({ tools: [say] });
    await using bad = await startMcpTestServer({ tools: odd });
    const servers = { bad: { url: bad.url }, good: { url: good.url } };
    const options = { naming: { onCollision: "error" }, logger } as const;
    expect(await rejection(createMcpTools(servers, options))).toMatchObject({ kind: "invalid-config" });
    bad.tools = [more];
    await using mcp = await createMcpTools(servers, options);
    bad.tools = odd;
    good.tools = [say, more];
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual(["bad__more", "good__more", "good__say"]);
    expect(logger.warnings).toEqual([expect.stringContaining('update the tools of server "bad"')]);
    bad.tools = [say];
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual(["bad__say", "good__more", "good__say"]);
  });

  it("a naming function that fails for one tool does not stop the updates of other servers", async () => {
    const logger = new RecordingLogger();
    await using good = await startMcpTestServer({ tools: [say] });
    await using bad = await startMcpTestServer({ tools: [more] });
    const prefix = (server: string, tool: string) => {
      if (tool === "evil") throw new Error("unexpected name");
      return `${server}-${tool}`;
    };
    const servers = { bad: { url: bad.url }, good: { url: good.url } };
    await using mcp = await createMcpTools(servers, { naming: { prefix }, logger });
    bad.tools = [{ name: "evil", run: () => "" }];
    good.tools = [more];
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual(["bad-more", "good-more"]);
  });
});

describe("a lazy server", () => {
  it("is connected by the first call of a cached tool", async () => {
    await using store = memoryStore();
    await using server = await startMcpTestServer({ tools: [say] });
    await (await createMcpTools({ a: { url: server.url } }, { cache: { store } })).close();
    const before = server.requests.length;
    await using mcp = await createMcpTools({ a: { url: server.url, lazy: true } }, { cache: { store } });
    expect([namesOf(mcp), mcp.status().a.state]).toEqual([["a__say"], "idle"]);
    expect(server.requests).toHaveLength(before);
    expect(await mcp.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(mcp.status().a.state).toBe("connected");
  });

  it("has no tools before its first use if nothing is cached", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ a: { url: server.url, lazy: true } });
    expect([namesOf(mcp), server.requests]).toEqual([[], []]);
    const result = await mcp.callTool({ server: "a", name: "say", args: { text: "hi" } });
    expect(result.text()).toBe("hi");
    expect(namesOf(mcp)).toEqual(["a__say"]);
  });
});
