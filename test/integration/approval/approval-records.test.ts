import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { createMcpTools, type McpToolset, type McpToolsOptions } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import {
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { deferred, eventually, rejection } from "../../fixtures/clients.js";
import { startLegacyTaskServer, startModernTaskServer, TaskBackend } from "../../fixtures/task-server.js";

const approve = resumeWith({ type: "approve" });

interface Paused {
  readonly integration?: string;
  readonly server: { readonly url: string };
  readonly args?: Record<string, unknown>;
  readonly checkpointer?: MemorySaver;
  /** Of all runs. */
  readonly config?: object;
}

/** An agent whose call of `work` waits for approval. Each run has a toolset of its own, like a process. */
async function pauseAgent({
  integration = "createAgent with mcpMiddleware",
  server,
  args = {},
  checkpointer = new MemorySaver(),
  config = {},
}: Paused) {
  const servers = { test: { url: server.url, tools: { work: { requireApproval: true } } } };
  const run = async (
    input: unknown,
    { onTools, model = createScriptedModel(), ...options }: RunOptions = {},
  ) => {
    await using mcp = await createMcpTools(servers, options);
    onTools?.(mcp);
    const agent = agentIntegrations[integration]?.({ model, mcp, checkpointer });
    if (agent === undefined) throw new Error("There is no such integration.");
    return await agent.invoke(input, { ...threadConfig("1"), ...config });
  };
  const paused = await run(userInput, { model: createScriptedModel([{ name: "test__work", args }]) });
  expect(paused.__interrupt__).toHaveLength(1);
  return run;
}

type RunOptions = McpToolsOptions & {
  readonly model?: ReturnType<typeof createScriptedModel>;
  readonly onTools?: (mcp: McpToolset) => void;
};

const textsOf = (result: Parameters<typeof getToolMessages>[0]) =>
  getToolMessages(result).map(({ text }) => text);
const refused = [expect.stringContaining("another run has started it for the same approval")];

describe.each([
  ["2025-11-25", startLegacyTaskServer],
  ["2026-07-28", startModernTaskServer],
] as const)("an approved call that became a task (%s)", (_, start) => {
  it.each(["failed", "cancelled"] as const)("is not sent again after its task has %s", async (status) => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    const run = await pauseAgent({ server });
    const failure = rejection(run(approve, { onToolError: "throw" }));
    await backend.store.updateTaskStatus(await backend.taskId(), status, "Out of paper");
    expect(await failure).toMatchObject({ outcomeUnknown: true });
    expect(textsOf(await run(null))).toEqual(refused);
    expect(backend.started).toHaveLength(1);
  });

  it("is not sent again after its toolset was closed", async () => {
    const backend = new TaskBackend();
    await using server = await start(backend);
    const run = await pauseAgent({ server });
    let tools: McpToolset | undefined;
    const failure = rejection(run(approve, { onTools: (mcp) => (tools = mcp) }));
    await eventually(() => server.methods.includes("tasks/get"));
    await tools?.close();
    expect(await failure).toMatchObject({ kind: "closed", outcomeUnknown: true });
    expect(textsOf(await run(null))).toEqual(refused);
    expect(backend.started).toHaveLength(1);
  });
});

describe("an approved call whose task needs input", () => {
  it("is not sent by another run in createAgent", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const run = await pauseAgent({ server, args: { ask: true } });
    const isPrepared = deferred();
    const asked = deferred();
    const meta = async () => {
      isPrepared.resolve();
      await asked.promise;
      return {};
    };
    const second = run(approve, { meta });
    await isPrepared.promise;
    expect((await run(approve)).__interrupt__).toHaveLength(1);
    asked.resolve();
    expect(textsOf(await second)).toEqual(refused);
    expect(backend.started).toHaveLength(1);
  });

  it.each(["createAgent with mcpMiddleware", "a StateGraph with McpToolNode"])(
    "goes on with its task after the answer in %s",
    async (integration) => {
      const backend = new TaskBackend();
      await using server = await startModernTaskServer(backend);
      const run = await pauseAgent({ integration, server, args: { ask: true } });
      expect((await run(approve)).__interrupt__).toHaveLength(1);
      const color = { action: "accept", content: { color: "red" } };
      const answered = run(new Command({ resume: { answers: { "call-1": { color } } } }));
      await eventually(() => backend.colors.length === 1);
      expect(textsOf(await answered)).toEqual(["red"]);
      expect(backend.started).toHaveLength(1);
    },
  );
});

/** Counts reads of checkpoints that are not saved yet. */
class CountingSaver extends MemorySaver {
  misses = 0;

  override async getTuple(config: RunnableConfig) {
    const saved = await super.getTuple(config);
    if (saved === undefined && config.configurable?.["checkpoint_id"] !== undefined) await this.onMiss();
    return saved;
  }

  async onMiss(): Promise<void> {
    this.misses += 1;
  }
}

/** Saves no checkpoint until one was waited for longer than anyone would. */
class SlowSaver extends CountingSaver {
  #saving = deferred();
  isSlow = false;

  override async put(...args: Parameters<MemorySaver["put"]>) {
    if (this.isSlow) await this.#saving.promise;
    return super.put(...args);
  }

  override async onMiss(): Promise<void> {
    const now = performance.now() + 3_600_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    this.isSlow = false;
    setImmediate(this.#saving.resolve);
  }
}

const workTool = { name: "work", inputSchema: { type: "object" as const }, run: () => "worked" };

describe("an approved call in createAgent", () => {
  it("is not sent if its checkpoint is not saved in time", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new SlowSaver();
    const run = await pauseAgent({ server, checkpointer });
    checkpointer.isSlow = true;
    const failure = await rejection(run(approve));
    vi.restoreAllMocks();
    expect(failure).toMatchObject({ kind: "invalid-config", outcomeUnknown: false });
    expect(String(failure)).toContain("has not saved it in time");
    expect(server.executions).toHaveLength(0);
    expect(textsOf(await run(null))).toEqual(["worked"]);
  });

  it.each([{ durability: "exit" }, { checkpointDuring: false }])(
    "does not wait for a checkpoint with %o",
    async (config) => {
      await using server = await startMcpTestServer({ tools: [workTool] });
      const checkpointer = new CountingSaver();
      const run = await pauseAgent({ server, checkpointer, config });
      expect(await rejection(run(approve))).toMatchObject({ kind: "invalid-config", outcomeUnknown: false });
      expect(checkpointer.misses).toBe(1);
      expect(server.executions).toHaveLength(0);
    },
  );
});
