// A tool in a plain chain, without an agent.
import { RunnableLambda } from "@langchain/core/runnables";
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [{ name: "translate", run: ({ text }) => `«${String(text)}»` }],
});
await using mcp = await createMcpTools({ words: { url: server.url } });
const [translate] = mcp.getTools("words");
if (translate === undefined) throw new Error("The server has no tools.");

const chain = RunnableLambda.from((text: string) => ({ text }))
  .pipe(translate)
  .pipe((result) => `Translated: ${String(result)}`);
console.log(await chain.invoke("good morning"));
