// A server that is a program. It is started when it is first needed, started again when it dies, and
// gone when the toolset is closed.
import { createRequire } from "node:module";
import { createMcpTools } from "langchain-mcp-runtime";

// With npx it would be: command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"]
const script = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

await using mcp = await createMcpTools({
  everything: {
    command: "node",
    args: [script],
    env: { GREETING: "hello" },
    tools: ["echo", "get-env"],
  },
});

const [echo, getEnv] = mcp.tools;
const environment = JSON.parse(String(await getEnv?.invoke({}))) as Record<string, string>;
console.log(`Of our environment it got ${Object.keys(environment).toSorted().join(", ")}.`);
console.log(await echo?.invoke({ message: "I am a process of my own." }));
