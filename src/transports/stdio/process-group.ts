import { spawnSync } from "node:child_process";

const isWindows = process.platform === "win32";

/** A process that was started with these options leads a group: itself and all that it starts. */
export const AS_GROUP_LEADER = { detached: !isWindows, windowsHide: true } as const;

/** A process and all that it started, which are ended together. */
export class ProcessGroup {
  /** Of the process that leads it. */
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
  }

  get isAlive(): boolean {
    return this.#send(0);
  }

  /** False when nobody is left to hear it. */
  signal(signal: "SIGTERM" | "SIGKILL"): boolean {
    return isWindows ? this.#endTree() : this.#send(signal);
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(isWindows ? this.pid : -this.pid, signal);
      return true;
    } catch (error) {
      // Anything else says that somebody is there who does not listen to us.
      return Reflect.get(error as object, "code") !== "ESRCH";
    }
  }

  /** Windows knows neither groups nor signals, only parents. */
  #endTree(): boolean {
    if (!this.isAlive) return false;
    spawnSync("taskkill", ["/pid", String(this.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    return true;
  }
}
