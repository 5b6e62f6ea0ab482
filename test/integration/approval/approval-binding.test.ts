import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { AIMessage, type ToolCall } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { McpEvents, ToolRules } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
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
import { ProcessEvents } from "../../fixtures/process-events.js";
import { startToolset, type TestToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";

const pay: TestTool = { name: "pay", run: ({ to }) => `paid ${String(to)}` };
const look: TestTool = { name: "look", run: () => "looked" };
const BANK: ToolsetSetup = { name: "bank", tools: [pay, look], rules: { pay: { requireApproval: true } } };
const payAnn = { name: "bank__pay", args: { to: "ann" }, id: "call-1" };
const payBob = { name: "bank__pay", args: { to: "bob" }, id: "call-2" };
const approve = { type: "approve" };
const reject = { type: "reject" };

interface StatefulAgent extends Agent {
  getState(config: object): Promise<{ readonly values: { readonly messages: readonly unknown[] } }>;
  updateState(config: object, values: object, asNode?: string): Promise<unknown>;
}

/** `createAgent` has its graph in a field. */
function graphOf(agent: Agent): StatefulAgent {
  return ("graph" in agent ? agent.graph : agent) as StatefulAgent;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function recipients({ server }: TestToolset): unknown[] {
  return server.executions.map(({ args }) => args["to"]);
}

/** Replaces the calls of the last message, as a person does who edits the state of a paused graph. */
async function replaceCalls(agent: Agent, calls: readonly Omit<ToolCall, "type">[]): Promise<void> {
  const graph = graphOf(agent);
  const { values } = await graph.getState(threadConfig("1"));
  const { id = "" } = values.messages.at(-1) as AIMessage;
  const message = new AIMessage({ id, content: "", tool_calls: [...calls] });
  await graph.updateState(threadConfig("1"), { messages: [message] });
}

describe.each(Object.entries(agentIntegrations))("an approval in %s", (_, createTestAgent) => {
  const start = async (fixture: TestToolset, calls: readonly (typeof payAnn)[]) => {
    const model = fakeModel().respondWithTools([...calls]);
    const checkpointer = new MemorySaver();
    // Once for each run that is resumed.
    model.respond(new AIMessage("done")).respond(new AIMessage("done"));
    const options = { model, mcp: fixture.mcp, checkpointer };
    const agent = createTestAgent(options);
    const result = await agent.invoke(userInput, threadConfig("1"));
    return { agent, result, checkpointer };
  };

  it("does not count for other arguments: what was approved before updateState never runs", async () => {
    await using fixture = await startToolset(BANK);
    const { agent } = await start(fixture, [payAnn]);
    await replaceCalls(agent, [{ ...payAnn, args: { to: "eve" } }]);
    await agent.invoke(resumeWith(approve), threadConfig("1"));
    expect(recipients(fixture)).not.toContain("ann");
    expect(recipients(fixture)).not.toContain("eve");
  });

  it("does not count for another call when the calls are exchanged", async () => {
    await using fixture = await startToolset(BANK);
    const { agent } = await start(fixture, [payAnn, payBob]);
    await replaceCalls(agent, [payBob, payAnn]);
    await agent.invoke(resumeWith(approve, reject), threadConfig("1"));
    expect(recipients(fixture)).not.toContain("bob");
  });

  it("does not count for a tool of the same name that another server has", async () => {
    await using fixture = await startToolset({
      ...BANK,
      options: {
        naming: { prefix: (_server, tool) => `bank__${tool}` },
        tools: { pay: { requireApproval: true } },
      },
    });
    await using other = await startToolset({ ...BANK, name: "other" });
    const { agent } = await start(fixture, [payAnn]);
    await fixture.mcp.servers.remove("bank");
    await fixture.mcp.servers.add("other", { url: other.server.url });
    await fixture.mcp.servers.waitFor("other");
    expect(fixture.mcp.tools.map(({ name }) => name)).toContain("bank__pay");
    await agent.invoke(resumeWith(approve), threadConfig("1"));
    expect(recipients(other)).toEqual([]);
  });

  it.each([[[approve, reject]], [[reject, approve]], [[approve, approve]], [[approve]]])(
    "is never requested for calls with the same id: %j",
    async (decisions) => {
      await using fixture = await startToolset(BANK);
      const { agent, result } = await start(fixture, [payAnn, { ...payBob, id: payAnn.id }]);
      const done =
        result.__interrupt__ === undefined
          ? result
          : await agent.invoke(resumeWith(...decisions), threadConfig("1"));
      expect(result.__interrupt__).toBeUndefined();
      expect(recipients(fixture)).toEqual([]);
      const messages = getToolMessages(done);
      expect(messages.map(({ status }) => status)).toEqual(["error", "error"]);
      for (const message of messages) expect(message.text).toContain("same id");
    },
  );

  it("does not reveal what rules inject, neither in the request nor in the checkpoint", async () => {
    const canary = "canary-4711";
    const args = { key: () => canary, tenant: "canary-tenant" };
    await using fixture = await startToolset({ ...BANK, rules: { pay: { requireApproval: true, args } } });
    const { agent, result, checkpointer } = await start(fixture, [payAnn]);
    expect(result.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ args: { to: "ann", key: "***", tenant: "***" } }] } },
    ]);
    const edited = { name: "bank__pay", args: { to: "eve", key: "***", tenant: "mine" } };
    const done = await agent.invoke(resumeWith({ type: "edit", editedAction: edited }), threadConfig("1"));
    expect(fixture.server.executions).toMatchObject([
      { args: { to: "eve", key: canary, tenant: "canary-tenant" } },
    ]);
    const writes = Object.values(checkpointer.writes).flatMap((entry) => Object.values(entry));
    const saved = [...writes.map(([, , value]) => value), ...Object.values(checkpointer.storage)];
    const text = inspect(
      saved.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)),
      { depth: 9, maxStringLength: null, maxArrayLength: null },
    );
    expect(text).toContain("***");
    expect(text).not.toContain("canary");
    expect(JSON.stringify(done.messages)).not.toContain("canary");
  });

  it("with edits does not set what rules inject, also if a rule has no value", async () => {
    const rules = { pay: { requireApproval: true, args: { tenant: () => undefined } } };
    await using fixture = await startToolset({ ...BANK, rules });
    const { agent } = await start(fixture, [payAnn]);
    const editedAction = { name: "bank__pay", args: { to: "eve", tenant: "mine" } };
    await agent.invoke(resumeWith({ type: "edit", editedAction }), threadConfig("1"));
    expect(fixture.server.executions.map(({ args }) => args)).toEqual([{ to: "eve" }]);
  });

  it("that is given twice at the same time runs the call once, and both runs get the result", async () => {
    const gate = deferred();
    const slowPay: TestTool = {
      ...pay,
      run: async ({ to }) => {
        await gate.promise;
        return `paid ${String(to)}`;
      },
    };
    await using fixture = await startToolset({ ...BANK, tools: [slowPay, look] });
    const { agent } = await start(fixture, [payAnn]);
    const runs = [1, 2].map(() => agent.invoke(resumeWith(approve), threadConfig("1")));
    gate.resolve();
    const results = await Promise.all(runs);
    expect(recipients(fixture)).toEqual(["ann"]);
    for (const result of results) expect(getToolMessages(result)[0]?.text).toBe("paid ann");
  });

  it("that is given twice runs the call once if the second run arrives when the first has ended", async () => {
    await using fixture = await startToolset({
      ...BANK,
      rules: { pay: { requireApproval: true, maxConcurrent: 1 } },
    });
    const { agent } = await start(fixture, [payAnn]);
    await Promise.all([1, 2].map(() => agent.invoke(resumeWith(approve), threadConfig("1"))));
    expect(recipients(fixture)).toEqual(["ann"]);
  });

  it("that is given with other arguments at the same time is refused", async () => {
    await using fixture = await startToolset(BANK);
    const { agent } = await start(fixture, [payAnn]);
    const edit = { type: "edit", editedAction: { name: "bank__pay", args: { to: "eve" } } };
    await Promise.all(
      [approve, edit].map((decision) => agent.invoke(resumeWith(decision), threadConfig("1"))),
    );
    expect(recipients(fixture)).toHaveLength(1);
  });

  it("may be required for some callers only, by an asynchronous rule", async () => {
    const rules: ToolRules = {
      pay: { requireApproval: async (args, { configurable }) => configurable["user"] !== args["to"] },
    };
    await using fixture = await startToolset({ ...BANK, rules });
    const invokeAs = (user: string) => {
      const options = {
        model: createScriptedModel([payAnn]),
        mcp: fixture.mcp,
        checkpointer: new MemorySaver(),
      };
      return createTestAgent(options).invoke(userInput, { configurable: { thread_id: user, user } });
    };
    expect((await invokeAs("bob")).__interrupt__).toHaveLength(1);
    expect(recipients(fixture)).toEqual([]);
    expect((await invokeAs("ann")).__interrupt__).toBeUndefined();
    expect(recipients(fixture)).toEqual(["ann"]);
  });

  it("is recorded for an audit log, with every decision", async () => {
    using events = new ProcessEvents();
    const identity = ({ configurable }: { configurable: Record<string, unknown> }) =>
      String(configurable["user"] ?? "discovery");
    await using fixture = await startToolset({ ...BANK, definition: { identity } });
    const received: unknown[] = [];
    fixture.mcp.on("approvalDecided", (event) => received.push(event));
    const payEve = { name: "bank__pay", args: { to: "eve" }, id: "call-3" };
    const config = { configurable: { thread_id: "1", user: "alice" } };
    const model = fakeModel().respondWithTools([payAnn, payBob, payEve]).respond(new AIMessage("done"));
    const agent = createTestAgent({ model, mcp: fixture.mcp, checkpointer: new MemorySaver() });
    const before = Date.now();
    await agent.invoke(userInput, config);
    expect(received).toEqual([]);
    const edit = { type: "edit", editedAction: { name: "bank__pay", args: { to: "zoe" } } };
    await agent.invoke(resumeWith(approve, reject, edit), config);
    const decided = events.of("approvalDecided");
    expect(received).toEqual(decided);
    const byCall = new Map(decided.map((event) => [event.toolCallId, event]));
    expect(new Set(byCall.keys())).toEqual(new Set(["call-1", "call-2", "call-3"]));
    expect(decided).toHaveLength(3);
    for (const event of decided) {
      expect(event).toMatchObject({ server: "bank", tool: "pay", identity: "alice" });
      expect(event.time).toBeGreaterThanOrEqual(before);
      expect(["middleware", "tool-node"]).toContain(event.source);
    }
    const hashes = { ann: sha256('{"to":"ann"}'), zoe: sha256('{"to":"zoe"}') };
    expect(byCall.get("call-1")).toMatchObject({
      decision: "approve",
      argsHash: hashes.ann,
      editedArgsHash: undefined,
    });
    expect(byCall.get("call-2")).toMatchObject({ decision: "reject" });
    expect(byCall.get("call-3")).toMatchObject({ decision: "edit", editedArgsHash: hashes.zoe });
  });
});

describe("a decision outside of the middleware and the tool node", () => {
  const decisionsOf = (events: readonly McpEvents["approvalDecided"][]) =>
    events.map(({ decision, source, identity, toolCallId }) => ({ decision, source, identity, toolCallId }));

  it("is recorded for onApproval, and when nothing can request it", async () => {
    using events = new ProcessEvents();
    const onApproval = ({ args }: { args: object }) => "to" in args && args.to === "ann";
    await using fixture = await startToolset({ ...BANK, options: { onApproval } });
    await fixture.mcp.tryCallTool({ name: "pay", args: { to: "ann" }, id: "1" });
    await fixture.mcp.tryCallTool({ name: "pay", args: { to: "bob" }, id: "2" });
    await using withoutApprover = await startToolset(BANK);
    await withoutApprover.mcp.tryCallTool({ name: "pay", args: { to: "eve" }, id: "3" });
    await fixture.mcp.tryCallTool({ name: "look", args: {}, id: "4" });
    expect(decisionsOf(events.of("approvalDecided"))).toEqual([
      { decision: "approve", source: "onApproval", identity: "", toolCallId: "1" },
      { decision: "reject", source: "onApproval", identity: "", toolCallId: "2" },
      { decision: "deny", source: "tool", identity: "", toolCallId: "3" },
    ]);
    expect(recipients(fixture)).toEqual(["ann", undefined]);
  });

  it("is recorded if onApproval throws or rejects", async () => {
    for (const onApproval of [
      () => {
        throw new Error("audit down");
      },
      () => Promise.reject(new Error("audit down")),
    ]) {
      using events = new ProcessEvents();
      await using fixture = await startToolset({ ...BANK, options: { onApproval } });
      await fixture.mcp.tryCallTool({ name: "pay", args: { to: "ann" }, id: "1" });
      expect(decisionsOf(events.of("approvalDecided"))).toEqual([
        { decision: "deny", source: "onApproval", identity: "", toolCallId: "1" },
      ]);
      expect(recipients(fixture)).toEqual([]);
    }
  });

  it("does not reveal what rules inject to onApproval", async () => {
    const seen: unknown[] = [];
    const onApproval = ({ args }: { args: unknown }) => seen.push(args) > 0;
    const rules = { pay: { requireApproval: true, args: { key: "canary" } } };
    await using fixture = await startToolset({ ...BANK, rules, options: { onApproval } });
    await fixture.mcp.callTool({ name: "pay", args: { to: "ann" } });
    expect(seen).toEqual([{ to: "ann", key: "***" }]);
    expect(fixture.server.executions).toMatchObject([{ args: { to: "ann", key: "canary" } }]);
  });
});

describe("requireApproval", () => {
  it.each<[string, (args: Record<string, unknown>) => unknown, boolean]>([
    ["a promise of true", async () => true, true],
    ["a promise of nothing", async () => undefined, true],
    ["a rejection", () => Promise.reject(new Error("no database")), true],
    ["a promise of false", async () => false, false],
  ])("that returns %s", async (_, requireApproval, isRequired) => {
    const rules = { pay: { requireApproval } } as unknown as ToolRules;
    await using fixture = await startToolset({ ...BANK, rules });
    const outcome = await fixture.mcp.tryCallTool({ name: "pay", args: { to: "ann" } });
    expect(outcome.ok).toBe(!isRequired);
    expect(recipients(fixture)).toEqual(isRequired ? [] : ["ann"]);
  });

  it("gets copies of the arguments and the context of the caller", async () => {
    const seen: unknown[] = [];
    const requireApproval = (args: Record<string, unknown>, context: object) => {
      seen.push({ ...context });
      args["to"] = "eve";
      return false;
    };
    await using fixture = await startToolset({ ...BANK, rules: { pay: { requireApproval } } });
    const config = { configurable: { user: "ann" } };
    await fixture.mcp.callTool({ name: "pay", args: { to: "ann" }, id: "7" }, { config });
    expect(seen).toMatchObject([
      { purpose: "call", server: "bank", tool: "pay", toolCallId: "7", configurable: { user: "ann" } },
    ]);
    expect(recipients(fixture)).toEqual(["ann"]);
  });
});

describe("onApproval", () => {
  it.each<[string, () => unknown]>([
    ["a string", () => "yes"],
    ["a number", () => 1],
    ["a decision", () => ({ type: "approve" })],
    ["nothing", () => undefined],
    ["a promise of an object", async () => ({})],
    ["a rejection", () => Promise.reject(new Error("no database"))],
  ])("that returns %s does not approve", async (_, onApproval) => {
    await using fixture = await startToolset({
      ...BANK,
      options: { onApproval: onApproval as () => boolean },
    });
    const outcome = await fixture.mcp.tryCallTool({ name: "pay", args: { to: "ann" } });
    expect([outcome.ok, recipients(fixture)]).toEqual([false, []]);
  });
});
