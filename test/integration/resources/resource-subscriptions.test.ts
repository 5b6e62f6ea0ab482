import { describe, expect, it } from "vitest";
import {
  type CallContext,
  createMcpTools,
  type InProcessServer,
  McpClient,
  type MessageTransport,
} from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  rejection,
  NO_RETRY,
  times,
  recordWarnings,
} from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const NEWS = { uri: "news:today", read: () => "news" };
const WEATHER = { uri: "weather:oslo", read: () => "rain" };

/** For tests that advance the clock, so that a slow machine does not run into timeouts. */
const NO_TIMEOUTS = { connectMs: 0, requestMs: 0, totalMs: 0 };

interface ResourceUpdate {
  readonly identity: string;
  readonly uri: string;
}

function recordUpdates(client: McpClient): ResourceUpdate[] {
  const updates: ResourceUpdate[] = [];
  client.on("resourceUpdated", ({ identity, uri }) => updates.push({ identity, uri }));
  return updates;
}

/** A client whose clock stands still waits for the server's stream without a time limit. */
function createPatientClient(
  server: McpTestServer,
  definition: Parameters<typeof createTestClient>[1] = {},
): McpClient {
  return createTestClient(server, definition, { clock: new FakeClock() });
}

function subscribedUris(server: McpTestServer): unknown[] {
  return server
    .received("resources/subscribe")
    .map(({ body }) => (body as { params: { uri: string } }).params.uri);
}

describe("updates of resources", () => {
  it("are received for subscribed resources only", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = createPatientClient(server);
    const updates = recordUpdates(client);
    await client.subscribeResource("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await server.notifyResourceUpdated("news:today");
    await eventually(() => updates.length > 0);
    expect(updates).toEqual([{ identity: "", uri: "news:today" }]);
    expect(subscribedUris(server)).toEqual(["news:today"]);
  });

  it("stop after unsubscribing", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = createPatientClient(server);
    const updates = recordUpdates(client);
    await client.subscribeResource("news:today");
    await client.subscribeResource("weather:oslo");
    await client.unsubscribeResource("news:today");
    await server.notifyResourceUpdated("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => updates.length > 0);
    expect(updates.map(({ uri }) => uri)).toEqual(["weather:oslo"]);
    await server.restart();
    await client.callTool(echo());
    expect(subscribedUris(server)).toEqual(["news:today", "weather:oslo", "weather:oslo"]);
  });

  it("continue after a restart of the server, and possibly missed updates are emitted", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = createPatientClient(server);
    const updates = recordUpdates(client);
    await client.subscribeResource("news:today");
    await client.subscribeResource("weather:oslo");
    await server.restart();
    await client.callTool(echo());
    expect(updates.map(({ uri }) => uri)).toEqual(["news:today", "weather:oslo"]);
    const restored = server.received("resources/subscribe").slice(2);
    expect(restored.map(({ headers }) => headers["mcp-session-id"])).toEqual([
      client.sessionId,
      client.sessionId,
    ]);
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => updates.length > 2);
    expect(updates.at(-1)).toEqual({ identity: "", uri: "weather:oslo" });
  });

  it("continue after a restart without a call, because the stream detects the lost session", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server, { timeouts: NO_TIMEOUTS }, { clock });
    const updates = recordUpdates(client);
    await client.subscribeResource("news:today");
    const before = client.sessionId;
    await server.restart();
    await eventually(() => {
      clock.advance(500);
      return client.sessionId !== before && client.state === "ready";
    });
    expect(server.received("initialize")).toHaveLength(2);
    await eventually(() => updates.length === 1);
    await server.notifyResourceUpdated("news:today");
    await eventually(() => updates.length === 2);
  });

  it("do not open new sessions if the server has no stream", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server, { timeouts: NO_TIMEOUTS }, { clock });
    server.addFault({ type: "status", status: 404 }, { method: "GET" });
    recordUpdates(client);
    await client.subscribeResource("news:today");
    await eventually(() => {
      clock.advance(500);
      return server.received("ping").length > 0;
    });
    clock.advance(60_000);
    await client.callTool(echo());
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("ping")).toHaveLength(1);
  });

  it("continue if the session is lost while subscribing", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = createPatientClient(server);
    const updates = recordUpdates(client);
    await client.ensureSession();
    server.addFault({ type: "status", status: 404 }, { method: "resources/subscribe", times: 1 });
    await client.subscribeResource("news:today");
    expect(server.received("initialize")).toHaveLength(2);
    updates.length = 0;
    await server.notifyResourceUpdated("news:today");
    await eventually(() => updates.length > 0);
  });

  it("are not restored if the server rejected the subscription", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server);
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe", times: 1 });
    expect(await rejection(client.subscribeResource("news:today"))).toMatchObject({ kind: "unauthorized" });
    await server.restart();
    await client.callTool(echo());
    expect(server.received("resources/subscribe")).toHaveLength(1);
  });

  it("that a new session rejects are logged, and calls succeed", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    await client.subscribeResource("news:today");
    await server.restart();
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe", times: 1 });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
    expect(warnings).toEqual([expect.stringContaining("not restore the subscription to news:today")]);
  });

  it("that a new session rejects in large numbers are logged in few warnings", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    await Promise.all(times(20, (n) => client.subscribeResource(`news:${n}`)));
    await server.restart();
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe" });
    await client.callTool(echo());
    expect(warnings).toHaveLength(6);
    expect(warnings.at(-1)).toContain("15 more subscriptions");
  });

  it("are received by a listener added after the subscription", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = createTestClient(server);
    await client.subscribeResource("news:today");
    expect(server.received("GET")).toEqual([]);
    const updates = recordUpdates(client);
    await eventually(async () => {
      await server.notifyResourceUpdated("news:today");
      return updates.length > 0;
    });
  });

  it("are restored after a close, and after an expired stored session", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using store = memoryStore();
    await using client = createTestClient(server, { session: { store } });
    const warnings = recordWarnings(client);
    await client.subscribeResource("news:today");
    await client.close();
    server.dropSessions();
    await client.callTool(echo());
    const restored = server.received("resources/subscribe").at(-1);
    expect(restored?.headers["mcp-session-id"]).toBe(client.sessionId);
    expect(warnings).toEqual([]);
  });

  it("do not delay close or leave a session open while they are restored", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    const client = createPatientClient(server);
    const warnings = recordWarnings(client);
    recordUpdates(client);
    await client.subscribeResource("news:today");
    await server.restart();
    const before = server.received("GET").length;
    server.addFault({ type: "hang" }, { method: "GET" });
    const calling = rejection(client.callTool(echo()));
    await eventually(() => server.received("GET").length > before);
    await client.close();
    expect((await calling).kind).toBe("closed");
    expect(server.openSessions).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it("are separate per user", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    const getUser = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = createPatientClient(server, {
      identity: getUser,
      auth: (context) => getUser(context),
    });
    const updates = recordUpdates(client);
    const as = (user: string) => ({ context: { configurable: { user } } });
    await client.subscribeResource("news:today", as("ann"));
    await client.subscribeResource("weather:oslo", as("bob"));
    await server.notifyResourceUpdated("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => updates.length === 2);
    expect(new Set(updates)).toEqual(
      new Set([
        { identity: "ann", uri: "news:today" },
        { identity: "bob", uri: "weather:oslo" },
      ]),
    );
    await server.restart();
    await client.callTool(echo(), as("bob"));
    const restored = server.received("resources/subscribe").at(-1);
    expect(subscribedUris(server)).toEqual(["news:today", "weather:oslo", "weather:oslo"]);
    expect(restored?.headers["authorization"]).toBe("Bearer bob");
  });

  it("of a toolset are restored after a restart of the server", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using mcp = await createMcpTools({ press: { url: server.url } });
    const updates: unknown[] = [];
    mcp.on("resourceUpdated", (event) => updates.push(event));
    await mcp.clients.press.subscribeResource("news:today");
    await server.restart();
    await mcp.callTool({ name: "press__echo", args: { text: "hi" } });
    updates.length = 0;
    await eventually(async () => {
      await server.notifyResourceUpdated("news:today");
      return updates.length > 0;
    });
    expect(updates[0]).toEqual({ server: "press", identity: "", uri: "news:today" });
  });
});

describe("updates of resources over a connection-based transport", () => {
  /** A server in this process, and its transports. */
  function createInProcessServer() {
    const server = new McpTestServer({ resources: [NEWS] });
    const links: MessageTransport[] = [];
    const inProcess: InProcessServer = {
      connect: async (transport) => {
        links.push(transport);
        await server.connect(transport);
      },
    };
    return { server, links, inProcess };
  }

  it("continue without a call, unless the connection is lost again immediately", async () => {
    const clock = new FakeClock();
    const { server, links, inProcess } = createInProcessServer();
    await using client = new McpClient(
      { name: "press", ...NO_RETRY, server: inProcess, timeouts: NO_TIMEOUTS },
      { clock },
    );
    const updates = recordUpdates(client);
    const warnings = recordWarnings(client);
    await client.subscribeResource("news:today");
    await links[0]?.close();
    await eventually(() => {
      clock.advance(100);
      return updates.length === 1;
    });
    await server.notifyResourceUpdated("news:today");
    await eventually(() => updates.length === 2);
    await links[1]?.close();
    await eventually(() => warnings.length === 1);
    expect(warnings[0]).toContain("lost again");
    expect(clock.pending).toBe(0);
    expect(links).toHaveLength(2);
    await client.callTool(echo());
    expect(updates).toHaveLength(3);
  });

  it("continue without a call if the client was closed and reopened since the last loss", async () => {
    const clock = new FakeClock();
    const { links, inProcess } = createInProcessServer();
    await using client = new McpClient(
      { name: "press", ...NO_RETRY, server: inProcess, timeouts: NO_TIMEOUTS },
      { clock },
    );
    await client.subscribeResource("news:today");
    for (const reopened of [2, 4]) {
      await links.at(-1)?.close();
      await eventually(() => {
        clock.advance(100);
        return links.length === reopened && client.state === "ready";
      });
      await client.close();
      await client.callTool(echo());
    }
    expect(links).toHaveLength(5);
  });

  it("continue when the manager has reconnected", async () => {
    const clock = new FakeClock();
    const { server, links, inProcess } = createInProcessServer();
    const manager = new McpServerManager({ press: { server: inProcess, timeouts: NO_TIMEOUTS } }, { clock });
    try {
      await manager.connect();
      const client = manager.clients.get("press");
      if (client === undefined) throw new Error("missing client");
      const updates = recordUpdates(client);
      await client.subscribeResource("news:today");
      await links[0]?.close();
      await eventually(() => {
        clock.advance(100);
        return links.length === 2 && updates.length === 1;
      });
      await server.notifyResourceUpdated("news:today");
      await eventually(() => updates.length === 2);
    } finally {
      await manager.close();
    }
  });
});

describe("lists of resources and prompts", () => {
  it("emit an event when they change", async () => {
    await using server = await startMcpTestServer({ resources: [], prompts: [] });
    await using client = createTestClient(server);
    const updates: string[] = [];
    client.on("resourcesChanged", ({ server: name }) => updates.push(`resources of ${name}`));
    client.on("promptsChanged", ({ server: name }) => updates.push(`prompts of ${name}`));
    await client.ensureSession();
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyResourcesChanged();
      await server.notifyPromptsChanged();
      return updates.length > 1;
    });
    expect(new Set(updates)).toEqual(new Set(["resources of test", "prompts of test"]));
  });
});
