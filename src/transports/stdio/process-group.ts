import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

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

/** Signals that terminate a process without a listener for them. */
const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type TerminationSignal = (typeof TERMINATION_SIGNALS)[number];

/** How long this process waits for servers to exit before it kills them. */
const EXIT_WAIT_MS = 200;
const EXIT_POLL_MS = 5;

/** Shared by all copies of this package in a process, which must recognize each other's listeners. */
const OWN_LISTENER = Symbol.for("langchain-mcp-runtime.child-process-reaper");

/**
 * Terminates process groups when this process exits, including by an uncaught exception or a signal. It has
 * listeners only while there is a group, and does not change how this process exits: exit codes stay, other
 * listeners of a signal decide what it does, and without any the signal terminates the process as usual.
 */
class ChildProcessReaper {
  readonly #groups = new Set<ProcessGroup>();
  readonly #onExit = () => this.#killAll();
  readonly #onSignal = Object.assign((signal: TerminationSignal) => this.#handleSignal(signal), {
    [OWN_LISTENER]: true,
  });

  /** Tracks a group until the returned function is called. */
  track(group: ProcessGroup): () => void {
    if (this.#groups.size === 0) this.#listen();
    this.#groups.add(group);
    return () => {
      if (this.#groups.delete(group) && this.#groups.size === 0) this.#stopListening();
    };
  }

  #listen(): void {
    process.on("exit", this.#onExit);
    for (const signal of TERMINATION_SIGNALS) process.on(signal, this.#onSignal);
  }

  #stopListening(): void {
    process.off("exit", this.#onExit);
    for (const signal of TERMINATION_SIGNALS) process.off(signal, this.#onSignal);
  }

  #handleSignal(signal: TerminationSignal): void {
    if (hasForeignListener(signal)) return;
    this.#killAll();
    this.#stopListening();
    process.kill(process.pid, signal);
  }

  /**
   * Blocks, because an exiting process cannot wait asynchronously. Servers that handle SIGTERM can clean up,
   * such as a browser that they started in another group; the others are killed afterwards.
   */
  #killAll(): void {
    const groups = [...this.#groups].filter((group) => group.signal("SIGTERM"));
    this.#groups.clear();
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const end = performance.now() + EXIT_WAIT_MS;
    while (performance.now() < end && !groups.every(({ pid }) => hasExited(pid)))
      Atomics.wait(pause, 0, 0, EXIT_POLL_MS);
    for (const group of groups) group.signal("SIGKILL");
  }
}

/**
 * Whether the application handles the signal and may keep running. If it exits, the `exit` listener takes
 * over.
 */
function hasForeignListener(signal: TerminationSignal): boolean {
  const foreign = process.listeners(signal).filter((listener) => !(OWN_LISTENER in listener));
  return foreign.length > countSignalExitListeners();
}

/**
 * Counts the listeners of the popular package signal-exit. They do nothing when there are other listeners,
 * so waiting for them would keep the process alive. Versions 4 and 3 publish the count in different places.
 */
function countSignalExitListeners(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
    Reflect.get(process, "__signal_exit_emitter__"),
  ];
  return emitters.reduce<number>((sum, emitter) => {
    const count: unknown = typeof emitter === "object" && emitter !== null && Reflect.get(emitter, "count");
    return sum + (typeof count === "number" ? count : 0);
  }, 0);
}

/** A child stays in the process table as a zombie, because this blocked process cannot reap it. */
function hasExited(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // Other platforms have no /proc: there the full time is waited.
    return process.platform === "linux";
  }
}

/** One per process, because signals and exit belong to the process and its listeners are limited. */
export const childProcessReaper = new ChildProcessReaper();
