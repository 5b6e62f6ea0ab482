import { describe, expect, it } from "vitest";
import { type AgentDefinition, createMcpToolsFromAgent, type JsonObject } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { rejection, times } from "../../fixtures/clients.js";
import { INITIALIZE_RESULT, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const fixed = (value: unknown) => ({ variant: "static", value, isSensitive: false });
const secret = (value: unknown) => ({ variant: "static", value, isSensitive: true });
const text = (tokens: readonly object[]) => ({ variant: "textBuilder", isSensitive: false, tokens });

function createAgent(
  argumentProperties: Readonly<Record<string, JsonObject>>,
  resource: JsonObject = {},
): AgentDefinition {
  const tool = { name: "echo", description: "E", inputSchema: { type: "object" }, argumentProperties };
  return { resources: [{ $resourceType: "mcp", name: "a", availableTools: [tool], ...resource }] };
}

async function startEchoServer() {
  const received: unknown[] = [];
  const server = await startMcpTestServer({
    tools: [
      {
        name: "echo",
        inputSchema: { type: "object" },
        run: (args) => {
          received.push(args);
          return "ok";
        },
      },
    ],
  });
  return { url: server.url, received, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("the argumentProperties of an agent file cannot exhaust the memory in a call:", () => {
  it.each<[string, Readonly<Record<string, JsonObject>>]>([
    ["indexes that wildcards multiply", { "$['a'][999]": fixed(1), "$['a'][*][999]": fixed(1) }],
    ["a long text in every item", { "$['a'][999]": fixed(1), "$['a'][*]['b']": fixed("x".repeat(100_000)) }],
    [
      "a large value in every item",
      { "$['a'][999]": fixed(1), "$['a'][*]['b']": fixed(times(1_000, String)) },
    ],
    [
      "the agent's input, many times",
      { "$['a']": text(times(1_000, () => ({ type: "variable", rawString: "input" }))) },
    ],
    [
      "sensitive values of many paths",
      {
        "$['a'][499]": fixed(1),
        ...Object.fromEntries(times(500, (index) => [`$['a'][*]['k${index}']`, secret("s")])),
      },
    ],
  ])("%s", async (_, argumentProperties) => {
    await using server = await startEchoServer();
    await using toolset = await createMcpToolsFromAgent(createAgent(argumentProperties), {
      servers: { a: { url: server.url } },
      agentInput: { document: "y".repeat(100_000) },
    });
    const failure = await rejection(toolset.callTool({ name: "echo", args: {} }));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "a", tool: "echo" });
    expect(failure.message).toContain("was not sent: its argumentProperties create too many values");
    expect(server.received).toEqual([]);
  });

  it("1,000 entries are applied, and no more are accepted", async () => {
    await using server = await startEchoServer();
    const servers = { a: { url: server.url } };
    const toEntries = (count: number) =>
      Object.fromEntries(times(count, (index) => [`$['k${index}'].b`, secret(index)]));
    await using toolset = await createMcpToolsFromAgent(createAgent(toEntries(1_000)), { servers });
    await toolset.callTool({ name: "echo", args: {} });
    expect(server.received).toEqual([
      Object.fromEntries(times(1_000, (index) => [`k${index}`, { b: index }])),
    ]);

    const failure = await rejection(createMcpToolsFromAgent(createAgent(toEntries(1_001)), { servers }));
    expect(failure.issues).toEqual([
      {
        path: "resources[0].availableTools[0].argumentProperties",
        message: "has 1001 entries; at most 1000 are allowed",
      },
    ]);
  });
});

describe("a schema of a server into which an agent injects arguments does not fail the start:", () => {
  const branch = { type: "object", properties: { b: { type: "number" } } };

  it.each<[string, JsonObject]>([
    ["200,000 subschemas of allOf", { allOf: times(200_000, () => ({ minimum: 1 })) }],
    ["100,000 subschemas of anyOf", { anyOf: times(100_000, () => branch) }],
    ["50,000 subschemas with a reference", { anyOf: times(50_000, () => ({ $ref: "#/properties/c" })) }],
  ])("%s", async (_, a) => {
    const inputSchema = { type: "object", properties: { a, c: branch }, required: ["a", "c"] };
    await using hostile = await startRawServer(({ method, id, response }) => {
      if (method === "initialize") sendJson(response, id, INITIALIZE_RESULT);
      else if (method === "tools/list") sendJson(response, id, { tools: [{ name: "echo", inputSchema }] });
      return method === "initialize" || method === "tools/list" ? undefined : false;
    });
    await using server = await startEchoServer();
    const toolsConfiguration = { discoveryMode: { type: "dynamic", allowAll: true } };
    const { resources } = createAgent({ "$['a'].b": fixed(1) }, { toolsConfiguration });
    const good = { $resourceType: "mcp", name: "good", toolsConfiguration };
    const logger = new RecordingLogger();
    await using toolset = await createMcpToolsFromAgent(
      { resources: [...(resources ?? []), good] },
      {
        servers: { a: { url: hostile.url, optional: true }, good: { url: server.url } },
        naming: { prefix: "server" },
        logger,
      },
    );
    expect(toolset.tools.map(({ name }) => name)).toEqual(["a__echo", "good__echo"]);
    expect(toolset.tools[0]?.schema).toMatchObject({ properties: { c: branch }, required: ["c"] });
    expect(toolset.tools[0]?.schema).not.toHaveProperty("properties.a");
    expect(logger.warnings).toContainEqual(
      expect.stringContaining("Models do not see these parameters at all: a."),
    );
    await expect(toolset.callTool({ name: "good__echo", args: {} })).resolves.toMatchObject({
      isError: false,
    });
  });
});

describe("a tool that cannot be created", () => {
  it("is excluded with an error in the log; the other tools of all servers are used", async () => {
    await using server = await startEchoServer();
    // Together longer than a string can be.
    const rawString = "x".repeat(1_000_000);
    const tooLong = text(times(600, () => ({ type: "simpleText", rawString })));
    const { resources } = createAgent({});
    const [resource] = resources ?? [];
    const [tool] = resource?.availableTools ?? [];
    const broken = { ...tool, name: "broken", argumentProperties: { "$['a']": tooLong } };
    const logger = new RecordingLogger();
    await using toolset = await createMcpToolsFromAgent(
      {
        resources: [
          { ...resource, availableTools: [broken, tool] },
          { ...resource, name: "good" },
        ],
      } as AgentDefinition,
      {
        servers: { a: { url: server.url }, good: { url: server.url } },
        naming: { prefix: "server" },
        logger,
      },
    );
    expect(toolset.tools.map(({ name }) => name)).toEqual(["a__echo", "good__echo"]);
    expect(logger.lines.filter((line) => line.startsWith("error:"))).toEqual([
      'error: Server "a", tool "broken": It is excluded because it could not be created: Invalid string length',
    ]);
  });

  it("because of a mistake in the agent definition fails the start", async () => {
    const agent = createAgent({ "$['a']": fixed(1), "$.a": fixed(2) });
    const failure = await rejection(
      createMcpToolsFromAgent(agent, { servers: { a: { url: "http://127.0.0.1:1/mcp" } } }),
    );
    expect(failure).toMatchObject({
      kind: "invalid-config",
      issues: [{ path: `argumentProperties["$.a"]` }],
    });
  });
});

it("an agent definition with the address of a server of 200,000 parameters does not overflow the stack", async () => {
  await using server = await startEchoServer();
  const names = times(200_000, (index) => index.toString(36)).join("&");
  const resource = { server: { url: `${server.url}?${names}` } };
  await using toolset = await createMcpToolsFromAgent(createAgent({}, resource), {
    allowInlineServers: "remote",
  });
  expect(toolset.tools.map(({ name }) => name)).toEqual(["echo"]);
  await expect(toolset.callTool({ name: "echo", args: {} })).rejects.toMatchObject({
    name: "McpRuntimeError",
  });
});
