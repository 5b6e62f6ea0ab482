import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent } from "../../../src/index.js";
import { ToolRegistry } from "../../../src/manager/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { emitUntil, eventually } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

const early: TestTool = { name: "early", run: () => "early ran" };
const late: TestTool = { name: "late", run: () => "late ran" };
const root = fileURLToPath(new URL("../../..", import.meta.url));

function namesOf(tools: readonly { readonly name: string }[]): string[] {
  return tools.map(({ name }) => name);
}

describe("the tools of a toolset without a listener", () => {
  it.each(ERAS)("follow a server that changes its list, over HTTP (%s)", async (era) => {
    await using fixture = await startToolset({ tools: [early], era });
    const { mcp, server } = fixture;
    await server.waitForListener();
    server.tools = [early, late];
    await emitUntil(
      () => server.notifyToolsChanged(),
      () => mcp.tools.length === 2,
    );
    expect((await mcp.callTool({ name: "late" })).text()).toBe("late ran");
  });

  it("are compared with the new list without preparing the unchanged ones for calls", async () => {
    await using fixture = await startToolset({ tools: [early] });
    const { mcp, server } = fixture;
    const [before] = mcp.tools;
    server.tools = [early, late];
    await mcp.servers.refresh("srv");
    expect(namesOf(mcp.tools)).toEqual(["srv__early", "srv__late"]);
    expect(mcp.tools[0]).toBe(before);
    const internals: unknown = Reflect.get(before ?? {}, "internals");
    expect(internals).toMatchObject({ runtime: undefined });
  });

  it.each<[keyof TestTool, Partial<TestTool>]>([
    ["name", { name: "early/1" }], // For models, both are `early_1`.
    ["title", { title: "Early" }],
    ["description", { description: "Early." }],
    ["annotations", { annotations: { readOnlyHint: true } }],
    ["icons", { icons: [{ src: "https://example.com/icon.png" }] }],
    ["_meta", { _meta: { ui: "early" } }],
    ["inputSchema", { inputSchema: { type: "object", properties: { city: { type: "string" } } } }],
    ["outputSchema", { outputSchema: { type: "object", properties: { city: { type: "string" } } } }],
  ])("are replaced if only the %s has changed", async (_, change) => {
    const listed = { ...early, name: "early.1", description: "Runs." };
    await using fixture = await startToolset({ tools: [listed] });
    const { mcp, server, tool } = fixture;
    let changes = 0;
    mcp.on("toolsChanged", () => (changes += 1));
    server.tools = [{ ...listed }];
    await mcp.servers.refresh("srv");
    expect([mcp.tools[0] === tool, changes]).toEqual([true, 0]);
    server.tools = [{ ...listed, ...change }];
    await mcp.servers.refresh("srv");
    expect([mcp.tools[0] === tool, changes]).toEqual([false, 1]);
    expect(namesOf(mcp.tools)).toEqual(["srv__early_1"]);
  });

  it("follow it after the server has lost the session", async () => {
    await using fixture = await startToolset({ tools: [early] });
    const { mcp, server } = fixture;
    await server.waitForListener();
    server.dropSessions();
    await mcp.callTool({ name: "early" });
    await eventually(() => server.received("GET").length === 2);
    server.tools = [early, late];
    await emitUntil(
      () => server.notifyToolsChanged(),
      () => mcp.tools.length === 2,
    );
  });

  it.each(ERAS)("do not follow it with live: false, until there is a listener (%s)", async (era) => {
    await using fixture = await startToolset({ tools: [early], era, options: { live: false } });
    const { mcp, server } = fixture;
    await mcp.callTool({ name: "early" });
    expect(server.received(era === "legacy" ? "GET" : "subscriptions/listen")).toHaveLength(0);
    mcp.on("toolsChanged", () => undefined);
    await server.waitForListener();
  });

  it("leave all sockets of limits.sockets to calls", async () => {
    await using fixture = await startToolset({ tools: [early], definition: { limits: { sockets: 1 } } });
    await fixture.server.waitForListener();
    expect((await fixture.mcp.callTool({ name: "early" })).text()).toBe("early ran");
  });

  it("open no stream for snapshots, or with a fetch of the user", async () => {
    await using server = await startEraServer("legacy", { tools: [early] });
    const availableTools = [{ name: "early", description: "", inputSchema: { type: "object" } }];
    const agent = {
      name: "agent",
      resources: [{ $resourceType: "mcp", name: "srv", slug: "srv", availableTools }],
    };
    await using snapshots = await createMcpToolsFromAgent(agent, { servers: { srv: { url: server.url } } });
    expect(server.requests).toHaveLength(0);
    await snapshots.callTool({ name: "early" });
    await using withFetch = await createMcpTools({ srv: { url: server.url, fetch: fetch as never } });
    await withFetch.callTool({ name: "early" });
    expect(server.received("GET")).toHaveLength(0);
  });

  it("open a stream for the shared session only, not for each user", async () => {
    await using server = await startMcpTestServer({ tools: [early] });
    const identity = ({ configurable }: { configurable: Record<string, unknown> }) =>
      String(configurable["user"] ?? "discovery");
    await using mcp = await createMcpTools({ srv: { url: server.url, identity } });
    await server.waitFor("GET");
    for (const user of ["ann", "bob"])
      await mcp.callTool({ name: "early" }, { config: { configurable: { user } } });
    expect(server.received("GET")).toHaveLength(1);
    expect(mcp.clients["srv"]?.sessions()).toHaveLength(3);
    server.tools = [early, late];
    await emitUntil(
      () => server.notifyToolsChanged(),
      () => mcp.tools.length === 2,
    );
  });

  it.each(ERAS)("do not keep the process alive (%s)", { timeout: 30_000 }, async (era) => {
    await using server = await startEraServer(era, { tools: [early] });
    const { execArgv, path } = getChildScript("src/index");
    const script = `
      import { createMcpTools } from ${JSON.stringify(path)};
      const mcp = await createMcpTools({ srv: { url: ${JSON.stringify(server.url)} } });
      process.stdin.once("data", () => process.stdin.destroy());
      console.log(mcp.tools.length);
    `;
    const child = spawn(process.execPath, [...execArgv, "--input-type=module", "-e", script], {
      cwd: root,
      stdio: ["pipe", "inherit", "inherit"],
    });
    const exited = once(child, "exit");
    await Promise.race([server.waitForListener(), exited]);
    child.stdin.write("exit when nothing keeps you alive\n");
    const [code] = (await exited) as [number | null];
    expect(code).toBe(0);
  });
});

describe("a tool that the registry finds", () => {
  it("can be called at once, although the server has announced no change", async () => {
    await using fixture = await startToolset({ tools: [early], options: { live: false } });
    const { mcp, server } = fixture;
    server.tools = [early, late];
    await using registry = new ToolRegistry(mcp);
    expect(await registry.find("late")).toMatchObject([{ server: "srv" }]);
    expect(namesOf(mcp.tools)).toEqual(["srv__early", "srv__late"]);
    expect((await mcp.callTool({ name: "late" })).text()).toBe("late ran");
  });

  it("can be called at once if another process has recorded it", async () => {
    await using fixture = await startToolset({ tools: [early], options: { live: false } });
    const { mcp, server } = fixture;
    const store = memoryStore();
    server.tools = [early, late];
    await using other = await createMcpTools({ srv: { url: server.url } });
    await using otherRegistry = new ToolRegistry(other, { stores: [store] });
    await otherRegistry.refresh();
    await using registry = new ToolRegistry(mcp, { stores: [store] });
    await registry.find("late");
    expect((await mcp.callTool({ name: "late" })).text()).toBe("late ran");
  });
});
