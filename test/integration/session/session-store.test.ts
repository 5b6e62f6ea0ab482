import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type CallContext, McpClient, type ServerDefinition } from "../../../src/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import {
  UNKNOWN_SESSION_RESPONSES,
  type UnknownSessionResponse,
  startMcpTestServer,
} from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  rejection,
  deferred,
  times,
  recordWarnings,
} from "../../fixtures/clients.js";
import { openStream, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const RESPONSES = Object.keys(UNKNOWN_SESSION_RESPONSES) as UnknownSessionResponse[];

/** Returns the only entry of a store. */
async function getEntry(store: KeyValueStore): Promise<Record<string, unknown>> {
  const [key = "", ...others] = await store.list("session/");
  expect(others).toEqual([]);
  return (await store.get(key)) as Record<string, unknown>;
}

async function replaceEntry(store: KeyValueStore, value: unknown): Promise<void> {
  const [key = ""] = await store.list("session/");
  await store.set(key, value);
}

describe("a session in a store", () => {
  it("is resumed by the next client without a handshake: its first call is one HTTP request", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ instructions: "Be brief." });
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    server.requests.length = 0;

    await using second = createTestClient(server, { session: { store } });
    const opened: unknown[] = [];
    second.on("sessionOpened", (event) => opened.push(event));
    expect((await second.callTool(echo("resumed"))).text()).toBe("resumed");

    expect(server.requests.map(({ method }) => method)).toEqual(["tools/call"]);
    const { sessionId: id } = first;
    expect(id).toBeDefined();
    expect(server.requests[0]?.headers).toMatchObject({
      "mcp-session-id": id,
      "mcp-protocol-version": "2025-11-25",
    });
    // The id of a shared session grants access to it, so events do not contain it.
    expect(opened).toEqual([{ server: "test", identity: "", id: undefined, generation: 1, isResumed: true }]);
    expect(second.sessionId).toBe(id);
    expect(second.serverInfo).toEqual(first.serverInfo);
    expect(second.capabilities).toEqual(first.capabilities);
    expect(second.instructions).toBe("Be brief.");
  });

  it("outlives the client and is resumed when the client is used again", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(0);
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("is terminated and deleted with terminateOnClose", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store, terminateOnClose: true } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(1);
    expect(await store.list("")).toEqual([]);
  });

  it("is not deleted when another session has replaced it", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store, terminateOnClose: true } });
    await client.callTool(echo());
    const another = { ...(await getEntry(store)), id: "another" };
    await replaceEntry(store, another);
    await client.close();
    expect(await getEntry(store)).toEqual(another);
  });

  it("expires after storeTtlMs", async () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store, storeTtlMs: 1_000 } });
    await first.callTool(echo());
    now = 999;
    await using second = createTestClient(server, { session: { store } });
    await second.callTool(echo());
    now = 1_000;
    await using third = createTestClient(server, { session: { store } });
    await third.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("is not saved for a server without session ids", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ sessionMode: "stateless" });
    await using client = createTestClient(server, { session: { store } });
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(await store.list("")).toEqual([]);
  });

  it("is not replaced by the fresh session of a retry", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    const retry = { maxRetries: 1, baseDelayMs: 1, freshSession: true };
    await using client = createTestClient(server, { session: { store }, retry });
    await client.callTool(echo());
    const entry = await getEntry(store);
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("again"), { idempotent: true })).text()).toBe("again");
    expect(server.received("initialize")).toHaveLength(2);
    await server.waitFor("DELETE");
    expect(await getEntry(store)).toEqual(entry);
    expect(client.sessionId).toBe(entry["id"]);
  });

  it("is not shared between clients with different capabilities", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using withoutHandlers = createTestClient(server, { session: { store } });
    await withoutHandlers.callTool(echo());
    await using withRoots = createTestClient(server, { session: { store }, roots: [] });
    await withRoots.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);
    expect(withRoots.sessionId).not.toBe(withoutHandlers.sessionId);
  });
});

describe("a stored session that the server no longer knows", () => {
  it.each(RESPONSES)("(%s) is replaced with one handshake for all concurrent calls", async (answer) => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    server.dropSessions(answer);
    server.requests.length = 0;

    await using second = createTestClient(server, { session: { store, maxRecoveries: 0 } });
    const results = await Promise.all(times(50, (n) => second.callTool(echo(`n${n}`))));

    expect(results.map((result) => result.text())).toEqual(times(50, (n) => `n${n}`));
    const handshakes = server.received("initialize");
    expect(handshakes).toHaveLength(1);
    expect(handshakes[0]?.headers["mcp-session-id"]).toBeUndefined();
    expect(second.sessions()).toMatchObject([{ generation: 2, inFlight: 0 }]);
    expect(await getEntry(store)).toMatchObject({ id: second.sessionId });
  });

  it("needs no handshake when another process has already replaced it", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store } });
    await using second = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    await second.callTool(echo());
    server.dropSessions();
    await first.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);

    expect((await second.callTool(echo("found"))).text()).toBe("found");
    expect(server.received("initialize")).toHaveLength(2);
    expect(second.sessionId).toBe(first.sessionId);
  });

  it("is resumed at most twice: its replacement in the store may have expired as well", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    const entry = await getEntry(store);
    server.dropSessions();
    let reads = 0;
    const busy: KeyValueStore = {
      ...delegateTo(store),
      get: async () => ({ ...entry, id: `dead-${(reads += 1)}` }),
    };

    await using second = createTestClient(server, { session: { store: busy } });
    expect((await second.callTool(echo("in the end"))).text()).toBe("in the end");
    expect(reads).toBe(2);
    const ids = server.received("tools/call").map(({ headers }) => headers["mcp-session-id"]);
    expect(ids.slice(1)).toEqual(["dead-1", "dead-2", second.sessionId]);
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("counts as lost when it was confirmed before", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store, maxRecoveries: 0 } });
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    server.dropSessions();
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "session-lost", attempts: 1 });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
  });

  it("is not resumed again while no other session can be opened", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store } });
    await client.callTool(echo());
    server.dropSessions();
    server.addFault({ type: "status", status: 500 }, { method: "initialize", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    server.requests.length = 0;
    await client.callTool(echo());
    expect(server.requests.map(({ method }) => method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
  });
});

/** Returns a store whose methods can be overridden one by one. */
function delegateTo(store: KeyValueStore): KeyValueStore {
  return {
    get: (key, options) => store.get(key, options),
    set: (key, value, options) => store.set(key, value, options),
    delete: (key, options) => store.delete(key, options),
    list: (prefix, options) => store.list(prefix, options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

describe("a failing store", () => {
  const fail = async () => {
    throw new Error("no store today");
  };

  it("causes one warning and a handshake when a read fails", async () => {
    let writes = 0;
    const store = { ...delegateTo(memoryStore()), get: fail, set: async () => void (writes += 1) };
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store } });
    const warnings = recordWarnings(client);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(warnings).toEqual([
      expect.stringContaining("failed to read; continuing without it: no store today"),
    ]);
    expect(writes).toBe(0);
  });

  it("causes a warning when a write fails", async () => {
    const store = { ...delegateTo(memoryStore()), set: fail };
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { store } });
    const warnings = recordWarnings(client);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(warnings).toEqual([expect.stringContaining("failed to write")]);
  });

  it("does not delay close and leaves no session open on the server", async () => {
    const asked = deferred();
    const never = () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    };
    await using server = await startMcpTestServer();
    const reading = createTestClient(server, {
      session: { store: { ...delegateTo(memoryStore()), get: never } },
    });
    const call = rejection(reading.callTool(echo()));
    await asked.promise;
    await reading.close();
    expect(await call).toMatchObject({ kind: "closed" });

    const store = { ...delegateTo(memoryStore()), set: never };
    const writing = createTestClient(server, { session: { store, terminateOnClose: true } });
    const other = rejection(writing.callTool(echo()));
    await server.waitFor("notifications/initialized");
    await writing.close();
    expect(await other).toMatchObject({ kind: "closed" });
    expect(server.openSessions).toEqual([]);
  });

  it.each([
    ["an unknown value", "garbage"],
    ["an id that is not valid in a header", { id: "a\r\nb: c" }],
    ["an unsupported protocol version", { protocolVersion: "1999-01-01" }],
    ["no id", { id: undefined }],
    ["an id of another type", { id: 7 }],
    ["metadata of another type", { serverInfo: "me", capabilities: [] }],
  ])("with %s counts as empty and is overwritten", async (_, change) => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    const { id, ...rest } = await getEntry(store);
    const entry = typeof change === "string" ? change : { id, ...rest, ...change };
    await replaceEntry(store, JSON.parse(JSON.stringify(entry)));
    await using second = createTestClient(server, { session: { store } });
    expect((await second.callTool(echo("works"))).text()).toBe("works");
    expect(server.received("initialize")).toHaveLength(2);
    expect(await getEntry(store)).toMatchObject({ id: second.sessionId });
  });
});

describe("users with separate sessions", () => {
  const identity = ({ configurable }: CallContext) => String(configurable["user"]);
  const auth = (context: CallContext) => `canary-token-of-${identity(context)}`;
  const asUser = (user: string) => ({ context: { configurable: { user } } });

  it("resume only their own sessions", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using first = createTestClient(server, { session: { store }, identity, auth });
    await using second = createTestClient(server, { session: { store }, identity, auth });
    for (const user of ["alice", "bob"]) await first.callTool({ name: "who" }, asUser(user));
    for (const user of ["bob", "carol", "alice"])
      expect((await second.callTool({ name: "who" }, asUser(user))).text()).toBe(
        `Bearer canary-token-of-${user}`,
      );
    expect(server.received("initialize")).toHaveLength(3);
    const getSessionIds = (client: McpClient) =>
      new Map(client.sessions().map(({ identity: user, id }) => [user, id]));
    expect(getSessionIds(second).get("alice")).toBe(getSessionIds(first).get("alice"));
    expect(getSessionIds(second).get("bob")).toBe(getSessionIds(first).get("bob"));
    expect(new Set(getSessionIds(second).values()).size).toBe(3);
  });

  it("leave no names, tokens or URLs in the store", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    const definition = { name: "test", url: `${server.url}/canary-path?key=canary-key`, identity, auth };
    await using client = new McpClient({ ...definition, session: { store } } as ServerDefinition & {
      name: string;
    });
    await client.callTool(echo(), asUser("canary-user"));
    const [key = ""] = await store.list("");
    expect(key).toMatch(/^session\/[0-9a-f]{64}$/);
    expect(JSON.stringify(await store.get(key))).not.toContain("canary");
    expect(Object.keys((await store.get(key)) as object).toSorted()).toEqual([
      "capabilities",
      "id",
      "protocolVersion",
      "serverInfo",
    ]);
  });

  it("never see a session id in messages, also when the server quotes it", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ responseFormat: "json" });
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    const logger = new RecordingLogger();
    await using second = createTestClient(server, { session: { store } }, { logger });
    await second.ensureSession();
    const id = second.sessionId ?? "";
    server.addFault({ type: "status", status: 500, body: `session ${id} is busy` }, { times: 2 });
    const failures = [await rejection(second.callTool(echo())), await rejection(first.callTool(echo()))];
    expect(failures.map(({ message }) => message)).toEqual([
      expect.stringContaining("session [redacted] is busy"),
      expect.stringContaining("session [redacted] is busy"),
    ]);
    expect(inspect([failures, logger.messages], { depth: 9 })).not.toContain(id);
  });
});

/** Returns the credentials of the request. */
const WHO = {
  name: "who",
  run: (_: unknown, { headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
    String(headers["authorization"]),
};

describe("clients that share a session", () => {
  it("receive their own progress and cancel only their own calls", async () => {
    const store = memoryStore();
    const { promise, resolve } = deferred();
    const cancelled: unknown[] = [];
    await using server = await startMcpTestServer({
      tools: [
        {
          name: "work",
          run: async ({ text, steps }, { progress, signal }) => {
            signal.addEventListener("abort", () => cancelled.push(text));
            for (const step of times(Number(steps), (n) => n + 1)) await progress(step);
            await promise;
            return text;
          },
        },
      ],
    });
    await using first = createTestClient(server, { session: { store } });
    await first.ensureSession();
    // Both send the same number of requests, so their ids would be equal without a prefix.
    await first.ping();
    await using second = createTestClient(server, { session: { store } });
    await second.ping();
    await second.ping();
    const reported: string[] = [];
    const { signal, abort } = abortable();
    const work = (client: McpClient, text: string, steps: number, options: object = {}) =>
      client.callTool(
        { name: "work", args: { text, steps } },
        { onProgress: ({ progress }) => reported.push(`${text} ${progress}`), ...options },
      );
    const cancelledCall = rejection(work(first, "first", 1, { signal }));
    const other = work(second, "second", 2);
    await eventually(() => reported.length === 3);
    abort("enough");
    expect(await cancelledCall).toBe("enough");
    await eventually(() => cancelled.length === 1);
    resolve();
    expect((await other).text()).toBe("second");
    expect(cancelled).toEqual(["first"]);
    expect(reported.toSorted()).toEqual(["first 1", "second 1", "second 2"]);
  });

  it("prefix their request ids", async () => {
    await using server = await startRawServer();
    const store = memoryStore();
    const definition = { name: "raw", url: server.url, retry: false, session: { store } } as const;
    for (const _ of [1, 2]) {
      await using client = new McpClient(definition);
      await client.callTool(echo());
    }
    const ids = server.requests.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
    expect(ids).toEqual(times(3, () => expect.stringMatching(/^[0-9a-f]{16}-[01]$/)));
    expect(new Set(ids.map((id) => id.split("-")[0])).size).toBe(2);
  });

  it.each([
    ["a number", 1],
    ["the prefix of another client", "0123456789abcdef-1"],
    ["no prefix", "1"],
  ])("drop responses with other ids: %s", async (_, foreignId) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      const write = openStream(response);
      const toResult = (text: string) => ({ content: [{ type: "text", text }] });
      write({ jsonrpc: "2.0", id: foreignId, result: toResult("foreign") });
      write({ jsonrpc: "2.0", id: foreignId, error: { code: -32000, message: "foreign" } });
      write({ jsonrpc: "2.0", id, result: toResult("own") });
      return void response.end();
    });
    for (const session of [{ id: "raw-session" }, { store: memoryStore() }]) {
      await using client = createTestClient(server, { session });
      expect((await client.callTool(echo())).text()).toBe("own");
    }
  });

  it("send plain numbers when the session is not shared", async () => {
    await using server = await startRawServer();
    await using client = new McpClient({ name: "raw", url: server.url, retry: false });
    await client.callTool(echo());
    expect(server.requests.map(({ id }) => id)).toEqual([0, undefined, 1]);
  });

  it("receive notifications on their own stream, if the server opens one", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = createTestClient(server, { session: { store } });
    await first.callTool(echo());
    await using second = createTestClient(server, { session: { store } });
    const received: string[] = [];
    second.on("toolsChanged", () => received.push("second"));
    await second.callTool(echo());
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyToolsChanged();
      return received.length > 0;
    });
    // SDK servers have one such stream per session; a client without one still works.
    await using third = createTestClient(server, { session: { store } });
    third.on("toolsChanged", () => undefined);
    expect((await third.callTool(echo("works"))).text()).toBe("works");
    await eventually(() => server.received("GET").length === 2);
    expect((await third.callTool(echo("still"))).text()).toBe("still");
    expect(server.received("initialize")).toHaveLength(1);
  });
});

function abortable(): { readonly signal: AbortSignal; readonly abort: (reason: string) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
