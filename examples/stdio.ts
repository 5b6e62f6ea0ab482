// A stdio server: its process is started on first use, restarted when it exits unexpectedly, and stopped
// when the toolset is closed.
import { createRequire } from "node:module";
import { createMcpTools } from "langchain-mcp-runtime";

// With npx: command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"]
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
console.log(`The process received these variables: ${Object.keys(environment).toSorted().join(", ")}.`);
console.log(await echo?.invoke({ message: "Hello from another process." }));
