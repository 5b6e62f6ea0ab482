import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/parse-agent.js";
import { definitionErrorOf } from "./config-error-of.js";

const issuesOf = (agent: unknown) => definitionErrorOf(() => parseAgent(agent)).issues;
const mcp = (keys: object) => ({ $resourceType: "mcp", name: "a", ...keys });
const agentWithTool = (tool: unknown) => ({ resources: [mcp({ availableTools: [tool] })] });
const issuesInSchema = (inputSchema: unknown) => issuesOf(agentWithTool({ name: "t", inputSchema }));
const agentWithProperty = (key: string, property: unknown) =>
  agentWithTool({ name: "t", inputSchema: {}, argumentProperties: { [key]: property } });

describe("what is no agent", () => {
  it.each([
    [null, "null"],
    [undefined, "nothing"],
    [[], "a list"],
    [7, "a number"],
    ["[]", "a list"],
    [new Map(), "an instance of a class"],
    [() => ({}), "a function"],
  ])("%j", (agent, found) => {
    expect(issuesOf(agent)).toEqual([{ path: "", message: `expected an object, found ${found}` }]);
  });

  it("broken JSON is told by its place, and never quoted", () => {
    const error = definitionErrorOf(() => parseAgent(`{"key":"s3cr3t" oops}`));
    expect(error.message).toMatch(/^The agent definition is not valid:\n {2}is no JSON/);
    expect(error.message).not.toContain("s3cr3t");
    expect(error.cause).toBeUndefined();
  });
});

describe("problems", () => {
  it("come together, each with its path", () => {
    const agent = {
      resources: [
        { $resourceType: "tool", name: 1 },
        7,
        {
          $resourceType: "mcp",
          name: " ",
          isEnabled: "yes",
          folderPath: 7,
          availableTools: [{ name: "t" }, null, { inputSchema: { type: "string" } }],
          toolsConfiguration: { discoveryMode: "cached" },
          server: "https://x.test",
        },
        { $resourceType: "mcp" },
      ],
    };
    expect(issuesOf(agent)).toEqual([
      { path: "resources[1]", message: "expected an object, found a number" },
      { path: "resources[2].name", message: "expected a text that is not empty, found another text" },
      { path: "resources[2].folderPath", message: "expected a text, found a number" },
      { path: "resources[2].isEnabled", message: `expected true or false, found "yes"` },
      {
        path: "resources[2].availableTools[0].inputSchema",
        message: "expected an object, found nothing",
      },
      { path: "resources[2].availableTools[1]", message: "expected an object, found null" },
      { path: "resources[2].availableTools[2].name", message: "expected a text, found nothing" },
      {
        path: "resources[2].availableTools[2].inputSchema.type",
        message: `expected "object", found "string"`,
      },
      {
        path: "resources[2].toolsConfiguration.discoveryMode",
        message: `expected an object, found "cached"`,
      },
      { path: "resources[2].server", message: "expected an object, found another text" },
      { path: "resources[3].name", message: "expected a text that is not empty, found nothing" },
    ]);
  });

  it("are all told in the message, a line each", () => {
    const error = definitionErrorOf(() => parseAgent({ resources: [null, mcp({ slug: 7 })] }));
    expect(error.message.split("\n")).toEqual([
      "The agent definition is not valid:",
      "  resources[0]: expected an object, found null",
      "  resources[1].slug: expected a text that is not empty, found a number",
    ]);
  });

  it("are told by the names that were written", () => {
    const agent = {
      resources: [
        mcp({
          is_enabled: 1,
          available_tools: [{ name: "t", input_schema: 7 }],
          tools_configuration: { discovery_mode: { type: "live" } },
        }),
        mcp({ name: "b", dynamic_tools: "some" }),
      ],
    };
    expect(issuesOf(agent)).toEqual([
      { path: "resources[0].is_enabled", message: "expected true or false, found a number" },
      { path: "resources[0].available_tools[0].input_schema", message: "expected an object, found a number" },
      {
        path: "resources[0].tools_configuration.discovery_mode.type",
        message: `expected one of cached, dynamic, found "live"`,
      },
      { path: "resources[1].dynamic_tools", message: `expected one of none, schema, all, found "some"` },
    ]);
  });

  it.each([{}, "all", 7])("resources that are %j", (resources) => {
    expect(issuesOf({ resources })[0]).toMatchObject({ path: "resources" });
  });

  it("a list with gaps, however long", () => {
    expect(issuesOf({ resources: Array(4_000_000_000) })).toEqual([
      { path: "resources", message: "expected a list, found a list with gaps" },
    ]);
  });
});

describe("names that must differ", () => {
  it("slugs of enabled resources", () => {
    const resources = [mcp({ slug: "x" }), mcp({ slug: "y" }), mcp({ slug: "x" }), mcp({ name: "y" })];
    expect(issuesOf({ resources })).toEqual([
      {
        path: "resources[2].slug",
        message: "is also the slug of resources[0]; every enabled resource needs one of its own",
      },
      {
        path: "resources[3].name",
        message: "is also the slug of resources[1]; every enabled resource needs one of its own",
      },
    ]);
  });

  it("but not those of disabled ones", () => {
    const resources = [mcp({}), mcp({ isEnabled: false }), mcp({ isEnabled: false })];
    expect(parseAgent({ resources }).resources).toHaveLength(3);
  });

  it("tools of one resource", () => {
    const tool = { name: "t", inputSchema: {} };
    expect(issuesOf({ resources: [mcp({ availableTools: [tool, tool] })] })).toEqual([
      {
        path: "resources[0].availableTools[1].name",
        message: "is also the name of resources[0].availableTools[0]; every tool needs one of its own",
      },
    ]);
  });

  it("but not those of two resources", () => {
    const availableTools = [{ name: "t", inputSchema: {} }];
    const resources = [mcp({ availableTools }), mcp({ name: "b", availableTools })];
    expect(parseAgent({ resources }).resources).toHaveLength(2);
  });
});

describe("what is no JSON", () => {
  const at = "resources[0].availableTools[0].inputSchema";

  it("is found wherever it stands in a schema", () => {
    expect(issuesInSchema({ a: [1, () => 1], b: { c: Number.NaN, d: 1n }, e: new Date(0) })).toEqual([
      { path: `${at}.a[1]`, message: "expected JSON, found a function" },
      { path: `${at}.b.c`, message: "expected JSON, found a number that JSON does not have" },
      { path: `${at}.b.d`, message: "expected JSON, found a bigint" },
      { path: `${at}.e`, message: "expected JSON, found an instance of a class" },
    ]);
  });

  it("a schema that contains itself", () => {
    const schema: Record<string, unknown> = {};
    schema["properties"] = { self: schema };
    expect(issuesInSchema(schema)).toEqual([{ path: `${at}.properties.self`, message: "contains itself" }]);
  });

  it("a schema that is nested too deeply", () => {
    const text = `${`{"not":`.repeat(100_000)}{}${"}".repeat(100_000)}`;
    expect(issuesInSchema(JSON.parse(text))).toEqual([
      { path: at, message: "is nested more than 20000 levels deep" },
    ]);
  });

  it("a schema whose getter throws", () => {
    const schema = {
      get type(): string {
        throw new TypeError("no");
      },
    };
    expect(issuesInSchema(schema)).toEqual([{ path: `${at}.type`, message: "cannot be read" }]);
  });
});

describe("argument properties", () => {
  const at = "resources[0].availableTools[0].argumentProperties";

  it.each(["", "$[0]", "$[*].a", "$..a", "$.a[?(@.b)]", "$.a[-1]", "$.a[1:2]", "$['a'", "a b", "$.a[99999]"])(
    "%j is no path to an argument",
    (key) => {
      expect(issuesOf(agentWithProperty(key, { variant: "arrayBuilder" }))).toEqual([
        {
          path: `${at}[${JSON.stringify(key)}]`,
          message:
            "is no path to an argument; allowed are $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
        },
      ]);
    },
  );

  it("neither is the root alone", () => {
    expect(issuesOf(agentWithProperty("$", { variant: "arrayBuilder" }))).toMatchObject([
      { path: `${at}.$` },
    ]);
  });

  it.each([
    [7, "x", "expected an object, found a number"],
    [{}, "x.variant", "expected one of static, argument, textBuilder, arrayBuilder, dynamic, found nothing"],
    [{ variant: "static" }, "x.value", "expected a value, found nothing"],
    [
      { variant: "static", value: 1, isSensitive: 1 },
      "x.isSensitive",
      "expected true or false, found a number",
    ],
    [{ variant: "argument" }, "x.argumentPath", "expected a text, found nothing"],
    [
      { variant: "argument", argumentPath: "$..x" },
      "x.argumentPath",
      "is no path that can be read; allowed are $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
    ],
    [{ variant: "textBuilder", tokens: {} }, "x.tokens", "expected a list, found an object"],
    [
      { variant: "textBuilder", tokens: [{ type: "code", rawString: "" }] },
      "x.tokens[0].type",
      `expected one of simpleText, variable, expression, found "code"`,
    ],
    [
      { variant: "textBuilder", tokens: [{ type: "variable" }] },
      "x.tokens[0].rawString",
      "expected a text, found nothing",
    ],
  ])("%j", (property, path, message) => {
    expect(issuesOf(agentWithProperty("x", property))).toEqual([{ path: `${at}.${path}`, message }]);
  });
});
