import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import {
  type Agent,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { startToolset } from "../../fixtures/toolsets.js";

/** A file of the package, if it is installed in another folder. */
const PACKAGE = process.env["DEEPAGENTS"] ?? "deepagents";
const deepagents = (await import(PACKAGE).catch((error: unknown) => {
  console.log(`Skipping the tests of deep agents: ${PACKAGE} is not installed (${String(error)}).`);
})) as { createDeepAgent(options: object): Agent } | undefined;

const TOOLS = ["read", "wipe", "hidden"].map((name) => ({ name, run: () => `${name} ran` }));
const tools = { wipe: { requireApproval: true }, hidden: false } as const;

describe.skipIf(deepagents === undefined)("a deep agent", () => {
  it("asks for approval, and has only the tools that rules allow", async () => {
    await using fixture = await startToolset({ tools: TOOLS, options: { tools } });
    const { mcp, server } = fixture;
    const model = createScriptedModel([
      { name: "srv__read", args: {} },
      { name: "srv__wipe", args: {} },
      { name: "srv__hidden", args: {} },
    ]);
    const agent = deepagents?.createDeepAgent({
      model,
      tools: mcp.tools,
      middleware: [mcpMiddleware(mcp)],
      checkpointer: new MemorySaver(),
    });
    const paused = await agent?.invoke(userInput, threadConfig("1"));
    expect(paused?.__interrupt__).toHaveLength(1);
    expect(server.executions).toEqual([]);
    const resumed = await agent?.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    const messages = resumed === undefined ? [] : getToolMessages(resumed);
    expect(server.executions.map(({ tool }) => tool).toSorted()).toEqual(["read", "wipe"]);
    expect(messages.find(({ name }) => name === "srv__hidden")?.status).toBe("error");
  });
});
