// An MCP server of the official SDK on stdin and stdout, with tools that show and break everything a
// process has. Plain JavaScript: it starts three times as fast.
import { spawn } from "node:child_process";
import { closeSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const tools = {
  echo: ({ text }) => text,
  facts: () => JSON.stringify({ pid: process.pid, cwd: process.cwd(), env: process.env }),
  hang: () => new Promise(() => undefined),
  repeat: ({ text, times }) => text.repeat(times),
  /** Says something, and ends before it answers. */
  crash: ({ say = "", code = 1 }) => {
    if (say !== "") writeSync(2, `${say}\n`);
    process.exit(code);
  },
  /** Ends after its answer. */
  leave: () => {
    setTimeout(() => process.exit(0), 20);
    return "bye";
  },
  print: async ({ text }) => {
    await write(text);
    return "printed";
  },
  complain: ({ text }) => {
    writeSync(2, text);
    return "complained";
  },
  /** Answers with a line of so many bytes, without ever having it in one piece. */
  flood: async ({ bytes, idFirst = false }, id) => {
    const [first, last] = idFirst ? [`"id":${id},`, ""] : ["", `,"id":${id}`];
    const piece = Buffer.alloc(64 * 1024, "x");
    await write(`{"jsonrpc":"2.0",${first}"result":{"content":[{"type":"text","text":"`);
    for (let left = bytes; left > 0; left -= piece.length) await write(piece.subarray(0, left));
    await write(`"}]}${last}}\n`);
    return new Promise(() => undefined);
  },
  notify: async () => {
    setTimeout(() => void server.sendToolListChanged(), 300);
    return "soon";
  },
  /** Starts a program that holds our pipes and listens to nothing. */
  helper: async () => {
    const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.error('ready')";
    const child = spawn(process.execPath, ["-e", script], { stdio: ["inherit", "inherit", "pipe"] });
    await new Promise((resolve) => child.stderr.once("data", resolve));
    return String(child.pid);
  },
  closeStdout: () => {
    closeSync(1);
    return new Promise(() => undefined);
  },
};

function write(bytes) {
  return new Promise((resolve) => process.stdout.write(bytes, resolve));
}

/** Tools that run in the process of a test, which is told of each call: see `tool-desk.ts`. */
function openDesk(port) {
  const socket = connect(Number(port), "127.0.0.1").unref();
  const waiting = new Map();
  socket.write(`${JSON.stringify({ pid: process.pid })}\n`);
  createInterface(socket).on("line", (line) => {
    const { id, result } = JSON.parse(line);
    waiting.get(id)(result);
  });
  return (tool, args) =>
    new Promise((resolve) => {
      const id = waiting.size;
      waiting.set(id, resolve);
      socket.write(`${JSON.stringify({ id, tool, args })}\n`);
    });
}

const [mode, port] = process.argv.slice(2);
// Ends neither when its input ends nor when it is asked to.
if (mode === "stubborn") process.on("SIGTERM", () => undefined);
if (mode === "stubborn" || mode === "stays") setInterval(() => undefined, 1000);
const call = mode === "desk" ? openDesk(port) : (name, args, id) => tools[name](args, id);

const server = new Server(
  { name: "stdio-server", version: "1.0.0" },
  { capabilities: { tools: { listChanged: true } } },
);
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId }) => ({
  content: [{ type: "text", text: await call(params.name, params.arguments ?? {}, requestId) }],
}));
await server.connect(new StdioServerTransport());
