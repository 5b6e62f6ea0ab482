import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ClientAnswer } from "./use-client.js";

const script = fileURLToPath(new URL("./use-client.ts", import.meta.url));

interface ClientPlace {
  readonly url: string;
  readonly store: "file" | "redis";
  /** The folder, or the address of Redis. */
  readonly place: string;
}

/** A client with a session store, as another process has it. */
export class ClientProcess implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: ClientAnswer) => void>();
  #lastId = 0;

  constructor({ url, store, place }: ClientPlace) {
    this.#process = fork(script, [url, store, place], { execArgv: ["--import", "tsx"] });
    this.#process.on("message", (message: ClientAnswer) => this.#waiting.get(message.id)?.(message));
  }

  /** Calls `echo` with each of these texts at once. */
  echo(...texts: readonly string[]): Promise<ClientAnswer> {
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.send({ id, texts });
    });
  }

  /** Closes its client and its store, and ends by itself when nothing is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    await ended;
  }
}
