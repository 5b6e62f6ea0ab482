import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  type McpToolsOptions,
  type McpToolset,
  type ServerDefinition,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { eventually, rejection, deferred, NO_RETRY } from "../../fixtures/clients.js";
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

  it("of an added server whose names collide are excluded with a warning", async () => {
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools(
      { a: { url: server.url } },
      { naming: { prefix: "none" }, logger },
    );
    await mcp.servers.add("b", { url: server.url });
    expect(namesOf(mcp)).toEqual(["say"]);
    expect(logger.messages.join()).toContain('update the tools of server "b"');
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
