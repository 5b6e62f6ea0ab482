import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, type ServerDefinition, type ServerErrorContext } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { NO_RETRY, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { readPid, stubbornServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** A server that works, and the address of one that was stopped. */
async function createFixture() {
  const [working, stopped] = await Promise.all([startMcpTestServer(), startMcpTestServer()]);
  await stopped.close();
  const broken: ServerDefinition = { url: stopped.url, ...NO_RETRY };
  return {
    working,
    broken,
    good: { url: working.url, ...NO_RETRY } as ServerDefinition,
    [Symbol.asyncDispose]: () => working.close(),
  };
}

describe("a start that fails", () => {
  it("reports all broken servers in one error, and closes the others", async () => {
    await using fixture = await createFixture();
    const { good, broken } = fixture;
    const invalid: ServerDefinition = { resolve: async () => ({ url: 5 }) as never };
    const failure = await rejection(createMcpTools({ b: broken, a: good, c: broken, d: invalid }));
    expect(failure).toMatchObject({
      kind: "not-sent",
      message: expect.stringMatching(/^3 servers failed:\n {2}b: .*\n {2}c: .*\n {2}d: /) as unknown,
      issues: [{ path: "d.url" }],
      cause: { errors: [{ server: "b" }, { server: "c" }, { server: "d" }] },
    });
    expect(fixture.working.openSessions).toEqual([]);
  });

  it("does not wait long for servers that are still connecting, and names them", async () => {
    await using fixture = await createFixture();
    fixture.working.addFault({ type: "hang" }, { method: "initialize" });
    const slow = { ...fixture.good, timeouts: { connectMs: 600_000 } } as ServerDefinition;
    const failure = await rejection(createMcpTools({ slow, broken: fixture.broken }));
    expect(failure).toMatchObject({
      kind: "not-sent",
      server: "broken",
      message: expect.stringMatching(/ Not connected yet: slow\.$/) as unknown,
    });
  });
});

describe("the message about a program that neither responds nor exits", () => {
  const TIMES = /Gave up after 1 attempt and (\d+\.\d) s\. Closing what was open took another (\d+\.\d) s\.$/;

  it.each([
    ["connect()", (manager: McpServerManager) => manager.connect()],
    ["reconnect()", (manager: McpServerManager) => manager.reconnect("stubborn")],
  ])("has the time that %s took", async (_, connect) => {
    using folder = new TemporaryFolder();
    const pidFile = join(folder.path, "pid");
    const clock = new FakeClock();
    const stubborn = { ...stubbornServer(pidFile), timeouts: { connectMs: 2_500 } };
    const manager = new McpServerManager({ stubborn }, { clock, strict: true });
    const failing = rejection(connect(manager)).then(({ message }) => ({ message, ms: clock.now() }));
    const pid = await readPid(pidFile);
    const { message, ms } = await clock.advanceUntilSettled(failing, 9_000);
    await waitForExit(pid);
    const [, attempt, closing] = TIMES.exec(message) ?? [];
    expect(Number(attempt) + Number(closing)).toBeCloseTo(ms / 1_000, 0);
  });

  it("has the time that a start took", async () => {
    using folder = new TemporaryFolder();
    const pidFile = join(folder.path, "pid");
    const stubborn = { ...stubbornServer(pidFile), timeouts: { connectMs: 2_000 } };
    const { message } = await rejection(createMcpTools({ stubborn }, { logger: new RecordingLogger() }));
    if (existsSync(pidFile)) await waitForExit(await readPid(pidFile));
    expect(message).toMatch(TIMES);
  });
});

describe("a toolset with several broken servers", () => {
  it.each(["refresh", "toolsFor"] as const)("reports all in one error of %s", async (method) => {
    await using fixture = await createFixture();
    const lazy = { ...fixture.broken, lazy: true } as ServerDefinition;
    const servers = { a: lazy, good: fixture.good, b: lazy };
    await using mcp = await createMcpTools(servers, { logger: new RecordingLogger() });
    expect(await rejection(mcp[method]({}))).toMatchObject({
      kind: "not-sent",
      message: expect.stringMatching(/^2 servers failed:\n {2}a: .*\n {2}b: /) as unknown,
      cause: { errors: [{ server: "a" }, { server: "b" }] },
    });
  });
});

describe("onServerError", () => {
  it("decides at the start whether a failure throws, once for each server", async () => {
    await using fixture = await createFixture();
    const { good, broken } = fixture;
    const asked: ServerErrorContext[] = [];
    const logger = new RecordingLogger();
    const servers = { good, broken, spare: { ...broken, optional: true } as ServerDefinition };
    await using mcp = await createMcpTools(servers, {
      logger,
      onServerError: (_, context) => {
        asked.push(context);
        return "ignore";
      },
    });
    expect(asked.toSorted((a, b) => a.server.localeCompare(b.server))).toEqual([
      { server: "broken", optional: false },
      { server: "spare", optional: true },
    ]);
    expect(mcp.servers.failed).toEqual(["broken", "spare"]);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["good__echo"]);
    expect(logger.warnings).toHaveLength(2);
  });

  it("may make the failure of an optional server fatal, and leave the rest to the defaults", async () => {
    await using fixture = await createFixture();
    const spare = { ...fixture.broken, optional: true } as ServerDefinition;
    const servers = { good: fixture.good, spare };
    expect(await rejection(createMcpTools(servers, { onServerError: () => "throw" }))).toMatchObject({
      kind: "not-sent",
      server: "spare",
    });
    await using mcp = await createMcpTools(servers, {
      logger: new RecordingLogger(),
      onServerError: () => undefined,
    });
    expect(mcp.servers.failed).toEqual(["spare"]);
  });

  it("may throw an error of its own", async () => {
    await using fixture = await createFixture();
    const own = new Error("mine");
    const starting = createMcpTools(
      { good: fixture.good, broken: fixture.broken },
      {
        onServerError: () => {
          throw own;
        },
      },
    );
    expect(await rejection(starting)).toBe(own);
    expect(fixture.working.openSessions).toEqual([]);
  });
});
