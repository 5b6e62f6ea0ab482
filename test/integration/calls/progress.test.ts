import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools, type ToolProgress } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { gate } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { doors, question, scripted, thread } from "../../fixtures/agents.js";

/** Tells of its progress, and ends when somebody has heard it. */
function copying() {
  const { opened, open: end } = gate();
  const copy: TestTool = {
    name: "copy",
    run: async (_, { progress }) => {
      for (const done of [1, 2, 3]) await progress(done, 3);
      await opened;
      return "copied";
    },
  };
  const onProgress = ({ progress }: ToolProgress) => {
    if (progress === 3) end();
  };
  return { copy, end, onProgress };
}
const call = { name: "srv__copy", args: {} };
const told = (progress: number) => ({
  type: "mcp_progress",
  server: "srv",
  tool: "srv__copy",
  toolCallId: "call-1",
  progress,
  total: 3,
});

describe.each(Object.entries(doors))("in %s", (_, open) => {
  it('progress is in streamMode "custom" and "tools", the last one always', async () => {
    const { copy, onProgress } = copying();
    await using server = await startMcpTestServer({ tools: [copy] });
    await using mcp = await createMcpTools({ srv: { url: server.url } }, { onProgress });
    const agent = open({ model: scripted([call]), mcp, checkpointer: new MemorySaver() });
    const written: unknown[] = [];
    const events: { event: string; data?: unknown }[] = [];
    const options = { ...thread("1"), streamMode: ["custom", "tools"] };
    for await (const chunk of await agent.stream(question, options)) {
      const [mode, value] = chunk as [string, never];
      if (mode === "custom") written.push(value);
      else events.push(value);
    }
    expect(written[0]).toMatchObject(told(1));
    expect(written.at(-1)).toMatchObject(told(3));
    expect(events[0]).toMatchObject({ event: "on_tool_start", name: "srv__copy" });
    expect(events.at(-2)).toMatchObject({ event: "on_tool_event", toolCallId: "call-1", data: told(3) });
    expect(events.at(-1)).toMatchObject({ event: "on_tool_end" });
  });
});

describe.each(ERAS)("onProgress (%s)", (era) => {
  it("hears of calls outside of agents, too", async () => {
    const heard: ToolProgress[] = [];
    const { copy, onProgress } = copying();
    await using server = await startEraServer(era, { tools: [copy] });
    await using mcp = await createMcpTools(
      { srv: { url: server.url } },
      {
        onProgress: (progress) => {
          heard.push(progress);
          onProgress(progress);
        },
      },
    );
    await mcp.callTool({ name: "copy", id: "mine" });
    expect(heard[0]).toMatchObject({ progress: 1, total: 3, tool: "srv__copy" });
    expect(heard.at(-1)).toMatchObject({ progress: 3, toolCallId: "mine" });
  });

  it("harms no call when it fails", async () => {
    const warnings: string[] = [];
    const { copy, end } = copying();
    const logger = { debug() {}, info() {}, warn: (message: string) => warnings.push(message), error() {} };
    await using server = await startEraServer(era, { tools: [copy] });
    await using mcp = await createMcpTools(
      { srv: { url: server.url } },
      {
        logger,
        onProgress: () => {
          end();
          throw new Error("broken screen");
        },
      },
    );
    expect(await mcp.tools[0]?.invoke({})).toBe("copied");
    expect(warnings.join("\n")).toContain("broken screen");
  });
});
