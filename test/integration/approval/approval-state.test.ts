import { AIMessage, type ToolCall } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import {
  Annotation,
  type BaseCheckpointSaver,
  InMemoryStore,
  MemorySaver,
  MessagesAnnotation,
  StateGraph,
} from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { CallContext, McpToolset, McpToolsOptions, ToolRules } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import {
  type Agent,
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { deferred } from "../../fixtures/clients.js";
import { startToolset, type TestToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";

interface UserState {
  readonly limit: number;
  readonly account: string;
}

const stateOf = ({ state }: CallContext) => state as UserState;
const byLimit = (args: Record<string, unknown>, context: CallContext) =>
  Number(args["amount"]) > stateOf(context).limit;
const toUser = (value: unknown) => Reflect.get(Object(value), "user");
const accountOf = (context: CallContext) => stateOf(context).account;

const BANK: ToolsetSetup = {
  name: "bank",
  tools: [
    { name: "pay", run: () => "paid" },
    { name: "drop", run: () => "dropped" },
  ],
};
const LIMITED: ToolRules = { pay: { requireApproval: byLimit }, drop: { requireApproval: true } };
const INJECTED: ToolRules = { pay: { requireApproval: true, args: { account: accountOf } } };
const pay = { name: "bank__pay", args: { amount: 50 }, id: "call-1" };
const drop = { name: "bank__drop", args: {}, id: "call-2" };
const alice = { ...userInput, limit: 100, account: "alice" };
const approve = { type: "approve" };
const reject = { type: "reject" };

interface StatefulOptions {
  readonly mcp: McpToolset;
  readonly calls: readonly Omit<ToolCall, "type">[];
  readonly checkpointer: BaseCheckpointSaver;
  readonly store?: InMemoryStore;
}

interface StatefulAgent extends Agent {
  updateState(config: object, values: object): Promise<unknown>;
}

function createMessageModel(calls: StatefulOptions["calls"]) {
  const message = new AIMessage({ id: "message-1", content: "", tool_calls: [...calls] });
  return fakeModel().respond(message).respond(new AIMessage("done")).respond(new AIMessage("done"));
}

const replace = () => Annotation<never>({ reducer: (_, next) => next });
const GraphState = Annotation.Root({ ...MessagesAnnotation.spec, limit: replace(), account: replace() });

/** Agents with `limit` and `account` in their state. */
const statefulAgents: Readonly<Record<string, (options: StatefulOptions) => StatefulAgent>> = {
  "createAgent with mcpMiddleware": ({ mcp, calls, ...options }) => {
    const agent = createAgent({
      model: createMessageModel(calls),
      tools: mcp.tools,
      middleware: [mcpMiddleware(mcp)],
      stateSchema: z.object({ limit: z.number(), account: z.string() }),
      ...options,
    });
    return agent.graph as unknown as StatefulAgent;
  },
  "a StateGraph with McpToolNode": ({ mcp, calls, ...options }) => {
    const model = createMessageModel(calls);
    return new StateGraph(GraphState)
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", new McpToolNode(mcp))
      .addEdge("__start__", "model")
      .addEdge("model", "tools")
      .compile(options) as unknown as StatefulAgent;
  },
};

/** The calls that the server has received, in the order of their names. */
function sentCalls({ server }: TestToolset) {
  const calls = server.executions.map(({ tool, args }) => ({ tool, ...args }));
  return calls.toSorted((one, other) => one.tool.localeCompare(other.tool));
}

function requestedNames(result: { readonly __interrupt__?: readonly { readonly value?: unknown }[] }) {
  const request = result.__interrupt__?.[0]?.value as { actionRequests: { name: string }[] } | undefined;
  return request?.actionRequests.map(({ name }) => name) ?? [];
}

describe.each(Object.entries(statefulAgents))("the state of the agent in %s", (_, createTestAgent) => {
  const start = async (rules: ToolRules, options: McpToolsOptions = {}) => {
    const fixture = await startToolset({ ...BANK, rules, options });
    const checkpointer = new MemorySaver();
    const open = () => createTestAgent({ mcp: fixture.mcp, calls: [pay, drop], checkpointer });
    return { fixture, open, agent: open(), checkpointer, sent: () => sentCalls(fixture) };
  };

  it("decides about approval, also with the durability exit", async () => {
    const { fixture, open, sent } = await start(LIMITED);
    await using _fixture = fixture;
    const strict = { ...alice, limit: 10 };
    for (const durability of ["async", "exit"]) {
      const paused = await open().invoke(strict, { ...threadConfig(durability), durability });
      expect(requestedNames(paused)).toEqual(["bank__pay", "bank__drop"]);
    }
    expect(requestedNames(await open().invoke(alice, threadConfig("2")))).toEqual(["bank__drop"]);
    expect(sent()).toEqual([]);
  });

  it("is received by hooks and functions of rules, all of it, before and after an interrupt", async () => {
    const seen: unknown[] = [];
    const look = (source: string, context: CallContext) => {
      const { limit, account, ...others } = stateOf(context);
      seen.push([source, limit, account, "messages" in others]);
    };
    const rules: ToolRules = {
      pay: {
        requireApproval: (_args, context) => look("requireApproval", context) === undefined,
        args: { account: (context) => [look("args", context), accountOf(context)][1] },
      },
    };
    const options = { beforeToolCall: ({ context }: { context: CallContext }) => look("hook", context) };
    const { fixture, agent, checkpointer, sent } = await start(rules, options);
    await using _fixture = fixture;
    await agent.invoke(alice, threadConfig("1"));
    // In place of another process: a middleware that has not called the model yet.
    await using other = await startToolset({ ...BANK, rules, options });
    const resumed = createTestAgent({ mcp: other.mcp, calls: [], checkpointer });
    await resumed.invoke(resumeWith(approve), threadConfig("1"));
    const once = ["args", "hook", "requireApproval"].map((source) => [source, 100, "alice", true]);
    expect(seen.slice(0, 3)).toEqual(once);
    for (const entry of seen) expect(once).toContainEqual(entry);
    expect(sent()).toEqual([]);
    expect(sentCalls(other)).toEqual([{ tool: "drop" }, { tool: "pay", account: "alice", amount: 50 }]);
  });

  it("may change while a person decides: the rule decides again", async () => {
    const { fixture, agent, sent } = await start(LIMITED);
    await using _fixture = fixture;
    await agent.invoke(alice, threadConfig("1"));
    await agent.updateState(threadConfig("1"), { limit: 10 });
    const asked = await agent.invoke(null, threadConfig("1"));
    expect(requestedNames(asked)).toEqual(["bank__pay", "bank__drop"]);
    await agent.invoke(resumeWith(reject, approve), threadConfig("1"));
    expect(sent()).toEqual([{ tool: "drop" }]);
  });

  it("may change while a person decides: nothing is sent for the old state", async () => {
    const { fixture, agent, sent } = await start(INJECTED);
    await using _fixture = fixture;
    await agent.invoke(alice, threadConfig("1"));
    await agent.updateState(threadConfig("1"), { account: "bob" });
    await agent.invoke(null, threadConfig("1"));
    await agent.invoke(resumeWith(approve), threadConfig("1"));
    expect(sent().find(({ tool }) => tool === "pay")).toEqual({ tool: "pay", amount: 50, account: "bob" });
  });

  const who = { user: "alice" };
  it.each<[string, (context: CallContext) => unknown, (user: string) => object]>([
    ["metadata", ({ config }) => toUser(config["metadata"]), (user) => ({ metadata: { user } })],
    ["tags", ({ config }) => String(config["tags"]), (user) => ({ tags: [user] })],
    ["runtime context", ({ context }) => toUser(context), (user) => ({ context: { user } })],
    [
      "an object that is changed in place",
      ({ configurable }) => toUser(configurable["who"]),
      (user) => ({ configurable: { thread_id: "1", who: Object.assign(who, { user }) } }),
    ],
  ])("is not all that counts: no approval for another user in %s", async (_source, findUser, toConfig) => {
    const rules = { pay: { requireApproval: true, args: { account: findUser } } };
    const { fixture, agent, sent } = await start(rules);
    await using _fixture = fixture;
    await agent.invoke(alice, { ...threadConfig("1"), ...toConfig("alice") });
    const done = await agent.invoke(resumeWith(approve), {
      ...threadConfig("1"),
      ...toConfig("bob"),
    });
    expect(sent()).toEqual([{ tool: "drop" }]);
    expect(getToolMessages(done)[0]).toMatchObject({ artifact: { error: { kind: "denied" } } });
  });
});

describe("a prepared call", () => {
  it("is kept when the preparation of the same call in another run fails", async () => {
    const prepared: string[] = [];
    const preparing = deferred();
    const beforeToolCall: McpToolsOptions["beforeToolCall"] = ({ context }) => {
      const user = String(context.configurable["user"]);
      prepared.push(user);
      if (user !== "alice") return undefined;
      preparing.resolve();
      return new Promise(() => undefined);
    };
    const rules = { pay: { requireApproval: true } };
    await using fixture = await startToolset({ ...BANK, rules, options: { beforeToolCall } });
    const node = new McpToolNode(fixture.mcp);
    const createGraph = () =>
      new StateGraph(MessagesAnnotation)
        .addNode("tools", node)
        .addEdge("__start__", "tools")
        .compile({ checkpointer: new MemorySaver() }) as unknown as Agent;
    const input = { messages: [new AIMessage({ id: "message-1", content: "", tool_calls: [pay] })] };
    const configOf = (user: string) => ({ configurable: { thread_id: "1", user } });
    const controller = new AbortController();
    const first = createGraph().invoke(input, { ...configOf("alice"), signal: controller.signal });
    const failed = expect(first).rejects.toThrow("enough");
    await preparing.promise;
    const second = createGraph();
    await second.invoke(input, configOf("bob"));
    controller.abort(new Error("enough"));
    await failed;
    await second.invoke(resumeWith(approve), configOf("bob"));
    expect(prepared).toEqual(["alice", "bob"]);
    expect(fixture.server.executions).toHaveLength(1);
  });
});

describe.each(Object.entries(agentIntegrations))("a decision in %s", (_, createTestAgent) => {
  it.each([
    ["reject", reject, 0],
    ["approve", approve, 1],
  ])(
    "%s counts, if it is that of a caller who needs no approval",
    async (_decision, decision, executions) => {
      const rules: ToolRules = {
        pay: { requireApproval: (_args, { configurable }) => configurable["role"] !== "admin" },
      };
      await using fixture = await startToolset({ ...BANK, rules });
      const agent = createTestAgent({
        model: createScriptedModel([pay]),
        mcp: fixture.mcp,
        checkpointer: new MemorySaver(),
      });
      const configOf = (role: string) => ({ configurable: { thread_id: "1", role } });
      expect(requestedNames(await agent.invoke(userInput, configOf("user")))).toEqual(["bank__pay"]);
      await agent.invoke(resumeWith(decision), configOf("admin"));
      expect(fixture.server.executions).toHaveLength(executions);
    },
  );
});

describe("mcpMiddleware", () => {
  const limitSchema = z.object({ limit: z.number().optional() });
  const createLimitedAgent = (mcp: McpToolset, other: AgentMiddleware) =>
    createAgent({
      model: createMessageModel([pay]),
      tools: mcp.tools,
      middleware: [other, mcpMiddleware(mcp)] as const,
      stateSchema: limitSchema,
      checkpointer: new MemorySaver(),
    } as never) as unknown as Agent;
  /** Sets the limit after the model has responded, and after `mcpMiddleware` has requested approval. */
  const setLimit = (limit: number) =>
    createMiddleware({ name: "setLimit", stateSchema: limitSchema, afterModel: () => ({ limit }) });

  it("requests approval by a state that other middleware sets after the model has responded", async () => {
    await using fixture = await startToolset({ ...BANK, rules: LIMITED });
    const agent = createLimitedAgent(fixture.mcp, setLimit(10));
    const paused = await agent.invoke({ ...userInput, limit: 100 }, threadConfig("1"));
    expect(requestedNames(paused)).toEqual(["bank__pay"]);
    expect(fixture.server.executions).toEqual([]);
  });

  it.each([
    ["does not send a rejected call", reject, 0],
    ["sends an approved call", approve, 1],
    [
      "does not send an edited call as the model has made it",
      { type: "edit", editedAction: { name: pay.name, args: { amount: 49 } } },
      0,
    ],
  ])("%s if the state no longer requires its approval", async (_, decision, executions) => {
    await using fixture = await startToolset({ ...BANK, rules: LIMITED });
    const agent = createLimitedAgent(fixture.mcp, setLimit(100));
    const paused = await agent.invoke({ ...userInput, limit: 10 }, threadConfig("1"));
    expect(requestedNames(paused)).toEqual(["bank__pay"]);
    await agent.invoke(resumeWith(decision), threadConfig("1"));
    expect(fixture.server.executions).toHaveLength(executions);
  });

  it("does not send what was prepared with another store", async () => {
    const rules: ToolRules = {
      pay: {
        requireApproval: true,
        args: {
          account: async ({ store }) => {
            const item = await (store as InMemoryStore).get(["users"], "account");
            return item?.value["name"];
          },
        },
      },
    };
    await using fixture = await startToolset({ ...BANK, rules });
    const stores = await Promise.all(
      ["alice", "bob"].map(async (name) => {
        const store = new InMemoryStore();
        await store.put(["users"], "account", { name });
        return store;
      }),
    );
    const checkpointer = new MemorySaver();
    const middleware = mcpMiddleware(fixture.mcp);
    const [agent, other] = stores.map((store) =>
      createAgent({
        model: createMessageModel([pay]),
        tools: fixture.mcp.tools,
        middleware: [middleware],
        checkpointer,
        store,
      }),
    ) as unknown as Agent[];
    await agent?.invoke(userInput, threadConfig("1"));
    await other?.invoke(resumeWith(approve), threadConfig("1"));
    expect(fixture.server.executions).toEqual([]);
  });

  it("reads the state if other middleware responds in place of the model", async () => {
    await using fixture = await startToolset({ ...BANK, rules: LIMITED });
    const cached = createMiddleware({
      name: "cached",
      wrapModelCall: async () => new AIMessage({ content: "", tool_calls: [{ ...pay }] }),
    });
    const agent = createLimitedAgent(fixture.mcp, cached);
    const paused = await agent.invoke({ ...userInput, limit: 10 }, threadConfig("1"));
    expect(requestedNames(paused)).toEqual(["bank__pay"]);
    expect(fixture.server.executions).toEqual([]);
  });

  it("denies a call whose rule reads the state where there is none: outside of a graph", async () => {
    await using fixture = await startToolset({ ...BANK, rules: LIMITED });
    const { wrapToolCall } = mcpMiddleware(fixture.mcp);
    const tool = fixture.mcp.tools.find(({ name }) => name === pay.name);
    const request = { toolCall: pay, tool, state: { messages: [], limit: 100 }, runtime: {} };
    const handler = ({ toolCall }: { toolCall: ToolCall }) =>
      tool?.invoke({ ...toolCall, type: "tool_call" });
    const message: unknown = await (wrapToolCall as (...args: unknown[]) => unknown)(request, handler);
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    expect(fixture.server.executions).toEqual([]);
  });
});
