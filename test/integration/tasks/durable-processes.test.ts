import { join } from "node:path";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import {
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";
import { FileSaver } from "../../fixtures/file-saver.js";
import {
  type PausedAgent,
  resumeInOtherProcess,
  runInOtherProcess,
} from "../../fixtures/resume-in-other-process.js";
import { TaskServerProcess } from "../../fixtures/task-server-process.js";
import { startLegacyTaskServer, startModernTaskServer, TaskBackend } from "../../fixtures/task-server.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const CASES = [
  {
    generation: "2025-11-25",
    start: startLegacyTaskServer,
    integration: "createAgent with mcpMiddleware",
  },
  {
    generation: "2026-07-28",
    start: startModernTaskServer,
    integration: "a StateGraph with McpToolNode",
  },
];
const calls = [{ name: "test__work", args: {} }];
const toServers = (url: string): PausedAgent["servers"] => ({
  test: { url, tools: { work: { durable: true } } },
});

describe.each(CASES)("a durable call in $integration, $generation", ({ generation, start, integration }) => {
  /** Goes on with the thread, in this process. */
  async function goOn(url: string, path: string, input: unknown, model = createScriptedModel()) {
    await using mcp = await createMcpTools(toServers(url));
    const checkpointer = new FileSaver(path);
    const agent = agentIntegrations[integration]?.({ model, mcp, checkpointer });
    if (agent === undefined) throw new Error("There is no such integration.");
    return await agent.invoke(input, threadConfig("1"));
  }

  it(
    "runs once in two processes with the server killed and started in between",
    { timeout: 60_000 },
    async () => {
      using folder = new TemporaryFolder();
      const path = join(folder.path, "checkpoints");
      const taskFile = join(folder.path, "tasks");
      {
        await using server = await TaskServerProcess.start(generation, taskFile);
        const agent = { integration, servers: toServers(server.url), path, calls };
        expect(await resumeInOtherProcess(agent)).toEqual([]);
      }
      await using server = await TaskServerProcess.start(generation, taskFile);
      const agent = { integration, servers: toServers(server.url), path, resume: { task: "check" } };
      expect(await resumeInOtherProcess(agent)).toEqual(["finished after the restart"]);
      expect(TaskBackend.load(taskFile).started).toHaveLength(1);
    },
  );

  it.each([
    { killed: "before the call is sent", killAt: "starting", started: 0 },
    { killed: "before the task is known", killAt: undefined, started: 1 },
  ])(
    "has an unknown outcome if its process is killed $killed",
    { timeout: 60_000 },
    async ({ killAt, started }) => {
      using folder = new TemporaryFolder();
      const path = join(folder.path, "checkpoints");
      const backend = new TaskBackend();
      await using server = await start(backend);
      const agent = { integration, servers: toServers(server.url), path, calls };
      const running = runInOtherProcess(killAt === undefined ? agent : { ...agent, killAt });
      const ended = rejection(running);
      backend.onCreated = async () => {
        running.child.kill("SIGKILL");
        await ended;
      };
      expect(await ended).toMatchObject({ signal: "SIGKILL" });
      const done = await goOn(server.url, path, null);
      expect(getToolMessages(done)).toMatchObject([
        { status: "error", artifact: { error: { kind: "connection-lost", outcomeUnknown: true } } },
      ]);
      expect(backend.started).toHaveLength(started);
    },
  );

  it("goes on with its task if its process is killed before the interrupt", { timeout: 60_000 }, async () => {
    using folder = new TemporaryFolder();
    const path = join(folder.path, "checkpoints");
    const backend = new TaskBackend();
    await using server = await start(backend);
    const agent = { integration, servers: toServers(server.url), path, calls, killAt: "created" };
    expect(await rejection(runInOtherProcess(agent))).toMatchObject({ signal: "SIGKILL" });
    const paused = await goOn(server.url, path, null);
    expect(paused.__interrupt__?.[0]?.value).toMatchObject({ task: { taskId: await backend.taskId() } });
    await backend.complete();
    const done = await goOn(server.url, path, new Command({ resume: { task: "check" } }));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["done"]);
    expect(backend.started).toHaveLength(1);
  });

  it("goes on with its task if a resumed process is killed while it waits", { timeout: 60_000 }, async () => {
    using folder = new TemporaryFolder();
    const path = join(folder.path, "checkpoints");
    const backend = new TaskBackend();
    await using server = await start(backend);
    const agent = { integration, servers: toServers(server.url), path };
    await goOn(server.url, path, userInput, createScriptedModel(calls));
    const running = runInOtherProcess({ ...agent, resume: { task: "wait" } });
    const ended = rejection(running);
    backend.store.onGet = async () => {
      backend.store.onGet = undefined;
      running.child.kill("SIGKILL");
      await ended;
    };
    expect(await ended).toMatchObject({ signal: "SIGKILL" });
    await backend.complete();
    const done = await goOn(server.url, path, null);
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["done"]);
    expect(backend.started).toHaveLength(1);
  });
});
