import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ServerDefinition } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { isAlive, scriptServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** How long the end of a handshake may wait for the server. */
const HANDSHAKE_GRACE_MS = 1_000;

describe.each([
  ["disconnect", (manager: McpServerManager) => manager.disconnect("slow")],
  ["disconnectAll", (manager: McpServerManager) => manager.disconnectAll()],
  ["remove", (manager: McpServerManager) => manager.remove("slow")],
])("%s does not wait for a server that", (_, end) => {
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

  it("is a program that does not exit, and close() waits for it", async () => {
    using folder = new TemporaryFolder();
    const pidFile = join(folder.path, "pid");
    const logger = new RecordingLogger();
    const manager = new McpServerManager({ slow: createStubbornServer(pidFile) }, { logger });
    const connecting = manager.connect();
    await eventually(() => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "");
    const pid = Number(readFileSync(pidFile, "utf8"));
    try {
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
});

/** Neither responds nor exits by itself. Writes its process id when it ignores what asks it to exit. */
function createStubbornServer(pidFile: string): ServerDefinition {
  const code = `
    process.on("SIGTERM", () => undefined);
    process.stdin.resume();
    setInterval(() => undefined, 1_000);
    require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));`;
  return { ...scriptServer(code), ...NO_RETRY };
}

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

describe("a server with a session and another user whose handshake hangs", () => {
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
