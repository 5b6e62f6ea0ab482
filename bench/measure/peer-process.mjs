import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("peer-main.mjs", import.meta.url));

/** Disables warnings and outgoing telemetry. */
const ENV = {
  ...process.env,
  NODE_NO_WARNINGS: "1",
  LANGSMITH_TRACING: "false",
  LANGCHAIN_TRACING_V2: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
};

/** Runs one peer in its own process, so that peers do not share garbage, sockets or compiled code. */
export class PeerProcess {
  #child;
  #exited;

  constructor(peer) {
    this.peer = peer;
    const stdio = ["ignore", "ignore", process.env.BENCH_DEBUG ? "inherit" : "ignore", "ipc"];
    this.#child = fork(MAIN, [peer], { execArgv: ["--expose-gc", "--no-warnings"], env: ENV, stdio });
    this.#exited = once(this.#child, "exit");
  }

  get hasExited() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Runs a task from `tasks/` in the process. A task that times out fails, and its process is killed. */
  async run(task, params, timeoutMs = 120_000) {
    if (this.hasExited) throw new Error("process has exited");
    const response = once(this.#child, "message");
    this.#child.send({ task, params });
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), timeoutMs);
    try {
      const exited = this.#exited.then(() =>
        Promise.reject(new Error(`process exited, or was killed after ${timeoutMs / 1000} s`)),
      );
      const [{ error, value }] = await Promise.race([response, exited]);
      if (error !== undefined) throw new Error(error);
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  async close() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}

/** Runs one task in a new process. */
export async function runInFreshProcess(peer, task, params, timeoutMs) {
  const process = new PeerProcess(peer);
  try {
    return await process.run(task, params, timeoutMs);
  } finally {
    await process.close();
  }
}
