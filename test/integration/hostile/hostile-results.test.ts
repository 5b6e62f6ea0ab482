import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMcpTools, type McpClient } from "../../../src/index.js";
import {
  createTestClient,
  deferred,
  echo,
  recordWarnings,
  rejection,
  times,
} from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { INITIALIZE_RESULT, sendError, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { invokeTool } from "../../fixtures/toolsets.js";

const MEGABYTE = 1_000_000;

/** A server with these results by method. */
function startResultServer(results: Record<string, object>) {
  return startRawServer(({ method = "", id, response }) => {
    if (!Object.hasOwn(results, method)) return false;
    sendJson(response, id, results[method]);
    return;
  });
}

describe("texts of a server that a model sees besides the text of a result", () => {
  it("the URI and the file name of a file are limited", async () => {
    const uri = `file:///${"a".repeat(MEGABYTE)}.pdf`;
    const resource = { uri, mimeType: "application/pdf", blob: "AAAA" };
    await using server = await startResultServer({
      "tools/list": { tools: [{ name: "read", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "resource", resource }] },
    });
    await using mcp = await createMcpTools({ test: { url: server.url } });
    const message = await invokeTool(mcp.tools[0]);
    expect(JSON.stringify(message.content).length).toBeLessThan(10_000);
    expect(message.artifact).toMatchObject({ content: [{ resource }] });
  });

  it("the line that describes a resource link is limited", async () => {
    const link = { type: "resource_link", uri: "f:///x", title: "t".repeat(MEGABYTE), description: " x" };
    await using server = await startResultServer({
      "tools/list": { tools: [{ name: "read", inputSchema: { type: "object" } }] },
      "tools/call": { content: [link] },
    });
    await using mcp = await createMcpTools({ test: { url: server.url } });
    const { content } = await invokeTool(mcp.tools[0]);
    expect(content).toMatch(/^Resource "t{8000,8192}…": f:\/\/\/x\nx$/);
  });

  it("instructions and the name of the server are limited", async () => {
    await using server = await startResultServer({
      initialize: {
        ...INITIALIZE_RESULT,
        serverInfo: { name: "n".repeat(MEGABYTE), version: "v".repeat(MEGABYTE) },
        instructions: "Call echo. ".repeat(MEGABYTE / 10),
      },
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    expect(client.instructions).toHaveLength(65_536);
    expect(client.serverInfo?.name).toHaveLength(4_096);
    expect(client.serverInfo?.version).toHaveLength(4_096);
  });

  it.each(["2025-11-25", "2026-07-28", "2026-07-28 in _meta"])(
    "the name, version and title of the server have no hidden characters (%s)",
    async (variant) => {
      const hidden = "\u202e\u200b\u001b[31m\u001b]0;title\u0007\r\ufe0f\u{e0041}";
      const named = (text: string) => `${hidden}${text}${hidden}`;
      const serverInfo = { name: named("Bank"), version: named("1.0"), title: named("My bank") };
      const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      await using server = await startResultServer({
        initialize: { ...INITIALIZE_RESULT, serverInfo },
        "server/discover": { ...discovered, ...(variant.endsWith("_meta") ? { _meta } : { serverInfo }) },
      });
      const protocol = variant.startsWith("2026") ? "2026-07-28" : "legacy";
      await using client = createTestClient(server, { protocol });
      await client.ensureSession();
      expect(client.serverInfo).toEqual({ name: "Bank", version: "1.0", title: "My bank" });
    },
  );

  it("titles and MIME types in lists are limited", async () => {
    const long = "x".repeat(MEGABYTE);
    await using server = await startResultServer({
      initialize: { ...INITIALIZE_RESULT, capabilities: { resources: {} } },
      "resources/list": { resources: [{ uri: "f:///x", name: long, title: long, mimeType: long }] },
    });
    await using client = createTestClient(server);
    expect(JSON.stringify(await client.listResources()).length).toBeLessThan(13_000);
  });
});

/** Calls a tool as a task, and fires the timers that are due within some time. */
async function runTask(client: McpClient, clock: FakeClock, ms: number): Promise<unknown> {
  await client.ensureSession();
  return clock.advanceUntilSettled(client.callTool(echo(), { task: true }), ms);
}

describe("a task", () => {
  const taskId = "5f0c9a2e-secret-task-id";
  const task = { taskId, status: "working", createdAt: "2026-01-01T00:00:00Z", ttl: null };

  it.each([3_600_000, 1e308])(
    "with a poll interval of %d ms is polled before its time limit",
    async (pollInterval) => {
      await using server = await startResultServer({
        "tools/call": { task: { ...task, pollInterval } },
        "tasks/get": { ...task, status: "completed", pollInterval },
        "tasks/result": { content: [{ type: "text", text: "done" }] },
      });
      const clock = new FakeClock();
      await using client = createTestClient(server, { timeouts: { taskMs: 10_000 } }, { clock });
      expect(await runTask(client, clock, 9_999)).toMatchObject({ content: [{ text: "done" }] });
    },
  );

  it.each([0, 1])(
    "with a poll interval of %d ms is polled at most ten times a second",
    async (pollInterval) => {
      let polls = 0;
      await using server = await startRawServer(({ method, id, response }) => {
        if (method === "tools/call") sendJson(response, id, { task: { ...task, pollInterval } });
        else if (method === "tasks/get") {
          polls += 1;
          sendJson(response, id, { ...task, pollInterval });
        } else return false;
        return;
      });
      await using client = createTestClient(server, { timeouts: { taskMs: 1_000 } });
      const failure = await rejection(client.callTool(echo(), { task: true }));
      expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true });
      expect(polls).toBeLessThanOrEqual(10);
    },
  );

  it.each<[string, readonly number[], object, number]>([
    ["waits for its server if it cannot be reached once, and again later", [1, 3], { content: [] }, 4],
    ["is given up if its server cannot be reached for five minutes", [1, 2, 3], { kind: "unavailable" }, 2],
  ])("with the longest poll interval %s", async (_, failing, outcome, requests) => {
    let polls = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "tools/call") sendJson(response, id, { task: { ...task, pollInterval: 300_000 } });
      else if (method === "tasks/get" && failing.includes((polls += 1))) response.writeHead(503).end();
      else if (method === "tasks/get")
        sendJson(response, id, {
          ...task,
          pollInterval: 300_000,
          status: polls > 3 ? "completed" : "working",
        });
      else if (method === "tasks/result") sendJson(response, id, { content: [] });
      else return false;
      return;
    });
    const clock = new FakeClock();
    const timeouts = { taskMs: 3_600_000, requestMs: 0, totalMs: 0 };
    await using client = createTestClient(server, { timeouts }, { clock, random: () => 0.5 });
    const settled = runTask(client, clock, 3_000_000).catch((error: unknown) => error);
    expect(await settled).toMatchObject(outcome);
    expect(polls).toBe(requests);
  });

  it("does not have its id in errors and warnings, also where the server repeats it", async () => {
    const { promise: cancelled, resolve } = deferred();
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "tools/call") sendJson(response, id, { task: { ...task, pollInterval: 0 } });
      else if (method === "tasks/get")
        sendJson(response, id, { ...task, statusMessage: `Working on ${taskId}` });
      else if (method === "tasks/cancel") {
        response.writeHead(200, { "content-type": "application/json" });
        const error = { code: -32_603, message: `${taskId} is stubborn` };
        response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
        resolve();
      } else return false;
      return;
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { taskMs: 100 } }, { clock });
    const warnings = recordWarnings(client);
    const failure = await rejection(runTask(client, clock, 9_999));
    await cancelled;
    await expect.poll(() => warnings.length).toBe(1);
    expect(failure.message).toBe(
      'A task of tool "echo" of server "test" did not end within 100 ms (timeouts.taskMs).',
    );
    expect(warnings.join()).toContain("is stubborn");
    expect(warnings.join()).not.toContain(taskId);
  });
});

it("fields of a tool that are kept as sent are dropped if they are larger than a megabyte", async () => {
  const wide = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`a name of some length ${index}`, 1]),
  );
  const large = { _meta: wide, annotations: { wide }, icons: [{ src: "x".repeat(2 * MEGABYTE) }] };
  const small = { _meta: { a: 1 }, annotations: { readOnlyHint: true }, icons: [{ src: "x" }] };
  const inputSchema = { type: "object" };
  await using server = await startResultServer({
    "tools/list": {
      tools: [
        { name: "large", inputSchema, ...large },
        { name: "small", inputSchema, ...small },
        { name: "for an app", inputSchema, _meta: { ...wide, ui: { visibility: ["app"] } } },
      ],
    },
  });
  await using client = createTestClient(server);
  const [, first, second] = await client.listTools();
  // A tool that is not for models is not offered to them, however large its `_meta` is.
  await using mcp = await createMcpTools({ test: { url: server.url } });
  expect(mcp.tools.map(({ mcp: { name } }) => name)).toEqual(["large", "small"]);
  expect(first).toEqual({ name: "large", inputSchema });
  expect(second).toMatchObject({
    meta: { a: 1 },
    annotations: { readOnlyHint: true },
    icons: [{ src: "x" }],
  });
});

describe("structured content that an output schema has to validate", () => {
  const output = z.object({ rows: z.array(z.string()) });
  const quoting = { "~standard": { version: 1 as const, vendor: "test", validate: quote } };

  function quote(value: unknown) {
    const { name } = value as { readonly name: string };
    return { issues: [{ message: `got ${name}`, path: [name] }] };
  }

  it.each<[string, object, typeof output | typeof quoting]>([
    ["a million invalid values", { rows: times(1_000_000, () => 0), name: "x" }, output],
    ["50,000 invalid values", { rows: times(50_000, () => 0), name: "x" }, output],
    ["a value of a megabyte that the schema quotes", { name: "x".repeat(MEGABYTE) }, quoting],
  ])("is an invalid response with a short message if it has %s", async (_, structuredContent, schema) => {
    await using server = await startResultServer({ "tools/call": { content: [], structuredContent } });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo(), { output: schema as never }));
    expect(failure.kind).toBe("invalid-response");
    expect(failure.message.length).toBeLessThan(20_000);
    expect(JSON.stringify(failure.issues).length).toBeLessThan(20_000);
  });
});

describe("a server/discover result with too many versions", () => {
  it.each([
    ["of a million numbers", times(1_000_000, () => 0)],
    ["of 10,001 strings", times(10_001, () => "2026-07-28")],
  ])("%s is rejected without an issue for each", async (_, supportedVersions) => {
    await using server = await startRawServer((raw) => {
      const { method, id, response } = raw;
      if (method === "initialize") sendError(raw, { code: -32_022, message: "Unsupported version" });
      else if (method === "server/discover") sendJson(response, id, { supportedVersions, capabilities: {} });
      else return false;
      return;
    });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol" });
    expect(failure.message).toContain("the server/discover result does not match the protocol");
  });
});
