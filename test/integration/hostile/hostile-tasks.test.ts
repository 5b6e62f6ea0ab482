import { describe, expect, it } from "vitest";
import { toObject } from "../../../src/json/json.js";
import { createTestClient, rejection, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { type RawRequest, sendJson, startRawServer } from "../../fixtures/raw-server.js";

const TASK = { taskId: "task-1", status: "working", ttlMs: 60_000, pollIntervalMs: 1 };
const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
  serverInfo: { name: "tasks", version: "1" },
};
const MODERN = { protocol: "2026-07-28" } as const;
const call = { name: "work", args: {} };

/** A server of 2026-07-28 that turns calls into tasks. */
function startTaskServer(results: Record<string, (raw: RawRequest) => unknown>) {
  const all: typeof results = {
    "server/discover": () => DISCOVERED,
    "tools/call": () => ({ ...TASK, resultType: "task" }),
    ...results,
  };
  return startRawServer((raw) => sendJson(raw.response, raw.id, all[raw.method ?? ""]?.(raw) ?? {}));
}

describe("a task", () => {
  it.each<["legacy" | "2026-07-28", object]>([
    ["legacy", { task: { ...TASK, taskId: 5 } }],
    ["2026-07-28", { ...TASK, taskId: { deep: [] }, resultType: "task" }],
  ])("whose id is not a string is not an empty result, %s", async (protocol, result) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "server/discover" && protocol === "2026-07-28") sendJson(response, id, DISCOVERED);
      else if (method !== "tools/call") return false;
      else sendJson(response, id, result);
      return;
    });
    await using client = createTestClient(server, { protocol });
    const failure = await rejection(client.callTool(call, { task: true }));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
  });

  it.each<[string, (round: number) => string, number]>([
    ["again and again", (round) => `key-${round}`, 1_000],
    ["with long keys", (round) => `${"x".repeat(5_000)}${round}`, 0],
  ])("that requires input %s is given up", async (_, toKey, answered) => {
    let rounds = 0;
    const inputRequests = () =>
      Object.fromEntries(times(100, (index) => [toKey(rounds * 100 + index), { method: "roots/list" }]));
    await using server = await startTaskServer({
      "tasks/get": () => ({ ...TASK, status: "input_required", inputRequests: inputRequests() }),
      "tasks/update": () => {
        rounds += 1;
        return {};
      },
    });
    await using client = createTestClient(server, { ...MODERN, roots: [{ uri: "file:///project" }] });
    const failure = await rejection(client.callTool(call));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(failure.message).toContain("requires input more than 1000 times");
    expect(rounds * 100).toBe(answered);
  });

  it("that fails with a text of many lines has one line of it in the error", async () => {
    const statusMessage = `out of paper\n[app] error: forged ${"x".repeat(4_000)}`;
    await using server = await startTaskServer({
      "tasks/get": () => ({ ...TASK, status: "cancelled", statusMessage }),
    });
    await using client = createTestClient(server, MODERN);
    const { message } = await rejection(client.callTool(call));
    expect(message).toContain("out of paper [app] error: forged");
    expect(message).not.toContain("\n");
    expect(message.length).toBeLessThan(500);
  });
});

describe("a task that fails", () => {
  it("has the attempts of the call that created it", async () => {
    let calls = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "server/discover") sendJson(response, id, DISCOVERED);
      else if (method === "tasks/get") sendJson(response, id, { ...TASK, status: "cancelled" });
      else if ((calls += 1) < 3) response.writeHead(503).end();
      else sendJson(response, id, { ...TASK, resultType: "task" });
    });
    const retry = { maxRetries: 2, baseDelayMs: 1 };
    await using client = createTestClient(server, { ...MODERN, retry });
    const failure = await rejection(client.callTool(call, { idempotent: true }));
    expect(failure).toMatchObject({ kind: "cancelled", outcomeUnknown: true, attempts: 3 });
  });
});

describe("the ids of many tasks", () => {
  it("do not slow down the redaction of a text that is made of their first characters", async () => {
    let created = 0;
    let message = "";
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "server/discover") return sendJson(response, id, DISCOVERED);
      const done = { ...TASK, status: "completed", result: { content: [] } };
      if (method === "tasks/get") return sendJson(response, id, { ...done, ...toObject(body["params"]) });
      if (message === "") {
        created += 1;
        const taskId = `${"a".repeat(500)}${created}`;
        return sendJson(response, id, { ...TASK, taskId, resultType: "task" });
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: body["id"], error: { code: -32_000, message } }));
    });
    await using client = createTestClient(server, { ...MODERN, circuitBreaker: false });
    await Promise.all(times(300, () => client.callTool(call)));
    expect(created).toBe(300);
    const measure = async (character: string) => {
      message = character.repeat(30_000);
      const startedAt = performance.now();
      const failure = await rejection(client.callTool(call));
      expect(failure.code).toBe(-32_000);
      return performance.now() - startedAt;
    };
    const ratios = [];
    for (let round = 0; round < 3; round += 1) ratios.push((await measure("a")) / (await measure("x")));
    expect(Math.min(...ratios)).toBeLessThan(10);
  });
});

describe("a list of tasks", () => {
  const page = (length: number, more: object = {}) => ({ tasks: times(length, () => TASK), ...more });

  it.each<[string, () => object, string, string]>([
    ["of many tasks", () => page(70_000, { nextCursor: "more" }), "too-large", "200000 tasks"],
    ["with another cursor than a string", () => page(1, { nextCursor: 5 }), "invalid-response", "cursor"],
    ["on many pages", () => page(1, { nextCursor: "more" }), "too-large", "100 pages"],
  ])("%s is an error", async (_, list, kind, text) => {
    await using server = await startTaskServer({ "tasks/list": list });
    await using client = createTestClient(server, MODERN);
    const failure = await rejection(client.listTasks());
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain(text);
  });

  it("has one totalMs for all of its pages", async () => {
    const clock = new FakeClock();
    let pages = 0;
    const list = () => {
      pages += 1;
      clock.advance(60);
      return page(1, pages === 1 ? { nextCursor: "more" } : {});
    };
    await using server = await startTaskServer({ "tasks/list": list });
    await using client = createTestClient(server, { ...MODERN, timeouts: { totalMs: 100 } }, { clock });
    await client.ensureSession();
    expect(await rejection(client.listTasks())).toMatchObject({ kind: "timeout" });
    expect(pages).toBe(2);
  });
});
