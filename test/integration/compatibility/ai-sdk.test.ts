// Behavior that the tests of the AI SDK's MCP client check, as far as no other test of this package does.
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { createTestClient, rejection } from "../../fixtures/clients.js";
import { startToolset } from "../../fixtures/toolsets.js";
import { sendError, sendJson, startRawServer } from "../../fixtures/raw-server.js";

describe("a result", () => {
  it.each([[{ a: 1 }], [[1, "two", false]], ["text"], [42], [true]])(
    "with only %j as structured content is shown as JSON",
    async (structuredContent) => {
      const run = () => ({ content: [], structuredContent });
      await using toolset = await startToolset({ tools: [{ name: "get", run }], era: "modern" });
      expect((await toolset.call({})).content).toBe(JSON.stringify(structuredContent));
    },
  );

  it("with only structured content may be an error", async () => {
    const run = () => ({ content: [], structuredContent: { code: "NOT_FOUND" }, isError: true });
    await using toolset = await startToolset({ tools: [{ name: "get", run }] });
    const message = await toolset.call({});
    expect(message.status).toBe("error");
    expect(message.text).toContain("NOT_FOUND");
  });

  it("with content of an unknown type is shown to the model as JSON", async () => {
    const content = [{ type: "custom", data: { a: 1 } }];
    const tools = [{ name: "get", inputSchema: { type: "object" } }];
    await using server = await startRawServer(({ method, id, response }) =>
      method?.startsWith("tools/") === true ? sendJson(response, id, { tools, content }) : false,
    );
    await using mcp = await createMcpTools({ s: { url: server.url } });
    expect(await mcp.tools[0]?.invoke({})).toBe(JSON.stringify(content[0]));
  });
});

describe("a stream of events", () => {
  const answer = (id: number | undefined) =>
    JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } });

  it.each([
    ["a line break", (data: string) => `event: message\ndata: ${data}\n`],
    ["nothing", (data: string) => `data: ${data}`],
    ["comments and carriage returns", (data: string) => `: ping\r\ndata: ${data}\r\n: ping`],
    ["an empty line within the data", (data: string) => `data: ${data.replace("{", "{\ndata: ")}\n\n`],
  ])("may end with %s", async (_, format) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end(format(answer(id)));
    });
    await using client = createTestClient(server);
    expect((await client.callTool({ name: "get" })).text()).toBe("ok");
  });

  it.each([
    ["in the middle of a message", (data: string) => `data: ${data.slice(0, -5)}`],
    ["before a message", () => ": ping\n"],
  ])("that ends %s is a lost connection", async (_, format) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end(format(answer(id)));
    });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
  });
});

describe("a server", () => {
  it("may respond to a notification with a body", async () => {
    await using server = await startRawServer(({ method, id, response }) =>
      method !== undefined && id === undefined ? void response.writeHead(200).end('{"ok":true}') : false,
    );
    await using client = createTestClient(server);
    expect((await client.callTool({ name: "get" })).text()).toBe("ok");
  });

  it("may send data with an error, which is in the cause", async () => {
    const error = { code: -32602, message: "bad", data: { expected: "city" } };
    await using server = await startRawServer((request) =>
      request.method === "tools/call" ? sendError(request, error) : false,
    );
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool({ name: "get" }));
    expect(failure).toMatchObject({ code: -32602, cause: { data: error.data } });
  });
});
