// A program that uses a stdio server, tells the pids of the server and of what that started, and ends
// in one way or another, without closing anything. Plain JavaScript on what was built: many of these
// are started, and they start three times as fast.
import { fileURLToPath } from "node:url";
import { McpClient } from "langchain-mcp-runtime";

const [ending, serverMode] = process.argv.slice(2);
const script = fileURLToPath(new URL("./stdio-server.mjs", import.meta.url));
const client = new McpClient({ name: "child", command: process.execPath, args: [script, serverMode] });
const textOf = async (name) => (await client.callTool({ name })).text();
const { pid } = JSON.parse(await textOf("facts"));
const helper = serverMode === "stubborn" ? Number(await textOf("helper")) : pid;

const endings = {
  "runs out of work": () => (process.exitCode = 4),
  "calls process.exit": () => process.exit(3),
  throws: () => {
    setImmediate(() => {
      throw new Error("nobody catches this");
    });
  },
  "waits for a signal": () => setInterval(() => undefined, 1000),
  "handles SIGTERM": () => {
    setInterval(() => undefined, 1000);
    process.once("SIGTERM", () => {
      // Still at work: it decides when it ends, and with what.
      void client.callTool({ name: "echo", args: { text: "x" } }).then(() => process.exit(5));
    });
  },
  // As signal-exit does: it steps aside for any other listener, and tells how many are its own.
  "has a listener that steps aside": () => {
    setInterval(() => undefined, 1000);
    Object.assign(globalThis, { [Symbol.for("signal-exit emitter")]: { count: 1 } });
    const listener = () => {
      if (process.listeners("SIGTERM").length > 1) return;
      process.off("SIGTERM", listener);
      process.kill(process.pid, "SIGTERM");
    };
    process.on("SIGTERM", listener);
  },
  "listens to the server": async () => {
    const changed = new Promise((resolve) => client.on("toolsChanged", resolve));
    await client.callTool({ name: "notify" });
    await changed;
    process.exit(6);
  },
};
process.stdout.write(`${JSON.stringify([pid, helper])}\n`, () => endings[ending]());
