import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/parse-agent.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

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
    expect(findIssues(agent)).toEqual([{ path: "", message: expect.stringContaining(`got ${found}`) }]);
  });

  it("invalid JSON is reported without quoting it", () => {
    const error = catchConfigError(() => parseAgent(`{"key":"s3cr3t" oops}`));
    expect(error.issues).toEqual([
      { path: "", message: expect.stringMatching(/^invalid JSON at position \d/) },
    ]);
    expect(error.message).not.toContain("s3cr3t");
    expect(error.cause).toBeUndefined();
  });
});

describe("mistakes in an agent are explained", () => {
  const PATH_HINT = "; pass the content of the file, not its path";

  it.each(["agent.json", "./agents/weather", "C:\\agents\\weather.json", "/etc/agent", "file:///agent.json"])(
    "the path %j instead of the content",
    (path) => {
      expect(findIssues(path)).toEqual([{ path: "", message: expect.stringContaining(PATH_HINT) }]);
    },
  );

  it.each(['{"a": "b/c.json" oops}', "", "oops", "a/b\nc.json"])("%j is not a path", (text) => {
    expect(findIssues(text)[0]?.message).not.toContain(PATH_HINT);
  });

  it("a misspelled key of a required field", () => {
    const tools = [
      { nme: "t", inputSchema: {} },
      { name: "u", input_shema: {} },
    ];
    const resource = mcp({
      availableTools: tools,
      toolsConfiguration: { discoveryMode: { typ: "cached" } },
    });
    expect(findIssues({ resources: [resource] })).toEqual([
      {
        path: "resources[0].availableTools[0].name",
        message: 'expected a string, got undefined; did you write "nme" instead of "name"?',
      },
      {
        path: "resources[0].availableTools[1].inputSchema",
        message: 'expected an object, got undefined; did you write "input_shema" instead of "inputSchema"?',
      },
      {
        path: "resources[0].toolsConfiguration.discoveryMode.type",
        message: 'expected "cached" or "dynamic", got undefined; did you write "typ" instead of "type"?',
      },
    ]);
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
    expect(findIssues(agent).map(({ path }) => path)).toEqual([
      "resources[1]",
      "resources[2].name",
      "resources[2].folderPath",
      "resources[2].isEnabled",
      "resources[2].availableTools[0].inputSchema",
      "resources[2].availableTools[1]",
      "resources[2].availableTools[2].name",
      "resources[2].availableTools[2].inputSchema.type",
      "resources[2].toolsConfiguration.discoveryMode",
      "resources[2].server",
      "resources[3].name",
    ]);
  });

  it("are all in the message, one per line", () => {
    const error = catchConfigError(() => parseAgent({ resources: [null, mcp({ slug: 7 })] }));
    expect(error.issues).toMatchObject([{ path: "resources[0]" }, { path: "resources[1].slug" }]);
    expect(error.message.split("\n")).toEqual([
      expect.stringContaining("agent"),
      ...error.issues.map(({ path, message }) => `  ${path}: ${message}`),
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
    expect(findIssues(agent).map(({ path }) => path)).toEqual([
      "resources[0].is_enabled",
      "resources[0].available_tools[0].input_schema",
      "resources[0].tools_configuration.discovery_mode.type",
      "resources[1].dynamic_tools",
    ]);
  });

  it.each([{}, "all", 7])("resources cannot be %j", (resources) => {
    expect(findIssues({ resources })[0]).toMatchObject({ path: "resources" });
  });

  it("a sparse array is rejected, whatever its length", () => {
    expect(findIssues({ resources: Array(4_000_000_000) })).toEqual([
      { path: "resources", message: expect.stringContaining("sparse") },
    ]);
  });
});

describe("duplicate names", () => {
  it("slugs of enabled resources must be unique", () => {
    const resources = [mcp({ slug: "x" }), mcp({ slug: "y" }), mcp({ slug: "x" }), mcp({ name: "y" })];
    expect(findIssues({ resources })).toEqual([
      { path: "resources[2].slug", message: expect.stringContaining("resources[0]") },
      { path: "resources[3].name", message: expect.stringContaining("resources[1]") },
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
        message: expect.stringContaining("resources[0].availableTools[0]"),
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
    const message = expect.stringContaining("expected JSON") as string;
    expect(findSchemaIssues({ a: [1, () => 1], b: { c: Number.NaN, d: 1n }, e: new Date(0) })).toEqual([
      { path: `${at}.a[1]`, message },
      { path: `${at}.b.c`, message },
      { path: `${at}.b.d`, message },
      { path: `${at}.e`, message },
    ]);
  });

  it("a cyclic schema is rejected", () => {
    const schema: Record<string, unknown> = {};
    schema["properties"] = { self: schema };
    expect(findSchemaIssues(schema)).toEqual([
      { path: `${at}.properties.self`, message: expect.stringContaining("itself") },
    ]);
  });

  it("a schema that is nested too deeply is rejected", () => {
    const text = `${`{"not":`.repeat(100_000)}{}${"}".repeat(100_000)}`;
    expect(findSchemaIssues(JSON.parse(text))).toEqual([
      { path: at, message: expect.stringContaining("20000 levels") },
    ]);
  });

  it("a schema with a throwing getter is rejected", () => {
    const schema = {
      get type(): string {
        throw new TypeError("no");
      },
    };
    expect(findSchemaIssues(schema)).toEqual([
      { path: `${at}.type`, message: expect.stringContaining("cannot be read") },
    ]);
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
          message: expect.stringContaining("not a supported argument path"),
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
    [{}, "x.variant"],
    [{ variant: "static" }, "x.value"],
    [{ variant: "static", value: 1, isSensitive: 1 }, "x.isSensitive"],
    [{ variant: "textBuilder", tokens: {} }, "x.tokens"],
    [{ variant: "textBuilder", tokens: [{ type: "code", rawString: "" }] }, "x.tokens[0].type"],
    [{ variant: "textBuilder", tokens: [{ type: "variable" }] }, "x.tokens[0].rawString"],
  ])("%j is rejected", (property, path) => {
    expect(findIssues(agentWithProperty("x", property))).toMatchObject([{ path: `${at}.${path}` }]);
  });

  it.each([
    [7, "x", "got a number"],
    [{ variant: "argument" }, "x.argumentPath", "got undefined"],
    [{ variant: "argument", argumentPath: "$..x" }, "x.argumentPath", "not a supported path"],
  ])("%j is rejected: %s %s", (property, path, words) => {
    expect(findIssues(agentWithProperty("x", property))).toEqual([
      { path: `${at}.${path}`, message: expect.stringContaining(words) },
    ]);
  });
});
