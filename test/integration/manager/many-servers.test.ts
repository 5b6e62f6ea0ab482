import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  type McpToolsOptions,
  type McpToolset,
  type ServerDefinition,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { eventually, failureOf, gate, ONCE } from "../../fixtures/clients.js";

const say: TestTool = { name: "say", run: ({ text }) => String(text) };
const more: TestTool = { name: "more", run: () => "more" };

/** A server that is found only when the gate opens. */
function behind(opened: Promise<void>, server: McpTestServer): ServerDefinition {
  return { resolve: async () => (await opened, { url: server.url }), ...ONCE };
}

function namesOf({ tools }: McpToolset): string[] {
  return tools.map(({ name }) => name);
}

/** A quick server, one that is slow from the second start on, and a cache of both. */
async function scene() {
  const [quick, slow] = await Promise.all([
    startMcpTestServer({ tools: [say] }),
    startMcpTestServer({ tools: [say] }),
  ]);
  const store = memoryStore();
  const { opened, open } = gate();
  const servers = { quick: { url: quick.url, ...ONCE }, slow: behind(opened, slow) };
  return {
    quick,
    slow,
    open,
    start: (options: McpToolsOptions = {}) => createMcpTools(servers, { startupWaitMs: 20, ...options }),
    /** Fills the cache as an earlier run would. */
    async warm(): Promise<McpToolsOptions> {
      const earlier = { ...servers, slow: behind(Promise.resolve(), slow) };
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
  it("has the tools of a slow server from the cache, and a call waits for that server only", async () => {
    await using at = await scene();
    await using mcp = await at.start(await at.warm());
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    await mcp.servers.waitFor("quick");
    expect(mcp.status()).toMatchObject({ quick: { state: "connected" }, slow: { state: "connecting" } });
    const [quickTool, slowTool] = mcp.tools;
    const waiting = slowTool?.invoke({ text: "late" });
    expect(await quickTool?.invoke({ text: "now" })).toBe("now");

    const controller = new AbortController();
    const given = failureOf(mcp.callTool({ name: "slow__say" }, { signal: controller.signal }));
    controller.abort("enough");
    expect(await given).toBe("enough");
    const inTime = mcp.callTool({ name: "slow__say" }, { config: { metadata: { timeoutMs: 50 } } });
    expect(await failureOf(inTime)).toMatchObject({ kind: "timeout", server: "slow" });

    at.open();
    expect(await waiting).toBe("late");
    await mcp.servers.waitFor("slow");
    expect(mcp.tools).toEqual([quickTool, slowTool]);
    expect(mcp.tools[1]).toBe(slowTool);
    expect(at.slow.received("initialize")).toHaveLength(2);
  });

  it("waits for a slow server of which nothing is known", async () => {
    await using at = await scene();
    let isOver = false;
    const starting = at.start().then((mcp) => {
      isOver = true;
      return mcp;
    });
    await at.quick.waitFor("tools/list");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isOver).toBe(false);
    at.open();
    await using mcp = await starting;
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
  });

  it("ends when a server's time is up before that of its handshake, also where the server is optional", async () => {
    await using dead = await startMcpTestServer();
    dead.addFault({ type: "hang" });
    const silent = { url: dead.url, ...ONCE, timeouts: { requestMs: 50 } };
    expect(await failureOf(createMcpTools({ silent }))).toMatchObject({ kind: "timeout", server: "silent" });
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    const logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
    await using mcp = await createMcpTools({ silent: { ...silent, optional: true } }, { logger });
    expect(mcp.tools).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/^Optional server "silent" is left out: .*50 ms/)]);
  });

  it("does not wait for it when told so: its tools come when they come, and are told", async () => {
    await using at = await scene();
    await using mcp = await at.start({ waitForUncached: false });
    await mcp.servers.waitFor("quick");
    const [first] = mcp.tools;
    expect(namesOf(mcp)).toEqual(["quick__say"]);
    expect(await failureOf(mcp.callTool({ name: "slow__say" }))).toMatchObject({
      kind: "not-found",
      message: expect.stringContaining('Nothing is known yet of "slow" (connecting).'),
    });
    const told: unknown[] = [];
    mcp.on("toolsChanged", (event) => told.push(event));
    at.open();
    await eventually(() => told.length > 0);
    expect(told).toEqual([{ server: "slow" }]);
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    expect(mcp.tools[0]).toBe(first);
  });

  it("that is over hears of a late failure by an event", async () => {
    await using at = await scene();
    await at.slow.stop();
    await using mcp = await at.start({ waitForUncached: false });
    const told: unknown[] = [];
    mcp.on("serverChanged", ({ server, state, error }) => told.push([server, state, error?.kind]));
    at.open();
    await eventually(() => mcp.status().slow.state === "failed");
    expect(told).toContainEqual(["slow", "failed", "not-sent"]);
  });

  it("does not fail with a dead server whose tools are known; a call brings it back", async () => {
    await using at = await scene();
    const cached = await at.warm();
    at.open();
    await at.slow.stop();
    await using mcp = await at.start(cached);
    await eventually(() => mcp.status().slow.state === "failed");
    expect(namesOf(mcp)).toEqual(["quick__say", "slow__say"]);
    expect(await failureOf(mcp.callTool({ name: "slow__say" }))).toMatchObject({ kind: "not-sent" });
    await at.slow.start();
    expect((await mcp.callTool({ name: "slow__say", args: { text: "back" } })).text()).toBe("back");
    expect(mcp.status().slow.state).toBe("connected");
  });

  it("fails at once with a dead server of which nothing is known, although another one is slow", async () => {
    await using at = await scene();
    await at.quick.stop();
    expect(await failureOf(at.start())).toMatchObject({ kind: "not-sent", server: "quick" });
  });
});

describe("the tools of a toolset", () => {
  it("follow a server that changes them; those that did not change stay the same objects", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ a: { url: server.url } });
    const told: string[] = [];
    mcp.on("toolsChanged", ({ server: name }) => told.push(name));
    let heard = 0;
    mcp.clients.a.on("toolsChanged", () => (heard += 1));
    const [held] = mcp.tools;
    server.tools = [more, say];
    // The stream that carries it is opened beside everything else.
    await eventually(async () => {
      await server.notifyToolsChanged();
      return heard > 0;
    });
    await eventually(() => told.length === 1);
    expect(namesOf(mcp)).toEqual(["a__more", "a__say"]);
    expect(mcp.tools[1]).toBe(held);
    server.tools = [{ ...say, description: "Says it." }];
    await server.notifyToolsChanged();
    await eventually(() => told.length === 2);
    expect(namesOf(mcp)).toEqual(["a__say"]);
    expect(mcp.tools[0]).not.toBe(held);
    expect(await held?.invoke({ text: "still" })).toBe("still");
  });

  it("leave and come back with their server", async () => {
    await using one = await startMcpTestServer({ tools: [say] });
    await using other = await startMcpTestServer({ tools: [more] });
    await using mcp = await createMcpTools({ one: { url: one.url } });
    const told: string[] = [];
    mcp.on("toolsChanged", ({ server }) => told.push(server));
    await mcp.servers.add("other", { url: other.url });
    expect(namesOf(mcp)).toEqual(["one__say", "other__more"]);
    const [held, late] = mcp.tools;
    await mcp.servers.disconnect("one");
    expect(namesOf(mcp)).toEqual(["other__more"]);
    expect(await failureOf(mcp.callTool({ name: "one__say" }))).toMatchObject({
      kind: "not-sent",
      message: expect.stringContaining("is disconnected"),
    });
    expect(await failureOf(held?.invoke({ text: "?" }) as Promise<unknown>)).toMatchObject({
      kind: "not-sent",
    });
    await mcp.servers.connect();
    expect(mcp.tools).toEqual([held, late]);
    expect(mcp.tools[0]).toBe(held);
    await mcp.servers.remove("other");
    expect(namesOf(mcp)).toEqual(["one__say"]);
    expect(await failureOf(late?.invoke({}) as Promise<unknown>)).toMatchObject({ kind: "not-sent" });
    expect(told).toEqual(["other", "one", "one", "other"]);
    expect(Object.keys(mcp.clients)).toEqual(["one"]);
  });

  it("of a late server whose names collide are left out, with a warning", async () => {
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools(
      { a: { url: server.url } },
      { naming: { prefix: "none" }, logger: { debug: warn, info: warn, warn, error: warn } },
    );
    await mcp.servers.add("b", { url: server.url });
    expect(namesOf(mcp)).toEqual(["say"]);
    expect(warnings.join()).toContain('The tools of server "b" cannot be taken in');
  });
});

describe("a lazy server", () => {
  it("is connected by the first call of a tool that the cache knows", async () => {
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

  it("has no tools before it is asked for, when nothing knows them", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ a: { url: server.url, lazy: true } });
    expect([namesOf(mcp), server.requests]).toEqual([[], []]);
    const result = await mcp.callTool({ server: "a", name: "say", args: { text: "hi" } });
    expect(result.text()).toBe("hi");
    expect(namesOf(mcp)).toEqual(["a__say"]);
  });
});
