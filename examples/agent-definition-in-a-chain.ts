// An agent definition in a chain that exists already: its prompt and model stay as they are, the model is bound to
// the tools of the definition, and one step that runs the tool calls is added.
import { readFile } from "node:fs/promises";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import { fakeModel } from "@langchain/core/testing";
import { createMcpToolsFromAgent } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const agent = await readFile(new URL("./agent.json", import.meta.url), "utf8");
const [snapshot] = JSON.parse(agent).resources[0].availableTools;
await using server = await startMcpTestServer({
  tools: [{ ...snapshot, run: ({ city }) => `${String(city)}: 7 °C, light rain` }],
});
await using mcp = await createMcpToolsFromAgent(agent, {
  servers: { weather: { url: server.url } },
  agentInput: { weatherKey: "k-123" },
});

const prompt = ChatPromptTemplate.fromMessages([["human", "What is the weather in {cities}?"]]);
const model = fakeModel().respondWithTools([
  { name: "forecast", args: { city: "Oslo" } },
  { name: "forecast", args: { city: "Bergen" } },
]);
const runTools = RunnableLambda.from(async ({ tool_calls = [] }: AIMessageChunk, config: RunnableConfig) => {
  const outcomes = await mcp.callTools(tool_calls, { config });
  return outcomes.map((outcome) => (outcome.ok ? outcome.result.text() : outcome.error.message));
});

const chain = prompt
  .pipe(model.bindTools(mcp.tools))
  .pipe(runTools)
  .pipe((lines: string[]) => lines.join("\n"));
console.log(await chain.invoke({ cities: "Oslo and Bergen" }));
