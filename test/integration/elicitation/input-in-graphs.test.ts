import { join } from "node:path";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type BeforeToolCallInput, createMcpTools, McpClient } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import {
  resumeWith,
  agentIntegrations,
  userInput,
  createScriptedModel,
  threadConfig,
  getToolMessages,
} from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";
import { type EraServer, type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";
import { FileSaver } from "../../fixtures/file-saver.js";
import { resumeInOtherProcess } from "../../fixtures/resume-in-other-process.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const requestedSchema = {
  type: "object",
  properties: { city: { type: "string" }, nights: { type: "integer", default: 1 } },
  required: ["city"],
};

/** Requests a city before it books; its requestState comes back with the response. */
const book: TestTool = {
  name: "book",
  run: ({ guest }, context) => {
    const { inputResponses, requestState } = context as unknown as ModernToolContext;
    const where = inputResponses?.["where"];
    if (where === undefined) {
      const params = { mode: "form", message: `Where does ${String(guest)} stay?`, requestedSchema };
      return {
        resultType: "input_required",
        inputRequests: { where: { method: "elicitation/create", params } },
        requestState: `offer for ${String(guest)}`,
      };
    }
    return `${requestState}: ${JSON.stringify(where)}`;
  },
};
const look: TestTool = { name: "look", run: () => "looked" };

const createTools = (server: EraServer) => createMcpTools({ inn: { url: server.url } });
const bookFor = (guest: string) => ({ name: "inn__book", args: { guest } });
const accept = (city: string) => ({ action: "accept", content: { city } });
const countBookings = (server: EraServer) => server.executions.filter(({ tool }) => tool === "book").length;
const getExecutions = (server: EraServer) =>
  server.executions.map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`).toSorted();

describe.each(Object.entries(agentIntegrations))("in %s", (_, open) => {
  it("an input request interrupts the graph, and the resuming run sends the response", async () => {
    await using server = await startEraServer("modern", { tools: [book, look] });
    const checkpointer = new MemorySaver();
    {
      await using mcp = await createTools(server);
      const agent = open({ model: createScriptedModel([bookFor("ann")]), mcp, checkpointer });
      const paused = await agent.invoke(userInput, threadConfig("1"));
      expect(paused.__interrupt__?.map(({ value }) => value)).toMatchObject([
        {
          type: "mcp_input",
          server: "inn",
          tool: "inn__book",
          toolCallId: "call-1",
          requests: { where: { mode: "form", message: "Where does ann stay?", requestedSchema } },
        },
      ]);
      expect(countBookings(server)).toBe(1);
    }
    await using mcp = await createTools(server);
    const agent = open({ model: createScriptedModel(), mcp, checkpointer });
    const wrong = await agent.invoke(
      new Command({ resume: { action: "accept", content: {} } }),
      threadConfig("1"),
    );
    expect(wrong.__interrupt__?.[0]?.value).toMatchObject({ error: expect.stringContaining("city") });
    expect(countBookings(server)).toBe(1);
    const done = await agent.invoke(new Command({ resume: accept("Rome") }), threadConfig("1"));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual([
      'offer for ann: {"action":"accept","content":{"city":"Rome","nights":1}}',
    ]);
    // One call without and one with the response: nothing was sent twice.
    expect(countBookings(server)).toBe(2);
  });

  it("beforeToolCall runs again with the call that is resumed after input, and can deny it", async () => {
    await using server = await startEraServer("modern", { tools: [book] });
    const guests: unknown[] = [];
    const beforeToolCall = ({ args }: BeforeToolCallInput) => {
      guests.push(args["guest"]);
      return guests.length > 1 ? { deny: "ann has left" } : undefined;
    };
    await using mcp = await createMcpTools({ inn: { url: server.url } }, { beforeToolCall });
    const checkpointer = new MemorySaver();
    const agent = open({ model: createScriptedModel([bookFor("ann")]), mcp, checkpointer });
    await agent.invoke(userInput, threadConfig("1"));
    const done = await agent.invoke(new Command({ resume: accept("Rome") }), threadConfig("1"));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual([expect.stringContaining("ann has left")]);
    expect(guests).toEqual(["ann", "ann"]);
    expect(countBookings(server)).toBe(1);
  });
});

describe("in createAgent with mcpMiddleware", () => {
  it("other calls do not run again, and each call gets its own response", async () => {
    await using server = await startEraServer("modern", { tools: [book, look] });
    await using mcp = await createTools(server);
    const calls = [bookFor("ann"), { name: "inn__look", args: {} }, bookFor("bob")];
    const open = agentIntegrations["createAgent with mcpMiddleware"];
    const agent = open?.({ model: createScriptedModel(calls), mcp, checkpointer: new MemorySaver() });
    const paused = await agent?.invoke(userInput, threadConfig("1"));
    expect(paused?.__interrupt__).toHaveLength(2);
    const answers = { "call-1": { where: accept("Rome") }, "call-3": { where: accept("Oslo") } };
    let result = await agent?.invoke(new Command({ resume: { answers } }), threadConfig("1"));
    if ((result?.__interrupt__ ?? []).length > 0)
      result = await agent?.invoke(new Command({ resume: { answers } }), threadConfig("1"));
    const texts = result === undefined ? [] : getToolMessages(result).map(({ text }) => text);
    expect(texts.toSorted()).toEqual([
      "looked",
      'offer for ann: {"action":"accept","content":{"city":"Rome","nights":1}}',
      'offer for bob: {"action":"accept","content":{"city":"Oslo","nights":1}}',
    ]);
    expect(server.executions.filter(({ tool }) => tool === "look")).toHaveLength(1);
    expect(countBookings(server)).toBe(4);
  });
});

/** A tool that requires this input. */
function requiring(params: object, key = "where"): TestTool {
  const inputRequests = { [key]: { method: "elicitation/create", params } };
  return { name: "book", run: () => ({ resultType: "input_required", inputRequests }) };
}

const HIDDEN = "\u202E\u200B\u001B]52;c;aGk=\u0007";
const formWith = (city: object, message = "Where?") => ({
  mode: "form",
  message,
  requestedSchema: { type: "object", properties: { city } },
});
const HIDING_REQUESTS: [string, object, object][] = [
  [
    "a form",
    formWith({ type: "string", oneOf: [{ const: "rome", title: `Rome${HIDDEN}` }] }, `Where?${HIDDEN}`),
    formWith({ type: "string", oneOf: [{ const: "rome", title: "Rome" }] }),
  ],
  [
    "a URL",
    { mode: "url", message: `Log in.${HIDDEN}`, url: `https://example.com/${HIDDEN}x` },
    { mode: "url", message: "Log in.", url: "https://example.com/%E2%80%AE%E2%80%8B%1B]52;c;aGk=%07x" },
  ],
];

describe("an input request with hidden characters", () => {
  it.each(HIDING_REQUESTS)("in %s is shown without them, in all that is saved", async (_, params, shown) => {
    await using server = await startEraServer("modern", { tools: [requiring(params)] });
    await using mcp = await createTools(server);
    for (const open of Object.values(agentIntegrations)) {
      const agent = open({
        model: createScriptedModel([bookFor("ann")]),
        mcp,
        checkpointer: new MemorySaver(),
      });
      const paused = await agent.invoke(userInput, threadConfig("1"));
      const value = paused.__interrupt__?.[0]?.value as { requests: object };
      expect(value.requests).toEqual({ where: shown });
      expect(JSON.stringify(value)).not.toMatch(/\u202E|\u200B|\\u001b|\\u0007/i);
    }
    await using client = new McpClient({ name: "inn", url: server.url });
    const { inputRequired } = await client.callTool({ name: "book" }, { input: {} });
    expect(inputRequired?.requests).toEqual({ where: { method: "elicitation/create", params: shown } });
  });

  it.each<[string, TestTool]>([
    ["in a choice", requiring(formWith({ type: "string", enum: ["rome", `oslo${HIDDEN}`] }))],
    ["in its key", requiring(formWith({ type: "string" }), `where${HIDDEN}`)],
  ])("%s fails the call", async (_, tool) => {
    await using server = await startEraServer("modern", { tools: [tool] });
    await using client = new McpClient({ name: "inn", url: server.url });
    const failure = await rejection(client.callTool({ name: "book" }, { input: {} }));
    expect(failure).toMatchObject({ kind: "invalid-response" });
    expect(failure.message).not.toMatch(/[\u202E\u200B]|\p{Cc}/u);
  });
});

describe("input requests with more than a million characters together", () => {
  it("are rejected before any of them is parsed", async () => {
    const invalid = { mode: "form", message: "x".repeat(250_000), requestedSchema: { type: "none" } };
    const requests = Array.from({ length: 5 }, (_, index) => [
      `request-${index}`,
      { method: "elicitation/create", params: invalid },
    ]);
    const inputRequests = Object.fromEntries(requests) as object;
    const tool = { name: "book", run: () => ({ resultType: "input_required", inputRequests }) };
    await using server = await startEraServer("modern", { tools: [tool] });
    await using client = new McpClient({ name: "inn", url: server.url });
    expect(await rejection(client.callTool({ name: "book" }, { input: {} }))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("more than 1048576 characters"),
    });
  });
});

const nodes = Object.entries(agentIntegrations).filter(([name]) => name.includes("McpToolNode"));

describe.each(nodes)("in %s, where all calls of a message are one task", (_, open) => {
  it("there is one interrupt for all of them, and no other call runs again", async () => {
    await using server = await startEraServer("modern", { tools: [book, look] });
    const checkpointer = new MemorySaver();
    const calls = [bookFor("ann"), { name: "inn__look", args: {} }, bookFor("bob")];
    {
      await using mcp = await createTools(server);
      const agent = open({ model: createScriptedModel(calls), mcp, checkpointer });
      const paused = await agent.invoke(userInput, threadConfig("1"));
      expect(paused.__interrupt__).toHaveLength(1);
      expect(paused.__interrupt__?.[0]?.value).toMatchObject({
        type: "mcp_inputs",
        questions: [{ toolCallId: "call-1" }, { toolCallId: "call-3" }],
      });
    }
    await using mcp = await createTools(server);
    const agent = open({ model: createScriptedModel(), mcp, checkpointer });
    expect((await agent.invoke(null, threadConfig("1"))).__interrupt__).toHaveLength(1);
    const half = { answers: { "call-1": { where: accept("Rome") } } };
    const again = await agent.invoke(new Command({ resume: half }), threadConfig("1"));
    expect(again.__interrupt__?.[0]?.value).toMatchObject({ error: expect.stringContaining("call-3") });
    const answers = { ...half.answers, "call-3": { where: accept("Oslo") } };
    const done = await agent.invoke(new Command({ resume: { answers } }), threadConfig("1"));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual([
      'offer for ann: {"action":"accept","content":{"city":"Rome","nights":1}}',
      "looked",
      'offer for bob: {"action":"accept","content":{"city":"Oslo","nights":1}}',
    ]);
    expect(server.executions.filter(({ tool }) => tool === "look")).toHaveLength(1);
    expect(countBookings(server)).toBe(4);
  });

  it("a call that was approved before its input request is not reviewed again", async () => {
    await using server = await startEraServer("modern", { tools: [book, look] });
    const checkpointer = new MemorySaver();
    const withRules = () =>
      createMcpTools({ inn: { url: server.url, tools: { book: { requireApproval: true } } } });
    const calls = [bookFor("ann"), { name: "inn__look", args: {} }];
    {
      await using mcp = await withRules();
      const agent = open({ model: createScriptedModel(calls), mcp, checkpointer });
      const first = await agent.invoke(userInput, threadConfig("1"));
      expect(first.__interrupt__?.[0]?.value).toHaveProperty("actionRequests");
      expect(server.executions).toHaveLength(0);
      const second = await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
      expect(second.__interrupt__?.[0]?.value).toMatchObject({ type: "mcp_inputs" });
    }
    await using mcp = await withRules();
    const agent = open({ model: createScriptedModel(), mcp, checkpointer });
    const done = await agent.invoke(new Command({ resume: accept("Rome") }), threadConfig("1"));
    expect(getToolMessages(done).map(({ text }) => text)).toEqual([
      'offer for ann: {"action":"accept","content":{"city":"Rome","nights":1}}',
      "looked",
    ]);
    expect(server.executions.filter(({ tool }) => tool === "look")).toHaveLength(1);
    expect(countBookings(server)).toBe(2);
  });
});

// A process takes seconds, so only one integration of each kind is tested.
describe.each(["createAgent with mcpMiddleware", "a StateGraph with McpToolNode"])("in %s", (door) => {
  it("another process sends the response, and no other call runs again", { timeout: 60_000 }, async () => {
    await using server = await startEraServer("modern", { tools: [book, look] });
    using folder = new TemporaryFolder();
    const path = join(folder.path, "checkpoints");
    const lookAt = (place: string) => ({ name: "inn__look", args: { place } });
    const calls = [lookAt("door"), bookFor("ann"), lookAt("roof")];
    {
      await using mcp = await createTools(server);
      const agent = agentIntegrations[door]?.({
        model: createScriptedModel(calls),
        mcp,
        checkpointer: new FileSaver(path),
      });
      const paused = await agent?.invoke(userInput, threadConfig("1"));
      expect(paused?.__interrupt__).toHaveLength(1);
    }
    expect(getExecutions(server)).toEqual([
      'book {"guest":"ann"}',
      'look {"place":"door"}',
      'look {"place":"roof"}',
    ]);
    const servers = { inn: { url: server.url } };
    const resume = { answers: { "call-2": { where: accept("Rome") } } };
    expect(await resumeInOtherProcess({ integration: door, servers, path, resume })).toEqual([
      "looked",
      'offer for ann: {"action":"accept","content":{"city":"Rome","nights":1}}',
      "looked",
    ]);
    // In both processes together: `book` once without and once with the response, `look` once per call.
    expect(getExecutions(server)).toEqual([
      'book {"guest":"ann"}',
      'book {"guest":"ann"}',
      'look {"place":"door"}',
      'look {"place":"roof"}',
    ]);
  });
});

it("a server cannot fill the checkpoint with its requests or its state", async () => {
  const params = { mode: "form", message: "Where?", requestedSchema };
  const large: TestTool = {
    name: "book",
    run: () => ({
      resultType: "input_required",
      inputRequests: { where: { method: "elicitation/create", params } },
      requestState: "x".repeat(1_048_577),
    }),
  };
  await using server = await startEraServer("modern", { tools: [large] });
  await using mcp = await createTools(server);
  const open = agentIntegrations["createAgent with mcpMiddleware"];
  const agent = open?.({
    model: createScriptedModel([bookFor("ann")]),
    mcp,
    checkpointer: new MemorySaver(),
  });
  const result = await agent?.invoke(userInput, threadConfig("1"));
  expect(result?.__interrupt__).toBeUndefined();
  expect(getToolMessages(result ?? { messages: [] })).toMatchObject([
    { status: "error", artifact: { error: { kind: "invalid-response" } } },
  ]);
});
