import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("peer-main.mjs", import.meta.url));

/** Quiet, and without a word to anybody outside. */
const ENV = {
  ...process.env,
  NODE_NO_WARNINGS: "1",
  LANGSMITH_TRACING: "false",
  LANGCHAIN_TRACING_V2: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
};

/** One peer in a process of its own: no peer pays for another's garbage, sockets or compiled code. */
export class PeerProcess {
  #child;
  #ended;

  constructor(peer) {
    this.peer = peer;
    const stdio = ["ignore", "ignore", process.env.BENCH_DEBUG ? "inherit" : "ignore", "ipc"];
    this.#child = fork(MAIN, [peer], { execArgv: ["--expose-gc", "--no-warnings"], env: ENV, stdio });
    this.#ended = once(this.#child, "exit");
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Runs a task of `tasks/` there. A task that takes too long fails, and its process with it. */
  async run(task, params, maxMs = 120_000) {
    if (this.hasEnded) throw new Error("its process has ended");
    const answered = once(this.#child, "message");
    this.#child.send({ task, params });
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), maxMs);
    try {
      const ended = this.#ended.then(() => Promise.reject(new Error(`no end within ${maxMs / 1000} s`)));
      const [{ error, value }] = await Promise.race([answered, ended]);
      if (error !== undefined) throw new Error(error);
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  async close() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}

/** A process for one task. */
export async function runFresh(peer, task, params, maxMs) {
  const process = new PeerProcess(peer);
  try {
    return await process.run(task, params, maxMs);
  } finally {
    await process.close();
  }
}
