import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/agent/parse-agent.js";
import { catchConfigError } from "./catch-config-error.js";

const findIssues = (agent: unknown) => catchConfigError(() => parseAgent(agent)).issues;
const mcp = (keys: object) => ({ $resourceType: "mcp", name: "a", ...keys });
const agentWithTool = (tool: unknown) => ({ resources: [mcp({ availableTools: [tool] })] });
const findSchemaIssues = (inputSchema: unknown) => findIssues(agentWithTool({ name: "t", inputSchema }));
const agentWithProperty = (key: string, property: unknown) =>
  agentWithTool({ name: "t", inputSchema: {}, argumentProperties: { [key]: property } });

describe("invalid agents are rejected", () => {
  it.each([
    [null, "null"],
    [undefined, "undefined"],
    [[], "an array"],
    [7, "a number"],
    ["[]", "an array"],
    [new Map(), "an instance of a class"],
    [() => ({}), "a function"],
  ])("%j", (agent, found) => {
    expect(findIssues(agent)).toEqual([{ path: "", message: `expected an object, got ${found}` }]);
  });

  it("invalid JSON is reported without quoting it", () => {
    const error = catchConfigError(() => parseAgent(`{"key":"s3cr3t" oops}`));
    expect(error.message).toMatch(/^The agent definition is not valid:\n {2}is not valid JSON/);
    expect(error.message).not.toContain("s3cr3t");
    expect(error.cause).toBeUndefined();
  });
});

describe("problems of an agent", () => {
  it("are reported together, each with its path", () => {
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
    expect(findIssues(agent)).toEqual([
      { path: "resources[1]", message: "expected an object, got a number" },
      { path: "resources[2].name", message: "expected a non-empty string, got a string" },
      { path: "resources[2].folderPath", message: "expected a string, got a number" },
      { path: "resources[2].isEnabled", message: `expected true or false, got "yes"` },
      {
        path: "resources[2].availableTools[0].inputSchema",
        message: "expected an object, got undefined",
      },
      { path: "resources[2].availableTools[1]", message: "expected an object, got null" },
      { path: "resources[2].availableTools[2].name", message: "expected a string, got undefined" },
      {
        path: "resources[2].availableTools[2].inputSchema.type",
        message: `expected "object", got "string"`,
      },
      {
        path: "resources[2].toolsConfiguration.discoveryMode",
        message: `expected an object, got "cached"`,
      },
      { path: "resources[2].server", message: "expected an object, got a string" },
      { path: "resources[3].name", message: "expected a non-empty string, got undefined" },
    ]);
  });

  it("are all in the message, one per line", () => {
    const error = catchConfigError(() => parseAgent({ resources: [null, mcp({ slug: 7 })] }));
    expect(error.message.split("\n")).toEqual([
      "The agent definition is not valid:",
      "  resources[0]: expected an object, got null",
      "  resources[1].slug: expected a non-empty string, got a number",
    ]);
  });

  it("use the spelling of the input", () => {
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
    expect(findIssues(agent)).toEqual([
      { path: "resources[0].is_enabled", message: "expected true or false, got a number" },
      { path: "resources[0].available_tools[0].input_schema", message: "expected an object, got a number" },
      {
        path: "resources[0].tools_configuration.discovery_mode.type",
        message: `expected one of cached, dynamic, got "live"`,
      },
      { path: "resources[1].dynamic_tools", message: `expected one of none, schema, all, got "some"` },
    ]);
  });

  it.each([{}, "all", 7])("resources cannot be %j", (resources) => {
    expect(findIssues({ resources })[0]).toMatchObject({ path: "resources" });
  });

  it("a sparse array is rejected, whatever its length", () => {
    expect(findIssues({ resources: Array(4_000_000_000) })).toEqual([
      { path: "resources", message: "expected an array, got a sparse array" },
    ]);
  });
});

describe("duplicate names", () => {
  it("slugs of enabled resources must be unique", () => {
    const resources = [mcp({ slug: "x" }), mcp({ slug: "y" }), mcp({ slug: "x" }), mcp({ name: "y" })];
    expect(findIssues({ resources })).toEqual([
      {
        path: "resources[2].slug",
        message: "duplicate slug, also used by resources[0]; each enabled resource needs a unique slug",
      },
      {
        path: "resources[3].name",
        message: "duplicate slug, also used by resources[1]; each enabled resource needs a unique slug",
      },
    ]);
  });

  it("slugs of disabled resources need not be unique", () => {
    const resources = [mcp({}), mcp({ isEnabled: false }), mcp({ isEnabled: false })];
    expect(parseAgent({ resources }).resources).toHaveLength(3);
  });

  it("tools of one resource must be unique", () => {
    const tool = { name: "t", inputSchema: {} };
    expect(findIssues({ resources: [mcp({ availableTools: [tool, tool] })] })).toEqual([
      {
        path: "resources[0].availableTools[1].name",
        message: "duplicate name, also used by resources[0].availableTools[0]; each tool needs a unique name",
      },
    ]);
  });

  it("tools of different resources need not be unique", () => {
    const availableTools = [{ name: "t", inputSchema: {} }];
    const resources = [mcp({ availableTools }), mcp({ name: "b", availableTools })];
    expect(parseAgent({ resources }).resources).toHaveLength(2);
  });
});

describe("values that JSON cannot represent", () => {
  const at = "resources[0].availableTools[0].inputSchema";

  it("are reported wherever they occur in a schema", () => {
    expect(findSchemaIssues({ a: [1, () => 1], b: { c: Number.NaN, d: 1n }, e: new Date(0) })).toEqual([
      { path: `${at}.a[1]`, message: "expected JSON, got a function" },
      { path: `${at}.b.c`, message: "expected JSON, got a number that JSON cannot represent" },
      { path: `${at}.b.d`, message: "expected JSON, got a bigint" },
      { path: `${at}.e`, message: "expected JSON, got an instance of a class" },
    ]);
  });

  it("a cyclic schema is rejected", () => {
    const schema: Record<string, unknown> = {};
    schema["properties"] = { self: schema };
    expect(findSchemaIssues(schema)).toEqual([{ path: `${at}.properties.self`, message: "contains itself" }]);
  });

  it("a schema that is nested too deeply is rejected", () => {
    const text = `${`{"not":`.repeat(100_000)}{}${"}".repeat(100_000)}`;
    expect(findSchemaIssues(JSON.parse(text))).toEqual([
      { path: at, message: "is nested more than 20000 levels deep" },
    ]);
  });

  it("a schema with a throwing getter is rejected", () => {
    const schema = {
      get type(): string {
        throw new TypeError("no");
      },
    };
    expect(findSchemaIssues(schema)).toEqual([{ path: `${at}.type`, message: "cannot be read" }]);
  });
});

describe("argument properties", () => {
  const at = "resources[0].availableTools[0].argumentProperties";

  it.each(["", "$[0]", "$[*].a", "$..a", "$.a[?(@.b)]", "$.a[-1]", "$.a[1:2]", "$['a'", "a b", "$.a[99999]"])(
    "%j is not a supported argument path",
    (key) => {
      expect(findIssues(agentWithProperty(key, { variant: "arrayBuilder" }))).toEqual([
        {
          path: `${at}[${JSON.stringify(key)}]`,
          message:
            "is not a supported argument path; supported: $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
        },
      ]);
    },
  );

  it("the root alone is not a supported argument path", () => {
    expect(findIssues(agentWithProperty("$", { variant: "arrayBuilder" }))).toMatchObject([
      { path: `${at}.$` },
    ]);
  });

  it.each([
    [7, "x", "expected an object, got a number"],
    [{}, "x.variant", "expected one of static, argument, textBuilder, arrayBuilder, dynamic, got undefined"],
    [{ variant: "static" }, "x.value", "expected a value, got undefined"],
    [
      { variant: "static", value: 1, isSensitive: 1 },
      "x.isSensitive",
      "expected true or false, got a number",
    ],
    [{ variant: "argument" }, "x.argumentPath", "expected a string, got undefined"],
    [
      { variant: "argument", argumentPath: "$..x" },
      "x.argumentPath",
      "is not a supported path; supported: $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
    ],
    [{ variant: "textBuilder", tokens: {} }, "x.tokens", "expected an array, got an object"],
    [
      { variant: "textBuilder", tokens: [{ type: "code", rawString: "" }] },
      "x.tokens[0].type",
      `expected one of simpleText, variable, expression, got "code"`,
    ],
    [
      { variant: "textBuilder", tokens: [{ type: "variable" }] },
      "x.tokens[0].rawString",
      "expected a string, got undefined",
    ],
  ])("%j is rejected", (property, path, message) => {
    expect(findIssues(agentWithProperty("x", property))).toEqual([{ path: `${at}.${path}`, message }]);
  });
});
