/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  type JsonObject,
  type McpToolsOptions,
  type ServerDefinition,
  type ToolRules,
  validateArguments,
} from "../../../src/index.js";
import { McpToolNode } from "../../../src/langchain/langgraph.js";
import type { TestTool } from "../../../src/testing/index.js";
import { rejection, times } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { startToolset } from "../../fixtures/toolsets.js";

function toolWith(inputSchema: JsonObject): TestTool {
  return { name: "t", inputSchema, run: (args) => JSON.stringify(args) };
}

/** As the tools of a Google Calendar server: closed, and with required properties that are only in subschemas. */
const calendar = toolWith({
  type: "object",
  properties: { action: { enum: ["create", "delete"] } },
  required: ["action"],
  additionalProperties: false,
  allOf: [
    {
      if: { properties: { action: { const: "create" } } },
      then: { properties: { title: { type: "string" } }, required: ["title"] },
      else: { properties: { id: { type: "string" } }, required: ["id"] },
    },
  ],
});

const overlapping = toolWith({
  type: "object",
  properties: { amount: { oneOf: [{ type: "number" }, { type: "integer" }] } },
  required: ["amount"],
});

describe("a schema that strict JSON Schema cannot satisfy", () => {
  it.each([[{ action: "create", title: "Lunch" }], [{ action: "delete", id: "7" }]])(
    "with closed objects and properties in subschemas: %j reaches the server",
    async (args) => {
      await using fixture = await startToolset({ tools: [calendar] });
      expect(await fixture.call(args)).toMatchObject({ status: "success", content: JSON.stringify(args) });
    },
  );

  it("still refuses what the model can read", async () => {
    await using fixture = await startToolset({ tools: [calendar] });
    const { content, status } = await fixture.call({ action: "rename", color: "red" });
    expect(status).toBe("error");
    expect(content).toContain('action: expected one of "create", "delete", got "rename"');
    expect(content).toContain("color: is not allowed");
    expect((await fixture.call({ action: "create" })).content).toContain("title: is missing");
    expect(fixture.server.executions).toEqual([]);
  });

  it("with overlapping branches of oneOf: the server decides, and one warning names the constraint", async () => {
    await using fixture = await startToolset({ tools: [overlapping] });
    expect((await fixture.call({ amount: 3 })).content).toBe('{"amount":3}');
    expect((await fixture.call({ amount: 4 })).content).toBe('{"amount":4}');
    expect(fixture.logger.messages).toEqual([
      'Server "srv", tool "t": Arguments that the input schema rejects were sent, because the schema that models see does not show the constraint ("oneOf" at amount). The server decides.',
    ]);
    expect((await fixture.call({ amount: "3" })).status).toBe("error");
  });
});

it("a pattern with nested quantifiers is shown and enforced, without a warning", async () => {
  const pattern = String.raw`^[.\-A-Za-z0-9]+([=!,]{1,2}[./\-A-Za-z0-9]+)+$`;
  await using fixture = await startToolset({
    tools: [toolWith({ type: "object", properties: { selector: { type: "string", pattern } } })],
  });
  expect(fixture.tool.schema).toMatchObject({ properties: { selector: { pattern } } });
  expect((await fixture.call({ selector: "app=web,tier!=db" })).status).toBe("success");
  expect((await fixture.call({ selector: "a=".repeat(5_000) })).content).toContain(
    "expected a string that matches",
  );
  expect(fixture.logger.messages).toEqual([]);
});

describe("inputValidation", () => {
  const counted = toolWith({ type: "object", properties: { count: { type: "integer" } } });

  async function callInvalid(
    options: McpToolsOptions,
    definition: Partial<ServerDefinition> = {},
    rules?: ToolRules,
  ): Promise<{ readonly calls: number; readonly messages: readonly string[] }> {
    await using fixture = await startToolset({
      tools: [counted],
      options,
      definition,
      ...(rules !== undefined && { rules }),
    });
    await fixture.call({ count: "three" });
    return { calls: fixture.server.executions.length, messages: fixture.logger.messages };
  }

  const WARNING =
    'Server "srv", tool "t": The arguments do not match the input schema; the call is sent: count: expected a whole number, got a string ("three")';

  it("is an error by default", async () => {
    expect(await callInvalid({})).toEqual({ calls: 0, messages: [] });
  });

  it.each([
    ["warn", [WARNING]],
    ["off", []],
  ] as const)("%s sends the call", async (inputValidation, messages) => {
    expect(await callInvalid({ inputValidation })).toEqual({ calls: 1, messages });
  });

  it("of a server takes precedence over the toolset's, and that of a rule over both", async () => {
    expect(await callInvalid({ inputValidation: "off" }, { inputValidation: "warn" })).toEqual({
      calls: 1,
      messages: [WARNING],
    });
    expect(await callInvalid({ inputValidation: "off" }, { inputValidation: "error" })).toMatchObject({
      calls: 0,
    });
    expect(await callInvalid({}, { inputValidation: "error" }, { t: { inputValidation: "off" } })).toEqual({
      calls: 1,
      messages: [],
    });
    expect(
      await callInvalid(
        { tools: { "srv__*": { inputValidation: "off" } } },
        {},
        { t: { inputValidation: "error" } },
      ),
    ).toMatchObject({ calls: 0 });
  });

  it("with injected values that do not match does not log them", async () => {
    const rules = { t: { inputValidation: "warn", args: { count: "secret" } } } as const;
    expect(await callInvalid({}, {}, rules)).toEqual({
      calls: 1,
      messages: [expect.stringMatching(/the call is sent: count \(injected\)$/)],
    });
  });

  it.each([
    { options: { inputValidation: "warning" } },
    { definition: { inputValidation: "warning" } },
    { rules: { t: { inputValidation: "warning" } } },
  ])("with another value is rejected: %j", async (setup) => {
    const error = await rejection(startToolset({ tools: [counted], ...(setup as object) }));
    expect(error.kind).toBe("invalid-config");
    expect(error.message).toContain('inputValidation: expected one of "error", "warn", "off", got "warning"');
  });
});

describe("coerceArguments", () => {
  const typed = toolWith({
    type: "object",
    properties: {
      count: { type: "integer" },
      exact: { type: "boolean" },
      filter: { type: "object", properties: { limit: { type: "number" } } },
      ids: { type: "array", items: { type: "integer" } },
      name: { type: "string" },
      either: { anyOf: [{ type: "integer" }, { type: "null" }] },
    },
  });
  const options = { coerceArguments: true };
  const sent = {
    count: "3",
    exact: "True",
    filter: '{"limit":"10"}',
    ids: '["1",2]',
    name: "5",
    either: "4",
  };

  it("is off by default", async () => {
    await using fixture = await startToolset({ tools: [typed] });
    expect((await fixture.call({ count: "3" })).status).toBe("error");
  });

  it("converts strings to the types of the schema, and tells the model", async () => {
    await using fixture = await startToolset({ tools: [typed], options });
    const { content } = await fixture.call(sent);
    expect(fixture.server.executions[0]?.args).toEqual({
      count: 3,
      exact: true,
      filter: { limit: 10 },
      ids: [1, 2],
      name: "5",
      either: 4,
    });
    expect(content).toEqual([
      {
        type: "text",
        text: "Arguments sent as strings were converted: count to a number; exact to true; filter to an object; ids to an array; filter.limit to a number; ids[0] to a number; either to a number.",
      },
      { type: "text", text: expect.stringContaining('"count":3') },
    ]);
    expect((await fixture.call({ count: 3 })).content).toBe('{"count":3}');
  });

  it("does not convert what does not fit, and loses no digits", async () => {
    await using fixture = await startToolset({ tools: [typed], options });
    for (const count of ["three", "1.5", "12345678901234567890", "", '"3"'])
      expect({ count, status: (await fixture.call({ count })).status }).toEqual({
        count,
        status: count === "" ? "success" : "error",
      });
  });

  it("takes time in proportion to the number of strings", async () => {
    await using fixture = await startToolset({ tools: [typed], options });
    const measureMs = async (count: number) => {
      const start = process.cpuUsage();
      await fixture.call({ ids: times(count, String) });
      return process.cpuUsage(start).user;
    };
    const [few, many] = [[] as number[], [] as number[]];
    for (const _ of times(3, String)) {
      few.push(await measureMs(500));
      many.push(await measureMs(16_000));
    }
    expect(fixture.server.executions.at(-1)?.args["ids"]).toEqual(times(16_000, Number));
    // It would be about 1,000 times as long if the array was copied for each of them.
    expect(Math.min(...many) / Math.min(...few)).toBeLessThan(200);
  });

  it("converts before hooks and reviewers see the arguments", async () => {
    const seen: unknown[] = [];
    await using fixture = await startToolset({
      tools: [typed],
      options: {
        ...options,
        beforeToolCall: ({ args }) => void seen.push(args),
        onApproval: ({ args }) => seen.push(args) > 0,
      },
      rules: { t: { requireApproval: ({ exact }) => exact !== false } },
    });
    await fixture.call({ exact: "true" });
    expect(seen).toEqual([{ exact: true }, { exact: true }]);
  });

  it("tells the model in a tool node, too", async () => {
    await using fixture = await startToolset({
      tools: [typed],
      options: { ...options, onApproval: () => true },
      rules: { t: { requireApproval: true } },
    });
    const call = { type: "tool_call" as const, id: "1", name: fixture.tool.name, args: { count: "3" } };
    const node = new McpToolNode(fixture.mcp);
    const result: unknown = await node.invoke({
      messages: [new AIMessage({ content: "", tool_calls: [call] })],
    });
    expect(JSON.stringify(result)).toContain("count to a number");
  });
});

describe("validateArguments", () => {
  it("returns every problem", () => {
    const schema = { type: "object", properties: { days: { type: "number" } }, required: ["city"] };
    expect(validateArguments(schema, { days: "three" })).toEqual([
      { path: "days", message: 'expected a number, got a string ("three")' },
    ]);
    expect(validateArguments({ ...schema, properties: { city: {} } }, {})).toEqual([
      { path: "city", message: "is missing" },
    ]);
    expect(validateArguments(schema, [])).toEqual([
      { path: "", message: "expected an object, got an array" },
    ]);
  });

  it("rejects a schema that is not an object", () => {
    const error = catchConfigError(() => validateArguments("schema" as never, {}));
    expect(error.message).toBe(
      "The schema for validateArguments is not valid:\n  expected an object, got a string",
    );
  });
});

it("arguments that are nested too deeply to be sent are an error that the model can correct", async () => {
  await using toolset = await startToolset({
    tools: [toolWith({ type: "object", properties: { value: {} } })],
  });
  const value: unknown = JSON.parse("[".repeat(20_000) + "]".repeat(20_000));
  const message = await toolset.call({ value });
  expect(message).toMatchObject({ status: "error" });
  expect(message.content).toContain("nested too deeply");
  expect(message.content).toContain("Correct the arguments");
});
