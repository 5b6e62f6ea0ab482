import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { type Agent, createScriptedModel, getToolMessages, userInput } from "../../fixtures/agents.js";
import { startToolset } from "../../fixtures/toolsets.js";

/** A file of the package, if it is installed in another folder. */
const PACKAGE = process.env["LANGCHAIN_QUICKJS"] ?? "@langchain/quickjs";
const quickjs = (await import(PACKAGE).catch((error: unknown) => {
  console.log(`Skipping the tests of programs: ${PACKAGE} is not installed (${String(error)}).`);
})) as { createCodeInterpreterMiddleware(options: object): never } | undefined;

const TOOLS = ["read", "wipe", "hidden"].map((name) => ({ name, run: () => `${name} ran` }));
const tools = { wipe: { requireApproval: true }, hidden: false } as const;

describe.skipIf(quickjs === undefined)("a program that calls MCP tools", () => {
  async function run(code: string, options: object = {}) {
    await using fixture = await startToolset({ tools: TOOLS, options: { tools, ...options } });
    const { mcp, server } = fixture;
    const programs = quickjs?.createCodeInterpreterMiddleware({
      ptc: ["read", "wipe", "hidden"].map((name) => `srv__${name}`),
      toolName: "js_eval",
    });
    const model = createScriptedModel([{ name: "js_eval", args: { code } }]);
    const middleware = [mcpMiddleware(mcp), programs as never];
    const agent = createAgent({ model, tools: mcp.tools, middleware }) as unknown as Agent;
    const [message] = getToolMessages(await agent.invoke(userInput));
    return { text: message?.text, executions: server.executions.map(({ tool }) => tool) };
  }

  it("calls them", async () => {
    const { text, executions } = await run("await tools.srv_Read({})");
    expect([text?.includes("read ran"), executions]).toEqual([true, ["read"]]);
  });

  it("does not run a tool that needs approval, unless onApproval approves it", async () => {
    const denied = await run("await tools.srv_Wipe({})");
    expect([denied.text?.includes("needs approval"), denied.executions]).toEqual([true, []]);
    const onApproval = () => true;
    const approved = await run("await tools.srv_Wipe({})", { onApproval });
    expect([approved.text?.includes("wipe ran"), approved.executions]).toEqual([true, ["wipe"]]);
  });

  it("does not have a tool that a rule excludes", async () => {
    const { text, executions } = await run("Object.keys(tools).join()");
    expect([text?.includes("srv_Hidden"), executions]).toEqual([false, []]);
  });
});
