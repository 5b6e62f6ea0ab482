import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ServerDefinition } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { deferred, eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { isAlive, readPid, stdioServer, stubbornServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** How long the end of a handshake may wait for the server. */
const HANDSHAKE_GRACE_MS = 1_000;
/** How long the end of a session may wait for the server. */
const SESSION_END_MS = 4_000;

const IMMEDIATE_ENDS = [
  ["disconnect", (manager: McpServerManager) => manager.disconnect("slow")],
  ["disconnectAll", (manager: McpServerManager) => manager.disconnectAll()],
  ["remove", (manager: McpServerManager) => manager.remove("slow")],
] as const;

describe.each(IMMEDIATE_ENDS)("%s does not wait for a server that", (_, end) => {
  it.each(["initialize", "notifications/initialized"])("does not respond to %s", async (method) => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "hang" }, { method });
    const clock = new FakeClock();
    const manager = new McpServerManager({ slow: { url: server.url, ...NO_RETRY } }, { clock });
    const connecting = manager.connect();
    await server.waitFor(method);
    // The clock stands still, so no time limit ends the wait.
    await end(manager);
    await connecting;
    expect(manager.status()["slow"]?.state ?? "removed").toMatch(/^(disconnected|removed)$/);
    await clock.advanceUntilSettled(manager.close(), HANDSHAKE_GRACE_MS);
  });

  it.each([0, 60_000])("responds neither to tools/list nor to DELETE, with drainMs %s", async (drainMs) => {
    await using server = await startMcpTestServer();
    for (const method of ["tools/list", "DELETE"]) server.addFault({ type: "hang" }, { method });
    const clock = new FakeClock();
    const definition = { url: server.url, session: { drainMs }, ...NO_RETRY };
    const manager = new McpServerManager({ slow: definition }, { clock });
    const connecting = manager.connect();
    await server.waitFor("tools/list");
    await end(manager);
    await connecting;
    await clock.advanceUntilSettled(manager.close(), SESSION_END_MS);
  });

  it("is tried again in the background, and responds neither to tools/list nor to DELETE", async () => {
    await using server = await startMcpTestServer();
    const repair = server.addFault({ type: "status", status: 503 }, { method: "initialize" });
    const clock = new FakeClock();
    const definition = {
      url: server.url,
      headers: () => ({ "x-key": "k-1234567" }),
      identity: () => "bot",
      session: { drainMs: 60_000 },
      ...NO_RETRY,
    };
    const manager = new McpServerManager({ slow: definition }, { clock, reconnection: { delaysMs: [500] } });
    await manager.connect();
    repair();
    for (const method of ["tools/list", "DELETE"]) server.addFault({ type: "hang" }, { method });
    clock.advance(600);
    await server.waitFor("tools/list");
    await end(manager);
    await clock.advanceUntilSettled(manager.close(), SESSION_END_MS);
    expect(server.received("initialize")).toHaveLength(2);
  });

  it.each(["initialize", "notifications/initialized", "tools/list"])(
    "does not respond to %s and was disconnected before",
    async (method) => {
      await using server = await startMcpTestServer();
      for (const hanging of [method, "DELETE"]) server.addFault({ type: "hang" }, { method: hanging });
      const clock = new FakeClock();
      const manager = new McpServerManager({ slow: { url: server.url, ...NO_RETRY } }, { clock });
      const connecting = manager.connect();
      await server.waitFor(method);
      await manager.disconnect("slow");
      await end(manager);
      await connecting;
      await clock.advanceUntilSettled(manager.close(), SESSION_END_MS);
    },
  );
});

describe("a server that was disconnected in its handshake", () => {
  it("is connected again after that handshake has ended", async () => {
    await using server = await startMcpTestServer();
    const repair = server.addFault({ type: "hang" }, { method: "initialize" });
    await using manager = new McpServerManager({ slow: { url: server.url, ...NO_RETRY } });
    const first = manager.connect();
    await server.waitFor("initialize");
    await manager.disconnect("slow");
    repair();
    await Promise.all([manager.connect(), first]);
    expect(manager.connected).toEqual(["slow"]);
    expect(server.received("initialize")).toHaveLength(2);
    expect(server.openSessions).toHaveLength(1);
  });

  it.each([
    ["disconnected", (manager: McpServerManager) => manager.disconnect("slow")],
    ["removed", (manager: McpServerManager) => manager.remove("slow")],
  ])("and %s has no session when the manager is closed, even if it responds later", async (_, end) => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "delay", ms: 100 }, { method: "initialize" });
    const manager = new McpServerManager({ slow: { url: server.url, ...NO_RETRY } });
    const connecting = manager.connect();
    await server.waitFor("initialize");
    await end(manager);
    expect(server.received("DELETE")).toHaveLength(0);
    await connecting;
    await manager.close();
    expect(server.received("DELETE")).toHaveLength(1);
    expect(server.openSessions).toEqual([]);
  });
});

// Concurrent, because the programs are only killed after a while.
describe.concurrent("a program that does not exit", () => {
  it.each(IMMEDIATE_ENDS)("%s does not wait for it, but close() does", async (_, end) => {
    using folder = new TemporaryFolder();
    const pidFile = join(folder.path, "pid");
    const logger = new RecordingLogger();
    const manager = new McpServerManager({ slow: stubbornServer(pidFile) }, { logger });
    const connecting = manager.connect();
    const pid = await readPid(pidFile);
    try {
      await manager.disconnect("slow");
      await end(manager);
      expect(isAlive(pid)).toBe(true);
      await connecting;
      await manager.close();
      expect(isAlive(pid)).toBe(false);
      expect(logger.warnings).toEqual([]);
    } finally {
      await waitForExit(pid);
    }
  });

  it("has ended when its server is added again after it was removed in its start", async () => {
    using folder = new TemporaryFolder();
    const pidFile = join(folder.path, "pid");
    await using manager = new McpServerManager({ slow: stubbornServer(pidFile) });
    const connecting = manager.connect();
    const pid = await readPid(pidFile);
    try {
      await manager.remove("slow");
      await connecting;
      expect(isAlive(pid)).toBe(true);
      await manager.add("slow", stdioServer());
      expect(isAlive(pid)).toBe(false);
      expect(manager.connected).toEqual(["slow"]);
    } finally {
      await waitForExit(pid);
    }
  });
});

describe("a server with a session and another user whose handshake hangs", () => {
  it.each(IMMEDIATE_ENDS)(
    "ends the calls in flight of its session with %s, within drainMs",
    async (_, end) => {
      const release = deferred();
      await using server = await startMcpTestServer({
        tools: [
          {
            name: "slow",
            run: async () => {
              await release.promise;
              return "done";
            },
          },
        ],
      });
      const clock = new FakeClock();
      const identity = ({ configurable }: { configurable: { user?: string } }) =>
        configurable.user ?? "first";
      const definition = { url: server.url, identity, session: { drainMs: 60_000 }, ...NO_RETRY };
      const manager = new McpServerManager({ slow: definition as ServerDefinition }, { clock });
      await manager.connect();
      const client = manager.clients.get("slow");
      const calling = client?.callTool({ name: "slow", args: {} });
      await server.waitFor("tools/call");
      server.addFault({ type: "hang" }, { method: "initialize" });
      const context = { configurable: { user: "second" } };
      const hanging = rejection(
        client?.callTool({ name: "slow", args: {} }, { context }) ?? Promise.resolve(),
      );
      await eventually(() => server.received("initialize").length === 2);
      let isEnded = false;
      const ending = end(manager).then(() => (isEnded = true));
      // The server is asked once more, so that a disconnect that does not wait would have ended.
      await fetch(server.url);
      expect(isEnded).toBe(false);
      release.resolve();
      await ending;
      expect((await calling)?.text()).toBe("done");
      await clock.advanceUntilSettled(manager.close({ drainMs: 0 }), HANDSHAKE_GRACE_MS);
      expect(await hanging).toMatchObject({ kind: "closed" });
    },
  );

  it("is disconnected without waiting for that user", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const identity = ({ configurable }: { configurable: { user?: string } }) => configurable.user ?? "first";
    const definition = { url: server.url, identity, ...NO_RETRY } as ServerDefinition;
    const manager = new McpServerManager({ slow: definition }, { clock });
    await manager.connect();
    server.addFault({ type: "hang" }, { method: "initialize" });
    const context = { configurable: { user: "second" } };
    const calling = manager.clients.get("slow")?.callTool({ name: "echo", args: {} }, { context });
    const failed = rejection(calling ?? Promise.resolve());
    await eventually(() => server.received("initialize").length === 2);
    await manager.disconnect("slow");
    expect(await failed).toMatchObject({ kind: "closed" });
    await clock.advanceUntilSettled(manager.close(), HANDSHAKE_GRACE_MS);
  });
});
