import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { CancelScope } from "../../async/cancel-scope.js";
import type { Clock } from "../../async/clock.js";
import { delay } from "../../async/delay.js";
import { within } from "../../async/settle-within.js";
import type { ServerAddress } from "../../config/server-config.js";
import { cleanEnvironment } from "./minimal-environment.js";
import { exitGuard } from "./child-process-reaper.js";
import { LineWriter } from "./line-writer.js";
import { AS_GROUP_LEADER, ProcessGroup } from "./process-group.js";

export type StdioAddress = ServerAddress & { readonly kind: "stdio" };

/** How a process ended: with a code or by a signal. With neither, it runs and neither hears nor speaks. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Takes what the process writes. */
interface Sink {
  data(chunk: Buffer): void;
  end(): void;
}

/** Whoever uses a process. */
export interface ProcessUser {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** It is of no more use. Told once, and not after `stop()`. */
  readonly onEnd: (end: ProcessEnd) => void;
}

interface ServerProcessOptions {
  readonly address: StdioAddress;
  readonly clock: Clock;
  /** Nothing of it is left. */
  readonly onGone: (process: ServerProcess) => void;
}

/** After the first sign of an end, how long the rest of it may take: last words, exit code. */
const LAST_WORDS_MS = 200;
/** How long a server gets to end after the end of its input, after SIGTERM, after SIGKILL. */
const END_OF_INPUT_MS = 1_000;
const SIGTERM_MS = 2_000;
const SIGKILL_MS = 1_000;
const LOOK_MS = 20;

/** The process of one server. It leads a group, with all that it starts, which is ended as a whole. */
export class ServerProcess {
  /** Rejects with the system's error when it cannot be started. */
  readonly started: Promise<void>;
  readonly input: LineWriter;
  readonly #options: ServerProcessOptions;
  readonly #user: ProcessUser;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  /** `undefined` when it could not be started. */
  readonly #group: ProcessGroup | undefined;
  readonly #forgetGroup: (() => void) | undefined;
  #end: ProcessEnd = { code: null, signal: null };
  #stopWaiting: (() => void) | undefined;
  #isOver = false;
  #stopping: Promise<void> | undefined;

  /** Starts it. Throws the system's error when that is known at once. */
  constructor(options: ServerProcessOptions, user: ProcessUser) {
    const { command, args, env, cwd } = options.address;
    const child = spawn(command, args, { ...AS_GROUP_LEADER, env: cleanEnvironment(env), cwd });
    this.#options = options;
    this.#user = user;
    this.#child = child;
    this.input = new LineWriter(child.stdin);
    this.started = new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      // Later errors are signals that were not delivered: whether it has ended is told by its exit.
      child.on("error", reject);
    });
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    if (child.pid !== undefined) {
      this.#group = new ProcessGroup(child.pid);
      this.#forgetGroup = exitGuard.watch(this.#group);
    }
    this.#watch();
    this.setIdle();
  }

  /** While something is expected of it, this process does not end for want of work. */
  setBusy(): void {
    this.#child.ref();
  }

  setIdle(): void {
    this.#child.unref();
  }

  /** The end of its input, then SIGTERM, then SIGKILL; the two signals go to the whole group. */
  stop(): Promise<void> {
    this.#isOver = true;
    this.#stopWaiting?.();
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  #watch(): void {
    const { stdin, stdout, stderr } = this.#child;
    const { stdout: lines, stderr: words } = this.#user;
    for (const pipe of [stdin, stdout, stderr]) {
      (pipe as unknown as Socket).unref();
      pipe.on("error", () => this.#expectEnd());
    }
    stdout.on("data", (chunk: Buffer) => lines.data(chunk));
    stderr.on("data", (chunk: Buffer) => words.data(chunk));
    stderr.once("end", () => words.end());
    stdout.once("end", () => {
      lines.end();
      this.#expectEnd();
    });
    this.#child.once("exit", (code, signal) => {
      this.#end = { code, signal };
      this.#expectEnd();
    });
    this.#child.once("close", () => this.#tellEnd());
  }

  /** Whoever holds its pipes after it has ended, such as a program that it started, is not waited for. */
  #expectEnd(): void {
    if (this.#isOver) return;
    this.#stopWaiting ??= this.#options.clock.after(LAST_WORDS_MS, () => this.#tellEnd());
  }

  #tellEnd(): void {
    if (this.#isOver) return;
    void this.stop();
    this.#user.onEnd(this.#end);
  }

  async #stop(): Promise<void> {
    const { stdin, stdout, stderr } = this.#child;
    const { clock } = this.#options;
    stdin.end();
    if (this.#group !== undefined) {
      await within(END_OF_INPUT_MS, clock, () => this.#exited);
      if (this.#group.signal("SIGTERM")) await this.#endGroup(this.#group);
    }
    this.#forgetGroup?.();
    // A program that has left the group may still hold them.
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
    this.#options.onGone(this);
  }

  /** Not only its leader: what that one started may take longer, or not listen. */
  async #endGroup(group: ProcessGroup): Promise<void> {
    const { clock } = this.#options;
    const enough = new CancelScope();
    await within(SIGTERM_MS, clock, async () => {
      await this.#exited;
      while (group.isAlive) await delay(LOOK_MS, clock, enough);
    });
    enough.cancel(undefined);
    if (group.signal("SIGKILL")) await within(SIGKILL_MS, clock, () => this.#exited);
  }
}
