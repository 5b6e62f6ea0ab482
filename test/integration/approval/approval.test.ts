import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsFromAgent,
  type McpToolsOptions,
  type McpToolset,
  type ToolRules,
} from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { answer, doors, question, scripted, thread, toolMessages } from "../../fixtures/agents.js";
import { FileSaver } from "../../fixtures/file-checkpointer.js";
import { resumeElsewhere } from "../../fixtures/resume-in-other-process.js";
import { ERAS, type ServedEra, startEraServer } from "../../fixtures/era-server.js";

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

/** Two calls that need an approval, and one between them that needs none. */
const calls = [
  { name: "bank__pay", args: { to: "ann", amount: 1 } },
  { name: "bank__look", args: {} },
  { name: "bank__pay", args: { to: "bob", amount: 2 } },
];

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface Story extends AsyncDisposable {
  readonly server: McpTestServer;
  readonly mcp: McpToolset;
}

async function setUp(
  options: McpToolsOptions = {},
  tools: ToolRules = rules,
  era: ServedEra = "legacy",
): Promise<Story> {
  const server = await startEraServer(era, { tools: [pay, look] });
  const mcp = await createMcpTools({ bank: { url: server.url, tools } }, options);
  return {
    server,
    mcp,
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await server.close();
    },
  };
}

function executed({ server }: Story): string[] {
  return server.executions.map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`).toSorted();
}

const decisions = {
  approve: () => ({ type: "approve" }),
  edit: (to: string) => ({ type: "edit", editedAction: { name: "bank__pay", args: { to, amount: 10 } } }),
  reject: () => ({ type: "reject", message: "Not today." }),
};
type Choice = keyof typeof decisions;
const choices = Object.keys(decisions) as Choice[];
const mixtures = choices.flatMap((first) => choices.map((second) => [first, second] as const));

function expectedRun(choice: Choice, to: string, amount: number): string[] {
  if (choice === "reject") return [];
  return [`pay ${JSON.stringify({ to, amount: choice === "edit" ? 10 : amount })}`];
}

describe.each(Object.entries(doors))("in %s", (door, open) => {
  it.each(mixtures)("%s the first, %s the second: each runs once or not at all", async (first, second) => {
    await using story = await setUp();
    const agent = open({ model: scripted(calls), mcp: story.mcp, checkpointer: new MemorySaver() });
    const asked = await agent.invoke(question, thread("1"));
    expect(asked.__interrupt__).toMatchObject([
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
    expect(executed(story)).toEqual([]);
    const done = await agent.invoke(answer(decisions[first]("ann"), decisions[second]("bob")), thread("1"));
    expect(executed(story)).toEqual(
      ["look {}", ...expectedRun(first, "ann", 1), ...expectedRun(second, "bob", 2)].toSorted(),
    );
    const messages = toolMessages(done);
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
      if (choice === "edit") expect(messages[index]?.text).toContain("A person changed the arguments");
    }
    expect(done.messages.at(-1)?.text).toBe("done");
  });

  it.each([
    ["one decision for two calls", [{ type: "approve" }], "1 decision for 2 calls"],
    ["three for two", [1, 2, 3].map(() => ({ type: "approve" })), "3 decisions for 2 calls"],
    ["a word nobody knows", [{ type: "approve" }, { type: "perhaps" }], "none of approve, edit, reject"],
    [
      "another tool",
      [{ type: "approve" }, { type: "edit", editedAction: { name: "bank__look", args: {} } }],
      "cannot become one of another tool",
    ],
    [
      "changed arguments that do not fit",
      [{ type: "approve" }, { type: "edit", editedAction: { name: "bank__pay", args: { to: "bob" } } }],
      "amount",
    ],
  ])("%s: it asks again, and nothing has run", async (__, wrong, problem) => {
    await using story = await setUp();
    const agent = open({ model: scripted(calls), mcp: story.mcp, checkpointer: new MemorySaver() });
    await agent.invoke(question, thread("1"));
    const again = await agent.invoke(answer(...wrong), thread("1"));
    expect(again.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ description: expect.stringContaining(problem) }, {}] } },
    ]);
    expect(executed(story)).toEqual([]);
    await agent.invoke(answer({ type: "approve" }, { type: "reject" }), thread("1"));
    expect(executed(story)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
  });

  it.each(ERAS)("each hook runs once, and what it gave is what is asked about and sent (%s)", async (era) => {
    const prepared: string[] = [];
    const beforeToolCall: McpToolsOptions["beforeToolCall"] = ({ tool, args }) => {
      prepared.push(tool);
      return tool === "pay" ? { args: { ...args, amount: Number(args["amount"]) * 100 } } : undefined;
    };
    await using story = await setUp({ beforeToolCall }, rules, era);
    const agent = open({ model: scripted(calls), mcp: story.mcp, checkpointer: new MemorySaver() });
    const asked = await agent.invoke(question, thread("1"));
    expect(asked.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ args: { amount: 100 } }, { args: { amount: 200 } }] } },
    ]);
    await agent.invoke(answer({ type: "approve" }, { type: "approve" }), thread("1"));
    expect(prepared.toSorted()).toEqual(["look", "pay", "pay"]);
    expect(executed(story)).toEqual([
      "look {}",
      'pay {"to":"ann","amount":100}',
      'pay {"to":"bob","amount":200}',
    ]);
  });

  it("asks about no call that cannot run, and tells the model why", async () => {
    await using story = await setUp();
    const bad = { name: "bank__pay", args: { to: "ann" } };
    const agent = open({
      model: scripted([bad, ...calls.slice(1)]),
      mcp: story.mcp,
      checkpointer: new MemorySaver(),
    });
    const asked = await agent.invoke(question, thread("1"));
    expect(asked.__interrupt__).toMatchObject([{ value: { actionRequests: [{ args: { to: "bob" } }] } }]);
    const done = await agent.invoke(answer({ type: "approve" }), thread("1"));
    expect(toolMessages(done)[0]).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-request" } },
    });
    expect(executed(story)).toEqual(["look {}", 'pay {"to":"bob","amount":2}']);
  });

  it("an answer counts for its own thread, also when a model counts its calls anew", async () => {
    await using story = await setUp();
    const payAnn = { name: "bank__pay", args: { to: "ann", amount: 1 }, id: "call-1" };
    const asking = fakeModel().respondWithTools([payAnn]).respondWithTools([payAnn]);
    const model = asking.respond(new AIMessage("a")).respond(new AIMessage("b"));
    const agent = open({ model, mcp: story.mcp, checkpointer: new MemorySaver() });
    await agent.invoke(question, thread("a"));
    await agent.invoke(question, thread("b"));
    const approved = await agent.invoke(answer({ type: "approve" }), thread("a"));
    const rejected = await agent.invoke(answer({ type: "reject" }), thread("b"));
    expect([approved, rejected].flatMap(toolMessages).map(({ status }) => status)).toEqual([
      "success",
      "error",
    ]);
    expect(executed(story)).toHaveLength(1);
  });

  it("goes on in another process", { timeout: 60_000 }, async () => {
    await using story = await setUp();
    const folder = mkdtempSync(join(tmpdir(), "approval-"));
    try {
      const path = join(folder, "checkpoints");
      const agent = open({ model: scripted(calls), mcp: story.mcp, checkpointer: new FileSaver(path) });
      const asked = await agent.invoke(question, thread("1"));
      expect(asked.__interrupt__).toHaveLength(1);
      const servers = { bank: { url: story.server.url, tools: rules } };
      const resume = { decisions: [decisions.edit("ann"), decisions.approve()] };
      expect(await resumeElsewhere({ door, servers, path, resume })).toEqual([
        expect.stringContaining("paid 10 to ann"),
        "looked",
        "paid 2 to bob",
      ]);
      expect(executed(story)).toEqual([
        "look {}",
        'pay {"to":"ann","amount":10}',
        'pay {"to":"bob","amount":2}',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("whoever goes on without what was prepared prepares it again, and runs nothing but what was approved", async () => {
    let factor = 1;
    const beforeToolCall = ({ args }: { args: Record<string, unknown> }) =>
      args["to"] === "bob" ? { args: { ...args, amount: Number(args["amount"]) * factor } } : undefined;
    await using story = await setUp({ beforeToolCall });
    const checkpointer = new MemorySaver();
    await open({ model: scripted(calls), mcp: story.mcp, checkpointer }).invoke(question, thread("1"));
    factor = 1_000;
    const another = open({ model: scripted(), mcp: story.mcp, checkpointer });
    const done = await another.invoke(answer({ type: "approve" }, { type: "approve" }), thread("1"));
    expect(executed(story)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
    expect(toolMessages(done)[2]?.text).toContain("its arguments are not those that were approved");
  });

  it.each(["async", "exit"])("works in a graph inside of another, saved %s", async (durability) => {
    await using story = await setUp();
    const checkpointer = new MemorySaver();
    const around = (model: ReturnType<typeof scripted>) => {
      const inner = open({ model, mcp: story.mcp });
      const node = ("graph" in inner ? inner.graph : inner) as typeof inner;
      return new StateGraph(MessagesAnnotation)
        .addNode("inner", node as never)
        .addEdge("__start__", "inner")
        .compile({ checkpointer }) as unknown as typeof inner;
    };
    const config = { ...thread("1"), durability };
    const asked = await around(scripted(calls)).invoke(question, config);
    expect(asked.__interrupt__).toHaveLength(1);
    const done = await around(scripted()).invoke(answer({ type: "approve" }, { type: "reject" }), config);
    expect(toolMessages(done).map(({ status }) => status)).toEqual(["success", "success", "error"]);
    expect(executed(story)).toEqual(["look {}", 'pay {"to":"ann","amount":1}']);
  });

  it("shows what is sensitive to nobody: not to who is asked, nor to the checkpoint", async () => {
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
      { servers: { bank: { url: server.url, tools: rules } }, logger: silent },
    );
    const checkpointer = new MemorySaver();
    const agent = open({
      model: scripted([{ name: "pay", args: { to: "ann", amount: 1 } }]),
      mcp,
      checkpointer,
    });
    const asked = await agent.invoke(question, thread("1"));
    expect(asked.__interrupt__).toMatchObject([{ value: { actionRequests: [{ args: { key: "***" } }] } }]);
    const edited = { name: "pay", args: { to: "eve", amount: 3, key: "***" } };
    const done = await agent.invoke(answer({ type: "edit", editedAction: edited }), thread("1"));
    expect(server.executions).toMatchObject([{ args: { to: "eve", amount: 3, key: canary } }]);
    const kept = Object.values(checkpointer.writes).flatMap((writes) => Object.values(writes));
    const saved = [...kept.map(([, , value]) => value), ...Object.values(checkpointer.storage)];
    const text = inspect(
      saved.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)),
      { depth: 9, maxStringLength: null, maxArrayLength: null },
    );
    expect(text).not.toContain(canary);
    expect(JSON.stringify(done.messages)).not.toContain(canary);
  });

  it("without a checkpointer onApproval is asked; without that, it is refused", async () => {
    const asked: unknown[] = [];
    const onApproval = ({ args }: { args: object }) => asked.push(args) === 1;
    await using story = await setUp({ onApproval });
    const done = await open({ model: scripted(calls), mcp: story.mcp }).invoke(question);
    expect(toolMessages(done).map(({ status }) => status)).toEqual(["success", "success", "error"]);
    expect(asked).toHaveLength(2);
    await using mute = await setUp();
    const refused = await open({ model: scripted(calls), mcp: mute.mcp }).invoke(question);
    expect(toolMessages(refused)[0]?.text).toContain("nobody is there to give it");
    expect(executed(mute)).toEqual(["look {}"]);
  });

  it("a rejection is told to the model also where failures are thrown", async () => {
    await using story = await setUp({ onToolError: "throw" });
    const agent = open({ model: scripted(calls), mcp: story.mcp, checkpointer: new MemorySaver() });
    await agent.invoke(question, thread("1"));
    const done = await agent.invoke(answer({ type: "reject" }, { type: "reject" }), thread("1"));
    expect(toolMessages(done).map(({ status }) => status)).toEqual(["error", "success", "error"]);
    expect(done.messages.at(-1)?.text).toBe("done");
  });
});
