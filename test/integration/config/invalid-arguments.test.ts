import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  lastGoodResult,
  loadMcpServers,
  McpClient,
  McpRuntimeError,
  onMcpEvent,
  parseServers,
} from "../../../src/index.js";
import { McpServerManager, ToolRegistry } from "../../../src/manager/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { instrumentMcp } from "../../../src/telemetry/opentelemetry/index.js";
import { dynamoStore, fileStore, fromBaseStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { echo } from "../../fixtures/clients.js";

/** Values that a JavaScript caller may pass by mistake as an argument or as a field of one. */
const INVALID_VALUES: readonly unknown[] = [
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

/** A method, valid arguments, and fields that the last argument may have. */
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
  ["listTools", [{}], [...REQUEST, "onTtl"]],
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
const testServer = () => ({ server: new McpTestServer() });

describe("invalid arguments only cause errors of type McpRuntimeError:", () => {
  it.each(named(CLIENT))("client.%s", async (_, use) => {
    await using client = new McpClient({ name: "test", ...testServer(), retry: false });
    expect(await findForeignErrors(client, use)).toEqual([]);
  });

  it.each(named(TOOLSET))("toolset.%s", async (_, use) => {
    await using toolset = await createMcpTools({ test: testServer() });
    expect(await findForeignErrors(toolset, use)).toEqual([]);
  });

  it.each(named(MANAGER))("manager.%s", async (_, use) => {
    await using manager = new McpServerManager({ test: testServer() });
    expect(await findForeignErrors(manager, use)).toEqual([]);
  });

  it.each(named(STORE))("store.%s", async (_, use) => {
    await using store = memoryStore();
    expect(await findForeignErrors(store, use)).toEqual([]);
  });

  it("tool.run", async () => {
    await using toolset = await createMcpTools({ test: testServer() });
    const [tool = {}] = toolset.tools;
    expect(await findForeignErrors(tool, ["run", [{ text: "a" }, {}], ["signal", "configurable"]])).toEqual(
      [],
    );
  });

  it("exported functions and classes", async () => {
    await using client = new McpClient({ name: "test", ...testServer() });
    await using toolset = await createMcpTools({ test: testServer() });
    const uses: readonly (readonly [entry: unknown, use: Use])[] = [
      [
        createMcpTools,
        ["createMcpTools", [{}, {}], ["tools", "naming", "limits", "cache", "onToolError", "meta"]],
      ],
      [createMcpToolsFromAgent, ["createMcpToolsFromAgent", [{}, {}], ["servers", "allowInlineServers"]]],
      [createMcpToolsForServer, ["createMcpToolsForServer", [{ name: "a" }, { client }], ["client"]]],
      [
        asFunction(McpClient),
        ["McpClient", [{ name: "a", ...testServer() }, {}], ["logger", "clock", "random"]],
      ],
      [
        asFunction(McpServerManager),
        ["McpServerManager", [{}, {}], ["logger", "concurrency", "cache", "strict"]],
      ],
      [asFunction(ToolRegistry), ["ToolRegistry", [{ servers: toolset.servers }], ["servers", "levels"]]],
      [mcpMiddleware, ["mcpMiddleware", [toolset, {}], ["servers"]]],
      [asFunction(McpToolNode), ["McpToolNode", [toolset, {}], ["servers", "tools"]]],
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
    for (const [entry, use] of uses) expect(await findForeignErrors({ [use[0]]: entry }, use)).toEqual([]);
  });
});

/** Calls the method with every invalid value, and returns the errors that are not of type McpRuntimeError. */
async function findForeignErrors(target: object, [name, validArgs, fields = []]: Use): Promise<string[]> {
  const last = validArgs.length - 1;
  const argumentLists = INVALID_VALUES.flatMap((invalid) => [
    ...validArgs.map((_, index) => validArgs.with(index, invalid)),
    ...fields.map((field) => validArgs.with(last, { ...(validArgs[last] as object), [field]: invalid })),
  ]);
  const foreign: string[] = [];
  for (const args of argumentLists) {
    const failure: unknown = await Promise.resolve()
      .then(() => (Reflect.get(target, name) as (...result: unknown[]) => unknown).apply(target, args))
      .then(closeResult, (error: unknown) => error);
    if (failure !== undefined && !(failure instanceof McpRuntimeError)) foreign.push(String(failure));
  }
  return foreign;
}

/** Closes the result of a call that succeeded. An error may also be part of a result. */
async function closeResult(result: unknown): Promise<unknown> {
  for (const method of ["close", "disable"]) {
    const close: unknown = Reflect.get(Object(result), method);
    if (typeof close === "function") await Reflect.apply(close, result, []);
  }
  if (typeof result === "function" && result.length === 0) Reflect.apply(result, undefined, []);
  return Reflect.get(Object(result), "error");
}

function asFunction(Class: new (...args: never[]) => unknown) {
  return (...args: unknown[]) => Reflect.construct(Class, args) as unknown;
}
