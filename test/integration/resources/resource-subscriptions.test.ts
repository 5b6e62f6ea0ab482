import { describe, expect, it } from "vitest";
import {
  type CallContext,
  createMcpTools,
  type InProcessServer,
  McpClient,
  McpServerManager,
  type MessageTransport,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const NEWS = { uri: "news:today", read: () => "news" };
const WEATHER = { uri: "weather:oslo", read: () => "rain" };

/** For tests that turn the clock, which must not hurry a machine that is slow. */
const UNTIMED = { connectMs: 0, requestMs: 0, totalMs: 0 };

interface Heard {
  readonly identity: string;
  readonly uri: string;
}

function hearUpdates(client: McpClient): Heard[] {
  const heard: Heard[] = [];
  client.on("resourceUpdated", ({ identity, uri }) => heard.push({ identity, uri }));
  return heard;
}

/** While its clock stands still, a client waits for the server's stream as long as it takes. */
function patientClient(server: McpTestServer, definition: Parameters<typeof clientOf>[1] = {}): McpClient {
  return clientOf(server, definition, { clock: new FakeClock() });
}

function urisSubscribed(server: McpTestServer): unknown[] {
  return server
    .received("resources/subscribe")
    .map(({ body }) => (body as { params: { uri: string } }).params.uri);
}

describe("updates of resources", () => {
  it("reach whoever has subscribed, and only of what was subscribed to", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = patientClient(server);
    const heard = hearUpdates(client);
    await client.subscribeResource("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await server.notifyResourceUpdated("news:today");
    await eventually(() => heard.length > 0);
    expect(heard).toEqual([{ identity: "", uri: "news:today" }]);
    expect(urisSubscribed(server)).toEqual(["news:today"]);
  });

  it("end with the subscription", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = patientClient(server);
    const heard = hearUpdates(client);
    await client.subscribeResource("news:today");
    await client.subscribeResource("weather:oslo");
    await client.unsubscribeResource("news:today");
    await server.notifyResourceUpdated("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => heard.length > 0);
    expect(heard.map(({ uri }) => uri)).toEqual(["weather:oslo"]);
    await server.restart();
    await client.callTool(echo());
    expect(urisSubscribed(server)).toEqual(["news:today", "weather:oslo", "weather:oslo"]);
  });

  it("come again after a restart of the server, and what may have been missed is told", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = patientClient(server);
    const heard = hearUpdates(client);
    await client.subscribeResource("news:today");
    await client.subscribeResource("weather:oslo");
    await server.restart();
    await client.callTool(echo());
    expect(heard.map(({ uri }) => uri)).toEqual(["news:today", "weather:oslo"]);
    const told = server.received("resources/subscribe").slice(2);
    expect(told.map(({ headers }) => headers["mcp-session-id"])).toEqual([
      client.sessionId,
      client.sessionId,
    ]);
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => heard.length > 2);
    expect(heard.at(-1)).toEqual({ identity: "", uri: "weather:oslo" });
  });

  it("come again although nobody calls: the server's stream tells that the session is gone", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server, { timeouts: UNTIMED }, { clock });
    const heard = hearUpdates(client);
    await client.subscribeResource("news:today");
    const before = client.sessionId;
    await server.restart();
    await eventually(() => {
      clock.advance(500);
      return client.sessionId !== before && client.state === "ready";
    });
    expect(server.received("initialize")).toHaveLength(2);
    await eventually(() => heard.length === 1);
    await server.notifyResourceUpdated("news:today");
    await eventually(() => heard.length === 2);
  });

  it("need no session of their own: a server without such a stream is asked once", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server, { timeouts: UNTIMED }, { clock });
    server.addFault({ type: "status", status: 404 }, { method: "GET" });
    hearUpdates(client);
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

  it("stay wanted when a session is lost while it is being subscribed to", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    await using client = patientClient(server);
    const heard = hearUpdates(client);
    await client.ensureSession();
    server.addFault({ type: "status", status: 404 }, { method: "resources/subscribe", times: 1 });
    await client.subscribeResource("news:today");
    expect(server.received("initialize")).toHaveLength(2);
    heard.length = 0;
    await server.notifyResourceUpdated("news:today");
    await eventually(() => heard.length > 0);
  });

  it("that the server refuses are not asked for again", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server);
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe", times: 1 });
    expect(await failureOf(client.subscribeResource("news:today"))).toMatchObject({ kind: "unauthorized" });
    await server.restart();
    await client.callTool(echo());
    expect(server.received("resources/subscribe")).toHaveLength(1);
  });

  it("that a new session refuses cost a warning, and nobody a call", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    await client.subscribeResource("news:today");
    await server.restart();
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe", times: 1 });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
    expect(warnings).toEqual([
      expect.stringContaining('Server "test" did not take the subscription to news:today again: '),
    ]);
  });

  it("that a new session refuses by the dozen cost a few warnings", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    await Promise.all(times(20, (n) => client.subscribeResource(`news:${n}`)));
    await server.restart();
    server.addFault({ type: "status", status: 403 }, { method: "resources/subscribe" });
    await client.callTool(echo());
    expect(warnings).toHaveLength(6);
    expect(warnings.at(-1)).toBe('Server "test" did not take 15 more wishes again.');
  });

  it("reach a listener that comes after the subscription", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using client = clientOf(server);
    await client.subscribeResource("news:today");
    expect(server.received("GET")).toEqual([]);
    const heard = hearUpdates(client);
    await eventually(async () => {
      await server.notifyResourceUpdated("news:today");
      return heard.length > 0;
    });
  });

  it("are in place again after a close, and after a stored session that is long gone", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using store = memoryStore();
    await using client = clientOf(server, { session: { store } });
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    await client.subscribeResource("news:today");
    await client.close();
    server.dropSessions();
    await client.callTool(echo());
    const told = server.received("resources/subscribe").at(-1);
    expect(told?.headers["mcp-session-id"]).toBe(client.sessionId);
    expect(warnings).toEqual([]);
  });

  it("hold up no close, and leave no session behind, while they are being restored", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    const client = patientClient(server);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    hearUpdates(client);
    await client.subscribeResource("news:today");
    await server.restart();
    const before = server.received("GET").length;
    server.addFault({ type: "hang" }, { method: "GET" });
    const calling = failureOf(client.callTool(echo()));
    await eventually(() => server.received("GET").length > before);
    await client.close();
    expect((await calling).kind).toBe("closed");
    expect(server.openSessions).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it("are each user's own", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS, WEATHER] });
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = patientClient(server, { identity: userOf, auth: (context) => userOf(context) });
    const heard = hearUpdates(client);
    const as = (user: string) => ({ context: { configurable: { user } } });
    await client.subscribeResource("news:today", as("ann"));
    await client.subscribeResource("weather:oslo", as("bob"));
    await server.notifyResourceUpdated("news:today");
    await server.notifyResourceUpdated("weather:oslo");
    await eventually(() => heard.length === 2);
    expect(new Set(heard)).toEqual(
      new Set([
        { identity: "ann", uri: "news:today" },
        { identity: "bob", uri: "weather:oslo" },
      ]),
    );
    await server.restart();
    await client.callTool(echo(), as("bob"));
    const told = server.received("resources/subscribe").at(-1);
    expect(urisSubscribed(server)).toEqual(["news:today", "weather:oslo", "weather:oslo"]);
    expect(told?.headers["authorization"]).toBe("Bearer bob");
  });

  it("are in place again after a toolset's server came back", async () => {
    await using server = await startMcpTestServer({ resources: [NEWS] });
    await using mcp = await createMcpTools({ press: { url: server.url } });
    const heard: unknown[] = [];
    mcp.on("resourceUpdated", (event) => heard.push(event));
    await mcp.clients.press.subscribeResource("news:today");
    await server.restart();
    await mcp.callTool({ name: "press__echo", args: { text: "hi" } });
    heard.length = 0;
    await eventually(async () => {
      await server.notifyResourceUpdated("news:today");
      return heard.length > 0;
    });
    expect(heard[0]).toEqual({ server: "press", identity: "", uri: "news:today" });
  });
});

describe("updates of resources, where a session is a connection", () => {
  /** A server that can be reached in this process, and its lines. */
  function linkedServer() {
    const server = new McpTestServer({ resources: [NEWS] });
    const links: MessageTransport[] = [];
    const linked: InProcessServer = {
      connect: async (transport) => {
        links.push(transport);
        await server.connect(transport);
      },
    };
    return { server, links, linked };
  }

  it("come again although nobody calls, unless the connection is lost again right away", async () => {
    const clock = new FakeClock();
    const { server, links, linked } = linkedServer();
    await using client = new McpClient(
      { name: "press", ...ONCE, server: linked, timeouts: UNTIMED },
      { clock },
    );
    const heard = hearUpdates(client);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    await client.subscribeResource("news:today");
    await links[0]?.close();
    await eventually(() => {
      clock.advance(100);
      return heard.length === 1;
    });
    await server.notifyResourceUpdated("news:today");
    await eventually(() => heard.length === 2);
    await links[1]?.close();
    await eventually(() => warnings.length === 1);
    expect(warnings[0]).toContain("not heard before the next request: The connection was lost again.");
    expect(clock.pending).toBe(0);
    expect(links).toHaveLength(2);
    await client.callTool(echo());
    expect(heard).toHaveLength(3);
  });

  it("come again although nobody calls, when the client was closed and used again since the last loss", async () => {
    const clock = new FakeClock();
    const { links, linked } = linkedServer();
    await using client = new McpClient(
      { name: "press", ...ONCE, server: linked, timeouts: UNTIMED },
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

  it("come again when the manager has brought the connection back", async () => {
    const clock = new FakeClock();
    const { server, links, linked } = linkedServer();
    const manager = new McpServerManager({ press: { server: linked, timeouts: UNTIMED } }, { clock });
    try {
      await manager.connect();
      const client = manager.clients.get("press");
      if (client === undefined) throw new Error("there is no client");
      const heard = hearUpdates(client);
      await client.subscribeResource("news:today");
      await links[0]?.close();
      await eventually(() => {
        clock.advance(100);
        return links.length === 2 && heard.length === 1;
      });
      await server.notifyResourceUpdated("news:today");
      await eventually(() => heard.length === 2);
    } finally {
      await manager.close();
    }
  });
});

describe("lists of resources and prompts", () => {
  it("that have changed are told, to who listens", async () => {
    await using server = await startMcpTestServer({ resources: [], prompts: [] });
    await using client = clientOf(server);
    const heard: string[] = [];
    client.on("resourcesChanged", ({ server: name }) => heard.push(`resources of ${name}`));
    client.on("promptsChanged", ({ server: name }) => heard.push(`prompts of ${name}`));
    await client.ensureSession();
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyResourcesChanged();
      await server.notifyPromptsChanged();
      return heard.length > 1;
    });
    expect(new Set(heard)).toEqual(new Set(["resources of test", "prompts of test"]));
  });
});
