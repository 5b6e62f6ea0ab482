// An MCP server of a few lines on stdin and stdout: without the SDK it is there in no time. What its
// first argument names goes wrong.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [mode = "well", pidFile] = process.argv.slice(2);
if (mode === "silent" && pidFile !== undefined) writeFileSync(pidFile, String(process.pid));
if (mode === "noisy") console.log("Listening on stdio …");
if (mode === "dying") {
  console.error("Error: no database");
  process.exit(3);
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: mode === "ancient" ? "1999-01-01" : protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "quick", version: "1.0.0" },
  }),
  "tools/list": () => ({
    tools: [{ name: "echo", description: "Says it again.", inputSchema: { type: "object" } }],
  }),
  "tools/call": ({ arguments: args }) => ({ content: [{ type: "text", text: JSON.stringify(args) }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = mode === "silent" ? undefined : answers[method]?.(params);
  if (result !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});
