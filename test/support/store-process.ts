import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { JsonValue } from "../../src/stores/index.js";
import type { StoreAnswer, StoreRequest } from "./use-store.js";

const script = fileURLToPath(new URL("./use-store.ts", import.meta.url));

/** A store as another process uses it. */
export class StoreProcess implements AsyncDisposable {
  /** What its change feed has told, in order. */
  readonly told: (string | null)[] = [];
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  constructor(kind: "file" | "redis", place: string) {
    this.#process = fork(script, [kind, place], { execArgv: ["--import", "tsx"] });
    this.#process.on("message", (message: StoreAnswer) => {
      if ("told" in message) this.told.push(message.told);
      else this.#waiting.get(message.id)?.(message.result);
    });
  }

  get(key: string): Promise<JsonValue | undefined> {
    return this.#ask("get", [key]) as Promise<JsonValue | undefined>;
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.#ask("set", [key, value]);
  }

  async delete(key: string): Promise<void> {
    await this.#ask("delete", [key]);
  }

  list(prefix: string): Promise<string[]> {
    return this.#ask("list", [prefix]) as Promise<string[]>;
  }

  async watch(): Promise<void> {
    await this.#ask("watch", []);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    await ended;
  }

  #ask(method: StoreRequest["method"], args: readonly unknown[]): Promise<unknown> {
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.send({ id, method, args });
    });
  }
}
