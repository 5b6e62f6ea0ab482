// A program of the SDK's second line on stdin and stdout. With "modern" it speaks 2026-07-28 only. With "touchy" as well, and
// dies of the next word after a greeting that it refused. Says on stderr that it was started.
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [, , era] = process.argv;
let stopped = 0;
let hasRefused = false;

process.stderr.write("started\n");

if (era === "touchy")
  process.stdin.on("data", (data) => {
    if (hasRefused) process.exit(1);
    hasRefused = String(data).includes('"initialize"');
  });

const tools = {
  echo: ({ text }) => text,
  hang: (_, { mcpReq: { signal } }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        stopped += 1;
        resolve("stopped");
      });
    }),
  stopped: () => String(stopped),
};

serveStdio(
  () => {
    const server = new Server({ name: "modern", version: "2.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })),
    }));
    server.setRequestHandler("tools/call", async ({ params }, context) => ({
      content: [{ type: "text", text: await tools[params.name](params.arguments ?? {}, context) }],
    }));
    return server;
  },
  { legacy: era === "dual" ? "serve" : "reject" },
);
