import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { McpClient, type McpClientOptions, type StdioServerDefinition } from "../../src/index.js";
import { eventually, ONCE } from "./clients.js";

const script = fileURLToPath(new URL("./stdio-server.mjs", import.meta.url));
const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

/** A server of the official SDK; its tools and what `args` make of it are told in `stdio-server.mjs`. */
export function stdioServer(...args: string[]) {
  return { command: process.execPath, args: [script, ...args] };
}

const quick = fileURLToPath(new URL("./quick-stdio-server.mjs", import.meta.url));

/** One that starts quickly; what can go wrong with it is told in `quick-stdio-server.mjs`. */
export function quickServer(...args: string[]) {
  return { command: process.execPath, args: [quick, ...args] };
}

/** The reference server of the MCP project. */
export const EVERYTHING = { command: process.execPath, args: [everything] };

/** A process that runs this code and nothing else. */
export function scriptServer(code: string) {
  return { command: process.execPath, args: ["-e", code] };
}

export function stdioClient(
  definition: Partial<StdioServerDefinition> = stdioServer(),
  options: McpClientOptions = {},
): McpClient {
  return new McpClient({ name: "child", ...ONCE, ...stdioServer(), ...definition } as never, options);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whoever stays all the same is ended: a test that fails leaves nothing, too. */
export async function untilGone(...pids: readonly number[]): Promise<void> {
  try {
    await eventually(() => !pids.some(isAlive));
  } finally {
    for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
  }
}

interface ProcessFacts {
  readonly pid: number;
  readonly cwd: string;
  readonly env: Record<string, string>;
}

export async function factsOf(client: McpClient): Promise<ProcessFacts> {
  return JSON.parse((await client.callTool({ name: "facts" })).text()) as ProcessFacts;
}
