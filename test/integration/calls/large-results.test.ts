import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  type McpTool,
  type McpToolset,
  type McpToolsOptions,
  type ToolArtifact,
} from "../../../src/index.js";
import { createToolDisclosure } from "../../../src/langchain/langgraph.js";
import { fileStore, type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { createTestClient, deferred, rejection, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import type { KeptResultRequest } from "../../fixtures/read-kept-result.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";
import { invokeTool } from "../../fixtures/toolsets.js";

/** 12,000 lines, 204,897 characters. */
const LOG = times(12_000, (n) => `${n + 1} ${n === 7_776 ? "ERROR disk full" : "all is well"}`).join("\n");
const ORDERS = { orders: times(15_000, (id) => ({ id, city: id === 12_345 ? "Oslo" : "Rome" })) };

const tools: TestTool[] = [
  { name: "log", run: () => LOG },
  { name: "orders", run: () => JSON.stringify(ORDERS) },
  { name: "short", run: () => "short" },
];

async function startKeeping(options: McpToolsOptions = {}, moreTools: readonly TestTool[] = []) {
  const server = await startEraServer("legacy", { tools: [...tools, ...moreTools] });
  const logger = new RecordingLogger();
  const mcp = await createMcpTools(
    { docs: { url: server.url } },
    { largeResults: "keep", logger, ...options },
  );
  return {
    server,
    mcp,
    logger,
    call: (name: string, args: object = {}, config: object = {}) =>
      invokeTool(findTool(mcp.tools, name), args, config),
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await server.close();
    },
  };
}

function findTool(mcpTools: readonly McpTool[], name: string): McpTool | undefined {
  return mcpTools.find((tool) => tool.name === name);
}

function getHandle(text: string): string {
  const [, handle = ""] = /handle "([0-9a-f]{32})"/.exec(text) ?? [];
  expect(handle).not.toBe("");
  return handle;
}

const textOf = (messages: readonly BaseMessage[]) => messages.at(-1)?.text ?? "";

/** Calls `docs__log`, then searches what is omitted, then reads around what it has found. */
function createReadingModel() {
  let handle = "";
  let id = 0;
  const call = (args: object) =>
    new AIMessage({
      content: "",
      tool_calls: [
        { type: "tool_call", id: `r${(id += 1)}`, name: "read_result", args: { handle, ...args } },
      ],
    });
  return fakeModel()
    .respondWithTools([{ name: "docs__log", args: {}, id: "1" }])
    .respond((messages) => {
      handle = getHandle(textOf(messages));
      return call({ grep: "ERROR|FATAL" });
    })
    .respond(() => call({ from: 7_776, to: 7_778 }))
    .respond(new AIMessage("The disk was full."));
}

const AGENTS: typeof agentIntegrations = {
  ...agentIntegrations,
  "createAgent with plain tools": ({ model, mcp, ...options }) =>
    createAgent({ model, tools: mcp.tools, ...options }) as unknown as Agent,
  "createReactAgent with plain tools": ({ model: llm, mcp, ...options }) =>
    createReactAgent({ llm, tools: mcp.tools, ...options }) as unknown as Agent,
};

describe("a model reads a large result to its end", () => {
  it.each(
    Object.entries(AGENTS).flatMap(([name, create]) => ERAS.map((era) => [name, era, create] as const)),
  )("with %s (%s)", async (_, era, create) => {
    await using server = await startEraServer(era, { tools });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { largeResults: "keep" });
    const agent = create({ model: createReadingModel(), mcp, checkpointer: new MemorySaver() });
    const result = await agent.invoke(userInput, threadConfig("1"));
    const [log, found, lines] = getToolMessages(result);
    expect(log?.text).toMatch(
      /^1 all is well\n2 all is well\n[^]*\n\[…\]\n[^]*\n12000 all is well\n\n\[This result has /,
    );
    expect(log?.text.length).toBeLessThan(4_500);
    expect((log?.artifact as ToolArtifact | undefined)?.content).toEqual([{ type: "text", text: LOG }]);
    expect(found?.text).toBe("[1 of 1 matching lines]\n7777: 7777 ERROR disk full");
    expect(lines?.text).toBe(
      "[Lines 7776 to 7778 of 12000]\n7776 all is well\n7777 ERROR disk full\n7778 all is well",
    );
    expect(result.messages.at(-1)?.text).toBe("The disk was full.");
    expect(server.executions.map(({ tool }) => tool)).toEqual(["log"]);
  });

  it("in parts that fit, until there are no more", async () => {
    await using toolset = await startKeeping({ largeResults: { readChars: 50_000 } });
    const handle = getHandle((await toolset.call("docs__log")).text);
    const lines: string[] = [];
    for (let from = "1"; from !== "";) {
      const { text } = await toolset.call("read_result", { handle, from: Number(from) });
      expect(text.length).toBeLessThan(50_200);
      const [, ...shown] = text.split("\n");
      from = /^\[… continue with from: (\d+)\]$/.exec(shown.at(-1) ?? "")?.[1] ?? "";
      lines.push(...(from === "" ? shown : shown.slice(0, -1)));
    }
    expect(lines.join("\n")).toBe(LOG);
  });

  it("that is one line of JSON, by path and by pattern", async () => {
    await using toolset = await startKeeping({ limits: { contentChars: 10_000 } });
    const { text } = await toolset.call("docs__orders");
    const handle = getHandle(text);
    const read = async (args: object) => (await toolset.call("read_result", { handle, ...args })).text;
    expect(await read({ jsonPath: "$.orders[12345]" })).toBe('{"id":12345,"city":"Oslo"}');
    expect(await read({ jsonPath: "orders[12345].city" })).toBe('"Oslo"');
    expect(await read({ jsonPath: "$.orders[*].city" })).toMatch(
      /^\[\d+ of 15000 values\. .*\]\n"Rome"\n"Rome"/,
    );
    expect(await read({ jsonPath: "$.orders" })).toMatch(
      /It is an array of 15000 items: use a longer path\]$/,
    );
    expect(await read({ grep: '"id":12345,"city":"Oslo"' })).toMatch(/^\[1 of 1 matching lines\]\n\d+: /);
    expect(await read({})).toMatch(/^\[Lines 1 to 10 of \d+\]\n\{"orders":\[/);
    expect(await read({ jsonPath: "$.orders[20000].city" })).toContain(
      "$['orders'] is an array of 15000 items",
    );
    expect(await read({ jsonPath: "$.order" })).toContain("$ is an object with the keys orders");
  });

  it("of a resource", async () => {
    const resources = [{ uri: "file:///log", name: "log", read: () => LOG }];
    await using server = await startEraServer("legacy", { resources });
    await using mcp = await createMcpTools(
      { docs: { url: server.url } },
      { largeResults: "keep", resourceTools: true },
    );
    const kept = await invokeTool(findTool(mcp.tools, "docs__read_resource"), { uri: "file:///log" });
    const args = { handle: getHandle(kept.text), from: 12_000 };
    expect((await invokeTool(findTool(mcp.tools, "read_result"), args)).text).toBe(
      "[Lines 12000 to 12000 of 12000]\n12000 all is well",
    );
  });

  it("that is an error", async () => {
    const fail: TestTool = {
      name: "fail",
      run: () => ({ content: [{ type: "text", text: LOG }], isError: true }),
    };
    await using toolset = await startKeeping({}, [fail]);
    const failed = await toolset.call("docs__fail");
    expect(failed.status).toBe("error");
    const { text } = await toolset.call("read_result", { handle: getHandle(failed.text), grep: "ERROR" });
    expect(text).toContain("7777 ERROR disk full");
  });

  it("with the tools of createMcpToolsForServer and createMcpToolsFromAgent", async () => {
    await using server = await startEraServer("legacy", { tools });
    const resource = {
      name: "docs",
      slug: "docs",
      availableTools: [{ name: "log", description: "", inputSchema: { type: "object" } }],
    };
    await using client = createTestClient(server, { name: "docs" });
    const agent = { resources: [{ $resourceType: "mcp", ...resource }] };
    await using mcp = await createMcpToolsFromAgent(agent as never, {
      servers: { docs: { url: server.url } },
      largeResults: "keep",
    });
    for (const all of [mcp.tools, createMcpToolsForServer(resource, { client, largeResults: "keep" })]) {
      expect(all.map(({ name }) => name).toSorted()).toEqual(["log", "read_result"]);
      const handle = getHandle((await invokeTool(findTool(all, "log"))).text);
      const { text } = await invokeTool(findTool(all, "read_result"), { handle, grep: "ERROR" });
      expect(text).toContain("7777 ERROR disk full");
    }
  });
});

describe("a handle", () => {
  const UNKNOWN =
    'Tool "read_result" failed: handle: there is no such result in this conversation, or it has expired. Call the tool again that returned it.\nCorrect the arguments and call the tool again.';

  const callAs = (user: string, thread_id?: string) => ({ configurable: { user, thread_id } });

  async function startForUsers(store?: KeyValueStore) {
    const server = await startEraServer("legacy", { tools });
    const identity = ({ configurable }: { configurable: Record<string, unknown> }) =>
      String(configurable["user"] ?? "service");
    const createToolset = (url = server.url, headers: Record<string, string> = {}) =>
      createMcpTools(
        { docs: { url, headers, identity } },
        { largeResults: store === undefined ? "keep" : { store }, live: false },
      );
    return { server, createToolset, [Symbol.asyncDispose]: () => server.close() };
  }

  const read = async (mcp: McpToolset, handle: string, config: object) => {
    const reader = findTool(await mcp.toolsFor(config as never), "read_result");
    return invokeTool(reader, { handle, from: 1, to: 1 }, config);
  };

  it("of another user or thread gets the same answer as an unknown one", async () => {
    await using setup = await startForUsers();
    await using mcp = await setup.createToolset();
    const config = callAs("ann", "1");
    const log = findTool(await mcp.toolsFor(config), "docs__log");
    const handle = getHandle((await invokeTool(log, {}, config)).text);
    expect((await read(mcp, handle, config)).text).toBe("[Lines 1 to 1 of 12000]\n1 all is well");
    const otherConfigs = [callAs("bob", "1"), callAs("ann", "2"), callAs("ann"), callAs("", "1"), {}];
    for (const [index, otherConfig] of otherConfigs.entries()) {
      const message = await invokeTool(findTool(mcp.tools, "read_result"), { handle }, otherConfig);
      expect([index, message.status, message.text]).toEqual([index, "error", UNKNOWN]);
    }
    expect((await read(mcp, "0".repeat(32), config)).text).toBe(UNKNOWN);
    expect((await read(mcp, handle, config)).status).not.toBe("error");
  });

  it("cannot be read by a model of another user through an agent", async () => {
    await using setup = await startForUsers();
    await using mcp = await setup.createToolset();
    const log = findTool(await mcp.toolsFor(callAs("ann", "1")), "docs__log");
    const handle = getHandle((await invokeTool(log, {}, callAs("ann", "1"))).text);
    for (const [name, create] of Object.entries(AGENTS)) {
      const model = fakeModel()
        .respondWithTools([{ name: "read_result", args: { handle, grep: "." } }])
        .respond(new AIMessage("done"));
      const result = await create({ model, mcp }).invoke(userInput, callAs("bob", "1"));
      expect([name, ...getToolMessages(result).map(({ text }) => text)]).toEqual([name, UNKNOWN]);
    }
  });

  it("of a server with other credentials is unknown, in a store that both use", async () => {
    await using store = memoryStore();
    await using setup = await startForUsers(store);
    await using mcp = await setup.createToolset();
    await using same = await setup.createToolset();
    await using other = await setup.createToolset(setup.server.url, { authorization: "Bearer other" });
    const config = callAs("ann", "1");
    const log = findTool(await mcp.toolsFor(config), "docs__log");
    const handle = getHandle((await invokeTool(log, {}, config)).text);
    expect((await read(same, handle, config)).text).toBe("[Lines 1 to 1 of 12000]\n1 all is well");
    expect((await read(other, handle, config)).text).toBe(UNKNOWN);
  });

  it("expires", async () => {
    let now = Date.now();
    await using store = memoryStore({ now: () => now });
    await using toolset = await startKeeping({ largeResults: { store, ttlMs: 60_000 } });
    const handle = getHandle((await toolset.call("docs__log")).text);
    now += 59_999;
    expect((await toolset.call("read_result", { handle, to: 1 })).text).toContain("1 all is well");
    now += 1;
    expect((await toolset.call("read_result", { handle, to: 1 })).text).toBe(UNKNOWN);
  });

  it("is not a key of the store", async () => {
    await using store = memoryStore();
    await using toolset = await startKeeping({ largeResults: { store } });
    const handle = getHandle((await toolset.call("docs__log")).text);
    const [key, ...others] = await store.list("");
    expect(others).toEqual([]);
    expect(key).not.toContain(handle);
  });

  it("is removed when more results are kept than the limits allow", async () => {
    await using byCount = await startKeeping({ largeResults: { maxResults: 2 } });
    const handles: string[] = [];
    for (const name of ["docs__log", "docs__orders", "docs__log"])
      handles.push(getHandle((await byCount.call(name)).text));
    const states: (string | undefined)[] = [];
    for (const handle of handles) states.push((await byCount.call("read_result", { handle, to: 1 })).status);
    expect(states).toEqual(["error", "success", "success"]);
    await using bySize = await startKeeping({ largeResults: { maxTotalBytes: 100_000 } });
    const { text } = await bySize.call("docs__log");
    expect(text).toMatch(/\[… 104,897 of 204,897 characters omitted\]$/);
    expect(bySize.logger.warnings).toEqual([
      expect.stringContaining("A large result could not be kept and was truncated"),
    ]);
  });
});

describe("a kept result in a store", () => {
  it(
    "is read by another process, after the server and the toolset were closed",
    { timeout: 60_000 },
    async () => {
      using folder = new TemporaryFolder();
      await using server = await startEraServer("legacy", { tools });
      const { url } = server;
      const config = threadConfig("1");
      let handle = "";
      {
        await using store = fileStore(folder.path);
        await using mcp = await createMcpTools({ docs: { url } }, { largeResults: { store } });
        handle = getHandle((await invokeTool(findTool(mcp.tools, "docs__log"), {}, config)).text);
      }
      const { execArgv, path } = getChildScript("test/fixtures/read-kept-result");
      const readInOtherProcess = async (request: Omit<KeptResultRequest, "url" | "folder">) => {
        const input: KeptResultRequest = { url, folder: folder.path, ...request };
        const args = [...execArgv, path, JSON.stringify(input)];
        return (await promisify(execFile)(process.execPath, args, { timeout: 50_000 })).stdout;
      };
      const args = { handle, grep: "ERROR" };
      expect(await readInOtherProcess({ args, config })).toBe(
        "[1 of 1 matching lines]\n7777: 7777 ERROR disk full\n",
      );
      expect(await readInOtherProcess({ args, config: threadConfig("2") })).toContain(
        "there is no such result",
      );
      expect(server.executions).toHaveLength(1);
    },
  );

  it("that fails is truncated, with a warning", async () => {
    const store = {
      ...memoryStore(),
      get: async () => undefined,
      set: () => Promise.reject(new Error("disk full")),
    };
    await using toolset = await startKeeping({ largeResults: { store: store as never } });
    const { text } = await toolset.call("docs__log");
    expect(text).toMatch(/characters omitted\]$/);
    expect(toolset.logger.warnings.join()).toContain("could not be kept and was truncated");
  });
});

describe("read_result", () => {
  it("is a tool of the toolset only with largeResults, whichever servers are selected", async () => {
    await using toolset = await startKeeping({ naming: { prefix: "mcp" } });
    const names = (all: readonly McpTool[]) => all.map(({ name }) => name).toSorted();
    const expected = ["mcp__docs__log", "mcp__docs__orders", "mcp__docs__short", "read_result"];
    expect(names(toolset.mcp.tools)).toEqual(expected);
    expect(names(toolset.mcp.getTools("docs"))).toEqual(expected);
    expect(names(await toolset.mcp.toolsFor({}))).toEqual(expected);
    await using without = await createMcpTools({ docs: { url: toolset.server.url } });
    expect(names(without.tools)).not.toContain("read_result");
    expect((await invokeTool(findTool(without.tools, "docs__log"))).text).toMatch(/characters omitted\]$/);
  });

  it("leaves results that fit, direct calls and tool results of the application as they are", async () => {
    await using toolset = await startKeeping();
    expect((await toolset.call("docs__short")).text).toBe("short");
    expect(await findTool(toolset.mcp.tools, "docs__log")?.invoke({})).toBe(LOG);
    expect((await toolset.mcp.callTool({ name: "docs__log" })).text()).toBe(LOG);
  });

  it("cannot be replaced by the tool of a server", async () => {
    const naming = { prefix: "none" } as const;
    await using toolset = await startKeeping({ naming }, [{ name: "read_result", run: () => "stolen" }]);
    const { text } = await toolset.call("log");
    const handle = getHandle(text);
    expect((await toolset.call("read_result", { handle, grep: "ERROR" })).text).toContain("disk full");
    expect(toolset.server.executions.map(({ tool }) => tool)).toEqual(["log"]);
    expect(toolset.logger.warnings).toEqual([
      expect.stringContaining("is left out: read_result is the name of the toolset's own tool"),
    ]);
  });

  it("follows rules by its name", async () => {
    await using excluded = await startKeeping({ tools: { read_result: false } });
    expect(findTool(excluded.mcp.tools, "read_result")).toBeUndefined();
    expect((await excluded.call("docs__log")).text).toMatch(/characters omitted\]$/);
    expect(excluded.logger.warnings).toEqual([
      'Large results are truncated and not kept, because the tool rules exclude "read_result".',
    ]);
    await using reviewed = await startKeeping({ tools: { read_result: { requireApproval: true } } });
    const agent = agentIntegrations["createAgent with mcpMiddleware"]?.({
      model: createReadingModel(),
      mcp: reviewed.mcp,
      checkpointer: new MemorySaver(),
    });
    const paused = await agent?.invoke(userInput, threadConfig("1"));
    expect(paused?.__interrupt__?.[0]?.value).toMatchObject({ actionRequests: [{ name: "read_result" }] });
    const rejected = await agent?.invoke(resumeWith({ type: "reject" }) as never, threadConfig("1"));
    expect(rejected?.messages.map(({ text }) => text).join()).not.toContain("disk full");
    await using readOnly = await startKeeping({ tools: { "*": { requireApproval: "unless-read-only" } } });
    expect((await readOnly.call("read_result", { handle: "x" })).text).toContain("there is no such result");
  });

  it("is not offered to a run that the filter excludes it from", async () => {
    await using toolset = await startKeeping({
      filter: ({ name }, { config }) => name !== "read_result" || config.configurable?.["role"] === "admin",
    });
    const asAdmin = { configurable: { role: "admin" } };
    expect((await toolset.call("docs__log")).text).toMatch(/characters omitted\]$/);
    const handle = getHandle((await toolset.call("docs__log", {}, asAdmin)).text);
    expect((await toolset.call("read_result", { handle, to: 1 })).text).toContain(
      '"read_result" failed: The server does not have this tool',
    );
  });

  it("does not hold a call after its signal is aborted while the filter decides", async () => {
    const asked = deferred();
    await using toolset = await startKeeping({
      filter: ({ name }) => {
        if (name !== "read_result") return true;
        asked.resolve();
        return new Promise<boolean>(() => undefined);
      },
    });
    const controller = new AbortController();
    const reason = new Error("enough");
    const failed = rejection(toolset.call("docs__log", {}, { signal: controller.signal }));
    await asked.promise;
    controller.abort(reason);
    expect(await failed).toBe(reason);
  });

  it("calls hooks for every call", async () => {
    const calls: string[] = [];
    await using toolset = await startKeeping({
      beforeToolCall: ({ tool, args }) => {
        calls.push(tool);
        return args["grep"] === "ERROR" ? { deny: "no" } : undefined;
      },
      afterToolCall: ({ tool }) =>
        tool === "log" ? { content: [{ type: "text", text: LOG.toLowerCase() }] } : undefined,
    });
    const handle = getHandle((await toolset.call("docs__log")).text);
    expect((await toolset.call("read_result", { handle, grep: "ERROR" })).text).toContain("denied");
    expect((await toolset.call("read_result", { handle, grep: "error" })).text).toContain(
      "7777 error disk full",
    );
    expect(calls).toEqual(["log", "read_result", "read_result"]);
  });

  it.each([
    [{ grep: "(" }, "grep: the pattern does not compile"],
    [{ grep: "(a)\\1" }, "grep: the pattern uses a backreference"],
    [{ grep: "x", jsonPath: "$.x" }, "jsonPath: use either grep or jsonPath"],
    [{ jsonPath: "$..x" }, "jsonPath: expected a path such as"],
    [{ jsonPath: "$.x" }, "jsonPath: the result is not JSON"],
    [{ from: 12_001 }, "from: the result has 12000 lines, got 12001"],
    [{ from: 5, to: 4 }, "to: expected a line from 5 on, got 4"],
    [{ from: 0 }, "from"],
  ])("reports the problem of %j to the model", async (args, problem) => {
    await using toolset = await startKeeping();
    const handle = getHandle((await toolset.call("docs__log")).text);
    const { text, status } = await toolset.call("read_result", { handle, ...args });
    expect(status).toBe("error");
    expect(text).toContain(problem);
    expect(text).toMatch(/Correct the arguments and call the tool again\.$/);
  });

  it("runs any pattern in linear time", async () => {
    const line = `${"a".repeat(999)}\n`;
    await using toolset = await startKeeping({}, [{ name: "lines", run: () => line.repeat(2_000) }]);
    const handle = getHandle((await toolset.call("docs__lines")).text);
    const { text } = await toolset.call("read_result", { handle, grep: "^(a*)*(a*)*b$" });
    expect(text).toMatch(/^\[No match in lines 1 to 2001\]$|takes too long/);
  });

  it.each(["ERROR\\ disk", "7777\\x20ERROR", "[A-Z\\-]+ disk"])("finds %s", async (grep) => {
    await using toolset = await startKeeping();
    const handle = getHandle((await toolset.call("docs__log")).text);
    const { text } = await toolset.call("read_result", { handle, grep });
    expect(text).toBe("[1 of 1 matching lines]\n7777: 7777 ERROR disk full");
  });

  it("is always shown where a model searches for tools", async () => {
    await using toolset = await startKeeping();
    const disclosure = createToolDisclosure(toolset.mcp, { mode: "search" });
    const shown = await disclosure.selectTools({ messages: [] });
    expect(shown.map((tool) => Reflect.get(tool, "name"))).toEqual([
      "read_result",
      "search_tools",
      "load_tools",
    ]);
  });

  it("has invalid options reported", async () => {
    const create = async (largeResults: unknown) => {
      const servers = { docs: { url: "http://localhost" } };
      return (await rejection(createMcpTools(servers, { largeResults } as never))).message;
    };
    expect(await create("kept")).toContain("largeResults");
    expect(await create({ ttlMS: 5 })).toContain('"ttlMS" (did you mean "ttlMs"?)');
    expect(await create({ store: memoryStore(), maxResults: 5 })).toContain("largeResults.maxResults");
  });
});

describe("images, audio and files", () => {
  const toBase64 = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64");
  const photos: TestTool = {
    name: "photos",
    run: () => ({
      content: [
        { type: "text", text: "Two photos" },
        { type: "image", mimeType: "image/png", data: toBase64(600) },
        { type: "image", mimeType: "image/jpeg", data: toBase64(5_000) },
        { type: "audio", mimeType: "audio/wav", data: toBase64(300) },
        {
          type: "resource",
          resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: toBase64(9_000) },
        },
      ],
    }),
  };

  it("beyond the limit stay in the artifact, and a line says so", async () => {
    await using toolset = await startKeeping({ largeResults: { mediaBytes: 1_000 } }, [photos]);
    const message = await toolset.call("docs__photos");
    expect(
      (message.content as { type: string; text?: string }[]).map(({ type, text }) => text ?? type),
    ).toEqual([
      "Two photos",
      "image",
      "[image (image/jpeg, 5,000 bytes) is too large to be shown; the application has it]",
      "audio",
      "[file (application/pdf, 9,000 bytes) is too large to be shown; the application has it]",
    ]);
    const { content } = message.artifact as ToolArtifact;
    expect(content[2]).toMatchObject({ mimeType: "image/jpeg", data: toBase64(5_000) });
  });

  it("are shown beside the start and the end of a long text", async () => {
    const both: TestTool = {
      name: "both",
      run: () => ({
        content: [
          { type: "text", text: LOG },
          { type: "image", mimeType: "image/png", data: toBase64(600) },
          { type: "text", text: "the end" },
        ],
      }),
    };
    await using toolset = await startKeeping({}, [both]);
    const { content } = await toolset.call("docs__both");
    expect(content).toEqual([
      { type: "text", text: expect.stringContaining("the end\n\n[This result has") },
      { type: "image", mimeType: "image/png", data: toBase64(600) },
    ]);
  });
});

describe("a deep agent", () => {
  // The state of createDeepAgent (deepagents 1.14.1), which moves results of more than 80,000 characters.
  const deepConfig = { state: { messages: [], files: {}, _summarizationSessionId: undefined } };

  it("gets the whole result that it moves to its file system, and a shorter one as others do", async () => {
    await using toolset = await startKeeping({ limits: { contentChars: 1_000 } }, [
      { name: "medium", run: () => LOG.slice(0, 50_000) },
    ]);
    expect((await toolset.call("docs__log", {}, deepConfig)).text).toBe(LOG);
    expect(getHandle((await toolset.call("docs__medium", {}, deepConfig)).text)).toHaveLength(32);
    const otherState = { state: { messages: [], files: {} } };
    expect(getHandle((await toolset.call("docs__log", {}, otherState)).text)).toHaveLength(32);
  });
});
