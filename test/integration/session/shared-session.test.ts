import { describe, expect, it } from "vitest";
import { redisStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { ClientProcess } from "../../fixtures/client-process.js";
import { createTestClient, echo, deferred, recordWarnings, times } from "../../fixtures/clients.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** Starting two compilers and two processes takes long on a busy machine. */
const SLOW = { timeout: 60_000 };
const CALLS = 100;
/** The number of concurrent calls per process before any response is sent. */
const CONCURRENT = 30;

/** Its tool `echo` returns only when both processes have enough calls in flight. */
async function startBarrierServer(responseFormat: "json" | "sse"): Promise<McpTestServer> {
  const arrived: Record<string, number> = {};
  const { promise, resolve } = deferred();
  return startMcpTestServer({
    responseFormat,
    tools: [
      {
        name: "echo",
        run: async ({ text }) => {
          const [process = "", number = ""] = String(text).split(" ");
          if (number === "") return text;
          arrived[process] = (arrived[process] ?? 0) + 1;
          if (Math.min(arrived["one"] ?? 0, arrived["two"] ?? 0) >= CONCURRENT) resolve();
          await promise;
          return text;
        },
      },
    ],
  });
}

interface Scenario {
  readonly store: "file" | "redis";
  readonly location: string;
  readonly responseFormat: "json" | "sse";
}

async function runTwoProcesses({ store, location: place, responseFormat: answers }: Scenario): Promise<void> {
  await using server = await startBarrierServer(answers);
  await using one = new ClientProcess({ url: server.url, store, location: place });
  await using two = new ClientProcess({ url: server.url, store, location: place });

  const opened = await one.echo("hello");
  expect(opened.results).toEqual(["hello"]);
  server.requests.length = 0;
  const resumed = await two.echo("hello");
  expect(resumed).toMatchObject({ results: ["hello"], sessionId: opened.sessionId });
  expect(server.requests.map(({ method }) => method)).toEqual(["tools/call"]);

  const createTexts = (name: string) => times(CALLS, (n) => `${name} ${n}`);
  const [firstResult, secondResult] = await Promise.all([
    one.echo(...createTexts("one")),
    two.echo(...createTexts("two")),
  ]);
  expect(firstResult.results).toEqual(createTexts("one"));
  expect(secondResult.results).toEqual(createTexts("two"));
  expect(server.received("initialize")).toHaveLength(0);

  server.dropSessions();
  const reopened = await two.echo("again");
  expect(reopened.results).toEqual(["again"]);
  expect(await one.echo("again")).toMatchObject({ results: ["again"], sessionId: reopened.sessionId });
  expect(reopened.sessionId).not.toBe(opened.sessionId);
  expect(server.received("initialize")).toHaveLength(1);
}

describe("two processes on one session", SLOW, () => {
  it("share it through files, get their own responses, and need one handshake when it is lost", async () => {
    using folder = new TemporaryFolder();
    await runTwoProcesses({ store: "file", location: folder.path, responseFormat: "sse" });
  });

  it.skipIf(!HAS_REDIS)("share it through Redis, with JSON responses", async () => {
    await using redis = await RedisServer.start();
    await runTwoProcesses({ store: "redis", location: redis.url, responseFormat: "json" });
  });
});

describe.skipIf(!HAS_REDIS)("a Redis session store", SLOW, () => {
  it("causes a warning while it is down and is used again when it is back", async () => {
    await using redis = await RedisServer.start();
    await using store = redisStore(redis.url);
    await using server = await startMcpTestServer();
    const start = () => createTestClient(server, { session: { store } });
    await redis.kill();
    await using without = start();
    const warnings = recordWarnings(without);
    expect((await without.callTool(echo("works"))).text()).toBe("works");
    expect(warnings).toEqual([expect.stringContaining("the session store failed to read")]);

    await redis.start();
    await using first = start();
    await first.callTool(echo());
    await using second = start();
    await second.callTool(echo());
    expect(second.sessionId).toBe(first.sessionId);
    expect(server.received("initialize")).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });
});
