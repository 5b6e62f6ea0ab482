import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";

const entry = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");

/** What it serves, where, and what it says when it does. */
const WAYS = {
  streamableHttp: { path: "/mcp", ready: "listening on port" },
  sse: { path: "/sse", ready: "running on port" },
} as const;

/** The reference server of the MCP project in a process of its own, to be killed and started again. */
export class EverythingServer implements AsyncDisposable {
  readonly #port: number;
  readonly #way: keyof typeof WAYS;
  #process: ChildProcess | undefined;

  private constructor(port: number, way: keyof typeof WAYS) {
    this.#port = port;
    this.#way = way;
  }

  static async start(way: keyof typeof WAYS = "streamableHttp"): Promise<EverythingServer> {
    const server = new EverythingServer(await freePort(), way);
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${WAYS[this.#way].path}`;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [entry, this.#way], {
      env: { ...process.env, PORT: String(this.#port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      let output = "";
      child.stderr.on("data", (chunk) => {
        output += String(chunk);
        if (output.includes(WAYS[this.#way].ready)) resolve();
      });
      child.once("exit", () => reject(new Error(`server-everything ended: ${output}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
