import { readFileSync } from "node:fs";
import type { ProcessGroup } from "./process-group.js";

/** What ends a process that does not listen to it. */
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type EndingSignal = (typeof ENDING_SIGNALS)[number];

/** How long servers get to end by themselves while this process waits to end. */
const LAST_WAIT_MS = 200;
const LAST_LOOK_MS = 5;

/** The same for every copy of this package in a process: each must know the others' listeners. */
const OURS = Symbol.for("langchain-mcp-runtime.exit-guard");

/**
 * Ends process groups together with this process: when it exits, also by an exception that nobody
 * catches, and when a signal ends it. Listens only while there is a group, and changes nothing about
 * how this process ends: exit codes stay, whoever listens to a signal decides what follows from it,
 * and a signal that nobody else listens to ends the process as it would have.
 */
class ExitGuard {
  readonly #groups = new Set<ProcessGroup>();
  readonly #onExit = () => this.#endNow();
  readonly #onSignal = Object.assign((signal: EndingSignal) => this.#take(signal), { [OURS]: true });

  /** Until the function that comes back is called. */
  watch(group: ProcessGroup): () => void {
    if (this.#groups.size === 0) this.#listen();
    this.#groups.add(group);
    return () => {
      if (this.#groups.delete(group) && this.#groups.size === 0) this.#stopListening();
    };
  }

  #listen(): void {
    process.on("exit", this.#onExit);
    for (const signal of ENDING_SIGNALS) process.on(signal, this.#onSignal);
  }

  #stopListening(): void {
    process.off("exit", this.#onExit);
    for (const signal of ENDING_SIGNALS) process.off(signal, this.#onSignal);
  }

  #take(signal: EndingSignal): void {
    if (isSomebodyElses(signal)) return;
    this.#endNow();
    this.#stopListening();
    process.kill(process.pid, signal);
  }

  /**
   * Blocks: an exiting process has no time to wait in any other way. Those who end at SIGTERM can tidy
   * up (a browser that they started is in no group of ours), the others are ended after that.
   */
  #endNow(): void {
    const groups = [...this.#groups].filter((group) => group.signal("SIGTERM"));
    this.#groups.clear();
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const end = performance.now() + LAST_WAIT_MS;
    while (performance.now() < end && !groups.every(({ pid }) => hasEnded(pid)))
      Atomics.wait(pause, 0, 0, LAST_LOOK_MS);
    for (const group of groups) group.signal("SIGKILL");
  }
}

/** Whether anybody listens who may want to go on: then the signal is theirs, and the exit that follows ours. */
function isSomebodyElses(signal: EndingSignal): boolean {
  const others = process.listeners(signal).filter((listener) => !(OURS in listener));
  return others.length > countOfSignalExit();
}

/**
 * The listeners of signal-exit, which is in half of all programs, step aside for any other: together
 * we would keep the process alive. It tells how many it has, version 4 and version 3 in their ways.
 */
function countOfSignalExit(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
    Reflect.get(process, "__signal_exit_emitter__"),
  ];
  return emitters.reduce<number>((sum, emitter) => {
    const count: unknown = typeof emitter === "object" && emitter !== null && Reflect.get(emitter, "count");
    return sum + (typeof count === "number" ? count : 0);
  }, 0);
}

/** A child stays in the table of processes until this one has looked at it, which it no longer does. */
function hasEnded(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // Where there is no such table, the whole time is waited.
    return process.platform === "linux";
  }
}

/** The one of this process: signals and exit are its, and listeners on it are few. */
export const exitGuard = new ExitGuard();
