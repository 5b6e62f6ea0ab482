// A program of the SDK's second line on stdin and stdout. With "modern" it speaks 2026-07-28 only.
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const legacy = process.argv[2] === "modern" ? "reject" : "serve";
let stopped = 0;

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
  { legacy },
);
