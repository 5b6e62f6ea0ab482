import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  lastGoodResult,
  loadMcpServers,
  McpClient,
  McpRuntimeError,
  McpServerManager,
  onMcpEvent,
  parseServers,
  ToolRegistry,
} from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/langgraph.js";
import { instrumentMcp } from "../../../src/telemetry/opentelemetry/index.js";
import { dynamoStore, fileStore, fromBaseStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { echo } from "../../fixtures/clients.js";

/** What a slip in plain JavaScript may put in the place of an argument, or of a field of one. */
const SLIPS: readonly unknown[] = [
  null,
  5,
  "x",
  true,
  [],
  [null],
  {},
  () => undefined,
  Symbol("slip"),
  Promise.resolve({}),
];

/** A method, arguments that are right, and fields that the last of them may have. */
type Use = readonly [name: string, right: readonly unknown[], fields?: readonly string[]];

const REQUEST = ["signal", "timeoutMs", "context"] as const;
const CALL = [
  ...REQUEST,
  "onProgress",
  "output",
  "idempotent",
  "input",
  "headers",
  "meta",
  "secrets",
] as const;

const CLIENT: readonly Use[] = [
  ["on", ["warning", () => undefined, {}], ["quiet"]],
  ["getBreaker", [""]],
  ["identityOf", [{}], REQUEST],
  ["ensureSession", [{}], REQUEST],
  ["finishAuth", ["code", {}], REQUEST],
  ["callTool", [echo(), {}], CALL],
  ["tryCallTool", [echo(), {}], CALL],
  ["callTools", [[echo()], {}], [...CALL, "concurrency"]],
  ["listTools", [{}], [...REQUEST, "onTimeToLive"]],
  ["listResources", [{}], REQUEST],
  ["listResourceTemplates", [{}], REQUEST],
  ["readResource", ["a:1", {}], REQUEST],
  ["subscribeResource", ["a:1", {}], REQUEST],
  ["unsubscribeResource", ["a:1", {}], REQUEST],
  ["listPrompts", [{}], REQUEST],
  ["getPrompt", [{ name: "p" }, {}], REQUEST],
  ["complete", [{ prompt: "p", argument: "a", value: "b" }, {}], REQUEST],
  ["ping", [{}], REQUEST],
  ["setLogLevel", ["info", {}], REQUEST],
  ["close", [{}], ["drainMs"]],
];

const TOOLSET: readonly Use[] = [
  ["on", ["warning", () => undefined]],
  ["getTools", ["test"]],
  ["toolsFor", [{}], ["configurable"]],
  ["refresh", [{}], ["configurable"]],
  ["detectDrift", [{}], ["configurable"]],
  ["approveTools", [{}], ["servers", "config"]],
  ["callTool", [echo()], ["name", "args", "id", "server"]],
  ["callTool", [echo(), {}], ["signal", "config"]],
  ["tryCallTool", [echo(), {}], ["signal", "config"]],
  ["callTools", [[echo()], {}], ["signal", "config", "concurrency"]],
  ["getResources", [{ server: "test" }], ["server", "uris"]],
  ["getResources", [{ server: "test" }, {}], ["signal", "config"]],
  ["getPrompt", [{ server: "test", name: "p" }], ["server", "name", "args"]],
  ["getPrompt", [{ server: "test", name: "p" }, {}], ["signal", "config"]],
];

const MANAGER: readonly Use[] = [
  ["on", ["serverChanged", () => undefined]],
  ["toolsOf", ["test"]],
  ["connect", [{}], ["signal"]],
  ["reconnect", [{}], ["failedOnly", "signal"]],
  ["waitFor", ["test", {}], ["signal"]],
  ["disconnect", ["other"]],
  ["remove", ["other"]],
  ["add", ["more", { server: new McpTestServer(), lazy: true }, {}], ["signal"]],
];

const STORE: readonly Use[] = [
  ["get", ["key", {}], ["signal"]],
  ["set", ["key", 1, {}], ["signal", "ttlMs"]],
  ["delete", ["key", {}], ["signal"]],
  ["list", ["", {}], ["signal"]],
];

const named = (uses: readonly Use[]) => uses.map((use) => [use[0], use] as const);
const inTest = () => ({ server: new McpTestServer() });

describe("no slip of a caller ends in an error that is not ours:", () => {
  it.each(named(CLIENT))("client.%s", async (_, use) => {
    await using client = new McpClient({ name: "test", ...inTest(), retry: false });
    expect(await strangeErrors(client, use)).toEqual([]);
  });

  it.each(named(TOOLSET))("toolset.%s", async (_, use) => {
    await using toolset = await createMcpTools({ test: inTest() });
    expect(await strangeErrors(toolset, use)).toEqual([]);
  });

  it.each(named(MANAGER))("manager.%s", async (_, use) => {
    await using manager = new McpServerManager({ test: inTest() });
    expect(await strangeErrors(manager, use)).toEqual([]);
  });

  it.each(named(STORE))("store.%s", async (_, use) => {
    await using store = memoryStore();
    expect(await strangeErrors(store, use)).toEqual([]);
  });

  it("tool.run", async () => {
    await using toolset = await createMcpTools({ test: inTest() });
    const [tool = {}] = toolset.tools;
    expect(await strangeErrors(tool, ["run", [{ text: "a" }, {}], ["signal", "configurable"]])).toEqual([]);
  });

  it("what is exported", async () => {
    await using client = new McpClient({ name: "test", ...inTest() });
    await using toolset = await createMcpTools({ test: inTest() });
    const uses: readonly (readonly [entry: unknown, use: Use])[] = [
      [
        createMcpTools,
        ["createMcpTools", [{}, {}], ["tools", "naming", "limits", "cache", "onFailure", "meta"]],
      ],
      [createMcpToolsFromAgent, ["createMcpToolsFromAgent", [{}, {}], ["servers", "allowInlineServers"]]],
      [createMcpToolsForServer, ["createMcpToolsForServer", [{ name: "a" }, { client }], ["client"]]],
      [made(McpClient), ["McpClient", [{ name: "a", ...inTest() }, {}], ["logger", "clock", "random"]]],
      [made(McpServerManager), ["McpServerManager", [{}, {}], ["logger", "concurrency", "cache", "strict"]]],
      [made(ToolRegistry), ["ToolRegistry", [{ servers: toolset.servers }], ["servers", "levels"]]],
      [mcpMiddleware, ["mcpMiddleware", [toolset, {}], ["servers"]]],
      [made(McpToolNode), ["McpToolNode", [toolset, {}], ["servers", "tools"]]],
      [lastGoodResult, ["lastGoodResult", [{ maxAgeMs: 1 }], ["maxAgeMs"]]],
      [loadMcpServers, ["loadMcpServers", [{ project: false }], ["files", "filter"]]],
      [onMcpEvent, ["onMcpEvent", ["warning", () => undefined]]],
      [parseServers, ["parseServers", [{}]]],
      [instrumentMcp, ["instrumentMcp", [{}]]],
      [
        uipathServers,
        ["uipathServers", [{ url: "http://localhost:1/a/b", token: "secret" }], ["url", "tls"]],
      ],
      [memoryStore, ["memoryStore", [{}], ["maxEntries", "now"]]],
      [fileStore, ["fileStore", [{ folder: "unused" }], ["folder", "timeoutMs"]]],
      [redisStore, ["redisStore", [{}], ["url", "client"]]],
      [dynamoStore, ["dynamoStore", [{}], ["table", "client"]]],
      [fromBaseStore, ["fromBaseStore", [{}, {}], ["timeoutMs", "namespace"]]],
    ];
    for (const [entry, use] of uses) expect(await strangeErrors({ [use[0]]: entry }, use)).toEqual([]);
  });
});

/** Makes every slip once, and gives the errors that came of it and are not ours. */
async function strangeErrors(target: object, [name, right, fields = []]: Use): Promise<string[]> {
  const last = right.length - 1;
  const slips = SLIPS.flatMap((slip) => [
    ...right.map((_, index) => right.with(index, slip)),
    ...fields.map((field) => right.with(last, { ...(right[last] as object), [field]: slip })),
  ]);
  const strange: string[] = [];
  for (const args of slips) {
    const failure: unknown = await Promise.resolve()
      .then(() => (Reflect.get(target, name) as (...given: unknown[]) => unknown).apply(target, args))
      .then(endIt, (error: unknown) => error);
    if (failure !== undefined && !(failure instanceof McpRuntimeError)) strange.push(String(failure));
  }
  return strange;
}

/** What came about all the same is closed. A failure may also be a value. */
async function endIt(given: unknown): Promise<unknown> {
  const close: unknown = Reflect.get(Object(given), "close");
  if (typeof close === "function") await Reflect.apply(close, given, []);
  if (typeof given === "function" && given.length === 0) Reflect.apply(given, undefined, []);
  return Reflect.get(Object(given), "error");
}

function made(Class: new (...args: never[]) => unknown) {
  return (...args: unknown[]) => Reflect.construct(Class, args) as unknown;
}
