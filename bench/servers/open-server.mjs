import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/**
 * A server in a process of its own: its CPU is not the client's.
 *
 * @param {"bare" | "sdk"} kind
 * @param {{ answers?: "json" | "sse", latencyMs?: number, toolCount?: number, servers?: number }} options
 * @returns {Promise<{ servers: Record<string, string>, close: () => Promise<void> }>} names to addresses
 */
export async function openServer(kind, options = {}) {
  const file = fileURLToPath(new URL(`${kind}-server.mjs`, import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", file, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const line = await Promise.race([
    once(createInterface(child.stdout), "line").then(([text]) => text),
    ended.then(([code]) => Promise.reject(new Error(`${kind}-server.mjs ended with ${code}.`))),
  ]);
  return {
    servers: Object.fromEntries(JSON.parse(line).map((url, index) => [`s${index}`, url])),
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
