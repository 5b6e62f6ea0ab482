import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { eventually } from "./clients.js";

/** False where Redis is neither installed nor can be. */
export const HAS_REDIS = inject("redisCommand") !== "";

interface RedisServerOptions {
  readonly password?: string;
  /** More of what one can write behind `redis-server`. */
  readonly settings?: readonly string[];
}

/** A real Redis on a loopback port, which keeps nothing on disk. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #options: RedisServerOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), "redis-"));
  #process: ChildProcess | undefined;

  private constructor(port: number, options: RedisServerOptions) {
    this.port = port;
    this.#options = options;
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options);
    await server.start();
    return server;
  }

  get url(): string {
    const { password } = this.#options;
    return `redis://${password === undefined ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${this.port}`;
  }

  /** On the same port as before, and empty. */
  async start(): Promise<void> {
    const { password, settings = [] } = this.#options;
    const own = ["--port", String(this.port), "--bind", "127.0.0.1", "--save", "", "--dir", this.#folder];
    if (password !== undefined) own.push("--requirepass", password);
    this.#process = spawn(inject("redisCommand"), [...own, ...settings], { stdio: "ignore" });
    await eventually(() => isOpen(this.port));
  }

  /** Dies at once, without a word to anybody. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await ended;
  }

  /** Takes connections and answers nothing, until `wake`. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  wake(): void {
    this.#process?.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).then((isThere) => {
    socket.destroy();
    return isThere === true;
  });
}
