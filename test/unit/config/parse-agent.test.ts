import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/parse-agent.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const weather = { $resourceType: "mcp", name: "Weather" };
const schema = { type: "object", properties: { city: { type: "string" } } };

/** Parses an agent with one resource. */
function parseResource(resource: object) {
  return parseAgent({ resources: [resource] }).resources[0];
}

/** Parses an agent with one tool that has these argument properties. */
function parseProperties(argumentProperties: object) {
  const tool = { name: "get", inputSchema: {}, argumentProperties };
  const { resources, warnings } = parseAgent({ resources: [{ ...weather, availableTools: [tool] }] });
  return { properties: resources[0]?.availableTools[0]?.argumentProperties, warnings };
}

const cached = (refreshSchemaBeforeCall: boolean) => ({ type: "cached", refreshSchemaBeforeCall });
const dynamic = (allowAll: boolean) => ({ type: "dynamic", allowAll });
const mode = (discoveryMode: unknown) => ({ toolsConfiguration: { discoveryMode } });

describe("an agent", () => {
  it("may be an object", () => {
    expect(parseAgent({ resources: [weather] }).resources.map(({ name }) => name)).toEqual(["Weather"]);
  });

  it("may be a JSON string", () => {
    expect(parseAgent(JSON.stringify({ resources: [weather] })).resources).toHaveLength(1);
  });

  it("may be a JSON string with a byte order mark", () => {
    expect(parseAgent("\uFEFF{}")).toEqual({ resources: [], warnings: [] });
  });

  it.each([{}, { resources: null }, { resources: [] }, { messages: 7, settings: () => 1 }])(
    "without resources is valid",
    (agent) => {
      expect(parseAgent(agent)).toEqual({ resources: [], warnings: [] });
    },
  );

  it("keeps the order of its resources", () => {
    const resources = ["b", "a", "c"].map((name) => ({ $resourceType: "mcp", name }));
    expect(parseAgent({ resources }).resources.map(({ name }) => name)).toEqual(["b", "a", "c"]);
  });
});

describe("resources of another type", () => {
  it.each(["tool", "context", "escalation", "a2a", "something new", ""])("%j are skipped", (kind) => {
    expect(parseAgent({ resources: [{ $resourceType: kind, name: 7 }] })).toEqual({
      resources: [],
      warnings: [],
    });
  });

  it("are not accessed", () => {
    const closed = {
      $resourceType: "tool",
      get name(): string {
        throw new Error("Do not touch.");
      },
    };
    expect(parseAgent({ resources: [closed] }).resources).toEqual([]);
  });

  it("may be between MCP resources", () => {
    const resources = [{ $resourceType: "tool" }, weather, { $resourceType: "context" }];
    expect(parseAgent({ resources }).resources).toHaveLength(1);
  });

  it.each(["mcp", "MCP", "Mcp"])("%s is an MCP resource", (kind) => {
    expect(parseResource({ $resourceType: kind, name: "a" })?.name).toBe("a");
  });

  it("a resource without a type is ignored with a warning", () => {
    expect(parseAgent({ resources: [weather, { name: "a" }] }).warnings).toEqual([
      expect.stringMatching(/^resources\[1\]: .*\$resourceType/),
    ]);
  });
});

describe("an MCP resource", () => {
  it("requires only a name", () => {
    expect(parseResource(weather)).toEqual({
      name: "Weather",
      slug: "Weather",
      isEnabled: true,
      availableTools: [],
      discovery: { type: "cached", refreshSchemaBeforeCall: true },
    });
  });

  it("is parsed with all its properties", () => {
    const resource = {
      ...weather,
      id: "not ours",
      description: "Tells the weather",
      slug: "weather",
      folderPath: "Shared",
      isEnabled: false,
      availableTools: [
        { name: "get", description: "Now", inputSchema: schema, outputSchema: { type: "object" }, cost: 3 },
      ],
      toolsConfiguration: { discoveryMode: { type: "dynamic", allowAll: true } },
      server: { url: "https://x.test/mcp" },
    };
    expect(parseResource(resource)).toEqual({
      name: "Weather",
      description: "Tells the weather",
      slug: "weather",
      folderPath: "Shared",
      isEnabled: false,
      availableTools: [
        {
          name: "get",
          description: "Now",
          inputSchema: schema,
          outputSchema: { type: "object" },
          argumentProperties: {},
        },
      ],
      discovery: { type: "dynamic", allowAll: true },
      server: { url: "https://x.test/mcp" },
    });
  });

  it("may be written in snake case", () => {
    const resource = {
      $resource_type: "mcp",
      name: "Weather",
      folder_path: "Shared",
      is_enabled: false,
      available_tools: [
        {
          name: "get",
          input_schema: schema,
          output_schema: {},
          argument_properties: {
            "$.a": { variant: "argument", argument_path: "x", is_sensitive: true },
            "$.b": { variant: "textBuilder", tokens: [{ type: "simpleText", raw_string: "t" }] },
          },
        },
      ],
      tools_configuration: { discovery_mode: { type: "cached", refresh_schema_before_call: false } },
    };
    expect(parseResource(resource)).toEqual({
      name: "Weather",
      slug: "Weather",
      folderPath: "Shared",
      isEnabled: false,
      availableTools: [
        {
          name: "get",
          inputSchema: schema,
          outputSchema: {},
          argumentProperties: {
            "$.a": { variant: "argument", argumentPath: "x", isSensitive: true },
            "$.b": {
              variant: "textBuilder",
              tokens: [{ type: "simpleText", rawString: "t" }],
              isSensitive: false,
            },
          },
        },
      ],
      discovery: { type: "cached", refreshSchemaBeforeCall: false },
    });
  });

  it.each(["$resourceType", "$resource_type", "resourceType", "resource_type"])(
    "may have its type in %s",
    (key) => {
      expect(parseResource({ [key]: "mcp", name: "a" })?.name).toBe("a");
    },
  );

  it("null counts as missing", () => {
    const resource = {
      ...weather,
      description: null,
      slug: null,
      folderPath: null,
      isEnabled: null,
      availableTools: null,
      toolsConfiguration: null,
      dynamicTools: null,
      server: null,
    };
    expect(parseResource(resource)).toEqual(parseResource(weather));
  });

  it("inherited properties are not read", () => {
    const inherited = Object.assign(Object.create({ description: "inherited" }) as object, weather);
    expect(catchConfigError(() => parseAgent({ resources: [inherited] })).issues).toEqual([
      { path: "resources[0]", message: expect.stringContaining("instance of a class") },
    ]);
  });
});

describe("discovery", () => {
  it.each([
    ["missing", {}, cached(true)],
    ["cached", mode({ type: "cached" }), cached(true)],
    ["cached without a refresh", mode({ type: "Cached", refreshSchemaBeforeCall: false }), cached(false)],
    ["dynamic", mode({ type: "DYNAMIC" }), dynamic(false)],
    ["dynamic with allowAll", mode({ type: "dynamic", allowAll: true }), dynamic(true)],
    ["dynamicTools: none", { dynamicTools: "none" }, cached(false)],
    ["dynamicTools: schema", { dynamicTools: "schema" }, dynamic(false)],
    ["dynamicTools: all", { dynamic_tools: "All" }, dynamic(true)],
    [
      "both, where toolsConfiguration takes precedence",
      { dynamicTools: "all", ...mode({ type: "cached" }) },
      cached(true),
    ],
    ["a configuration without a mode", { dynamicTools: "all", toolsConfiguration: {} }, dynamic(true)],
  ])("%s", (_, keys, expected) => {
    expect(parseResource({ ...weather, ...keys })?.discovery).toEqual(expected);
  });
});

describe("argument properties", () => {
  it.each([
    [
      { variant: "static", value: null },
      { variant: "static", value: null, isSensitive: false },
    ],
    [
      { variant: "Static", value: [1], isSensitive: true },
      { variant: "static", value: [1], isSensitive: true },
    ],
    [
      { variant: "argument", argumentPath: "$['a'].b[0]" },
      { variant: "argument", argumentPath: "$['a'].b[0]", isSensitive: false },
    ],
    [
      { variant: "textBuilder", tokens: [] },
      { variant: "textBuilder", tokens: [], isSensitive: false },
    ],
    [{ variant: "arrayBuilder" }, { variant: "arrayBuilder", isSensitive: false }],
  ])("%j", (input, expected) => {
    expect(parseProperties({ "$['x']": input })).toEqual({
      properties: { "$['x']": expected },
      warnings: [],
    });
  });

  it("an unknown variant is ignored with a warning", () => {
    expect(
      parseProperties({ "$['x']": { variant: "objectBuilder" }, "$['y']": { variant: "arrayBuilder" } }),
    ).toEqual({
      properties: { "$['y']": { variant: "arrayBuilder", isSensitive: false } },
      warnings: [
        `Agent resource "Weather", tool "get", resources[0].availableTools[0].argumentProperties["$['x']"]: ` +
          `unknown variant "objectBuilder"; the argument is left to the model.`,
      ],
    });
  });

  it("the variant dynamic is ignored without a warning", () => {
    expect(parseProperties({ "$['x']": { variant: "dynamic" } })).toEqual({ properties: {}, warnings: [] });
  });

  it("an argument may be called __proto__", () => {
    const { properties } = parseProperties(JSON.parse(`{"__proto__":{"variant":"arrayBuilder"}}`) as object);
    expect(Object.keys(properties ?? {})).toEqual(["__proto__"]);
  });
});

describe("the input", () => {
  it("is copied: later changes do not affect the result", () => {
    const value = { list: [1] };
    const tool = {
      name: "get",
      inputSchema: structuredClone(schema),
      argumentProperties: { "$.x": { variant: "static", value } },
    };
    const server = { headers: { "X-Key": "v" } };
    const resource = { ...weather, availableTools: [tool], server };
    const parsed = parseResource(resource);
    value.list.push(2);
    tool.inputSchema.properties.city.type = "number";
    server.headers["X-Key"] = "w";
    expect(parsed?.availableTools[0]?.inputSchema).toEqual(schema);
    expect(parsed?.availableTools[0]?.argumentProperties["$.x"]).toEqual({
      variant: "static",
      value: { list: [1] },
      isSensitive: false,
    });
    expect(parsed?.server).toEqual({ headers: { "X-Key": "v" } });
  });

  it("an inline server keeps functions and URL objects", () => {
    const url = new URL("https://x.test/mcp");
    const server = { url, classify: cached };
    expect(parseResource({ ...weather, server })?.server).toEqual({ url, classify: cached });
  });

  it("a shared value is copied once", () => {
    let node: object = {};
    for (let level = 0; level < 200; level += 1) node = { a: node, b: node };
    const tool = { name: "get", inputSchema: node };
    expect(parseResource({ ...weather, availableTools: [tool] })?.availableTools).toHaveLength(1);
  });
});
