import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./serve-test-server.ts", import.meta.url));

/** The test server in a process of its own. */
export class TestServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  static async start(answers: "json" | "sse"): Promise<TestServerProcess> {
    const child = spawn(process.execPath, ["--import", "tsx", script, answers], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    return new TestServerProcess(line.toString().trim(), child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill();
    await ended;
  }
}
