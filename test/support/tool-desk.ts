import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../src/definitions/json.js";
import type { Execution } from "../../src/testing/test-tool.js";
import type { TestTool } from "../../src/testing/index.js";
import { eventually } from "./clients.js";
import { isAlive } from "./stdio-servers.js";

interface DeskCall {
  readonly id: number;
  readonly tool: string;
  readonly args: JsonObject;
}

/**
 * Runs the tools of server processes (`stdio-server.mjs desk <port>`) in this one: a test sees each
 * run, and which processes are alive.
 */
export class ToolDesk implements AsyncDisposable {
  readonly executions: Execution[] = [];
  /** A process has no sessions but itself. */
  readonly openSessions: string[] = [];
  readonly #tools: readonly TestTool[];
  readonly #server: Server;
  readonly #pids = new Map<Socket, number>();

  private constructor(tools: readonly TestTool[]) {
    this.#tools = tools;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(tools: readonly TestTool[]): Promise<ToolDesk> {
    const desk = new ToolDesk(tools);
    await new Promise<void>((resolve) => desk.#server.listen(0, "127.0.0.1", resolve));
    return desk;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** One for each process that is alive. */
  get openSockets(): number {
    return this.#pids.size;
  }

  async killAll(): Promise<void> {
    const pids = [...this.#pids.values()];
    for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
    // A process lets go of its sockets before its pipes: until it is gone, a write to it still succeeds.
    await eventually(() => this.openSockets === 0 && !pids.some(isAlive));
  }

  async close(): Promise<void> {
    await this.killAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #serve(socket: Socket): void {
    const lines = createInterface(socket);
    // Whoever is killed says no goodbye.
    for (const emitter of [socket, lines]) emitter.on("error", () => undefined);
    socket.once("close", () => this.#pids.delete(socket));
    lines.on("line", (line) => {
      const message = JSON.parse(line) as DeskCall | { readonly pid: number };
      if ("pid" in message) this.#pids.set(socket, message.pid);
      else void this.#run(socket, message);
    });
  }

  async #run(socket: Socket, { id, tool: name, args }: DeskCall): Promise<void> {
    this.executions.push({ tool: name, args, sessionId: undefined, headers: {} });
    const tool = this.#tools.find((candidate) => candidate.name === name);
    const result: unknown = await tool?.run(args, {
      signal: new AbortController().signal,
      sessionId: undefined,
      headers: {},
      progress: async () => undefined,
    });
    socket.write(`${JSON.stringify({ id, result })}\n`);
  }
}
