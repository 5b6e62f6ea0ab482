import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  entrypoint,
  interrupt,
  task,
  type Checkpoint,
  type CheckpointMetadata,
  Command,
  MemorySaver,
  StateGraph,
} from "@langchain/langgraph";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMcpTools, type McpToolset, type McpToolsOptions } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { type KeyValueStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  type AgentResult,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  type ScriptedCall,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { deferred, eventually, rejection, times } from "../../fixtures/clients.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { startModernTaskServer, TaskBackend } from "../../fixtures/task-server.js";

const CREATE_AGENT = "createAgent with mcpMiddleware";
const TOOL_NODE = "a StateGraph with McpToolNode";
const approve = resumeWith({ type: "approve" });
const workTool = { name: "work", inputSchema: { type: "object" as const }, run: () => "worked" };

/** Keeps only the latest checkpoint of a thread, like the shallow checkpointers of databases. */
class LatestSaver extends MemorySaver {
  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) {
    const { thread_id: thread = "", checkpoint_ns: namespace = "" } = config.configurable ?? {};
    const saved = this.storage[thread]?.[namespace] ?? {};
    for (const id of Object.keys(saved)) delete saved[id];
    return super.put(config, checkpoint, metadata);
  }
}

/** A checkpointer for which several processes may exist, as far as a tool can know. */
class SharedSaver extends MemorySaver {}

/** Two runs reach this point before one of them goes on. */
class MeetingPoint {
  readonly #isReached = deferred();
  #missing: number;

  constructor(runs: number) {
    this.#missing = runs;
  }

  async wait(): Promise<Record<string, never>> {
    this.#missing -= 1;
    if (this.#missing <= 0) this.#isReached.resolve();
    await this.#isReached.promise;
    return {};
  }
}

type Model = ReturnType<typeof createScriptedModel>;

interface Paused {
  readonly server: { readonly url: string };
  readonly checkpointer: MemorySaver;
  readonly createGraph?: ((mcp: McpToolset, model: Model) => Agent) | undefined;
  readonly integration?: string;
  readonly config?: object;
  readonly rule?: object;
  readonly args?: Record<string, unknown>;
  /** Other calls of the message. */
  readonly otherCalls?: readonly ScriptedCall[];
}

/** An agent whose call of `work` waits for approval. Each run has a toolset of its own, like a process. */
async function pauseAgent({ server, checkpointer, createGraph, ...paused }: Paused) {
  const { integration = CREATE_AGENT, config = {}, rule = {}, args = {}, otherCalls = [] } = paused;
  const servers = { test: { url: server.url, tools: { work: { requireApproval: true, ...rule } } } };
  const run = async (input: unknown, options: McpToolsOptions = {}, model = createScriptedModel()) => {
    await using mcp = await createMcpTools(servers, options);
    const agent = createGraph?.(mcp, model) ?? agentIntegrations[integration]?.({ model, mcp, checkpointer });
    if (agent === undefined) throw new Error("There is no such integration.");
    return await agent.invoke(input, { ...threadConfig("1"), ...config });
  };
  const model = createScriptedModel([{ name: "test__work", args }, ...otherCalls]);
  expect((await run(userInput, {}, model)).__interrupt__).toHaveLength(1);
  return {
    run,
    /** Resumes the graph in several runs, which send the call at the same moment. */
    async resumeTogether(stores: readonly (KeyValueStore | undefined)[]) {
      const prepared = new MeetingPoint(stores.length);
      const meta = () => prepared.wait();
      const runs = stores.map((approvalStore) =>
        run(approve, { meta, ...(approvalStore && { approvalStore }) }),
      );
      return (await Promise.allSettled(runs)).map((outcome) =>
        outcome.status === "fulfilled" ? textsOf(outcome.value) : String(outcome.reason),
      );
    },
  };
}

const textsOf = (result: AgentResult) => getToolMessages(result).map(({ text }) => text);
const REFUSED = [expect.stringContaining("another run has started it for the same approval")];
const CONFIG_ERROR = { kind: "invalid-config", outcomeUnknown: false };

describe("an approved call without an approvalStore", () => {
  it.each([
    ["a checkpointer that keeps only the latest checkpoint", new LatestSaver(), {}],
    ['the durability "exit"', new SharedSaver(), { durability: "exit" }],
    ["checkpointDuring: false", new SharedSaver(), { checkpointDuring: false }],
  ])("is not sent by createAgent with %s", async (_, checkpointer, config) => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const { run } = await pauseAgent({ server, checkpointer, config });
    const failure = await rejection(run(approve));
    expect(failure).toMatchObject(CONFIG_ERROR);
    expect(String(failure)).toContain("Set the option approvalStore");
    expect(server.executions).toHaveLength(0);
  });

  it("is not sent as a task by createAgent with a checkpointer that keeps only the latest checkpoint", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const checkpointer = new LatestSaver();
    const { run } = await pauseAgent({ server, checkpointer, rule: { durable: true } });
    expect(await rejection(run(approve))).toMatchObject(CONFIG_ERROR);
    expect(backend.started).toHaveLength(0);
  });

  it.each([{}, { durability: "exit" }])(
    "is sent by McpToolNode with a checkpointer that keeps only the latest checkpoint, %o",
    async (config) => {
      await using server = await startMcpTestServer({ tools: [workTool] });
      const paused = { server, checkpointer: new LatestSaver(), integration: TOOL_NODE, config };
      const { run } = await pauseAgent(paused);
      expect(textsOf(await run(approve))).toEqual(["worked"]);
    },
  );

  it('is sent once by runs of one process with MemorySaver and the durability "exit"', async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const config = { durability: "exit" };
    const { resumeTogether } = await pauseAgent({ server, checkpointer: new MemorySaver(), config });
    const outcomes = await resumeTogether([undefined, undefined, undefined]);
    expect(outcomes.filter((texts) => texts[0] === "worked")).toHaveLength(1);
    expect(outcomes.filter((texts) => texts[0] !== "worked")).toEqual([REFUSED, REFUSED]);
    expect(server.executions).toHaveLength(1);
  });

  it('is not sent again by MemorySaver and the durability "exit" after its response was lost', async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const config = { durability: "exit" };
    const { run } = await pauseAgent({ server, checkpointer: new MemorySaver(), config });
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call", times: 1 });
    const failure = await rejection(run(approve, { onToolError: "throw" }));
    expect(failure).toMatchObject({ outcomeUnknown: true });
    expect(textsOf(await run(null))).toEqual(REFUSED);
    expect(server.executions).toHaveLength(1);
  });

  it("is not sent because another tool of its message has interrupted the graph", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new LatestSaver();
    const ask = tool(() => String(interrupt("question")), { name: "ask", schema: z.object({}) });
    const createGraph = (mcp: McpToolset, model: Model) =>
      createAgent({
        model,
        tools: [...mcp.tools, ask] as never[],
        middleware: [mcpMiddleware(mcp)],
        checkpointer,
      }) as unknown as Agent;
    const otherCalls = [{ name: "ask", args: {} }];
    const { run } = await pauseAgent({ server, checkpointer, createGraph, otherCalls });
    expect(await rejection(run(approve))).toMatchObject(CONFIG_ERROR);
    expect(await rejection(run(null))).toMatchObject(CONFIG_ERROR);
    expect(server.executions).toHaveLength(0);
  });

  it("is sent by McpToolNode in a task of the functional API", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new SharedSaver();
    const createGraph = (mcp: McpToolset) => {
      const node = new McpToolNode(mcp);
      const callTools = task("tools", (messages: BaseMessage[]) => node.invoke({ messages }));
      const message = new AIMessage({
        id: "m",
        content: "",
        tool_calls: [{ id: "1", name: "test__work", args: {} }],
      });
      return entrypoint({ name: "app", checkpointer }, async () => callTools([message])) as unknown as Agent;
    };
    const { run } = await pauseAgent({ server, checkpointer, createGraph });
    expect(textsOf(await run(approve))).toEqual(["worked"]);
  });

  it.each([CREATE_AGENT, TOOL_NODE])(
    "is not sent by %s when the checkpointer fails, and is sent by the next resume",
    async (integration) => {
      await using server = await startMcpTestServer({ tools: [workTool] });
      const checkpointer = new SharedSaver();
      const { run } = await pauseAgent({ server, checkpointer, integration });
      const isRecord = (channel: string) => channel === "__mcp_record__";
      const putWrites = checkpointer.putWrites.bind(checkpointer);
      checkpointer.putWrites = async (config, writes, taskId) => {
        if (writes.some(([channel]) => isRecord(channel))) throw new Error("The database is down.");
        return putWrites(config, writes, taskId);
      };
      const failure = await rejection(run(approve));
      expect(failure).toMatchObject({ ...CONFIG_ERROR, cause: { message: "The database is down." } });
      checkpointer.putWrites = putWrites;
      expect(textsOf(await run(null))).toEqual(["worked"]);
      expect(server.executions).toHaveLength(1);
    },
  );

  it("is not sent when the checkpointer drops its record without an error", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new SharedSaver();
    const { run } = await pauseAgent({ server, checkpointer, integration: TOOL_NODE });
    const putWrites = checkpointer.putWrites.bind(checkpointer);
    checkpointer.putWrites = async (config, writes, taskId) => {
      if (!writes.some(([channel]) => channel === "__mcp_record__")) await putWrites(config, writes, taskId);
    };
    expect(await rejection(run(approve))).toMatchObject(CONFIG_ERROR);
    expect(server.executions).toEqual([]);
  });

  it("is not sent twice if its message has no id", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new MemorySaver();
    const message = new AIMessage({ content: "", tool_calls: [{ id: "1", name: "test__work", args: {} }] });
    const State = Annotation.Root({ messages: Annotation<BaseMessage[]> });
    const createGraph = (mcp: McpToolset) =>
      new StateGraph(State)
        .addNode("model", () => ({ messages: [message] }))
        .addNode("tools", new McpToolNode(mcp))
        .addEdge("__start__", "model")
        .addEdge("model", "tools")
        .compile({ checkpointer }) as unknown as Agent;
    const { resumeTogether } = await pauseAgent({ server, checkpointer, createGraph });
    await resumeTogether([undefined, undefined]);
    expect(server.executions.length).toBeLessThanOrEqual(1);
  });
});

describe.skipIf(!HAS_REDIS)("an approved call with an approvalStore", () => {
  const openStores = async (count: number) => {
    const redis = await RedisServer.start();
    const stores = times(count, () => redisStore(redis.url));
    return {
      redis,
      stores,
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close();
        await redis[Symbol.asyncDispose]();
      },
    };
  };

  it.each([
    [CREATE_AGENT, "MemorySaver", new MemorySaver(), {}],
    [CREATE_AGENT, "the latest checkpoint", new LatestSaver(), {}],
    [CREATE_AGENT, 'the durability "exit"', new SharedSaver(), { durability: "exit" }],
    [TOOL_NODE, "MemorySaver", new MemorySaver(), {}],
    [TOOL_NODE, 'the durability "exit"', new SharedSaver(), { durability: "exit" }],
  ])(
    "is sent once by runs that start together in %s, with %s",
    async (integration, _, checkpointer, config) => {
      await using server = await startMcpTestServer({ tools: [workTool] });
      await using shared = await openStores(4);
      const { resumeTogether } = await pauseAgent({ server, checkpointer, integration, config });
      const outcomes = await resumeTogether(shared.stores);
      expect(outcomes.filter((texts) => texts[0] === "worked")).toHaveLength(1);
      expect(server.executions).toHaveLength(1);
    },
  );

  it("is not sent while the store does not respond, and is sent by the next resume", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    await using shared = await openStores(1);
    const [approvalStore] = shared.stores as [KeyValueStore];
    const { run } = await pauseAgent({ server, checkpointer: new LatestSaver() });
    await shared.redis.kill();
    const failure = await rejection(run(approve, { approvalStore }));
    expect(failure).toMatchObject(CONFIG_ERROR);
    expect(String(failure)).toContain("the approvalStore did not record it");
    expect(server.executions).toHaveLength(0);
    await shared.redis.start();
    expect(textsOf(await run(null, { approvalStore }))).toEqual(["worked"]);
  });

  it("may be sent again after a failure before it was sent", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    await using shared = await openStores(1);
    const [approvalStore] = shared.stores as [KeyValueStore];
    const { run } = await pauseAgent({ server, checkpointer: new MemorySaver() });
    server.addFault({ type: "status", status: 401 }, { method: "tools/call", times: 1 });
    await rejection(run(approve, { approvalStore, onToolError: "throw" }));
    expect(textsOf(await run(null, { approvalStore }))).toEqual(["worked"]);
    expect(textsOf(await run(null, { approvalStore }))).toEqual(["worked"]);
    expect(server.executions).toHaveLength(1);
  });

  it("goes on after an input request", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using shared = await openStores(1);
    const [approvalStore] = shared.stores as [KeyValueStore];
    const { run } = await pauseAgent({ server, checkpointer: new LatestSaver(), args: { ask: true } });
    expect((await run(approve, { approvalStore })).__interrupt__).toHaveLength(1);
    const color = { action: "accept", content: { color: "red" } };
    const answer = new Command({ resume: { answers: { "call-1": { color } } } });
    const answered = run(answer, { approvalStore });
    await eventually(() => backend.colors.length === 1);
    expect(textsOf(await answered)).toEqual(["red"]);
    expect(backend.started).toHaveLength(1);
  });
});

/** A store of an application. */
function createStore(lease: NonNullable<KeyValueStore["lease"]>): KeyValueStore {
  return { ...NO_ENTRIES, lease };
}

const NO_ENTRIES = {
  get: async () => undefined,
  set: async () => undefined,
  delete: async () => undefined,
  list: async () => [],
  close: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

describe("an approved call with an approvalStore of the application", () => {
  it.each([null, false])("is not sent if the lease is %s", async (lease) => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const { run } = await pauseAgent({ server, checkpointer: new LatestSaver() });
    const approvalStore = createStore(async () => lease as never);
    expect(textsOf(await run(approve, { approvalStore }))).toEqual(REFUSED);
    expect(server.executions).toHaveLength(0);
  });

  it.each([0, "", true, {}, "yes"])("is not sent if the lease is %o", async (lease) => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const { run } = await pauseAgent({ server, checkpointer: new LatestSaver() });
    const approvalStore = createStore(async () => lease as never);
    expect(await rejection(run(approve, { approvalStore }))).toMatchObject(CONFIG_ERROR);
    expect(server.executions).toHaveLength(0);
  });

  it("releases the lease if its record could not be saved", async () => {
    await using server = await startMcpTestServer({ tools: [workTool] });
    const checkpointer = new SharedSaver();
    const { run } = await pauseAgent({ server, checkpointer });
    const leases = new Set<string>();
    const approvalStore = createStore(async (key) => {
      if (leases.has(key)) return undefined;
      leases.add(key);
      return { renew: async () => true, release: async () => void leases.delete(key) };
    });
    const putWrites = checkpointer.putWrites.bind(checkpointer);
    checkpointer.putWrites = async (config, writes, taskId) => {
      if (writes.some(([channel]) => channel === "__mcp_record__")) throw new Error("The database is down.");
      return putWrites(config, writes, taskId);
    };
    expect(await rejection(run(approve, { approvalStore }))).toMatchObject(CONFIG_ERROR);
    expect(leases.size).toBe(0);
    checkpointer.putWrites = putWrites;
    expect(textsOf(await run(null, { approvalStore }))).toEqual(["worked"]);
  });
});

describe("the option approvalStore", () => {
  it("is rejected for a store without leases", async () => {
    await using store = memoryStore();
    const failure = await rejection(createMcpTools({}, { approvalStore: store }));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path: "approvalStore" }] });
  });
});
