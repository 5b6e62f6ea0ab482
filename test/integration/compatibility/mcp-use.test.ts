// Behavior that the test suites of mcp-use (TypeScript and Python) check, as far as no other test of this package does.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, loadMcpServers, McpClient, type ToolRules } from "../../../src/index.js";
import type { JsonObject } from "../../../src/json/json.js";
import type { TestTool } from "../../../src/testing/index.js";
import { createTestClient, deferred, echo, rejection, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { INITIALIZE_RESULT, type RawServer, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { isAlive, scriptServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";
import { startToolset } from "../../fixtures/toolsets.js";

const repeat = (inputSchema: JsonObject): TestTool => ({
  name: "repeat",
  inputSchema,
  run: (args) => JSON.stringify(args),
});

describe("a list", () => {
  it.each(["next", ""])("is read to its end although every page has the cursor %j", async (nextCursor) => {
    let page = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      page += 1;
      const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" } }];
      return sendJson(response, id, { tools, ...(page < 3 ? { nextCursor } : {}) });
    });
    await using client = createTestClient(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["tool-1", "tool-2", "tool-3"]);
  });

  it("goes on after a page without items", async () => {
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "initialize")
        return sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { resources: {} } });
      if (method !== "resources/list") return false;
      const { cursor } = (body["params"] ?? {}) as { cursor?: string };
      const last = { resources: [{ uri: "a:2", name: "second" }] };
      return sendJson(response, id, cursor === "opaque" ? last : { resources: [], nextCursor: "opaque" });
    });
    await using client = createTestClient(server);
    expect((await client.listResources()).map(({ name }) => name)).toEqual(["second"]);
  });

  it("ends with the reason of its signal", async () => {
    const { promise: isRequested, resolve } = deferred();
    await using server = await startRawServer(({ method }) => (method === "tools/list" ? resolve() : false));
    await using client = createTestClient(server);
    const controller = new AbortController();
    const listing = rejection(client.listTools({ signal: controller.signal }));
    await isRequested;
    controller.abort(new Error("enough"));
    expect((await listing).message).toBe("enough");
  });
});

describe("a session", () => {
  const getLast = ({ requests }: RawServer) => {
    const last = requests.at(-1);
    return [last?.httpMethod, last?.request.headers["mcp-session-id"]];
  };

  it("is terminated on the server when its client is closed", async () => {
    await using server = await startRawServer();
    const client = createTestClient(server);
    await client.callTool(echo());
    await client.close();
    expect(getLast(server)).toEqual(["DELETE", "raw-session"]);
  });

  it("is terminated if the server rejects the first listing", async () => {
    await using server = await startRawServer(({ method, response }) =>
      method === "tools/list" ? void response.writeHead(401).end() : false,
    );
    const failure = await rejection(createMcpTools({ srv: { url: server.url } }));
    expect(failure.kind).toBe("unauthorized");
    expect(getLast(server)).toEqual(["DELETE", "raw-session"]);
  });
});

describe("a result without content", () => {
  it.each<[string, object]>([
    ["no blocks", { content: [] }],
    ["a blank text", { content: [{ type: "text", text: " \n" }] }],
  ])("is not a blank message for the model: %s", async (_, result) => {
    await using toolset = await startToolset({ tools: [{ name: "get", run: () => result }] });
    expect((await toolset.call({})).content).toBe("[no content to show]");
  });
});

describe("arguments", () => {
  it("that are null are left out where the schema does not accept null", async () => {
    const properties = {
      path: { type: "string" },
      label: { type: "string" },
      parent: { type: ["number", "null"] },
      scene: { $ref: "#/$defs/Scene" },
    };
    const $defs = { Scene: { anyOf: [{ type: "number" }, { type: "null" }] } };
    const schema = { type: "object", properties, required: ["path"], $defs };
    await using toolset = await startToolset({ tools: [repeat(schema)] });
    const message = await toolset.call({ path: "a", label: null, parent: null, scene: null });
    expect(JSON.parse(message.text)).toEqual({ path: "a", parent: null, scene: null });
  });

  it("are checked by references to other properties, to items of arrays and to escaped names", async () => {
    const position = { type: "object", properties: { x: { type: "number" } } };
    const properties = {
      position,
      "a/b": { type: "string" },
      rotation: { $ref: "#/properties/position", description: "The rotation" },
      alias: { $ref: "#/properties/a~1b" },
      first: { $ref: "#/allOf/0/properties/n" },
    };
    const allOf = [{ properties: { n: { type: "number" } } }];
    await using toolset = await startToolset({ tools: [repeat({ type: "object", properties, allOf })] });
    expect(toolset.tool.schema).toMatchObject({
      properties: { rotation: { ...position, description: "The rotation" }, alias: { type: "string" } },
    });
    const args = { rotation: { x: 1 }, alias: "s", first: 1 };
    expect((await toolset.call(args)).content).toBe(JSON.stringify(args));
    for (const invalid of [{ rotation: { x: "1" } }, { alias: 1 }, { first: "1" }])
      expect((await toolset.call(invalid)).status).toBe("error");
  });

  it("may refer to themselves or to nothing", async () => {
    const properties = { self: { $ref: "#/properties/self" }, none: { $ref: "#/nowhere" } };
    await using toolset = await startToolset({ tools: [repeat({ type: "object", properties })] });
    const args = { self: 1, none: 2 };
    expect((await toolset.call(args)).content).toBe(JSON.stringify(args));
  });

  it("are one of several values, also without a type", async () => {
    const kind = { enum: ["x", "y"] };
    const schema = { type: "object", properties: { nested: { type: "object", properties: { kind } } } };
    await using toolset = await startToolset({ tools: [repeat(schema)] });
    expect(toolset.tool.schema).toMatchObject({
      properties: { nested: { properties: { kind: { type: "string", enum: ["x", "y"] } } } },
    });
    expect((await toolset.call({ nested: { kind: "x" } })).status).toBe("success");
    expect((await toolset.call({ nested: { kind: "z" } })).status).toBe("error");
  });
});

describe("a tool that one level excludes", () => {
  it.each<[string, ToolRules, ToolRules]>([
    ["the toolset", { "*": true }, { remove: false }],
    ["the server", { remove: false }, { remove: true, "*": true }],
  ])("is neither offered nor called, whatever another level allows: %s", async (_, rules, tools) => {
    const remove = { name: "remove", run: () => "removed" };
    const search = { name: "search", run: () => "found" };
    await using toolset = await startToolset({ tools: [remove, search], rules, options: { tools } });
    expect(toolset.mcp.tools.map(({ name }) => name)).toEqual(["srv__search"]);
    expect(await rejection(toolset.mcp.callTool({ name: "remove" }))).toMatchObject({ kind: "not-found" });
    expect(toolset.server.executions).toEqual([]);
  });
});

describe("a parameter that its tool marks for a header", () => {
  const inputSchema = {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
  };
  const run: TestTool["run"] = (_, { headers }) =>
    JSON.stringify([headers["mcp-param-region"], headers["x-trace"]]);

  it.each([
    ["modern", "is sent as a header beside those of a hook", ["eu", "1"]],
    ["legacy", "is not sent as a header", [null, "1"]],
  ] as const)("to a %s server %s", async (era, _, expected) => {
    await using toolset = await startToolset({
      era,
      tools: [{ name: "get", inputSchema, run }],
      options: { beforeToolCall: () => ({ headers: { "x-trace": "1" } }) },
    });
    expect(JSON.parse((await toolset.call({ region: "eu" })).text)).toEqual(expected);
  });
});

describe.each(ERAS)("progress of a %s server", (era) => {
  it("reaches the call that it belongs to, once", async () => {
    const tool: TestTool = {
      name: "copy",
      run: async ({ size }, { progress }) => {
        await progress(Number(size), 10);
        return String(size);
      },
    };
    await using server = await startEraServer(era, { tools: [tool], responseFormat: "sse" });
    await using client = createTestClient(server);
    const received = times(3, (): number[] => []);
    await Promise.all(
      received.map((values, size) =>
        client.callTool(
          { name: "copy", args: { size } },
          { onProgress: ({ progress }) => values.push(progress) },
        ),
      ),
    );
    expect(received).toEqual([[0], [1], [2]]);
  });
});

describe("a call that is redirected to another origin", () => {
  it("fails, and the session is used again", async () => {
    await using other = await startRawServer();
    let isRedirected = true;
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call" || !isRedirected) return false;
      isRedirected = false;
      return void response.writeHead(307, { location: other.url }).end();
    });
    await using client = createTestClient(server);
    expect((await rejection(client.callTool(echo()))).message).toContain("Redirects to another origin");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.requests.filter(({ method }) => method === "initialize")).toHaveLength(1);
    expect(other.requests).toEqual([]);
  });
});

describe("the name and version of a server", () => {
  const SERVER_INFO = { name: "example", version: "2.0.0" };

  it.each<[string, object]>([
    ["in _meta", { _meta: { "io.modelcontextprotocol/serverInfo": SERVER_INFO } }],
    ["beside its capabilities", { serverInfo: SERVER_INFO }],
  ])("are known if server/discover has them %s", async (_, fields) => {
    await using server = await startRawServer(({ method, id, response }) => {
      const discovered = { supportedVersions: ["2026-07-28"], capabilities: {}, ...fields };
      return method === "server/discover" ? sendJson(response, id, discovered) : false;
    });
    await using client = createTestClient(server, { protocol: "2026-07-28" });
    expect([client.serverInfo, client.protocolVersion]).toEqual([undefined, undefined]);
    await client.ensureSession();
    expect([client.serverInfo, client.protocolVersion]).toEqual([SERVER_INFO, "2026-07-28"]);
  });
});

describe("a server that protects only some requests", () => {
  it("is used without a login until one of them needs it", async () => {
    await using world = await startProtectedServer();
    for (const method of ["initialize", "notifications/initialized", "tools/list"])
      world.oauth.publicMethods.add(method);
    const provider = new MemoryOAuthProvider();
    await using client = world.clientWith(provider);
    expect(await client.listTools()).toHaveLength(2);
    expect(provider.redirects).toEqual([]);
    const { authorizationUrl = "" } = await rejection(client.callTool(echo()));
    await client.finishAuth(await world.oauth.logIn(authorizationUrl));
    expect((await client.callTool(echo("in"))).text()).toBe("in");
    expect(world.mcp.received("initialize")).toHaveLength(1);
  });
});

describe("a program", () => {
  /** Appends its process id to a file, and responds with the result or error of a method. */
  const createServer = (file: string, initialize: object) =>
    scriptServer(`
      require("fs").appendFileSync(${JSON.stringify(file)}, process.pid + "\\n");
      require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const outcome = method === "initialize" ? ${JSON.stringify(initialize)} : { result: { content: [] } };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
      });
    `);
  const pidsIn = (file: string) => readFileSync(file, "utf8").trim().split("\n").map(Number);

  it("is started once by concurrent calls, and has ended when close resolves, also if closed twice", async () => {
    using folder = new TemporaryFolder();
    const file = join(folder.path, "pids");
    const server = createServer(file, { result: INITIALIZE_RESULT });
    await using client = new McpClient({ name: "program", ...server });
    await Promise.all(times(3, () => client.callTool(echo())));
    const pids = pidsIn(file);
    expect(pids.map(isAlive)).toEqual([true]);
    await Promise.all([client.close(), client.close()]);
    expect(pids.map(isAlive)).toEqual([false]);
  });

  it("that rejects the handshake is ended, and the next call starts another one", async () => {
    using folder = new TemporaryFolder();
    const file = join(folder.path, "pids");
    const server = createServer(file, { error: { code: -32_603, message: "no database" } });
    const retry = { retry: false, circuitBreaker: false } as const;
    await using client = new McpClient({ name: "program", protocol: "legacy", ...retry, ...server });
    for (const _ of times(2, () => 0))
      expect((await rejection(client.callTool(echo()))).message).toContain("no database");
    const pids = pidsIn(file);
    expect(new Set(pids).size).toBe(2);
    await waitForExit(...pids);
  });
});

describe("a config file", () => {
  it("may define a hundred servers", async () => {
    using folder = new TemporaryFolder();
    const names = times(100, (index) => `server-${index}`);
    const mcpServers = Object.fromEntries(
      names.map((name) => [name, { url: `https://${name}.example/mcp` }]),
    );
    const path = folder.write("mcp.json", { mcpServers });
    const { servers, problems } = await loadMcpServers({ files: [path], project: false });
    expect(problems).toEqual([]);
    expect(Object.keys(servers)).toEqual(names);
  });

  it.each<[string, object, number]>([
    ["without servers has none", {}, 0],
    ["whose servers are null is reported", { mcpServers: null }, 1],
  ])("%s, and does not throw", async (_, document, count) => {
    using folder = new TemporaryFolder();
    const path = folder.write("mcp.json", document);
    const { servers, problems } = await loadMcpServers({ files: [path], project: false });
    expect(servers).toEqual({});
    expect(problems).toMatchObject(times(count, () => ({ file: path })));
  });
});
