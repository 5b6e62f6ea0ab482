import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools, type ToolProgress } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { deferred } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { agentIntegrations, userInput, createScriptedModel, threadConfig } from "../../fixtures/agents.js";

/** A tool that reports progress and ends when the last progress was received. */
function createCopyTool() {
  const { promise: opened, resolve: end } = deferred();
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
const progressEvent = (progress: number) => ({
  type: "mcp_progress",
  server: "srv",
  tool: "srv__copy",
  toolCallId: "call-1",
  progress,
  total: 3,
});

describe.each(Object.entries(agentIntegrations))("in %s", (_, open) => {
  it('progress is streamed in modes "custom" and "tools", always including the last', async () => {
    const { copy, onProgress } = createCopyTool();
    await using server = await startMcpTestServer({ tools: [copy] });
    await using mcp = await createMcpTools({ srv: { url: server.url } }, { onProgress });
    const agent = open({ model: createScriptedModel([call]), mcp, checkpointer: new MemorySaver() });
    const written: unknown[] = [];
    const events: { event: string; data?: unknown }[] = [];
    const options = { ...threadConfig("1"), streamMode: ["custom", "tools"] };
    for await (const chunk of await agent.stream(userInput, options)) {
      const [mode, value] = chunk as [string, never];
      if (mode === "custom") written.push(value);
      else events.push(value);
    }
    expect(written[0]).toMatchObject(progressEvent(1));
    expect(written.at(-1)).toMatchObject(progressEvent(3));
    expect(events[0]).toMatchObject({ event: "on_tool_start", name: "srv__copy" });
    expect(events.at(-2)).toMatchObject({
      event: "on_tool_event",
      toolCallId: "call-1",
      data: progressEvent(3),
    });
    expect(events.at(-1)).toMatchObject({ event: "on_tool_end" });
  });
});

describe.each(ERAS)("onProgress (%s)", (era) => {
  it("is called for calls outside of agents", async () => {
    const received: ToolProgress[] = [];
    const { copy, onProgress } = createCopyTool();
    await using server = await startEraServer(era, { tools: [copy] });
    await using mcp = await createMcpTools(
      { srv: { url: server.url } },
      {
        onProgress: (progress) => {
          received.push(progress);
          onProgress(progress);
        },
      },
    );
    await mcp.callTool({ name: "copy", id: "mine" });
    expect(received[0]).toMatchObject({ progress: 1, total: 3, tool: "srv__copy" });
    expect(received.at(-1)).toMatchObject({ progress: 3, toolCallId: "mine" });
  });

  it("does not fail the call when it throws", async () => {
    const { copy, end } = createCopyTool();
    const logger = new RecordingLogger();
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
    expect(logger.warnings.join("\n")).toContain("broken screen");
  });
});
