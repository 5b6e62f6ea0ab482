import { serialize } from "node:v8";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { createMcpTools, type ToolRule } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  type ScriptedCall,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { eventually, rejection } from "../../fixtures/clients.js";
import { type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";
import {
  startLegacyTaskServer,
  startModernTaskServer,
  TaskBackend,
  type TaskServer,
} from "../../fixtures/task-server.js";

const work = (args = {}): ScriptedCall => ({ name: "test__work", args });
const createTools = (server: TaskServer, rule: ToolRule = { durable: true }) =>
  createMcpTools({ test: { url: server.url, tools: { "*": rule } } });
const resume = (task: string) => new Command({ resume: { task } });
const config = threadConfig("1");
const countCalls = ({ methods }: TaskServer) => methods.filter((method) => method === "tools/call").length;
const textsOf = (result: { messages: BaseMessage[] }) => getToolMessages(result).map(({ text }) => text);
interface UpdatableAgent extends Agent {
  updateState(config: object, values: object): Promise<unknown>;
  getState(config: object): Promise<{ readonly config: object }>;
}
const pausesOf = (result: { __interrupt__?: readonly { readonly value?: unknown }[] }) =>
  (result.__interrupt__ ?? []).map(({ value }) => value);

describe.each(Object.entries(agentIntegrations))("a durable call in %s", (_, open) => {
  const start = async (server: TaskServer, calls: readonly ScriptedCall[], rule?: ToolRule) => {
    const mcp = await createTools(server, rule);
    const checkpointer = new MemorySaver();
    const agent = open({ model: createScriptedModel(calls), mcp, checkpointer }) as UpdatableAgent;
    return { mcp, agent, checkpointer, paused: await agent.invoke(userInput, config) };
  };

  it("waits for its task if it is resumed with wait", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    const done = agent.invoke(resume("wait"), config);
    await eventually(() => server.methods.filter((method) => method === "tasks/get").length > 1);
    await backend.complete("waited");
    expect(textsOf(await done)).toEqual(["waited"]);
  });

  it("cancels its task if it is resumed with cancel, and the model goes on", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    const done = await agent.invoke(resume("cancel"), config);
    expect(backend.tasks).toMatchObject([{ status: "cancelled" }]);
    expect(getToolMessages(done)).toMatchObject([
      { status: "error", artifact: { error: { kind: "cancelled" } } },
    ]);
    expect(textsOf(done)[0]).toBe(
      'Tool "test__work" failed: Its task was cancelled.\nThe tool may have run: check before you call it again.\nDo not call it again unless you are asked to.',
    );
    expect(done.messages.at(-1)?.text).toBe("done");
  });

  it("returns the result of a task that has ended before it is cancelled", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    await backend.complete("too late");
    expect(textsOf(await agent.invoke(resume("cancel"), config))).toEqual(["too late"]);
  });

  it("is approved first, and once", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent, paused } = await start(server, [work()], { durable: true, requireApproval: true });
    await using _mcp = mcp;
    expect(pausesOf(paused)).toMatchObject([{ actionRequests: [{ name: "test__work" }] }]);
    expect(countCalls(server)).toBe(0);
    expect(pausesOf(await agent.invoke(resumeWith({ type: "approve" }), config))).toMatchObject([
      { type: "mcp_task" },
    ]);
    expect(pausesOf(await agent.invoke(resume("check"), config))).toMatchObject([{ type: "mcp_task" }]);
    await backend.complete();
    expect(textsOf(await agent.invoke(resume("check"), config))).toEqual(["done"]);
    expect(countCalls(server)).toBe(1);
  });

  it("asks for the input that its task needs", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent, paused } = await start(server, [work()]);
    await using _mcp = mcp;
    expect(pausesOf(paused)).toMatchObject([{ type: "mcp_task" }]);
    await backend.store.updateTaskStatus(await backend.taskId(), "input_required");
    expect(pausesOf(await agent.invoke(resume("check"), config))).toMatchObject([
      { type: "mcp_input", requests: { color: { message: "Which color?" } } },
    ]);
    const answer = new Command({ resume: { action: "accept", content: { color: "blue" } } });
    expect(textsOf(await agent.invoke(answer, config))).toEqual(["blue"]);
    expect(backend.colors).toEqual(["blue"]);
    expect(countCalls(server)).toBe(1);
  });

  it.each([
    { changed: "keeps", args: { n: 1 } },
    { changed: "changes", args: { n: 2 } },
  ])(
    "never starts a second task after an update of the state that $changed its arguments",
    async ({ args }) => {
      const backend = new TaskBackend();
      await using server = await startModernTaskServer(backend);
      const { mcp, agent, paused } = await start(server, [work({ n: 1 })]);
      await using _mcp = mcp;
      const { id, tool_calls: calls = [] } = paused.messages.at(-1) as AIMessage;
      const message = new AIMessage({
        id: id ?? "",
        content: "",
        tool_calls: calls.map((call) => ({ ...call, args })),
      });
      await agent.updateState(config, { messages: [message] });
      const resumed = await agent.invoke(resume("check"), config);
      if (args.n === 1)
        expect(pausesOf(resumed)).toMatchObject([{ task: { taskId: await backend.taskId() } }]);
      else
        expect(getToolMessages(resumed)).toMatchObject([
          { status: "error", artifact: { error: { kind: "denied", outcomeUnknown: true } } },
        ]);
      expect(backend.started).toEqual([{ n: 1 }]);
    },
  );

  it("is not started again by time travel", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    const { config: saved } = await agent.getState(config);
    await agent.invoke(resume("check"), config);
    expect(pausesOf(await agent.invoke(null, saved))).toMatchObject([{ type: "mcp_task" }]);
    await backend.complete();
    expect(textsOf(await agent.invoke(null, saved))).toEqual(["done"]);
    expect(countCalls(server)).toBe(1);
  });

  it("is paused again if timeouts.taskMs passes while it waits, and its task goes on", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createMcpTools({
      test: { url: server.url, timeouts: { taskMs: 100 }, tools: { work: { durable: true } } },
    });
    const agent = open({ model: createScriptedModel([work()]), mcp, checkpointer: new MemorySaver() });
    await agent.invoke(userInput, config);
    expect(pausesOf(await agent.invoke(resume("wait"), config))).toMatchObject([
      { type: "mcp_task", error: expect.stringContaining("timeouts.taskMs") },
    ]);
    expect(backend.tasks).toMatchObject([{ status: "working" }]);
  });

  it("answers a task that asks on its connection with the handler of the server", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    await using mcp = await createMcpTools({
      test: {
        url: server.url,
        onElicitationRequest: () => ({ action: "accept", content: { color: "green" } }) as const,
        tools: { work: { durable: true } },
      },
    });
    const agent = open({
      model: createScriptedModel([work({ ask: true })]),
      mcp,
      checkpointer: new MemorySaver(),
    });
    // The task needs input from its beginning, so it is checked at once.
    expect(textsOf(await agent.invoke(userInput, config))).toEqual(["green"]);
    expect(countCalls(server)).toBe(1);
  });

  it("saves no injected arguments", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const rule = { durable: true, args: { token: "injected-secret" } };
    const { mcp, checkpointer } = await start(server, [work()], rule);
    await using _mcp = mcp;
    expect(backend.started).toEqual([{ token: "injected-secret" }]);
    const { storage, writes } = checkpointer;
    const saved = serialize({ storage, writes }).toString("latin1");
    expect(saved).toContain(await backend.taskId());
    expect(saved).not.toContain("injected-secret");
  });

  it("fails with an unknown outcome if the server has forgotten the task", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    backend.store.cleanup();
    expect(getToolMessages(await agent.invoke(resume("check"), config))).toMatchObject([
      { status: "error", artifact: { error: { kind: "not-found", outcomeUnknown: true } } },
    ]);
    expect(countCalls(server)).toBe(1);
  });

  it("stays paused while its server cannot be reached", async () => {
    const backend = new TaskBackend();
    const server = await startModernTaskServer(backend);
    const { mcp, agent } = await start(server, [work()]);
    await using _mcp = mcp;
    await server[Symbol.asyncDispose]();
    expect(pausesOf(await agent.invoke(resume("check"), config))).toMatchObject([
      { type: "mcp_task", task: { taskId: await backend.taskId() }, error: expect.stringContaining("test") },
    ]);
  });

  it("can be one of several, each of which runs once", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, agent, paused } = await start(server, [work({ n: 1 }), work({ n: 2 })]);
    await using _mcp = mcp;
    const questions = pausesOf(paused).flatMap((value) => (value as { questions?: [] }).questions ?? [value]);
    expect(questions).toMatchObject([
      { type: "mcp_task", toolCallId: "call-1" },
      { type: "mcp_task", toolCallId: "call-2" },
    ]);
    const result = (text: string) => ({ content: [{ type: "text" as const, text }] });
    await backend.store.storeTaskResult(backend.tasks[0]?.taskId ?? "", "completed", result("first"));
    expect(pausesOf(await agent.invoke(resume("check"), config))).toHaveLength(1);
    await backend.store.storeTaskResult(backend.tasks[1]?.taskId ?? "", "completed", result("second"));
    let done = await agent.invoke(resume("check"), config);
    if (pausesOf(done).length > 0) done = await agent.invoke(resume("check"), config);
    expect(textsOf(done).toSorted()).toEqual(["first", "second"]);
    expect(countCalls(server)).toBe(2);
  });

  it.each([
    { without: "without a checkpointer", hint: "add a checkpointer" },
    { without: "if its graph saves no checkpoints while it runs", hint: '"async" or "sync"' },
  ])("is not sent $without", async ({ hint }) => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createTools(server);
    const model = createScriptedModel([work()]);
    const agent =
      hint === "add a checkpointer"
        ? open({ model, mcp })
        : open({ model, mcp, checkpointer: new MemorySaver() });
    // A tool node passes what its tools throw to the model.
    const outcome: unknown = await agent
      .invoke(userInput, { ...config, durability: "exit" })
      .then((result) => textsOf(result).join(""), String);
    expect(outcome).toContain(hint);
    expect(countCalls(server)).toBe(0);
  });

  it("is not started by one run while another one starts it", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const rule = { durable: true, requireApproval: true };
    const { mcp, checkpointer } = await start(server, [work()], rule);
    await using _mcp = mcp;
    // Two processes have two toolsets.
    await using other = await createTools(server, rule);
    const runs = [mcp, other].map((toolset) =>
      open({ model: createScriptedModel(), mcp: toolset, checkpointer }).invoke(
        resumeWith({ type: "approve" }),
        config,
      ),
    );
    await Promise.all(runs);
    expect(backend.started.length).toBeLessThan(2);
  });

  it("returns its result to both of two runs that resume it at the same time", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    const { mcp, checkpointer } = await start(server, [work()]);
    await using _mcp = mcp;
    await backend.complete();
    const agents = [1, 2].map(() => open({ model: createScriptedModel(), mcp, checkpointer }));
    const both = await Promise.all(agents.map((agent) => agent.invoke(resume("check"), config)));
    expect(both.map(textsOf)).toEqual([["done"], ["done"]]);
    expect(countCalls(server)).toBe(1);
  });

  it("stays paused if another user resumes it", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createMcpTools({
      test: {
        url: server.url,
        identity: ({ configurable }) => String(configurable["user"] ?? "service"),
        tools: { work: { durable: true } },
      },
    });
    const agent = open({ model: createScriptedModel([work()]), mcp, checkpointer: new MemorySaver() });
    const configOf = (user: string) => ({ configurable: { thread_id: "1", user } });
    await agent.invoke(userInput, configOf("ann"));
    await backend.complete("for ann");
    expect(pausesOf(await agent.invoke(resume("check"), configOf("bob")))).toMatchObject([
      { type: "mcp_task", error: expect.stringContaining("another user") },
    ]);
    expect(textsOf(await agent.invoke(resume("check"), configOf("ann")))).toEqual(["for ann"]);
  });

  it("is a result if its server runs it without a task", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    const { mcp, paused } = await start(server, [{ name: "test__plain", args: {} }]);
    await using _mcp = mcp;
    expect(textsOf(paused)).toEqual(["plain"]);
  });

  it("is made as a task if its tool may be called as one", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    const { mcp, agent, paused } = await start(server, [{ name: "test__maybe", args: {} }], {
      durable: () => true,
    });
    await using _mcp = mcp;
    expect(pausesOf(paused)).toMatchObject([{ type: "mcp_task", tool: "test__maybe" }]);
    await backend.complete();
    expect(textsOf(await agent.invoke(resume("check"), config))).toEqual(["done"]);
  });

  it("can run in a subgraph", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createTools(server);
    const subgraph = open({ model: createScriptedModel([work()]), mcp });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", (Reflect.get(subgraph, "graph") ?? subgraph) as never)
      .addEdge("__start__", "agent")
      .compile({ checkpointer: new MemorySaver() }) as unknown as UpdatableAgent;
    expect(pausesOf(await graph.invoke(userInput, config))).toMatchObject([{ type: "mcp_task" }]);
    expect(pausesOf(await graph.invoke(resume("check"), config))).toMatchObject([{ type: "mcp_task" }]);
    await backend.complete();
    expect(textsOf(await graph.invoke(resume("check"), config))).toEqual(["done"]);
    expect(countCalls(server)).toBe(1);
  });

  it("goes on with its task after its rule was removed", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    const { mcp, checkpointer } = await start(server, [work()]);
    await mcp.close();
    await using changed = await createTools(server, {});
    const agent = open({ model: createScriptedModel(), mcp: changed, checkpointer });
    await backend.complete();
    expect(textsOf(await agent.invoke(resume("check"), config))).toEqual(["done"]);
    expect(countCalls(server)).toBe(1);
  });
});

describe("a durable call in createAgent", () => {
  const open = agentIntegrations["createAgent with mcpMiddleware"];

  it("is started later if it could not be sent", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createMcpTools(
      { test: { url: server.url, tools: { work: { durable: true } } } },
      { onToolError: "throw" },
    );
    const checkpointer = new MemorySaver();
    const agent = open?.({ model: createScriptedModel([work()]), mcp, checkpointer });
    await server[Symbol.asyncDispose]();
    const failure = await rejection(agent?.invoke(userInput, config) ?? Promise.resolve());
    expect(failure).toMatchObject({ kind: "not-sent" });
    await server.restart();
    const paused = await agent?.invoke(null, config);
    expect(paused && pausesOf(paused)).toMatchObject([{ type: "mcp_task" }]);
    expect(backend.started).toHaveLength(1);
  });

  it("is sent again with the input that its server requires before it creates a task", async () => {
    const book: TestTool = {
      name: "book",
      run: (_, context) => {
        const { inputResponses } = context as unknown as ModernToolContext;
        const params = {
          mode: "form",
          message: "Where?",
          requestedSchema: { type: "object", properties: {} },
        };
        if (inputResponses !== undefined) return "booked";
        return {
          resultType: "input_required",
          inputRequests: { where: { method: "elicitation/create", params } },
        };
      },
    };
    await using server = await startEraServer("modern", { tools: [book] });
    await using mcp = await createMcpTools({ inn: { url: server.url, tools: { book: { durable: true } } } });
    const model = createScriptedModel([{ name: "inn__book", args: {} }]);
    const agent = open?.({ model, mcp, checkpointer: new MemorySaver() });
    const paused = await agent?.invoke(userInput, config);
    expect(paused && pausesOf(paused)).toMatchObject([{ type: "mcp_input" }]);
    const answer = new Command({ resume: { action: "accept", content: {} } });
    const done = await agent?.invoke(answer, config);
    expect(done && textsOf(done)).toEqual(["booked"]);
  });
});

describe("without an integration", () => {
  it("a durable call pauses createReactAgent if it is the only one, and is denied next to others", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createTools(server);
    const open = (calls: ScriptedCall[]) =>
      createReactAgent({
        llm: createScriptedModel(calls) as never,
        tools: mcp.tools as never,
        checkpointer: new MemorySaver(),
      }) as unknown as UpdatableAgent;
    const alone = open([work()]);
    expect(pausesOf(await alone.invoke(userInput, config))).toMatchObject([{ type: "mcp_task" }]);
    await backend.complete();
    expect(textsOf(await alone.invoke(resume("check"), config))).toEqual(["done"]);
    const two = await open([work(), work()]).invoke(userInput, config);
    expect(getToolMessages(two)).toMatchObject([
      { artifact: { error: { kind: "denied", outcomeUnknown: false } } },
      { artifact: { error: { kind: "denied" } } },
    ]);
    expect(textsOf(two)[0]).toContain("McpToolNode");
    expect(countCalls(server)).toBe(1);
  });

  it("a durable call outside of a graph is not sent", async () => {
    const backend = new TaskBackend();
    await using server = await startModernTaskServer(backend);
    await using mcp = await createTools(server);
    const failure = await rejection(mcp.callTool({ name: "test__work" }));
    expect(failure).toMatchObject({ kind: "invalid-config", tool: "work" });
    expect(countCalls(server)).toBe(0);
  });
});

describe("the rule task", () => {
  it("decides whether a tool that may be called as a task is called as one", async () => {
    const backend = new TaskBackend();
    await using server = await startLegacyTaskServer(backend);
    await using mcp = await createTools(server, { task: true });
    const call = (name: string) => mcp.callTool({ name });
    expect((await call("test__plain")).text()).toBe("plain");
    const result = call("test__maybe");
    await backend.complete("as a task");
    expect((await result).text()).toBe("as a task");
    expect(server.methods).toContain("tasks/get");
  });
});
