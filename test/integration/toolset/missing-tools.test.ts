import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  type JsonObject,
  McpClient,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { NO_RETRY, rejection } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const URL = "http://127.0.0.1:9/mcp";

function agent(own: object = {}) {
  return { resources: [{ $resourceType: "mcp", name: "weather", slug: "weather", ...own }] } as never;
}

function dynamic(allowAll: boolean, ...names: string[]) {
  const availableTools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
  return { availableTools, toolsConfiguration: { discoveryMode: { type: "dynamic", allowAll } } };
}

describe("a start without tools", () => {
  it("is an error without servers", async () => {
    for (const starting of [createMcpTools({}), createMcpTools({ mcpServers: {} })])
      expect(await rejection(starting)).toMatchObject({
        kind: "invalid-config",
        message: expect.stringContaining("expected at least one server") as unknown,
      });
  });

  it.each([
    [
      "no resource",
      {},
      'The agent definition has no resource with $resourceType "mcp", so there are no tools.',
    ],
    [
      "a disabled resource",
      agent({ isEnabled: false }),
      "All MCP resources of the agent definition (1) are disabled, so there are no tools.",
    ],
    [
      "a resource without tools",
      agent({ availableTools: [] }),
      'Resource "weather" has no tools: its availableTools are empty.',
    ],
  ])("is warned about for an agent with %s", async (_, definition, warning) => {
    const logger = new RecordingLogger();
    await using mcp = await createMcpToolsFromAgent(definition, {
      servers: { weather: { url: URL } },
      logger,
    });
    expect([mcp.tools, logger.warnings]).toEqual([[], [warning]]);
  });

  it.each([
    [{ availableTools: [] }, 'Resource "weather" has no tools: its availableTools are empty.'],
    [{ isEnabled: false }, 'Resource "weather" is disabled, so it has no tools.'],
  ])("is warned about for one resource: %j", async (own, warning) => {
    await using client = new McpClient({ name: "weather", url: URL });
    const logger = new RecordingLogger();
    const resource = { name: "weather", slug: "weather", ...own };
    expect(createMcpToolsForServer(resource, { client, logger })).toEqual([]);
    expect(logger.warnings).toEqual([warning]);
  });

  it("is warned about for a server that lists none, next to others", async () => {
    await using empty = await startMcpTestServer({ tools: [] });
    await using full = await startMcpTestServer();
    const logger = new RecordingLogger();
    const servers = { empty: { url: empty.url }, full: { url: full.url } };
    await using mcp = await createMcpTools(servers, { logger });
    expect(mcp.tools).toHaveLength(1);
    expect(logger.warnings).toEqual(['Server "empty" lists no tools.']);
  });

  it("is warned about for a lazy server, unless its tools are cached", async () => {
    await using server = await startMcpTestServer();
    await using store = memoryStore();
    const logger = new RecordingLogger();
    const options = { logger, cache: { store } };
    await using mcp = await createMcpTools({ later: { url: server.url, lazy: true } }, options);
    expect(logger.warnings).toEqual([
      expect.stringMatching(/^Server "later" is lazy and its tools are not cached/),
    ]);
    await mcp.servers.waitFor("later");
    expect(mcp.tools).toHaveLength(1);
    await mcp.close();
    await using next = await createMcpTools({ later: { url: server.url, lazy: true } }, options);
    expect([next.tools.length, logger.warnings.length]).toEqual([1, 1]);
  });
});

describe("a tool of an agent's allow-list", () => {
  it("that its server does not list is warned about once, with a similar one", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    const servers = { weather: { url: server.url } };
    const definition = agent(dynamic(false, "echo", "ecko", "forecast"));
    await using mcp = await createMcpToolsFromAgent(definition, { servers, logger });
    await mcp.refresh();
    expect(mcp.tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(logger.warnings).toEqual([
      'Resource "weather": its server does not list the tool "ecko" of availableTools. Did you mean "echo"?',
      'Resource "weather": its server does not list the tool "forecast" of availableTools.',
    ]);
  });

  it("is not one with allowAll", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    const servers = { weather: { url: server.url } };
    await using mcp = await createMcpToolsFromAgent(agent(dynamic(true, "forecast")), { servers, logger });
    expect([mcp.tools.length, logger.warnings]).toEqual([1, []]);
  });
});

describe("a call that names a server", () => {
  it("that is not configured fails with the names of those that are", async () => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools({ alpha: { url: server.url }, beta: { url: server.url } });
    const call = (name: string) =>
      mcp.callTool({ server: name as "alpha", name: "echo", args: { text: "" } });
    expect(await rejection(call("nope"))).toMatchObject({
      kind: "invalid-config",
      server: "nope",
      message: 'Unknown server "nope"; configured servers: "alpha", "beta".',
    });
    expect((await rejection(call("alhpa"))).message).toMatch(/ Did you mean "alpha"\?$/);
    expect(await mcp.tryCallTool({ server: "nope" as "alpha", name: "echo" })).toMatchObject({
      ok: false,
      error: { kind: "invalid-config" },
    });
    expect(await rejection(mcp.callTool({ server: "beta", name: "nope" }))).toMatchObject({
      kind: "not-found",
    });
  });
});

describe("a value that the agent's input does not have", () => {
  const inputSchema = {
    type: "object",
    properties: { key: { type: "string" }, text: { type: "string" } },
    required: ["key"],
  };
  const definition = agent({
    availableTools: [
      {
        name: "echo",
        inputSchema,
        argumentProperties: {
          "$['key']": { variant: "argument", argumentPath: "user.key", isSensitive: true },
          "$['text']": {
            variant: "textBuilder",
            tokens: [
              { type: "simpleText", rawString: "for " },
              { type: "variable", rawString: "input.user.name" },
            ],
          },
        },
      },
    ],
  });
  const missingKey = `key is taken from "user.key" of the agent's input, which has no value.`;

  async function start(url: string, agentInput?: JsonObject) {
    const logger = new RecordingLogger();
    const servers = { weather: { url, ...NO_RETRY } };
    const input = agentInput === undefined ? {} : { agentInput };
    return { logger, mcp: await createMcpToolsFromAgent(definition, { servers, logger, ...input }) };
  }

  it("is named with its path at creation, if the input is known there", async () => {
    const { logger, mcp } = await start(URL, { user: { id: 7 } });
    await using _ = mcp;
    expect(logger.warnings).toEqual([
      `Server "weather", tool "echo": The argument ${missingKey}`,
      `Server "weather", tool "echo": The argument text is taken from "input.user.name" of the agent's input, which has no value.`,
    ]);
    const complete = await start(URL, { user: { key: "k", name: "n" } });
    await using __ = complete.mcp;
    expect(complete.logger.warnings).toEqual([]);
  });

  it("is named by the call that needs it, if each run brings its input", async () => {
    const echo = { name: "echo", inputSchema, run: (args: JsonObject) => JSON.stringify(args) };
    await using server = await startMcpTestServer({ tools: [echo] });
    const { logger, mcp } = await start(server.url);
    await using _ = mcp;
    expect(logger.warnings).toEqual([]);
    const failure = await rejection(mcp.callTool({ name: "echo" }));
    expect(failure).toMatchObject({
      kind: "denied",
      message: expect.stringContaining(missingKey) as unknown,
    });
    const config = { configurable: { agentInput: { user: { key: "k-1", name: "Ada" } } } };
    expect((await mcp.callTool({ name: "echo" }, { config })).text()).toContain('"text":"for Ada"');
  });
});

describe("an argument that an agent injects and the tool does not have", () => {
  it("is warned about, with the name that was probably meant", async () => {
    const definition = agent({
      availableTools: [
        {
          name: "echo",
          inputSchema: { type: "object", properties: { user: { type: "string" } } },
          argumentProperties: { usr: { variant: "static", value: "ann" } },
        },
      ],
    });
    const logger = new RecordingLogger();
    await using _ = await createMcpToolsFromAgent(definition, { servers: { weather: { url: URL } }, logger });
    expect(logger.warnings).toEqual([
      'Server "weather", tool "echo": argumentProperties names "usr", which is not a parameter of the tool (did you mean "user"?).',
    ]);
  });
});
