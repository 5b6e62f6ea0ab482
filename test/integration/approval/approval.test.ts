import { join } from "node:path";
import { inspect } from "node:util";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import type { HITLRequest } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent, type McpToolsOptions, type ToolRules } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import {
  resumeWith,
  agentIntegrations,
  userInput,
  createScriptedModel,
  threadConfig,
  getToolMessages,
} from "../../fixtures/agents.js";
import { ERAS } from "../../fixtures/era-server.js";
import { FileSaver } from "../../fixtures/file-saver.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { resumeInOtherProcess } from "../../fixtures/resume-in-other-process.js";
import { startToolset, type TestToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const pay: TestTool = {
  name: "pay",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  run: ({ to, amount }) => `paid ${String(amount)} to ${String(to)}`,
};
const look: TestTool = { name: "look", run: () => "looked" };
const rules: ToolRules = { pay: { requireApproval: true } };
const BANK: ToolsetSetup = { name: "bank", tools: [pay, look], rules };

/** Two calls that need approval, and one between them that does not. */
const calls = [
  { name: "bank__pay", args: { to: "ann", amount: 1 } },
  { name: "bank__look", args: {} },
  { name: "bank__pay", args: { to: "bob", amount: 2 } },
];

function executedCalls({ server }: TestToolset): string[] {
  return server.executions.map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`).toSorted();
}

const decisions = {
  approve: () => ({ type: "approve" }),
  edit: (to: string) => ({ type: "edit", editedAction: { name: "bank__pay", args: { to, amount: 10 } } }),
  reject: () => ({ type: "reject", message: "Not today." }),
};
type Choice = keyof typeof decisions;
const choices = Object.keys(decisions) as Choice[];
const combinations = choices.flatMap((first) => choices.map((second) => [first, second] as const));

function expectedRun(choice: Choice, to: string, amount: number): string[] {
  if (choice === "reject") return [];
  return [`pay ${JSON.stringify({ to, amount: choice === "edit" ? 10 : amount })}`];
}

describe.each(Object.entries(agentIntegrations))("approval in %s", (agentKind, createTestAgent) => {
  it.each(combinations)("%s the first, %s the second: each call runs at most once", async (first, second) => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toMatchObject([
      {
        value: {
          actionRequests: [
            { name: "bank__pay", args: { to: "ann", amount: 1 }, description: expect.any(String) },
            { name: "bank__pay", args: { to: "bob", amount: 2 } },
          ],
          reviewConfigs: [
            { actionName: "bank__pay", allowedDecisions: ["approve", "edit", "reject"] },
            { actionName: "bank__pay", argsSchema: { type: "object" } },
          ],
        },
      },
    ]);
    expect(executedCalls(fixture)).toEqual([]);
    const done = await agent.invoke(
      resumeWith(decisions[first]("ann"), decisions[second]("bob")),
      threadConfig("1"),
    );
    expect(executedCalls(fixture)).toEqual(
      ["look {}", ...expectedRun(first, "ann", 1), ...expectedRun(second, "bob", 2)].toSorted(),
    );
    const messages = getToolMessages(done);
    expect(messages.map(({ tool_call_id: id, status }) => [id, status])).toEqual([
      ["call-1", first === "reject" ? "error" : "success"],
      ["call-2", "success"],
      ["call-3", second === "reject" ? "error" : "success"],
    ]);
    for (const [index, choice] of [first, undefined, second].entries()) {
      if (choice === "reject") {
        expect(messages[index]?.text).toContain("Not today.");
        expect(messages[index]).toMatchObject({ artifact: { error: { kind: "denied" } } });
      }
      if (choice === "edit") expect(messages[index]?.text).toContain("changed the arguments");
    }
    expect(done.messages.at(-1)?.text).toBe("done");
  });

  it.each([
    ["one decision for two calls", [{ type: "approve" }], "1 decision for 2 calls"],
    ["three decisions for two calls", [1, 2, 3].map(() => ({ type: "approve" })), "3 decisions for 2 calls"],
    ["an unknown decision", [{ type: "approve" }, { type: "perhaps" }], "one of approve, edit, reject"],
    [
      "another tool",
      [{ type: "approve" }, { type: "edit", editedAction: { name: "bank__look", args: {} } }],
      "another tool",
    ],
    [
      "invalid edited arguments",
      [{ type: "approve" }, { type: "edit", editedAction: { name: "bank__pay", args: { to: "bob" } } }],
      "amount",
    ],
    [
      "an approval with edited arguments",
      [{ type: "approve" }, { type: "approve", editedAction: { name: "bank__pay", args: {} } }],
      'unknown key "editedAction"; valid keys: type.',
    ],
    [
      "an approval that is rejected, too",
      [{ type: "approve" }, { type: "approve", reject: true }],
      'unknown key "reject"',
    ],
    [
      "an edit in the format of Python",
      [{ type: "approve" }, { type: "edit", edited_action: { name: "bank__pay", args: {} } }],
      'Did you mean "editedAction"?',
    ],
    [
      "an edit with arguments in another place",
      [
        { type: "approve" },
        { type: "edit", editedAction: { name: "bank__pay", args: { to: "bob", amount: 2 }, arguments: {} } },
      ],
      'unknown key "arguments"',
    ],
    [
      "an edited copy of another request",
      [
        { type: "approve" },
        {
          type: "edit",
          editedAction: { name: "bank__pay", args: { to: "bob", amount: 2 }, callHash: "v2.other" },
        },
      ],
      "callHash of another call",
    ],
  ])("interrupts again after %s, and nothing runs", async (__, invalidDecisions, problem) => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(userInput, threadConfig("1"));
    const again = await agent.invoke(resumeWith(...invalidDecisions), threadConfig("1"));
    expect(again.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ description: expect.stringContaining(problem) }, {}] } },
    ]);
    expect(executedCalls(fixture)).toEqual([]);
    await agent.invoke(resumeWith({ type: "approve" }, { type: "reject" }), threadConfig("1"));
    expect(executedCalls(fixture)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
  });

  it("interrupts again if the answer has another key, and nothing runs", async () => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(userInput, threadConfig("1"));
    const all = [{ type: "approve" }, { type: "approve" }];
    const resume = new Command({ resume: { decisions: all, abort: true } });
    const again = await agent.invoke(resume, threadConfig("1"));
    expect(again.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ description: expect.stringContaining('unknown key "abort"') }, {}] } },
    ]);
    expect(executedCalls(fixture)).toEqual([]);
  });

  it("accepts an edited copy of the request, and keys without a value", async () => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    const paused = await agent.invoke(userInput, threadConfig("1"));
    const request = paused.__interrupt__?.[0]?.value as HITLRequest | undefined;
    const editedAction = { ...request?.actionRequests[0], args: { to: "eve", amount: 3 } };
    const edit = { type: "edit", editedAction, message: null };
    await agent.invoke(resumeWith(edit, { type: "approve", message: undefined }), threadConfig("1"));
    expect(executedCalls(fixture)).toEqual([
      "look {}",
      'pay {"to":"bob","amount":2}',
      'pay {"to":"eve","amount":3}',
    ]);
  });

  it.each(ERAS)("runs each hook once, and its arguments are requested and sent (%s)", async (era) => {
    const prepared: string[] = [];
    const beforeToolCall: McpToolsOptions["beforeToolCall"] = ({ tool, args }) => {
      prepared.push(tool);
      return tool === "pay" ? { args: { ...args, amount: Number(args["amount"]) * 100 } } : undefined;
    };
    await using fixture = await startToolset({ ...BANK, options: { beforeToolCall }, era });
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ args: { amount: 100 } }, { args: { amount: 200 } }] } },
    ]);
    await agent.invoke(resumeWith({ type: "approve" }, { type: "approve" }), threadConfig("1"));
    expect(prepared.toSorted()).toEqual(["look", "pay", "pay"]);
    expect(executedCalls(fixture)).toEqual([
      "look {}",
      'pay {"to":"ann","amount":100}',
      'pay {"to":"bob","amount":200}',
    ]);
  });

  it("is not requested for an invalid call, whose error the model sees", async () => {
    await using fixture = await startToolset(BANK);
    const invalidCall = { name: "bank__pay", args: { to: "ann" } };
    const agent = createTestAgent({
      model: createScriptedModel([invalidCall, ...calls.slice(1)]),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ args: { to: "bob" } }] } },
    ]);
    const done = await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expect(getToolMessages(done)[0]).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-request" } },
    });
    expect(executedCalls(fixture)).toEqual(["look {}", 'pay {"to":"bob","amount":2}']);
  });

  it("applies to its own thread only, even when call ids repeat", async () => {
    await using fixture = await startToolset(BANK);
    const payAnn = { name: "bank__pay", args: { to: "ann", amount: 1 }, id: "call-1" };
    const callingModel = fakeModel().respondWithTools([payAnn]).respondWithTools([payAnn]);
    const model = callingModel.respond(new AIMessage("a")).respond(new AIMessage("b"));
    const agent = createTestAgent({ model, mcp: fixture.mcp, checkpointer: new MemorySaver() });
    await agent.invoke(userInput, threadConfig("a"));
    await agent.invoke(userInput, threadConfig("b"));
    const approved = await agent.invoke(resumeWith({ type: "approve" }), threadConfig("a"));
    const rejected = await agent.invoke(resumeWith({ type: "reject" }), threadConfig("b"));
    expect([approved, rejected].flatMap(getToolMessages).map(({ status }) => status)).toEqual([
      "success",
      "error",
    ]);
    expect(executedCalls(fixture)).toHaveLength(1);
  });

  it("resumes in another process", { timeout: 60_000 }, async () => {
    await using fixture = await startToolset(BANK);
    using folder = new TemporaryFolder();
    const path = join(folder.path, "checkpoints");
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new FileSaver(path),
    });
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toHaveLength(1);
    const servers = { bank: { url: fixture.server.url, tools: rules } };
    const resume = { decisions: [decisions.edit("ann"), decisions.approve()] };
    expect(await resumeInOtherProcess({ integration: agentKind, servers, path, resume })).toEqual([
      expect.stringContaining("paid 10 to ann"),
      "looked",
      "paid 2 to bob",
    ]);
    expect(executedCalls(fixture)).toEqual([
      "look {}",
      'pay {"to":"ann","amount":10}',
      'pay {"to":"bob","amount":2}',
    ]);
  });

  it.each<[string, object, number]>([
    ["runs if beforeToolCall lets it run", { to: "ann", amount: 3 }, 1],
    ["does not run if beforeToolCall denies it", { to: "eve", amount: 3 }, 0],
    ["does not run if beforeToolCall throws", { to: "mallory", amount: 3 }, 0],
    ["does not run if beforeToolCall changes it", { to: "ann", amount: 9 }, 0],
  ])("an edited call %s", async (_, args, runs) => {
    const beforeToolCall = ({ args: { to, amount } }: { args: Record<string, unknown> }) => {
      if (to === "mallory") throw new Error("not to mallory");
      const changes = { args: { to, amount: Math.min(Number(amount), 5) }, headers: { "x-to": String(to) } };
      return to === "eve" ? { deny: "not to eve" } : changes;
    };
    await using fixture = await startToolset({ ...BANK, options: { beforeToolCall } });
    const model = createScriptedModel([{ name: "bank__pay", args: { to: "bob", amount: 1 } }]);
    const agent = createTestAgent({ model, mcp: fixture.mcp, checkpointer: new MemorySaver() });
    await agent.invoke(userInput, threadConfig("1"));
    const edit = { type: "edit", editedAction: { name: "bank__pay", args } };
    const [message] = getToolMessages(await agent.invoke(resumeWith(edit), threadConfig("1")));
    expect(fixture.server.executions).toHaveLength(runs);
    if (runs === 0)
      expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    else expect(fixture.server.executions).toMatchObject([{ args, headers: { "x-to": "ann" } }]);
  });

  it("prepares calls again after a restart, and runs only what was approved", async () => {
    let factor = 1;
    const beforeToolCall = ({ args }: { args: Record<string, unknown> }) =>
      args["to"] === "bob" ? { args: { ...args, amount: Number(args["amount"]) * factor } } : undefined;
    await using fixture = await startToolset({ ...BANK, options: { beforeToolCall } });
    const checkpointer = new MemorySaver();
    await createTestAgent({ model: createScriptedModel(calls), mcp: fixture.mcp, checkpointer }).invoke(
      userInput,
      threadConfig("1"),
    );
    factor = 1_000;
    const restarted = createTestAgent({ model: createScriptedModel(), mcp: fixture.mcp, checkpointer });
    const done = await restarted.invoke(
      resumeWith({ type: "approve" }, { type: "approve" }),
      threadConfig("1"),
    );
    expect(executedCalls(fixture)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
    const [, , changed] = getToolMessages(done);
    expect(changed).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    expect(changed?.text).toContain("not those that were approved");
  });

  it.each([{ durability: "async" }, { durability: "exit" }, { checkpointDuring: false }])(
    "works in a subgraph with %o",
    async (options) => {
      await using fixture = await startToolset(BANK);
      const checkpointer = new MemorySaver();
      const createOuterGraph = (model: ReturnType<typeof createScriptedModel>) => {
        const inner = createTestAgent({ model, mcp: fixture.mcp });
        const node = ("graph" in inner ? inner.graph : inner) as typeof inner;
        return new StateGraph(MessagesAnnotation)
          .addNode("inner", node as never)
          .addEdge("__start__", "inner")
          .compile({ checkpointer }) as unknown as typeof inner;
      };
      const config = { ...threadConfig("1"), ...options };
      const interrupted = await createOuterGraph(createScriptedModel(calls)).invoke(userInput, config);
      expect(interrupted.__interrupt__).toHaveLength(1);
      const done = await createOuterGraph(createScriptedModel()).invoke(
        resumeWith({ type: "approve" }, { type: "reject" }),
        config,
      );
      expect(getToolMessages(done).map(({ status }) => status)).toEqual(["success", "success", "error"]);
      expect(executedCalls(fixture)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
    },
  );

  it("does not reveal sensitive arguments, neither in the request nor in the checkpoint", async () => {
    const canary = "canary-4711";
    await using server = await startMcpTestServer({ tools: [pay] });
    const argumentProperties = {
      "$['key']": { variant: "static", value: canary, isSensitive: true },
    };
    const resource = {
      $resourceType: "mcp",
      name: "bank",
      availableTools: [{ ...pay, run: undefined, argumentProperties }],
    };
    await using mcp = await createMcpToolsFromAgent(
      { resources: [resource] },
      { servers: { bank: { url: server.url, tools: rules } }, logger: new RecordingLogger() },
    );
    const checkpointer = new MemorySaver();
    const agent = createTestAgent({
      model: createScriptedModel([{ name: "pay", args: { to: "ann", amount: 1 } }]),
      mcp,
      checkpointer,
    });
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ args: { key: "***" } }] } },
    ]);
    const edited = { name: "pay", args: { to: "eve", amount: 3, key: "***" } };
    const done = await agent.invoke(resumeWith({ type: "edit", editedAction: edited }), threadConfig("1"));
    expect(server.executions).toMatchObject([{ args: { to: "eve", amount: 3, key: canary } }]);
    const writes = Object.values(checkpointer.writes).flatMap((entry) => Object.values(entry));
    const saved = [...writes.map(([, , value]) => value), ...Object.values(checkpointer.storage)];
    const text = inspect(
      saved.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)),
      { depth: 9, maxStringLength: null, maxArrayLength: null },
    );
    expect(text).not.toContain(canary);
    expect(JSON.stringify(done.messages)).not.toContain(canary);
  });

  it("calls onApproval without a checkpointer, and denies the call without onApproval", async () => {
    const requested: unknown[] = [];
    const onApproval = ({ args }: { args: object }) => requested.push(args) === 1;
    await using fixture = await startToolset({ ...BANK, options: { onApproval } });
    const done = await createTestAgent({ model: createScriptedModel(calls), mcp: fixture.mcp }).invoke(
      userInput,
    );
    expect(getToolMessages(done).map(({ status }) => status)).toEqual(["success", "success", "error"]);
    expect(requested).toHaveLength(2);
    await using withoutApprover = await startToolset(BANK);
    const denied = await createTestAgent({
      model: createScriptedModel(calls),
      mcp: withoutApprover.mcp,
    }).invoke(userInput);
    expect(getToolMessages(denied)[0]).toMatchObject({ artifact: { error: { kind: "denied" } } });
    for (const message of [getToolMessages(denied)[0], getToolMessages(denied)[2]])
      expect(message?.text).toContain("add a checkpointer (checkpointer: new MemorySaver()");
    expect(withoutApprover.logger.lines).toEqual([
      expect.stringMatching(/^warn: Server "bank", tool "pay": .* add a checkpointer/),
    ]);
    expect(executedCalls(withoutApprover)).toEqual(["look {}"]);
  });

  it("returns a rejection to the model even with onToolError: throw", async () => {
    await using fixture = await startToolset({ ...BANK, options: { onToolError: "throw" } });
    const agent = createTestAgent({
      model: createScriptedModel(calls),
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(userInput, threadConfig("1"));
    const done = await agent.invoke(resumeWith({ type: "reject" }, { type: "reject" }), threadConfig("1"));
    expect(getToolMessages(done).map(({ status }) => status)).toEqual(["error", "success", "error"]);
    expect(done.messages.at(-1)?.text).toBe("done");
  });
});
