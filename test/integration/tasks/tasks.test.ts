import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type CallToolOptions,
  createMcpTools,
  lastGoodResult,
  type McpClient,
  McpRuntimeError,
} from "../../../src/index.js";
import {
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { createTestClient, eventually, rejection } from "../../fixtures/clients.js";
import { EverythingServer } from "../../fixtures/everything-server.js";
import { startLegacyTaskServer, startModernTaskServer, TaskBackend } from "../../fixtures/task-server.js";

/** Of a tool that is not listed, nothing is known. */
const call = (client: McpClient, options: CallToolOptions = {}, args = {}) =>
  client.callTool({ name: "work", args }, { task: true, ...options });

const GENERATIONS = [
  { generation: "2025-11-25 (SDK 1.x)", start: startLegacyTaskServer },
  { generation: "2026-07-28 (SDK 2.x)", start: startModernTaskServer },
];

describe.each(GENERATIONS)("a call that becomes a task, $generation", ({ start }) => {
  it("resolves with the result of the task and reports each status message once", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    const messages: unknown[] = [];
    const result = call(client, { onProgress: ({ message }) => messages.push(message) });
    const taskId = await backend.taskId();
    await backend.store.updateTaskStatus(taskId, "working", "Halfway");
    await eventually(() => messages.includes("Halfway"));
    const polls = () => server.methods.filter((method) => method === "tasks/get").length;
    const before = polls();
    await eventually(() => polls() > before + 1);
    await backend.complete("finished");
    expect((await result).text()).toBe("finished");
    expect(messages).toEqual(["Halfway"]);
    expect(backend.started).toHaveLength(1);
  });

  it("goes on with the same task after a restart of the server", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    const result = call(client);
    await eventually(() => server.methods.includes("tasks/get"));
    await server.restart();
    await backend.complete();
    expect((await result).text()).toBe("done");
    expect(backend.started).toHaveLength(1);
  });

  it("fails with an unknown outcome, and not with a second task, if the server has lost the task", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server, { retry: { maxRetries: 2, baseDelayMs: 1 } });
    const failure = rejection(call(client, { idempotent: true }));
    await backend.taskId();
    backend.store.cleanup();
    expect(await failure).toMatchObject({ kind: "not-found", outcomeUnknown: true, tool: "work" });
    expect(backend.started).toHaveLength(1);
  });

  it("is cancelled on the server when the caller aborts", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    const controller = new AbortController();
    const failure = rejection(call(client, { signal: controller.signal }));
    await eventually(() => server.methods.includes("tasks/get"));
    controller.abort(new Error("enough"));
    expect(await failure).toMatchObject({ message: "enough" });
    await eventually(() => backend.tasks[0]?.status === "cancelled");
  });

  it("is cancelled on the server when timeouts.taskMs has passed", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server, { timeouts: { taskMs: 100, requestMs: 5_000 } });
    const failure = await rejection(call(client));
    expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true, attempts: 1 });
    expect((failure as Error).message).toContain("(timeouts.taskMs)");
    await eventually(() => backend.tasks[0]?.status === "cancelled");
  });

  it("may take longer than requestMs and totalMs", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    const limitMs = 1_500;
    await using client = createTestClient(server, { timeouts: { requestMs: limitMs, totalMs: limitMs } });
    await client.ensureSession();
    const result = call(client);
    const startedAt = performance.now();
    await eventually(() => performance.now() > startedAt + limitMs * 1.2);
    await backend.complete();
    expect((await result).text()).toBe("done");
  });

  it("is not recorded by a fallback, which would return the task again later", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    const recorded: unknown[] = [];
    const fallback = {
      respond: () => undefined,
      record: (_: unknown, result: unknown) => recorded.push(result),
    };
    await using client = createTestClient(server, { fallback });
    const result = call(client);
    await backend.complete();
    expect((await result).text()).toBe("done");
    expect(recorded).toEqual([]);
  });

  it("fails when the task fails, and when another client cancels it", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    const failed = rejection(call(client));
    await backend.store.updateTaskStatus(await backend.taskId(), "failed", "Out of paper");
    expect(await failed).toMatchObject({ kind: "server-error", outcomeUnknown: true, attempts: 1 });
    expect(((await failed) as Error).message).toContain("Out of paper");
    const cancelled = rejection(call(client));
    await eventually(() => backend.tasks.length === 2);
    await backend.store.updateTaskStatus(backend.tasks[1]?.taskId ?? "", "cancelled");
    expect(await cancelled).toMatchObject({ kind: "cancelled", outcomeUnknown: true, attempts: 1 });
  });

  it("answers input requests with the handlers of the client, each once", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    let asked = 0;
    const onElicitationRequest = () => {
      asked += 1;
      return { action: "accept", content: { color: "green" } } as const;
    };
    await using client = createTestClient(server, { onElicitationRequest });
    const result = await call(client, {}, { ask: true });
    expect(result.text()).toBe("green");
    expect(backend.colors).toEqual(["green"]);
    expect(asked).toBe(1);
  });

  it("leaves no result that lastGoodResult could return for another answer", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server, {
      onElicitationRequest: () => ({ action: "accept", content: { color: "green" } }),
      fallback: lastGoodResult({ maxAgeMs: 60_000 }),
    });
    const options = { idempotent: true };
    expect((await call(client, options, { ask: true })).text()).toBe("green");
    await server[Symbol.asyncDispose]();
    expect(await rejection(call(client, options, { ask: true }))).toBeInstanceOf(McpRuntimeError);
  });

  it("can be awaited, read and cancelled by its id, from another client", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    await using other = createTestClient(server);
    const result = call(client);
    const taskId = await backend.taskId();
    expect(await other.getTask(taskId)).toMatchObject({ taskId, status: "working", pollIntervalMs: 20 });
    await stopWaiting(other, taskId);
    const waiting = other.waitForTask(taskId);
    await backend.complete("both");
    expect((await waiting).text()).toBe("both");
    expect((await result).text()).toBe("both");
    expect(await rejection(other.getTask("unknown"))).toMatchObject({ kind: "not-found" });
    expect(await rejection(other.waitForTask("unknown"))).toMatchObject({ kind: "not-found" });
    expect(await rejection(other.getTask(""))).toMatchObject({ kind: "invalid-config" });
    const second = rejection(call(client));
    await eventually(() => backend.tasks.length === 2);
    await other.cancelTask(backend.tasks[1]?.taskId ?? "");
    expect(await second).toMatchObject({ kind: "cancelled" });
  });
});

describe.each(GENERATIONS)("a call with input.task, $generation", ({ start }) => {
  it("returns its task instead of waiting for it, until it has ended", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    await using client = createTestClient(server);
    const created = await call(client, { input: { task: "check" } });
    const taskId = await backend.taskId();
    expect(created.inputRequired).toMatchObject({ taskId, task: { taskId, status: "working" } });
    const checked = await call(client, { input: { task: "check", taskId } });
    expect(checked.inputRequired).toMatchObject({ task: { taskId } });
    await backend.complete("ended");
    expect((await call(client, { input: { task: "wait", taskId } })).text()).toBe("ended");
    expect((await call(client, { input: { task: "cancel", taskId } })).text()).toBe("ended");
    const failure = await rejection(call(client, { input: { task: "stop" as "cancel", taskId } }));
    expect(failure).toMatchObject({ kind: "invalid-config" });
    expect(backend.started).toHaveLength(1);
  });
});

/** An aborted wait leaves the task alone. */
async function stopWaiting(client: McpClient, taskId: string): Promise<void> {
  const controller = new AbortController();
  const aborted = rejection(client.waitForTask(taskId, { signal: controller.signal }));
  controller.abort(new Error("stop"));
  expect(await aborted).toMatchObject({ message: "stop" });
  expect(await client.getTask(taskId)).toMatchObject({ status: "working" });
}

describe.each(Object.entries(agentIntegrations))("input for a task of 2026-07-28 in %s", (_, open) => {
  it("interrupts the graph, and the resuming run goes on with the same task", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const checkpointer = new MemorySaver();
    {
      await using mcp = await createMcpTools({ test: { url: server.url } });
      const model = createScriptedModel([{ name: "test__work", args: { ask: true } }]);
      const paused = await open({ model, mcp, checkpointer }).invoke(userInput, threadConfig("1"));
      expect(paused.__interrupt__?.[0]?.value).toMatchObject({
        type: "mcp_input",
        requests: { color: { mode: "form", message: "Which color?" } },
      });
    }
    await using mcp = await createMcpTools({ test: { url: server.url } });
    const agent = open({ model: createScriptedModel(), mcp, checkpointer });
    // A run without an answer does not make the call again.
    const unanswered = await agent.invoke(null, threadConfig("1"));
    expect(unanswered.__interrupt__?.[0]?.value).toMatchObject({ type: "mcp_input" });
    const resume = { action: "accept", content: { color: "blue" } };
    const done = await agent.invoke(new Command({ resume }), threadConfig("1"));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["blue"]);
    expect(backend.started).toHaveLength(1);
  });
});

describe("tools of 2025-11-25", () => {
  it("that require a task are called as one once they are listed, and others are not", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    await using client = createTestClient(server);
    const listed = await client.listTools();
    expect(listed.map(({ name, execution }) => `${name} ${execution?.taskSupport}`)).toEqual([
      "maybe optional",
      "plain undefined",
      "work required",
    ]);
    expect((await client.callTool({ name: "plain" })).text()).toBe("plain");
    const result = client.callTool({ name: "work" });
    await backend.complete();
    expect((await result).text()).toBe("done");
    expect(await client.listTasks()).toMatchObject([{ status: "completed", ttlMs: 60_000 }]);
  });

  it("that may run as a task do so with the option task", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    await using client = createTestClient(server);
    const result = client.callTool({ name: "maybe" }, { task: true });
    await backend.complete();
    expect((await result).text()).toBe("done");
    expect(server.methods).toContain("tasks/result");
  });

  it("that require a task are offered to agents", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    await using toolset = await createMcpTools({ test: { url: server.url } });
    const tool = toolset.tools.find(({ name }) => name.endsWith("work"));
    const result = tool?.invoke({});
    await backend.complete();
    expect(await result).toBe("done");
    expect(server.methods.filter((method) => method === "tools/call")).toHaveLength(1);
  });

  it("run on the reference server", async () => {
    await using server = await EverythingServer.start();
    const onElicitationRequest = () => ({ action: "accept", content: { interpretation: "snake" } }) as const;
    await using client = createTestClient(server, { onElicitationRequest });
    await client.listTools();
    const messages: unknown[] = [];
    const args = { topic: "python", ambiguous: true };
    const result = await client.callTool(
      { name: "simulate-research-query", args },
      { onProgress: ({ message }) => messages.push(message) },
    );
    expect(result.text()).toContain("# Research Report: python (snake)");
    // Which stages are seen depends on when the server is asked.
    expect(messages.length).toBeGreaterThan(0);
  });
});
