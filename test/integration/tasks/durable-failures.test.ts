import { text as readBody } from "node:stream/consumers";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools, McpClient } from "../../../src/index.js";
import { HttpListener } from "../../../src/testing/http-listener.js";
import {
  agentIntegrations,
  createScriptedModel,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";

/** A server (2025-11-25) whose tool `work` is answered with any response. */
async function startServer(response: object, otherResponses: Readonly<Record<string, object>> = {}) {
  const calls: unknown[] = [];
  const initialized = {
    protocolVersion: "2025-11-25",
    serverInfo: { name: "raw", version: "1.0.0" },
    capabilities: { tools: {}, tasks: { list: {}, requests: { tools: { call: {} } } } },
  };
  const responses: Readonly<Record<string, object>> = {
    initialize: { result: initialized },
    "tools/list": { result: { tools: [{ name: "work", inputSchema: { type: "object" } }] } },
    "tools/call": response,
    ...otherResponses,
  };
  const listener = new HttpListener(async (request, reply) => {
    const text = await readBody(request);
    const { id, method = "" } = (text === "" ? {} : JSON.parse(text)) as { id?: number; method?: string };
    if (method === "tools/call") calls.push(id);
    if (id === undefined) return void reply.writeHead(request.method === "POST" ? 202 : 405).end();
    const content = responses[method] ?? { result: {} };
    reply
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...content }));
  });
  await listener.start();
  return {
    url: `http://127.0.0.1:${listener.port}/mcp`,
    calls,
    [Symbol.asyncDispose]: () => listener.stop(),
  };
}

describe("a durable call in createAgent that has failed", () => {
  it.each([
    ["with an internal error", { error: { code: -32_603, message: "The printer is on fire." } }, 1],
    ["with an error of the server", { error: { code: -32_000, message: "The printer is on fire." } }, 1],
    ["with an invalid result", { result: { content: "printed" } }, 1],
    ["because the server has rejected its arguments", { error: { code: -32_602, message: "No." } }, 2],
  ])("%s is sent again only if it cannot have run", async (_, response, expected) => {
    await using server = await startServer(response);
    await using mcp = await createMcpTools(
      { test: { url: server.url, tools: { work: { durable: true } } } },
      { onToolError: "throw" },
    );
    const model = createScriptedModel([{ name: "test__work", args: {} }]);
    const open = agentIntegrations["createAgent with mcpMiddleware"];
    const agent = open?.({ model, mcp, checkpointer: new MemorySaver() });
    const run = (input: unknown) => rejection(Promise.resolve(agent?.invoke(input, threadConfig("1"))));
    await run(userInput);
    expect(await run(null)).toMatchObject({ outcomeUnknown: expected === 1 });
    expect(server.calls).toHaveLength(expected);
  });
});

it("an approved call is not sent again if the result of its task cannot be read", async () => {
  const task = { taskId: "1", status: "completed" };
  await using server = await startServer(
    { result: { task } },
    { "tasks/get": { result: task }, "tasks/result": { error: { code: -32_602, message: "No." } } },
  );
  await using mcp = await createMcpTools(
    { test: { url: server.url, tools: { work: { requireApproval: true } } } },
    { onToolError: "throw" },
  );
  const model = createScriptedModel([{ name: "test__work", args: {} }]);
  const open = agentIntegrations["createAgent with mcpMiddleware"];
  const agent = open?.({ model, mcp, checkpointer: new MemorySaver() });
  await agent?.invoke(userInput, threadConfig("1"));
  const failed = rejection(
    Promise.resolve(agent?.invoke(resumeWith({ type: "approve" }), threadConfig("1"))),
  );
  expect(await failed).toMatchObject({ kind: "invalid-request", outcomeUnknown: true });
  await agent?.invoke(null, threadConfig("1"));
  expect(server.calls).toHaveLength(1);
});

describe("a task of a hostile server", () => {
  const create = async (task: object) => {
    await using server = await startServer({ result: { task: { status: "working", taskId: "1", ...task } } });
    await using client = new McpClient({ name: "test", url: server.url });
    return await client.callTool({ name: "work" }, { task: true, input: { task: "check" } });
  };

  it.each([
    ["empty", ""],
    ["longer than 4,096 characters", "x".repeat(4_097)],
  ])("is invalid if its id is %s", async (_, taskId) => {
    expect(await rejection(create({ taskId }))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
    });
  });

  it("has no dates that are other text", async () => {
    const { inputRequired } = await create({
      createdAt: "2026-11-18T10:00:00.000Z",
      lastUpdatedAt: "2026 Bearer of any text",
    });
    expect(inputRequired?.task).toEqual({
      taskId: "1",
      status: "working",
      createdAt: "2026-11-18T10:00:00.000Z",
    });
  });

  it("can be one of 200,000 on a page", async () => {
    const tasks = Array.from({ length: 200_000 }, () => ({ taskId: "1", status: "working" }));
    await using server = await startServer({}, { "tasks/list": { result: { tasks } } });
    await using client = new McpClient({ name: "test", url: server.url });
    expect(await client.listTasks()).toHaveLength(200_000);
  });
});
