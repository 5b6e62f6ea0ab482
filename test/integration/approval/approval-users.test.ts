import { AIMessage, type ToolCall } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { CallContext, McpToolset } from "../../../src/index.js";
import {
  agentIntegrations,
  type AgentResult,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  type ScriptedCall,
  userInput,
} from "../../fixtures/agents.js";
import { startToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";

const accountOf = ({ configurable }: CallContext) => `account of ${String(configurable["user"])}`;
const identity = ({ configurable }: CallContext) => String(configurable["user"] ?? "service");
const BANK: ToolsetSetup = {
  name: "bank",
  tools: [
    { name: "pay", run: () => "paid" },
    { name: "look", run: () => "looked" },
  ],
  rules: { pay: { requireApproval: true, args: { account: accountOf } } },
};
const WITH_IDENTITY: ToolsetSetup = { ...BANK, definition: { identity } };
const payCall = { name: "bank__pay", args: { amount: 5 } };
const userConfig = (user: string) => ({ configurable: { thread_id: "1", user } });
const lookCall = { name: "bank__look", args: {} };
const approve = resumeWith({ type: "approve" });

function getFirstText(state: unknown): unknown {
  const messages: unknown = Reflect.get(Object(state), "messages");
  return Array.isArray(messages) ? Reflect.get(Object(messages[0]), "text") : undefined;
}

/** Returns the hash that identifies the call in the request for approval. */
function getCallHash(result: AgentResult): string | undefined {
  const request = result.__interrupt__?.[0]?.value as { actionRequests: { callHash: string }[] } | undefined;
  return request?.actionRequests[0]?.callHash;
}

/** Replaces the hashes of calls in a checkpoint with those of earlier versions, which were plain SHA-256. */
function toOldHashes({ writes, storage }: MemorySaver): void {
  const replaceIn = (value: Uint8Array) =>
    Buffer.from(
      Buffer.from(value)
        .toString()
        .replaceAll(/v2\.(?=[0-9a-f]{64})/g, ""),
    );
  for (const entries of Object.values(writes))
    for (const entry of Object.values(entries)) entry[2] = replaceIn(entry[2]);
  for (const namespaces of Object.values(storage))
    for (const checkpoints of Object.values(namespaces))
      for (const entry of Object.values(checkpoints)) entry[0] = replaceIn(entry[0]);
}

describe.each(Object.entries(agentIntegrations))("an approval in %s", (_, createTestAgent) => {
  interface Setup {
    readonly mcp: McpToolset;
    readonly checkpointer: BaseCheckpointSaver;
    readonly calls?: readonly ScriptedCall[];
  }
  const createBankAgent = ({ calls, ...options }: Setup) =>
    createTestAgent({ model: createScriptedModel(...(calls === undefined ? [] : [calls])), ...options });

  /** Requests approval for a payment in one toolset and approves it in the same or in another one. */
  const approveAs = async (
    setup: ToolsetSetup,
    { before, after, isSameToolset }: { before: object; after: object; isSameToolset: boolean },
  ) => {
    const checkpointer = new MemorySaver();
    await using first = await startToolset(setup);
    await using second = await startToolset(setup);
    const agent = createBankAgent({ mcp: first.mcp, checkpointer, calls: [payCall] });
    const asked = await agent.invoke(userInput, before);
    expect(asked.__interrupt__).toHaveLength(1);
    const resumed = isSameToolset ? agent : createBankAgent({ mcp: second.mcp, checkpointer });
    const done = await resumed.invoke(approve, after);
    const sent = [...first.server.executions, ...second.server.executions].map(({ args }) => args);
    return { done, sent };
  };
  const expectDenied = ({ done, sent }: { done: AgentResult; sent: readonly unknown[] }) => {
    expect(sent).toEqual([]);
    expect(getToolMessages(done)).toMatchObject([
      { status: "error", artifact: { error: { kind: "denied" } } },
    ]);
  };

  describe.each([true, false])("resumed in the same toolset: %s", (isSameToolset) => {
    it("counts for the user whom it was requested for", async () => {
      const alice = userConfig("alice");
      const { sent } = await approveAs(WITH_IDENTITY, { before: alice, after: alice, isSameToolset });
      expect(sent).toEqual([{ amount: 5, account: "account of alice" }]);
    });

    it("does not count for another user", async () => {
      const users = { before: userConfig("alice"), after: userConfig("bob"), isSameToolset };
      expectDenied(await approveAs(WITH_IDENTITY, users));
      const withoutArgs = { ...WITH_IDENTITY, rules: { pay: { requireApproval: true } } };
      expectDenied(await approveAs(withoutArgs, users));
    });

    it("does not count if other arguments are injected, for a server without identities", async () => {
      const users = { before: userConfig("alice"), after: userConfig("bob"), isSameToolset };
      expectDenied(await approveAs(BANK, users));
    });

    it.each<[string, (context: CallContext) => unknown]>([
      ["runtime context", ({ context }) => Reflect.get(Object(context), "user")],
      ["state of the graph", ({ state }) => getFirstText(state)],
    ])("counts for a user who is in the %s", async (_source, findUser) => {
      const getUser = (context: CallContext) => String(findUser(context) ?? "service");
      const rules = { pay: { requireApproval: true, args: { account: getUser } } };
      const alice = { configurable: { thread_id: "1" }, context: { user: "Please." } };
      const options = { before: alice, after: alice, isSameToolset };
      const { sent } = await approveAs({ ...BANK, rules, definition: { identity: getUser } }, options);
      expect(sent).toEqual([{ amount: 5, account: "Please." }]);
    });
  });

  it("for one call leaves the others of its message to the user who resumes the graph", async () => {
    const args = { account: accountOf };
    const rules = { pay: { requireApproval: true, args }, look: { requireApproval: () => false, args } };
    await using fixture = await startToolset({ ...WITH_IDENTITY, rules });
    const calls = [payCall, lookCall];
    const agent = createBankAgent({ mcp: fixture.mcp, checkpointer: new MemorySaver(), calls });
    await agent.invoke(userInput, userConfig("alice"));
    await agent.invoke(approve, userConfig("bob"));
    expect(fixture.server.executions).toMatchObject([{ tool: "look", args: { account: "account of bob" } }]);
  });

  it("of an earlier version does not count, with one warning", async () => {
    const checkpointer = new MemorySaver();
    await using first = await startToolset(BANK);
    const agent = createBankAgent({ mcp: first.mcp, checkpointer, calls: [payCall, payCall] });
    await agent.invoke(userInput, userConfig("alice"));
    toOldHashes(checkpointer);
    await using second = await startToolset(BANK);
    const resumed = createBankAgent({ mcp: second.mcp, checkpointer });
    const done = await resumed.invoke(
      resumeWith({ type: "approve" }, { type: "approve" }),
      userConfig("alice"),
    );
    expect(second.server.executions).toEqual([]);
    expect(getToolMessages(done).map(({ status }) => status)).toEqual(["error", "error"]);
    expect(second.logger.warnings.filter((text) => text.includes("an earlier version"))).toHaveLength(1);
  });

  it("is requested with a hash of injected arguments that is different for each message", async () => {
    await using fixture = await startToolset(BANK);
    const request = async (id: string) => {
      const call: ToolCall = { ...payCall, id: "call-1" };
      const model = fakeModel().respond(new AIMessage({ id, content: "", tool_calls: [call] }));
      const agent = createTestAgent({ model, mcp: fixture.mcp, checkpointer: new MemorySaver() });
      return getCallHash(await agent.invoke(userInput, userConfig("alice")));
    };
    const hash = await request("message-1");
    expect(await request("message-1")).toBe(hash);
    expect(await request("message-2")).not.toBe(hash);
  });
});
