import { describe, expect, it } from "vitest";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { clientOf, failureOf, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const tool = (name: string): TestTool => ({ name, run: () => name });

describe.each(ERAS)("the tools of a server (%s)", (era) => {
  it("come from all pages, by name", async () => {
    const names = ["b", "a", "Z", "c", "é"];
    await using server = await startEraServer(era, {
      tools: names.map(tool),
      pagination: { type: "pages", size: 2 },
    });
    await using client = clientOf(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["Z", "a", "b", "c", "é"]);
    expect(server.received("tools/list")).toHaveLength(3);
  });

  it("are never a part of the list: a page that fails is an error", async () => {
    await using server = await startEraServer(era, {
      tools: times(8, (n) => tool(`t${n}`)),
      pagination: { type: "pages", size: 2, failingPage: 3 },
    });
    await using client = clientOf(server);
    expect(await failureOf(client.listTools())).toMatchObject({ kind: "server-error", code: -32603 });
    server.pagination = { type: "pages", size: 2 };
    expect(await client.listTools()).toHaveLength(8);
  });

  it("end with an error when there are more than the limit", async () => {
    await using server = await startEraServer(era, { tools: times(11, (n) => tool(`t${n}`)) });
    await using client = clientOf(server, { limits: { tools: 10 } });
    expect(await failureOf(client.listTools())).toMatchObject({ kind: "too-large" });
  });

  it("lose only those that are malformed, with a warning that names them", async () => {
    await using server = await startEraServer(era, {
      tools: [tool("good"), tool("twice")],
      malformedTools: [
        null,
        { inputSchema: { type: "object" } },
        { name: "no-schema" },
        { name: "list\u202e-schema", inputSchema: [] },
        { name: "string-schema", inputSchema: { type: "string" } },
        { name: "twice", inputSchema: { type: "object" } },
        {
          name: "odd",
          title: 7,
          description: ["no text"],
          annotations: "none",
          icons: "none",
          inputSchema: {},
        },
      ],
    });
    await using client = clientOf(server);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["good", "odd", "twice"]);
    expect(tools[1]).toEqual({ name: "odd", inputSchema: {} });
    expect(warnings).toEqual([
      'Server "test": a tool is not an object and is left out.',
      'Server "test": a tool has no name and is left out.',
      'Server "test": tool "no-schema" has no inputSchema that describes an object and is left out.',
      'Server "test": tool "list-schema" has no inputSchema that describes an object and is left out.',
      'Server "test": tool "string-schema" has no inputSchema that describes an object and is left out.',
      'Server "test": tool "twice" is listed twice; the first one counts.',
    ]);
  });

  it("may have any name", async () => {
    const names = ["__proto__", "constructor", "", "with space", "toString"];
    await using server = await startEraServer(era, { tools: names.map(tool) });
    await using client = clientOf(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(names.toSorted());
    for (const name of names) expect((await client.callTool({ name })).text()).toBe(name);
    expect(({} as { run?: unknown }).run).toBeUndefined();
  });

  it("that are no list are malformed", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    server.addFault({ type: "result", result: { tools: "none" } }, { method: "tools/list" });
    expect(await failureOf(client.listTools())).toMatchObject({ kind: "invalid-response" });
  });
});

describe("a long list of tools", () => {
  it.each([
    ["cursors that never end", { type: "endless" }, "too-large", "more than 100 pages"],
    ["a cursor that comes back", { type: "repeated-cursor" }, "invalid-response", "repeats a cursor"],
  ] as const)("end with an error on %s", async (_, listing, kind, message) => {
    await using server = await startMcpTestServer({ pagination: listing });
    await using client = clientOf(server);
    const failure = await failureOf(client.listTools());
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain(message);
  });

  it("can be 10,000", async () => {
    await using server = await startMcpTestServer({
      tools: times(10_000, (n) => tool(`tool-${n}`)),
      pagination: { type: "pages", size: 1_000 },
    });
    await using client = clientOf(server);
    expect(await client.listTools()).toHaveLength(10_000);
  });

  it("survive a session that is lost between two pages", async () => {
    await using server = await startMcpTestServer({
      tools: times(6, (n) => tool(`t${n}`)),
      pagination: { type: "pages", size: 2 },
    });
    await using client = clientOf(server);
    const listing = client.listTools();
    await server.waitFor("tools/list");
    server.dropSessions();
    expect(await listing).toHaveLength(6);
  });
});
