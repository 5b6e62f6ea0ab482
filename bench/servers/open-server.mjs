import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/**
 * Starts a server in its own process, so that its CPU time is not counted for the client.
 *
 * @param {"bare" | "sdk" | "registered"} kind
 * @param {{ responseType?: "json" | "sse", latencyMs?: number, toolCount?: number, servers?: number, listChanged?: boolean, hostileBytes?: number }} options
 * @returns {Promise<{ servers: Record<string, string>, close: () => Promise<void> }>} server names to URLs
 */
export async function openServer(kind, options = {}) {
  const file = fileURLToPath(new URL(`${kind}-server.mjs`, import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", file, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const line = await Promise.race([
    once(createInterface(child.stdout), "line").then(([text]) => text),
    exited.then(([code]) => Promise.reject(new Error(`${kind}-server.mjs exited with code ${code}.`))),
  ]);
  return {
    servers: Object.fromEntries(JSON.parse(line).map((url, index) => [`s${index}`, url])),
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
