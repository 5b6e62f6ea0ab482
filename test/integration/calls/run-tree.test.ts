import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { type RunnableConfig, RunnableLambda } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { agentIntegrations, createScriptedModel, userInput } from "../../fixtures/agents.js";

const CONFIG = { tags: ["tenant:acme"], metadata: { user: "ann" }, configurable: { thread_id: "t-1" } };
const README = { uri: "file:///readme.md", name: "readme", read: () => "# Read me" };

/** Collects the runs as LangSmith would receive them: each root run with its child runs. */
class RecordingTracer extends BaseTracer {
  readonly name = "recording-tracer";
  readonly roots: Run[] = [];

  constructor() {
    super({ _awaitHandler: true } as never);
  }

  protected async persistRun(run: Run): Promise<void> {
    this.roots.push(run);
  }

  /** The tool runs, each with the names of the runs around it. */
  get toolRuns(): { readonly run: Run; readonly path: readonly string[] }[] {
    const visit = (run: Run, path: readonly string[]): { run: Run; path: readonly string[] }[] => [
      ...(run.run_type === "tool" ? [{ run, path }] : []),
      ...run.child_runs.flatMap((child) => {
        expect(child.parent_run_id).toBe(run.id);
        expect(child.trace_id ?? run.id).toBe(run.trace_id ?? run.id);
        return visit(child, [...path, run.name]);
      }),
    ];
    return this.roots.flatMap((run) => visit(run, []));
  }
}

const startServer = () =>
  startMcpTestServer({
    tools: [
      { name: "add", run: () => "3" },
      {
        name: "fail",
        run: () => {
          throw new Error("no");
        },
      },
    ],
    resources: [README],
  });

describe.each(Object.entries(agentIntegrations))("the tool runs in %s", (_, open) => {
  it("are nested in the run of the agent, with its tags and metadata", async () => {
    await using server = await startServer();
    await using mcp = await createMcpTools({ srv: { url: server.url } }, { resourceTools: true });
    const model = createScriptedModel(
      [
        { name: "srv__add", args: {} },
        { name: "srv__fail", args: {} },
      ],
      [
        { name: "srv__list_resources", args: {} },
        { name: "srv__read_resource", args: { uri: README.uri } },
      ],
    );
    const tracer = new RecordingTracer();
    const agent = open({ model, mcp });
    await agent.invoke(userInput, { ...CONFIG, callbacks: [tracer], runName: "my agent" });
    expect(tracer.roots.map(({ name }) => name)).toEqual(["my agent"]);
    expect(tracer.toolRuns.map(({ run }) => run.name)).toEqual([
      "srv__add",
      "srv__fail",
      "srv__list_resources",
      "srv__read_resource",
    ]);
    for (const { run, path } of tracer.toolRuns) {
      expect(path[0]).toBe("my agent");
      expect(run.tags).toContain("tenant:acme");
      expect(run.extra?.["metadata"]).toMatchObject({
        user: "ann",
        thread_id: "t-1",
        server: "srv",
        tool_type: "mcp",
      });
      expect(run.end_time).toBeDefined();
    }
  });
});

it("search_tools and load_tools are nested in the run of the agent", async () => {
  await using server = await startServer();
  await using mcp = await createMcpTools({ srv: { url: server.url } });
  const model = createScriptedModel(
    [{ name: "search_tools", args: { query: "add" } }],
    [{ name: "load_tools", args: { names: ["srv__add"] } }],
    [{ name: "srv__add", args: {} }],
  );
  const tracer = new RecordingTracer();
  const middleware = [mcpMiddleware(mcp, { disclosure: "search" })];
  const agent = createAgent({ model, tools: mcp.tools, middleware });
  await agent.invoke(userInput, { ...CONFIG, callbacks: [tracer], runName: "my agent" });
  expect(tracer.toolRuns.map(({ run, path }) => [run.name, path[0]])).toEqual([
    ["search_tools", "my agent"],
    ["load_tools", "my agent"],
    ["srv__add", "my agent"],
  ]);
  for (const { run } of tracer.toolRuns) expect(run.tags).toContain("tenant:acme");
});

describe("a tool run", () => {
  it("in a chain is nested in it, and identity receives its config", async () => {
    await using server = await startServer();
    const threads: unknown[] = [];
    const identity = ({ purpose, configurable }: CallContext) => {
      if (purpose !== "discovery") threads.push(configurable["thread_id"]);
      return "ann";
    };
    await using mcp = await createMcpTools({ srv: { url: server.url, identity } });
    const [tool] = mcp.tools;
    const tracer = new RecordingTracer();
    const chain = RunnableLambda.from((_: string, config) => tool?.invoke({}, config));
    await chain.invoke("x", { ...CONFIG, callbacks: [tracer], runName: "my chain" });
    expect(tracer.toolRuns.map(({ run, path }) => [run.name, path])).toEqual([["srv__add", ["my chain"]]]);
    expect(threads).toEqual(["t-1"]);
  });

  it.each(["callTool", "tryCallTool", "callTools"] as const)(
    "that is made with %s is nested in the run of its config",
    async (method) => {
      await using server = await startServer();
      await using mcp = await createMcpTools({ srv: { url: server.url } });
      const call = (name: string, config: RunnableConfig): Promise<unknown> =>
        method === "callTools" ? mcp.callTools([{ name }], { config }) : mcp[method]({ name }, { config });
      const tracer = new RecordingTracer();
      const chain = RunnableLambda.from(async (_: string, config) => {
        await call("srv__add", config);
        await call("srv__fail", config).catch(() => undefined);
      });
      await chain.invoke("x", { ...CONFIG, callbacks: [tracer], runName: "my chain" });
      expect(tracer.toolRuns).toMatchObject([
        { path: ["my chain"], run: { name: "srv__add", outputs: { output: "3" } } },
        { path: ["my chain"], run: { name: "srv__fail" } },
      ]);
      for (const { run } of tracer.toolRuns) {
        expect(run.tags).toContain("tenant:acme");
        expect(run.extra?.["metadata"]).toMatchObject({ user: "ann", server: "srv" });
        expect(run.end_time).toBeDefined();
      }
    },
  );
});
