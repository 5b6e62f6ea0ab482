import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type CallContext, McpClient, type ServerDefinition } from "../../../src/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import {
  UNKNOWN_SESSION_RESPONSES,
  type UnknownSessionResponse,
  startMcpTestServer,
} from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, gate, times } from "../../fixtures/clients.js";
import { startRawServer } from "../../fixtures/raw-server.js";

const ANSWERS = Object.keys(UNKNOWN_SESSION_RESPONSES) as UnknownSessionResponse[];

/** The only entry of a store. */
async function entryOf(store: KeyValueStore): Promise<Record<string, unknown>> {
  const [key = "", ...others] = await store.list("session/");
  expect(others).toEqual([]);
  return (await store.get(key)) as Record<string, unknown>;
}

async function replaceEntry(store: KeyValueStore, value: unknown): Promise<void> {
  const [key = ""] = await store.list("session/");
  await store.set(key, value);
}

function warningsOf(client: McpClient): string[] {
  const warnings: string[] = [];
  client.on("warning", ({ message }) => warnings.push(message));
  return warnings;
}

describe("a session in a store", () => {
  it("is used by the next client without a handshake: its first call is one HTTP request", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ instructions: "Be brief." });
    await using first = clientOf(server, { session: { store } });
    await first.callTool(echo());
    server.requests.length = 0;

    await using second = clientOf(server, { session: { store } });
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
    // Whoever has the id of a session that others use can speak in it: events do not tell it.
    expect(opened).toEqual([{ server: "test", identity: "", id: undefined, generation: 1, isResumed: true }]);
    expect(second.sessionId).toBe(id);
    expect(second.serverInfo).toEqual(first.serverInfo);
    expect(second.capabilities).toEqual(first.capabilities);
    expect(second.instructions).toBe("Be brief.");
  });

  it("outlives the client, which goes on with it when it is used again", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(0);
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("is ended and taken out by who says so", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store, terminateOnClose: true } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(1);
    expect(await store.list("")).toEqual([]);
  });

  it("stays where another has taken its place meanwhile", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store, terminateOnClose: true } });
    await client.callTool(echo());
    const another = { ...(await entryOf(store)), id: "another" };
    await replaceEntry(store, another);
    await client.close();
    expect(await entryOf(store)).toEqual(another);
  });

  it("is kept for as long as `storeTtlMs` says", async () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    await using server = await startMcpTestServer();
    await using first = clientOf(server, { session: { store, storeTtlMs: 1_000 } });
    await first.callTool(echo());
    now = 999;
    await using second = clientOf(server, { session: { store } });
    await second.callTool(echo());
    now = 1_000;
    await using third = clientOf(server, { session: { store } });
    await third.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("is none for a server that gives no ids", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ sessionMode: "stateless" });
    await using client = clientOf(server, { session: { store } });
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(await store.list("")).toEqual([]);
  });

  it("is not replaced by one that a repetition has for itself", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    const retry = { maxRetries: 1, baseDelayMs: 1, freshSession: true };
    await using client = clientOf(server, { session: { store }, retry });
    await client.callTool(echo());
    const entry = await entryOf(store);
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("again"), { idempotent: true })).text()).toBe("again");
    expect(server.received("initialize")).toHaveLength(2);
    await server.waitFor("DELETE");
    expect(await entryOf(store)).toEqual(entry);
    expect(client.sessionId).toBe(entry["id"]);
  });

  it("is not shared with who answers other questions of the server", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using silent = clientOf(server, { session: { store } });
    await silent.callTool(echo());
    await using answering = clientOf(server, { session: { store }, roots: [] });
    await answering.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);
    expect(answering.sessionId).not.toBe(silent.sessionId);
  });
});

describe("a session in a store that the server no longer knows", () => {
  it.each(ANSWERS)(
    "(%s) costs one handshake, however many calls find out, and is replaced",
    async (answer) => {
      const store = memoryStore();
      await using server = await startMcpTestServer();
      await using first = clientOf(server, { session: { store } });
      await first.callTool(echo());
      server.dropSessions(answer);
      server.requests.length = 0;

      await using second = clientOf(server, { session: { store, maxRecoveries: 0 } });
      const results = await Promise.all(times(50, (n) => second.callTool(echo(`n${n}`))));

      expect(results.map((result) => result.text())).toEqual(times(50, (n) => `n${n}`));
      const handshakes = server.received("initialize");
      expect(handshakes).toHaveLength(1);
      expect(handshakes[0]?.headers["mcp-session-id"]).toBeUndefined();
      expect(second.sessions()).toMatchObject([{ generation: 2, inFlight: 0 }]);
      expect(await entryOf(store)).toMatchObject({ id: second.sessionId });
    },
  );

  it("costs none when another process has replaced it already", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = clientOf(server, { session: { store } });
    await using second = clientOf(server, { session: { store } });
    await first.callTool(echo());
    await second.callTool(echo());
    server.dropSessions();
    await first.callTool(echo());
    expect(server.received("initialize")).toHaveLength(2);

    expect((await second.callTool(echo("found"))).text()).toBe("found");
    expect(server.received("initialize")).toHaveLength(2);
    expect(second.sessionId).toBe(first.sessionId);
  });

  it("is tried twice at most: what another process put in its place may be dead as well", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = clientOf(server, { session: { store } });
    await first.callTool(echo());
    const entry = await entryOf(store);
    server.dropSessions();
    let reads = 0;
    const busy: KeyValueStore = {
      ...wrapped(store),
      get: async () => ({ ...entry, id: `dead-${(reads += 1)}` }),
    };

    await using second = clientOf(server, { session: { store: busy } });
    expect((await second.callTool(echo("in the end"))).text()).toBe("in the end");
    expect(reads).toBe(2);
    const ids = server.received("tools/call").map(({ headers }) => headers["mcp-session-id"]);
    expect(ids.slice(1)).toEqual(["dead-1", "dead-2", second.sessionId]);
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("counts as lost when it had worked before", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store, maxRecoveries: 0 } });
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    server.dropSessions();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "session-lost", attempts: 1 });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
  });

  it("is remembered while no other can be opened", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store } });
    await client.callTool(echo());
    server.dropSessions();
    server.addFault({ type: "status", status: 500 }, { method: "initialize", times: 1 });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    server.requests.length = 0;
    await client.callTool(echo());
    expect(server.requests.map(({ method }) => method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
  });
});

/** A store of which single methods can be replaced. */
function wrapped(store: KeyValueStore): KeyValueStore {
  return {
    get: (key, options) => store.get(key, options),
    set: (key, value, options) => store.set(key, value, options),
    delete: (key, options) => store.delete(key, options),
    list: (prefix, options) => store.list(prefix, options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

describe("a store that fails", () => {
  const fail = async () => {
    throw new Error("no store today");
  };

  it("when it is read is one warning, and costs a handshake", async () => {
    let writes = 0;
    const store = { ...wrapped(memoryStore()), get: fail, set: async () => void (writes += 1) };
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store } });
    const warnings = warningsOf(client);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(warnings).toEqual([expect.stringContaining("failed to read, so it goes without: no store today")]);
    expect(writes).toBe(0);
  });

  it("when it is written is a warning", async () => {
    const store = { ...wrapped(memoryStore()), set: fail };
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { store } });
    const warnings = warningsOf(client);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(warnings).toEqual([expect.stringContaining("failed to write")]);
  });

  it("holds nobody up who closes the client, and leaves nothing open on the server", async () => {
    const asked = gate();
    const never = () => {
      asked.open();
      return new Promise<never>(() => undefined);
    };
    await using server = await startMcpTestServer();
    const reading = clientOf(server, { session: { store: { ...wrapped(memoryStore()), get: never } } });
    const call = failureOf(reading.callTool(echo()));
    await asked.opened;
    await reading.close();
    expect(await call).toMatchObject({ kind: "closed" });

    const store = { ...wrapped(memoryStore()), set: never };
    const writing = clientOf(server, { session: { store, terminateOnClose: true } });
    const other = failureOf(writing.callTool(echo()));
    await server.waitFor("notifications/initialized");
    await writing.close();
    expect(await other).toMatchObject({ kind: "closed" });
    expect(server.openSessions).toEqual([]);
  });

  it.each([
    ["nothing of ours", "garbage"],
    ["an id that is no header", { id: "a\r\nb: c" }],
    ["a protocol that nobody speaks", { protocolVersion: "1999-01-01" }],
    ["no id", { id: undefined }],
    ["an id of another type", { id: 7 }],
    ["facts of another type", { serverInfo: "me", capabilities: [] }],
  ])("because it holds %s counts as empty, and is mended", async (_, change) => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = clientOf(server, { session: { store } });
    await first.callTool(echo());
    const { id, ...rest } = await entryOf(store);
    const entry = typeof change === "string" ? change : { id, ...rest, ...change };
    await replaceEntry(store, JSON.parse(JSON.stringify(entry)));
    await using second = clientOf(server, { session: { store } });
    expect((await second.callTool(echo("works"))).text()).toBe("works");
    expect(server.received("initialize")).toHaveLength(2);
    expect(await entryOf(store)).toMatchObject({ id: second.sessionId });
  });
});

describe("users with sessions of their own", () => {
  const identity = ({ configurable }: CallContext) => String(configurable["user"]);
  const auth = (context: CallContext) => `canary-token-of-${identity(context)}`;
  const as = (user: string) => ({ context: { configurable: { user } } });

  it("find their own in the store, and nobody else's", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using first = clientOf(server, { session: { store }, identity, auth });
    await using second = clientOf(server, { session: { store }, identity, auth });
    for (const user of ["alice", "bob"]) await first.callTool({ name: "who" }, as(user));
    for (const user of ["bob", "carol", "alice"])
      expect((await second.callTool({ name: "who" }, as(user))).text()).toBe(
        `Bearer canary-token-of-${user}`,
      );
    expect(server.received("initialize")).toHaveLength(3);
    const idsOf = (client: McpClient) =>
      new Map(client.sessions().map(({ identity: user, id }) => [user, id]));
    expect(idsOf(second).get("alice")).toBe(idsOf(first).get("alice"));
    expect(idsOf(second).get("bob")).toBe(idsOf(first).get("bob"));
    expect(new Set(idsOf(second).values()).size).toBe(3);
  });

  it("leave neither names nor tokens nor addresses in it", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    const definition = { name: "test", url: `${server.url}/canary-path?key=canary-key`, identity, auth };
    await using client = new McpClient({ ...definition, session: { store } } as ServerDefinition & {
      name: string;
    });
    await client.callTool(echo(), as("canary-user"));
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

  it("see no id of a session in messages, also when the server quotes it", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer({ responseFormat: "json" });
    await using first = clientOf(server, { session: { store } });
    await first.callTool(echo());
    const logged: unknown[] = [];
    const log = (line: unknown) => logged.push(line);
    await using second = clientOf(
      server,
      { session: { store } },
      { logger: { debug: log, info: log, warn: log, error: log } },
    );
    await second.ensureSession();
    const id = second.sessionId ?? "";
    server.addFault({ type: "status", status: 500, body: `session ${id} is busy` }, { times: 2 });
    const failures = [await failureOf(second.callTool(echo())), await failureOf(first.callTool(echo()))];
    expect(failures.map(({ message }) => message)).toEqual([
      expect.stringContaining("session [redacted] is busy"),
      expect.stringContaining("session [redacted] is busy"),
    ]);
    expect(inspect([failures, logged], { depth: 9 })).not.toContain(id);
  });
});

/** Says who asked, by what the request proved. */
const WHO = {
  name: "who",
  run: (_: unknown, { headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
    String(headers["authorization"]),
};

describe("clients that share a session", () => {
  it("each get their own progress, and cancel their own calls only", async () => {
    const store = memoryStore();
    const { opened, open } = gate();
    const cancelled: unknown[] = [];
    await using server = await startMcpTestServer({
      tools: [
        {
          name: "work",
          run: async ({ text, steps }, { progress, signal }) => {
            signal.addEventListener("abort", () => cancelled.push(text));
            for (const step of times(Number(steps), (n) => n + 1)) await progress(step);
            await opened;
            return text;
          },
        },
      ],
    });
    await using first = clientOf(server, { session: { store } });
    await first.ensureSession();
    // The same number of requests from both: without a prefix their ids would be the same.
    await first.ping();
    await using second = clientOf(server, { session: { store } });
    await second.ping();
    await second.ping();
    const told: string[] = [];
    const { signal, abort } = abortable();
    const work = (client: McpClient, text: string, steps: number, options: object = {}) =>
      client.callTool(
        { name: "work", args: { text, steps } },
        { onProgress: ({ progress }) => told.push(`${text} ${progress}`), ...options },
      );
    const doomed = failureOf(work(first, "first", 1, { signal }));
    const other = work(second, "second", 2);
    await eventually(() => told.length === 3);
    abort("enough");
    expect(await doomed).toBe("enough");
    await eventually(() => cancelled.length === 1);
    open();
    expect((await other).text()).toBe("second");
    expect(cancelled).toEqual(["first"]);
    expect(told.toSorted()).toEqual(["first 1", "second 1", "second 2"]);
  });

  it("put something of their own before their request ids", async () => {
    await using server = await startRawServer();
    const store = memoryStore();
    const definition = { name: "raw", url: server.url, retry: false, session: { store } } as const;
    for (const _ of [1, 2]) {
      await using client = new McpClient(definition);
      await client.callTool(echo());
    }
    const ids = server.seen.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
    expect(ids).toEqual(times(3, () => expect.stringMatching(/^[0-9a-f]{16}-[01]$/)));
    expect(new Set(ids.map((id) => id.split("-")[0])).size).toBe(2);
  });

  it("who shares none sends plain numbers", async () => {
    await using server = await startRawServer();
    await using client = new McpClient({ name: "raw", url: server.url, retry: false });
    await client.callTool(echo());
    expect(server.seen.map(({ id }) => id)).toEqual([0, undefined, 1]);
  });

  it("hear the server on their own stream, as far as it gives them one", async () => {
    const store = memoryStore();
    await using server = await startMcpTestServer();
    await using first = clientOf(server, { session: { store } });
    await first.callTool(echo());
    await using second = clientOf(server, { session: { store } });
    const heard: string[] = [];
    second.on("toolsChanged", () => heard.push("second"));
    await second.callTool(echo());
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyToolsChanged();
      return heard.length > 0;
    });
    // A server of the SDK has one such stream for a session: who comes too late works all the same.
    await using third = clientOf(server, { session: { store } });
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
