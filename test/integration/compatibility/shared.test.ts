// Behavior that the test suites of several other MCP clients check.
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import type { TestTool } from "../../../src/testing/index.js";
import { createTestClient, rejection } from "../../fixtures/clients.js";
import { INITIALIZE_RESULT, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

const repeat = (inputSchema: JsonObject): TestTool => ({
  name: "repeat",
  inputSchema,
  run: (args) => JSON.stringify(args),
});
const returning = (result: unknown, tool: Partial<TestTool> = {}): TestTool => ({
  name: "get",
  run: () => result,
  ...tool,
});

describe("a tool can be called although its input schema has", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["no properties", {}, { any: { thing: [1] } }],
    [
      "boolean schemas and several types",
      { properties: { any: true, never: false, maybe: { type: ["string", "null"] } } },
      { any: [1], maybe: null },
    ],
    [
      "references to references in definitions",
      {
        properties: { user: { $ref: "#/definitions/User" } },
        definitions: {
          User: { type: "object", properties: { address: { $ref: "#/definitions/Address" } } },
          Address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
      { user: { address: { city: "Rome" } } },
    ],
    ["a tuple of draft 7", { properties: { pair: { items: [{ type: "string" }, {}] } } }, { pair: ["a", 1] }],
    [
      "a reference to another document",
      { properties: { c: { $ref: "https://example.invalid/c" } } },
      { c: 1 },
    ],
    [
      "required among its properties",
      { properties: { coin: { type: "string" }, required: ["coin"] } },
      { coin: "gold" },
    ],
    ["an unknown type", { properties: { coin: { type: "currency" } } }, { coin: "gold" }],
    ["fractional bounds", { properties: { n: { minimum: 0.5, multipleOf: 0.25 } } }, { n: 0.75 }],
    ["a malformed constraint", { allOf: [{ required: [42] }] }, { coin: "gold" }],
    ["a pattern with needless escapes", { properties: { url: { pattern: "^https\\:" } } }, { url: "https:" }],
  ])("%s", async (_, schema, args) => {
    await using toolset = await startToolset({ tools: [repeat({ type: "object", ...schema })] });
    const message = await toolset.call(args);
    expect(message).toMatchObject({ status: "success", content: JSON.stringify(args) });
  });
});

describe("a result", () => {
  it("without the structured content that its tool declares is shown, with a warning", async () => {
    const outputSchema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
    await using toolset = await startToolset({ tools: [returning('{"sum":2}', { outputSchema })] });
    expect((await toolset.call({})).content).toBe('{"sum":2}');
    expect(toolset.logger.warnings).toEqual([expect.stringContaining("output schema")]);
  });
});

describe("a server", () => {
  it.each([401, 403, 503])("that responds with %i is not tried over SSE", async (status) => {
    await using server = await startRawServer(({ response }) => void response.writeHead(status).end());
    await using client = createTestClient(server);
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({ status });
    expect(server.requests.map(({ httpMethod }) => httpMethod)).toEqual(["POST"]);
  });

  it.each(["2024-11-05", "2025-03-26", "2025-06-18"])("may support only %s", async (protocolVersion) => {
    await using server = await startRawServer(({ method, id, response }) =>
      method === "initialize" ? sendJson(response, id, { ...INITIALIZE_RESULT, protocolVersion }) : false,
    );
    await using client = createTestClient(server);
    expect((await client.callTool({ name: "get" })).text()).toBe("ok");
  });
});
