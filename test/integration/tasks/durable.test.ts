import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools, type ToolRule } from "../../../src/index.js";
import {
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import {
  startLegacyTaskServer,
  startModernTaskServer,
  TaskBackend,
  type TaskServer,
} from "../../fixtures/task-server.js";

const GENERATIONS = { "2025-11-25": startLegacyTaskServer, "2026-07-28": startModernTaskServer };
const CASES = Object.entries(GENERATIONS).flatMap(([generation, start]) =>
  Object.entries(agentIntegrations).map(([integration, open]) => ({ generation, start, integration, open })),
);
const work = (args = {}) => ({ name: "test__work", args });
const createTools = (server: TaskServer, rule: ToolRule = { durable: true }) =>
  createMcpTools({ test: { url: server.url, tools: { work: rule } } });
const resume = (task: string) => new Command({ resume: { task } });
const countCalls = ({ methods }: TaskServer) => methods.filter((method) => method === "tools/call").length;

describe.each(CASES)("a durable call in $integration, $generation", ({ start, open }) => {
  it("interrupts the graph with its task, and the run that resumes gets the result of the same task", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    const checkpointer = new MemorySaver();
    {
      await using mcp = await createTools(server);
      const agent = open({ model: createScriptedModel([work()]), mcp, checkpointer });
      const paused = await agent.invoke(userInput, threadConfig("1"));
      expect(paused.__interrupt__?.map(({ value }) => value)).toMatchObject([
        {
          type: "mcp_task",
          server: "test",
          tool: "test__work",
          toolCallId: "call-1",
          task: { taskId: await backend.taskId(), status: "working", pollIntervalMs: 20, ttlMs: 60_000 },
        },
      ]);
    }
    await using mcp = await createTools(server);
    const agent = open({ model: createScriptedModel(), mcp, checkpointer });
    const config = threadConfig("1");
    await backend.store.updateTaskStatus(await backend.taskId(), "working", "Halfway");
    const again = await agent.invoke(resume("check"), config);
    expect(again.__interrupt__?.[0]?.value).toMatchObject({ task: { statusMessage: "Halfway" } });
    const wrong = await agent.invoke(new Command({ resume: { cancel: true } }), config);
    expect(wrong.__interrupt__?.[0]?.value).toMatchObject({ error: expect.stringContaining('"check"') });
    const unanswered = await agent.invoke(null, config);
    expect(unanswered.__interrupt__?.[0]?.value).toMatchObject({ type: "mcp_task" });
    await backend.complete("finished");
    const done = await agent.invoke(resume("check"), config);
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["finished"]);
    expect(done.messages.at(-1)?.text).toBe("done");
    expect(countCalls(server)).toBe(1);
  });
});
