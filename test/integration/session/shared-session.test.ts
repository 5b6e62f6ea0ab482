import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { McpClient } from "../../../src/index.js";
import { redisStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { ClientProcess } from "../../fixtures/client-process.js";
import { clientOf, echo, gate, times } from "../../fixtures/clients.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";

/** Starting two compilers and two processes takes its time on a busy machine. */
const PATIENCE = { timeout: 60_000 };
const CALLS = 100;
/** So many of each process are open at once before any is answered. */
const TOGETHER = 30;

/** Its tool `echo` answers nobody before both processes are in the middle of their calls. */
async function startCrowdedServer(answers: "json" | "sse"): Promise<McpTestServer> {
  const arrived: Record<string, number> = {};
  const { opened, open } = gate();
  return startMcpTestServer({
    responseFormat: answers,
    tools: [
      {
        name: "echo",
        run: async ({ text }) => {
          const [process = "", number = ""] = String(text).split(" ");
          if (number === "") return text;
          arrived[process] = (arrived[process] ?? 0) + 1;
          if (Math.min(arrived["one"] ?? 0, arrived["two"] ?? 0) >= TOGETHER) open();
          await opened;
          return text;
        },
      },
    ],
  });
}

interface Story {
  readonly store: "file" | "redis";
  readonly place: string;
  readonly answers: "json" | "sse";
}

async function twoProcesses({ store, place, answers }: Story): Promise<void> {
  await using server = await startCrowdedServer(answers);
  await using one = new ClientProcess({ url: server.url, store, place });
  await using two = new ClientProcess({ url: server.url, store, place });

  const opened = await one.echo("hello");
  expect(opened.answers).toEqual(["hello"]);
  server.requests.length = 0;
  const resumed = await two.echo("hello");
  expect(resumed).toMatchObject({ answers: ["hello"], sessionId: opened.sessionId });
  expect(server.requests.map(({ method }) => method)).toEqual(["tools/call"]);

  const textsOf = (name: string) => times(CALLS, (n) => `${name} ${n}`);
  const [ofOne, ofTwo] = await Promise.all([one.echo(...textsOf("one")), two.echo(...textsOf("two"))]);
  expect(ofOne.answers).toEqual(textsOf("one"));
  expect(ofTwo.answers).toEqual(textsOf("two"));
  expect(server.received("initialize")).toHaveLength(0);

  server.dropSessions();
  const reopened = await two.echo("again");
  expect(reopened.answers).toEqual(["again"]);
  expect(await one.echo("again")).toMatchObject({ answers: ["again"], sessionId: reopened.sessionId });
  expect(reopened.sessionId).not.toBe(opened.sessionId);
  expect(server.received("initialize")).toHaveLength(1);
}

describe("two processes on one session", PATIENCE, () => {
  it("found through files, each get their own answers, and one handshake when it is lost", async () => {
    const place = mkdtempSync(join(tmpdir(), "shared-session-"));
    try {
      await twoProcesses({ store: "file", place, answers: "sse" });
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it.skipIf(!HAS_REDIS)("and through Redis, with answers in JSON", async () => {
    await using redis = await RedisServer.start();
    await twoProcesses({ store: "redis", place: redis.url, answers: "json" });
  });
});

describe.skipIf(!HAS_REDIS)("a Redis that holds sessions", PATIENCE, () => {
  it("is a warning when it is down, and used again when it is back", async () => {
    await using redis = await RedisServer.start();
    await using store = redisStore(redis.url);
    await using server = await startMcpTestServer();
    const warnings: string[] = [];
    const start = (): McpClient => {
      const client = clientOf(server, { session: { store } });
      client.on("warning", ({ message }) => warnings.push(message));
      return client;
    };
    await redis.kill();
    await using without = start();
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
