// What the tests of LangChain's adapter check about input that servers require, as far as no other test does.
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { createTestClient, rejection } from "../../fixtures/clients.js";
import { createElicitingServer } from "../../fixtures/eliciting-server.js";
import { type EraServer, type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";
import { startSdkServer } from "../../fixtures/sdk-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

const requestedSchema = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
const ask = (message: string) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema },
});
const accepted = { action: "accept", content: { sure: true } };

/** Asks `rounds` times for a confirmation, one after the other, and returns all that it was sent. */
const confirm: TestTool = {
  name: "confirm",
  run: ({ what, rounds = 1 }, context) => {
    const { inputResponses, requestState = "0" } = context as unknown as ModernToolContext;
    const round = Number(requestState);
    if (inputResponses?.["confirmation"] !== undefined && round === rounds) return `did ${String(what)}`;
    return {
      resultType: "input_required",
      inputRequests: { confirmation: ask(`${String(what)}, ${round + 1}?`) },
      requestState: `${round + 1}`,
    };
  },
};

const openAgent = agentIntegrations["createAgent with mcpMiddleware"] as (options: object) => Agent;
const call = (what: string, rounds = 1) => ({ name: "srv__confirm", args: { what, rounds } });
const resume = (value: unknown) => new Command({ resume: value });
const answer = (responses: object, id = "call-1") => ({ answers: { [id]: responses } });
const countCalls = (server: EraServer) => server.received("tools/call").length;

async function startAgent(...calls: ReturnType<typeof call>[]) {
  const toolset = await startToolset({ tools: [confirm], era: "modern" });
  const model = createScriptedModel(calls);
  const agent = openAgent({ model, mcp: toolset.mcp, checkpointer: new MemorySaver() });
  const invoke = (input: unknown) => agent.invoke(input, threadConfig("1"));
  return { toolset, invoke, paused: await invoke(userInput) };
}

describe("an answer in a graph", () => {
  it.each<[string, unknown]>([
    ["has no responses", answer({})],
    ["has another key", answer({ wrong: accepted })],
    ["has one more key", answer({ confirmation: accepted, extra: accepted })],
    ["has an unknown action", answer({ confirmation: { action: "sideways" } })],
    ["has a value of another type", answer({ confirmation: { action: "accept", content: { sure: "yes" } } })],
    ["is that of another call", answer({ confirmation: accepted }, "call-2")],
    ["is an empty object", {}],
    ["is a text", "yes"],
  ])("that %s asks again, and nothing is sent", async (_, wrong) => {
    const { toolset, invoke } = await startAgent(call("deploy"));
    await using _toolset = toolset;
    const again = await invoke(resume(wrong));
    expect(again.__interrupt__?.[0]?.value).toMatchObject({ error: expect.any(String) as string });
    expect(countCalls(toolset.server)).toBe(1);
    const done = await invoke(resume(accepted));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["did deploy"]);
  });

  it("is followed by the next question, and earlier rounds are not sent again", async () => {
    const { toolset, invoke } = await startAgent(call("deploy", 3));
    await using _toolset = toolset;
    const second = await invoke(resume(accepted));
    expect(second.__interrupt__?.[0]?.value).toMatchObject({
      requests: { confirmation: { message: "deploy, 2?" } },
    });
    await invoke(resume(accepted));
    const done = await invoke(resume(accepted));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["did deploy"]);
    expect(countCalls(toolset.server)).toBe(4);
  });

  it("may be given to one of several questions, by the id of its interrupt", async () => {
    const { toolset, invoke, paused } = await startAgent(call("build"), call("deploy"));
    await using _toolset = toolset;
    const [build] = (paused.__interrupt__ ?? []) as { readonly id: string; readonly value: object }[];
    expect(paused.__interrupt__).toHaveLength(2);
    const half = await invoke(resume({ [build?.id ?? ""]: accepted }));
    expect(half.__interrupt__).toHaveLength(1);
    expect(half.__interrupt__?.[0]?.value).toMatchObject({
      requests: { confirmation: { message: "deploy, 1?" } },
    });
    const done = await invoke(resume(accepted));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual(["did build", "did deploy"]);
    expect(countCalls(toolset.server)).toBe(4);
  });

  it("is not needed for a server that asks the handler of its definition", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const onElicitationRequest = () => ({ action: "decline" }) as const;
    await using mcp = await createMcpTools({ s: { url: server.url, onElicitationRequest } });
    const model = createScriptedModel([{ name: "s__form", args: {} }]);
    const agent = openAgent({ model, mcp, checkpointer: new MemorySaver() });
    const done = await agent.invoke(userInput, threadConfig("1"));
    expect(done.__interrupt__).toBeUndefined();
    expect(getToolMessages(done)[0]?.text).toContain("decline");
  });
});

describe("a call in several rounds", () => {
  it("has its own headers in each of them", async () => {
    const seen: string[] = [];
    const run: TestTool["run"] = ({ account }, context) => {
      const { requestState } = context as unknown as ModernToolContext;
      seen.push(`${String(account)} ${String(context.headers["x-account"])}`);
      return requestState === undefined ? { resultType: "input_required", requestState: "1" } : "done";
    };
    await using toolset = await startToolset({
      tools: [{ name: "get", run }],
      era: "modern",
      definition: { headers: { "x-account": "default" } },
      options: {
        beforeToolCall: ({ args: { account } }) =>
          account === "none" ? undefined : { headers: { "x-account": String(account) } },
      },
    });
    await Promise.all(["a", "b"].map((account) => toolset.call({ account })));
    await toolset.call({ account: "none" });
    expect(seen.toSorted()).toEqual(["a a", "a a", "b b", "b b", "none default", "none default"]);
  });

  it("has its result validated", async () => {
    const outputSchema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
    const run: TestTool["run"] = (_, context) =>
      (context as unknown as ModernToolContext).requestState === undefined
        ? { resultType: "input_required", requestState: "1" }
        : { content: [], structuredContent: { ok: "invalid" } };
    await using toolset = await startToolset({
      tools: [{ name: "get", outputSchema, run }],
      era: "modern",
      options: { outputValidation: "error" },
    });
    expect(await toolset.call({})).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-response" } },
    });
  });

  it("fails if its result is of an unknown type", async () => {
    const run = () => ({ resultType: "later", content: [] });
    await using server = await startEraServer("modern", { tools: [{ name: "get", run }] });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({ kind: "invalid-response" });
  });
});

describe("a page that a user has to open", () => {
  it("cannot be answered with the content of a form", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, {
      onElicitationRequest: () => ({ action: "accept", content: { sure: true } }),
    });
    const result = await client.callTool({ name: "url" });
    expect(result.text()).toContain("-32603");
  });
});
