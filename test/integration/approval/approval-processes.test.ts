import { join } from "node:path";
import { fakeModel } from "@langchain/core/testing";
import { AIMessage, type ToolCall } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createMcpTools, type McpToolsOptions } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import {
  agentIntegrations,
  type AgentResult,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { deferred, rejection } from "../../fixtures/clients.js";
import { FileSaver } from "../../fixtures/file-saver.js";
import { resumeInOtherProcess, runInOtherProcess } from "../../fixtures/resume-in-other-process.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const calls = [{ name: "bank__pay", args: { amount: 7 } }];
const REFUSAL = `Tool "bank__pay" failed: The call to tool "pay" was denied: another run has started it for the same \
approval, and its outcome is not known here. It is not sent again; a new call requires a new approval.
The tool may have run: check before you call it again.
Do not call it again unless you are asked to.`;
const approved = { decisions: [{ type: "approve" }] };

/** A bank whose payments wait for `release`, and an agent whose payment waits for approval. */
async function pauseAgent(integration: string, rule: object = {}) {
  const folder = new TemporaryFolder();
  const path = join(folder.path, "checkpoints");
  const released = deferred();
  const server = await startMcpTestServer({
    tools: [
      {
        name: "pay",
        inputSchema: { type: "object", properties: { amount: { type: "number" } } },
        run: async ({ amount }) => {
          await released.promise;
          return `paid ${String(amount)}`;
        },
      },
    ],
  });
  const servers = { bank: { url: server.url, tools: { pay: { requireApproval: true, ...rule } } } };
  /** Runs the agent in this process. */
  const run = async (input: unknown, model = createScriptedModel(), options: McpToolsOptions = {}) => {
    await using mcp = await createMcpTools(servers, options);
    const agent = agentIntegrations[integration]?.({ model, mcp, checkpointer: new FileSaver(path) });
    if (agent === undefined) throw new Error("There is no such integration.");
    return await agent.invoke(input, threadConfig("1"));
  };
  expect((await run(userInput, createScriptedModel(calls))).__interrupt__).toHaveLength(1);
  return {
    server,
    run,
    release: released.resolve,
    resumed: { integration, servers, path, resume: approved },
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server.close();
      folder[Symbol.dispose]();
    },
  };
}

describe.each(["createAgent with mcpMiddleware", "a StateGraph with McpToolNode"])(
  "an approved call in %s",
  (integration) => {
    it("runs once if two processes resume the graph at the same time", { timeout: 60_000 }, async () => {
      await using paused = await pauseAgent(integration);
      const isCalled = paused.server.waitFor("tools/call");
      const first = resumeInOtherProcess(paused.resumed);
      await isCalled;
      expect(await resumeInOtherProcess(paused.resumed)).toEqual([
        expect.stringContaining("another run has started it for the same approval"),
      ]);
      paused.release();
      expect(await first).toEqual(["paid 7"]);
      expect(paused.server.executions).toHaveLength(1);
    });

    it("runs once if its rule decides that it is not durable", async () => {
      await using paused = await pauseAgent(integration, { durable: () => false });
      const isCalled = paused.server.waitFor("tools/call");
      const first = paused.run(resumeWith({ type: "approve" }));
      await isCalled;
      const second = await paused.run(resumeWith({ type: "approve" }));
      expect(getToolMessages(second).map(({ text }) => text)).toEqual([REFUSAL]);
      paused.release();
      expect(getToolMessages(await first).map(({ text }) => text)).toEqual(["paid 7"]);
      expect(paused.server.executions).toHaveLength(1);
    });

    it("is refused for all resumes of a process while another one runs it", async () => {
      await using paused = await pauseAgent(integration);
      const isCalled = paused.server.waitFor("tools/call");
      const first = paused.run(resumeWith({ type: "approve" }));
      await isCalled;
      await using mcp = await createMcpTools(paused.resumed.servers, { onToolError: "throw" });
      const resume = async () => {
        const options = {
          model: createScriptedModel(),
          mcp,
          checkpointer: new FileSaver(paused.resumed.path),
        };
        const agent = agentIntegrations[integration]?.(options);
        return await agent?.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
      };
      const refused = await Promise.all([resume(), resume()]);
      for (const result of refused)
        expect(getToolMessages(result as AgentResult).map(({ status }) => status)).toEqual(["error"]);
      paused.release();
      await first;
      expect(paused.server.executions).toHaveLength(1);
    });

    it.each(["return", "throw"] as const)(
      "needs another approval if its process was killed, with onToolError: %s",
      { timeout: 60_000 },
      async (onToolError) => {
        await using paused = await pauseAgent(integration);
        paused.release();
        const killed = rejection(runInOtherProcess({ ...paused.resumed, killAt: "starting" }));
        expect(await killed).toMatchObject({ signal: "SIGKILL" });
        const message = {
          content: "",
          id: "second",
          tool_calls: [{ ...calls[0], id: "call-2" } as ToolCall],
        };
        const model = fakeModel().respond(new AIMessage(message)).respond(new AIMessage("done"));
        const again = await paused.run(null, model, { onToolError });
        expect(getToolMessages(again)).toMatchObject([
          { status: "error", artifact: { error: { kind: "denied", outcomeUnknown: true } } },
        ]);
        expect(again.__interrupt__).toHaveLength(1);
        expect(paused.server.executions).toHaveLength(0);
        const done = await paused.run(resumeWith({ type: "approve" }));
        expect(getToolMessages(done).at(-1)?.text).toBe("paid 7");
        expect(paused.server.executions).toHaveLength(1);
      },
    );

    it("may run again after its process was killed if it is idempotent", { timeout: 60_000 }, async () => {
      await using paused = await pauseAgent(integration, { idempotent: true });
      const running = runInOtherProcess(paused.resumed);
      const ended = rejection(running);
      await paused.server.waitFor("tools/call");
      running.child.kill("SIGKILL");
      await ended;
      paused.release();
      expect(getToolMessages(await paused.run(null)).map(({ text }) => text)).toEqual(["paid 7"]);
    });
  },
);

describe("an approved call in createAgent", () => {
  it("may run again after a failure before it was sent", { timeout: 60_000 }, async () => {
    await using paused = await pauseAgent("createAgent with mcpMiddleware");
    paused.release();
    paused.server.addFault({ type: "status", status: 401 }, { method: "tools/call", times: 1 });
    await rejection(paused.run(resumeWith({ type: "approve" }), undefined, { onToolError: "throw" }));
    expect(getToolMessages(await paused.run(null)).map(({ text }) => text)).toEqual(["paid 7"]);
  });
});
