import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMcpToolsForServer, McpClient, type ToolFilter } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { createToolDisclosure, McpToolNode } from "../../../src/langchain/langgraph.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";
import { createInProcessToolset, invokeTool, startToolset } from "../../fixtures/toolsets.js";

const read: TestTool = { name: "read", run: () => "read ran" };
const wipe: TestTool = { name: "wipe", description: "Deletes everything.", run: () => "wipe ran" };
const tools = [read, wipe];

const admin = { configurable: { role: "admin" } };
const guest = { configurable: { role: "guest" } };
const filter: ToolFilter = ({ mcp }, { config }) =>
  mcp.name === "read" || config.configurable?.["role"] === "admin";

function namesOf(list: readonly { readonly name: string }[]): string[] {
  return list.map(({ name }) => name);
}

describe("a filter that never decides", () => {
  const undecided = { filter: () => new Promise<boolean>(() => undefined) };

  it("does not hold a call or a list after the signal is aborted", async () => {
    await using fixture = await startToolset({ tools, options: undecided });
    const { mcp } = fixture;
    for (const start of [
      (signal: AbortSignal) => mcp.callTool({ name: "read" }, { signal }),
      (signal: AbortSignal) => mcp.callTool({ name: "read" }, { config: { signal } as object }),
      (signal: AbortSignal) => mcp.tryCallTool({ name: "read" }, { signal }),
      (signal: AbortSignal) => mcp.toolsFor({ signal } as object),
    ]) {
      const controller = new AbortController();
      const pending = start(controller.signal);
      controller.abort(new Error("enough"));
      await expect(pending).rejects.toThrow("enough");
    }
  });

  it("does not hold a call after the toolset is closed", async () => {
    await using fixture = await startToolset({ tools, options: undecided });
    const failure = rejection(fixture.mcp.callTool({ name: "read" }));
    await fixture.mcp.close();
    expect((await failure).kind).toBe("closed");
  });
});

describe("a filter by caller", () => {
  it("shows each run its own tools, and leaves the shared list as it is", async () => {
    await using fixture = await startToolset({ tools, options: { filter } });
    const { mcp } = fixture;
    const [forGuest, forAdmin] = await Promise.all([mcp.toolsFor(guest), mcp.toolsFor(admin)]);
    expect(namesOf(forGuest)).toEqual(["srv__read"]);
    expect(namesOf(forAdmin)).toEqual(["srv__read", "srv__wipe"]);
    expect(namesOf(mcp.tools)).toEqual(["srv__read", "srv__wipe"]);
  });

  it("receives the config as a copy, the agent's name and the server", async () => {
    const contexts: unknown[] = [];
    const config = {
      configurable: { role: "guest" },
      metadata: { lc_agent_name: "planner" },
      context: { tenant: 7 },
    };
    await using fixture = await createInProcessToolset({
      tools: [read],
      options: {
        filter: ({ name }, context) => {
          contexts.push({ name, ...context });
          (context.config.configurable as Record<string, unknown>)["role"] = "admin";
          return true;
        },
      },
    });
    await fixture.mcp.toolsFor(config);
    expect(contexts).toMatchObject([
      { name: "srv__read", agent: "planner", server: "srv", config: { context: { tenant: 7 } } },
    ]);
    expect(config.configurable).toEqual({ role: "guest" });
  });

  it("makes a hidden tool unknown to callTool, tryCallTool and callTools, with the same error as one that does not exist", async () => {
    await using fixture = await startToolset({ tools, options: { filter } });
    const { mcp, server } = fixture;
    const call = async (name: string) => {
      const error = await rejection(mcp.callTool({ name }, { config: guest }));
      return JSON.stringify({ ...error.toJSON(), message: error.message }).replaceAll(name, "NAME");
    };
    const hidden = await call("wipe");
    expect(JSON.parse(hidden)).toMatchObject({
      kind: "not-found",
      message: 'This toolset has no tool "NAME"; available tools: srv__read.',
    });
    expect(JSON.parse(hidden)).not.toHaveProperty("server");
    expect(await call("nope")).toBe(hidden);
    expect(await call("srv__wipe")).toBe(hidden);
    expect(await mcp.tryCallTool({ name: "wipe" }, { config: guest })).toMatchObject({
      ok: false,
      server: "",
      error: { kind: "not-found" },
    });
    const outcomes = await mcp.callTools([{ name: "read" }, { name: "wipe" }], { config: guest });
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false]);
    expect((await mcp.callTool({ name: "wipe" }, { config: admin })).text()).toBe("wipe ran");
    expect(server.received("tools/call")).toHaveLength(2);
  });

  it("resolves a name that several servers have by the one that the caller may see", async () => {
    await using fixture = await startToolset({
      tools: [read],
      options: { filter: (_, { server, config }) => config.configurable?.["only"] !== server },
    });
    const { mcp, server } = fixture;
    await mcp.servers.add("other", { url: server.url });
    await expect(mcp.callTool({ name: "read" })).rejects.toThrow("Several servers have a tool");
    const config = { configurable: { only: "srv" } };
    expect(await mcp.tryCallTool({ name: "read" }, { config })).toMatchObject({ ok: true, server: "other" });
  });

  it("denies a direct call of a held tool", async () => {
    await using fixture = await startToolset({ tools, options: { filter } });
    const held = fixture.mcp.tools.find(({ mcp }) => mcp.name === "wipe");
    const message = await invokeTool(held, {}, guest);
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "not-found" } } });
    expect(message.content).not.toContain("Deletes");
    await expect(held?.run({}, guest)).rejects.toMatchObject({ kind: "not-found" });
    await expect(held?.invoke({}, guest)).rejects.toMatchObject({ kind: "not-found" });
    await expect(held?.invoke({})).rejects.toMatchObject({ kind: "not-found" });
    expect(fixture.server.received("tools/call")).toHaveLength(0);
    expect(await held?.invoke({}, admin)).toBe("wipe ran");
  });

  it("applies to the tools of createMcpToolsForServer", async () => {
    await using server = await startMcpTestServer({ tools });
    await using client = new McpClient({ name: "srv", url: server.url });
    const availableTools = [{ name: "wipe", description: "Deletes.", inputSchema: { type: "object" } }];
    const [held] = createMcpToolsForServer({ name: "srv", slug: "srv", availableTools }, { client, filter });
    await expect(held?.invoke({}, guest)).rejects.toMatchObject({ kind: "not-found" });
    expect(await held?.invoke({}, admin)).toBe("wipe ran");
  });

  it.each<[string, ToolFilter, string]>([
    [
      "throws",
      () => {
        throw new Error("no database");
      },
      "filter failed, so the tool is excluded: Error: no database",
    ],
    [
      "rejects",
      async () => {
        throw new Error("no database");
      },
      "filter failed, so the tool is excluded: Error: no database",
    ],
    [
      "returns no boolean",
      () => "yes" as never,
      'filter returned "yes" instead of a boolean, so the tool is excluded.',
    ],
    [
      "returns nothing",
      () => undefined as never,
      "filter returned undefined instead of a boolean, so the tool is excluded.",
    ],
  ])("that %s excludes the tool, and is logged", async (_, broken, warning) => {
    const only: ToolFilter = (candidate, context) =>
      candidate.mcp.name === "read" || broken(candidate, context);
    await using fixture = await createInProcessToolset({ tools, options: { filter: only } });
    expect(namesOf(await fixture.mcp.toolsFor({}))).toEqual(["srv__read"]);
    await expect(fixture.mcp.callTool({ name: "wipe" })).rejects.toMatchObject({ kind: "not-found" });
    expect(fixture.logger.warnings).toContain(`Server "srv", tool "wipe": ${warning}`);
    expect(namesOf(fixture.mcp.tools)).toEqual(["srv__read", "srv__wipe"]);
  });

  it("is rejected when it is not a function", async () => {
    await expect(createInProcessToolset({ tools, options: { filter: ["read"] as never } })).rejects.toThrow(
      "filter",
    );
  });
});

describe.each(Object.entries(agentIntegrations))("a filter in %s", (_, open) => {
  const calls = [
    { name: "srv__wipe", args: {} },
    { name: "srv__read", args: {} },
    { name: "srv__nope", args: {} },
  ];

  it("decides for each run, and treats a hidden tool like one that does not exist", async () => {
    await using fixture = await startToolset({ tools, options: { filter } });
    const { mcp, server } = fixture;
    const run = async (config: object) =>
      getToolMessages(await open({ model: createScriptedModel(calls), mcp }).invoke(userInput, config));
    const forGuest = await run(guest);
    const texts = forGuest.map(({ content, name = "" }) => String(content).replace(name, "NAME"));
    const missing = 'The tool "NAME" does not exist and was not called. Continue without it.';
    expect(texts).toEqual([missing, "read ran", missing]);
    expect(forGuest.map(({ status }) => status)).toEqual(["error", "success", "error"]);
    expect(server.received("tools/call")).toHaveLength(1);
    expect((await run(admin)).map(({ status }) => status)).toEqual(["success", "success", "error"]);
  });

  it("requests no approval for a call of a hidden tool", async () => {
    await using fixture = await startToolset({
      tools,
      rules: { wipe: { requireApproval: true } },
      options: { filter },
    });
    const checkpointer = new MemorySaver();
    const start = (role: object, thread: string) =>
      open({
        model: createScriptedModel([{ name: "srv__wipe", args: {} }]),
        mcp: fixture.mcp,
        checkpointer,
      }).invoke(userInput, { configurable: { ...role, ...threadConfig(thread).configurable } });
    const forGuest = await start({ role: "guest" }, "1");
    expect(forGuest.__interrupt__).toBeUndefined();
    expect(getToolMessages(forGuest)).toMatchObject([{ status: "error" }]);
    expect((await start({ role: "admin" }, "2")).__interrupt__).toHaveLength(1);
  });
});

describe("mcpMiddleware", () => {
  it("binds only the tools that the run may see, by the agent's name", async () => {
    await using fixture = await startToolset({
      tools,
      options: { filter: ({ mcp }, { agent }) => mcp.name === "read" || agent === "janitor" },
    });
    const bind = async (name: string) => {
      const model = createScriptedModel([{ name: "srv__wipe", args: {} }]);
      const bound: string[][] = [];
      const bindTools = model.bindTools.bind(model);
      model.bindTools = (list) => {
        bound.push(namesOf(list as never));
        return bindTools(list);
      };
      const agent = createAgent({
        model,
        name,
        tools: fixture.mcp.tools,
        middleware: [mcpMiddleware(fixture.mcp)],
      });
      const [message] = getToolMessages(await (agent as unknown as Agent).invoke(userInput));
      return { bound: bound[0], status: message?.status };
    };
    expect(await bind("reader")).toEqual({ bound: ["srv__read"], status: "error" });
    expect(await bind("janitor")).toEqual({ bound: ["srv__read", "srv__wipe"], status: "success" });
  });
});

describe("a filter by the state of the graph", () => {
  const byState: ToolFilter = (_, { config }) => config["state"] !== undefined && !isGuest(config["state"]);
  const isGuest = (state: unknown) => Reflect.get(Object(state), "role") === "guest";

  it.each([
    ["guest", [], "error"],
    ["admin", ["srv__read"], "success"],
  ])(
    "decides what the model of an agent with mcpMiddleware sees and runs: %s",
    async (role, names, status) => {
      await using fixture = await startToolset({ tools: [read], options: { filter: byState } });
      const bound: string[][] = [];
      const spy = createMiddleware({
        name: "spy",
        wrapModelCall: (request, handler) => {
          bound.push(namesOf(request.tools as never));
          return handler(request);
        },
      });
      const agent = createAgent({
        model: createScriptedModel([{ name: "srv__read", args: {} }]),
        tools: fixture.mcp.tools,
        middleware: [mcpMiddleware(fixture.mcp), spy],
        stateSchema: z.object({ role: z.string() }),
      });
      const done = (await agent.invoke({ ...userInput, role })) as never;
      expect(bound[0]).toEqual(names);
      expect(getToolMessages(done)).toMatchObject([{ status }]);
    },
  );

  it.each([
    ["guest", []],
    ["admin", ["srv__read"]],
  ])("decides what McpToolNode and createToolDisclosure select: %s", async (role, names) => {
    await using fixture = await startToolset({ tools: [read], options: { filter: byState } });
    const { mcp } = fixture;
    const state = { messages: [], role };
    const selectors = [
      new McpToolNode<typeof state>(mcp),
      new McpToolNode<typeof state>(mcp, { disclosure: "auto" }),
      createToolDisclosure(mcp, "all"),
      createToolDisclosure(mcp, "auto"),
    ];
    const selected = await Promise.all(selectors.map((selector) => selector.selectTools(state)));
    expect(selected.map((list) => namesOf(list as never))).toEqual(selectors.map(() => names));
  });
});

describe("McpToolNode", () => {
  it("runs its other tools, whatever the filter says", async () => {
    await using fixture = await startToolset({ tools, options: { filter: () => false } });
    const other = tool(async () => "other ran", {
      name: "other",
      description: "Other.",
      schema: { type: "object" } as never,
    });
    const node = new McpToolNode(fixture.mcp, { tools: [other] });
    const message = await createScriptedModel([
      { name: "other", args: {} },
      { name: "srv__read", args: {} },
    ]).invoke(userInput.messages);
    const { messages } = (await node.invoke({ messages: [message] })) as never;
    expect(getToolMessages({ messages }).map(({ status }) => status)).toEqual(["success", "error"]);
  });
});
