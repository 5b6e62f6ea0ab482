import { spawnSync } from "node:child_process";

const isWindows = process.platform === "win32";

/**
 * Options of `spawn` that make a process the leader of a new group, which includes all processes it starts.
 */
export const GROUP_SPAWN_OPTIONS = { detached: !isWindows, windowsHide: true } as const;

/** A process and all processes that it started, which are terminated together. */
export class ProcessGroup {
  /** The process id of the leader. */
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
  }

  get isAlive(): boolean {
    return this.#send(0);
  }

  /** Returns false when no process of the group is left. */
  signal(signal: "SIGTERM" | "SIGKILL"): boolean {
    return isWindows ? this.#killTree() : this.#send(signal);
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(isWindows ? this.pid : -this.pid, signal);
      return true;
    } catch (error) {
      // Any other error, such as EPERM, means that a process exists but cannot be signaled.
      return Reflect.get(error as object, "code") !== "ESRCH";
    }
  }

  /** Windows has neither process groups nor signals, only parents. */
  #killTree(): boolean {
    if (!this.isAlive) return false;
    spawnSync("taskkill", ["/pid", String(this.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    return true;
  }
}
