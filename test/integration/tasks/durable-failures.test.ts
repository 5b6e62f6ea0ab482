import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { HttpListener, readBody } from "../../../src/testing/http-listener.js";
import { agentIntegrations, createScriptedModel, threadConfig, userInput } from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";

/** A server (2025-11-25) whose tool `work` is answered with any response. */
async function startServer(response: object) {
  const calls: unknown[] = [];
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-11-25",
      serverInfo: { name: "raw", version: "1.0.0" },
      capabilities: { tools: {} },
    },
    "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
  };
  const listener = new HttpListener(async (request, reply) => {
    const text = await readBody(request);
    const { id, method = "" } = (text === "" ? {} : JSON.parse(text)) as { id?: number; method?: string };
    if (method === "tools/call") calls.push(id);
    if (id === undefined) return void reply.writeHead(request.method === "POST" ? 202 : 405).end();
    const content = method === "tools/call" ? response : { result: results[method] ?? {} };
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
