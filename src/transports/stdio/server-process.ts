import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { CancelScope } from "../../async/cancel-scope.js";
import { type Clock, delay, settleWithin } from "../../async/clock.js";
import type { ServerAddress } from "../../config/server-config.js";
import { childProcessReaper, GROUP_SPAWN_OPTIONS, ProcessGroup } from "./process-group.js";
import type { Writable } from "node:stream";

export type StdioAddress = ServerAddress & { readonly kind: "stdio" };

/**
 * How a process exited: with a code or by a signal. Both are null when it still runs but closed its stdin
 * or stdout.
 */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Receives the output of the process. */
interface ByteSink {
  data(chunk: Buffer): void;
  end(): void;
}

/** Receives the output and the exit of a process. */
export interface ProcessListener {
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  /** Called once when the process can no longer be used, and not after `stop()`. */
  readonly onExit: (status: ExitStatus) => void;
}

interface ServerProcessOptions {
  readonly address: StdioAddress;
  readonly clock: Clock;
  /** Called when the whole process group has been stopped. */
  readonly onStopped: (process: ServerProcess) => void;
}

/** How long to wait for remaining output and the exit code after the first sign of an exit. */
const EXIT_DRAIN_MS = 200;
/** How long a server may take to exit after its stdin was closed, after SIGTERM and after SIGKILL. */
const STDIN_CLOSE_MS = 1_000;
const SIGTERM_MS = 2_000;
const SIGKILL_MS = 1_000;
const POLL_MS = 20;

/** The process of one server. It leads a process group, which is terminated as a whole. */
export class ServerProcess {
  /** Rejects with the system error when the process cannot be started. */
  readonly started: Promise<void>;
  readonly input: LineWriter;
  readonly #options: ServerProcessOptions;
  readonly #listener: ProcessListener;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  /** Undefined when the process could not be started. */
  readonly #group: ProcessGroup | undefined;
  readonly #untrackGroup: (() => void) | undefined;
  #exitStatus: ExitStatus = { code: null, signal: null };
  #cancelExitTimer: (() => void) | undefined;
  #isStopped = false;
  #stopping: Promise<void> | undefined;

  /** Starts the process. Throws system errors that are detected synchronously. */
  constructor(options: ServerProcessOptions, listener: ProcessListener) {
    const { command, args, env, cwd } = options.address;
    const child = spawn(command, args, { ...GROUP_SPAWN_OPTIONS, env: createMinimalEnvironment(env), cwd });
    this.#options = options;
    this.#listener = listener;
    this.#child = child;
    this.input = new LineWriter(child.stdin);
    this.started = new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      // Later errors are undelivered signals, which have no effect here: `exit` reports the end of the
      // process.
      child.on("error", reject);
    });
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    if (child.pid !== undefined) {
      this.#group = new ProcessGroup(child.pid);
      this.#untrackGroup = childProcessReaper.track(this.#group);
    }
    this.#bindStreams();
    this.unref();
  }

  /** Keeps the event loop of this process alive, as long as a response is expected. */
  ref(): void {
    this.#child.ref();
  }

  unref(): void {
    this.#child.unref();
  }

  /** Closes stdin, then sends SIGTERM, then SIGKILL, both to the whole group. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelExitTimer?.();
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  #bindStreams(): void {
    const { stdin, stdout, stderr } = this.#child;
    const { stdout: stdoutSink, stderr: stderrSink } = this.#listener;
    for (const pipe of [stdin, stdout, stderr]) {
      (pipe as unknown as Socket).unref();
      pipe.on("error", () => this.#scheduleExit());
    }
    stdout.on("data", (chunk: Buffer) => stdoutSink.data(chunk));
    stderr.on("data", (chunk: Buffer) => stderrSink.data(chunk));
    stderr.once("end", () => stderrSink.end());
    stdout.once("end", () => {
      stdoutSink.end();
      this.#scheduleExit();
    });
    this.#child.once("exit", (code, signal) => {
      this.#exitStatus = { code, signal };
      this.#scheduleExit();
    });
    this.#child.once("close", () => this.#emitExit());
  }

  /** Does not wait for `close`: a program that the server started may keep its pipes open after it exited. */
  #scheduleExit(): void {
    if (this.#isStopped) return;
    this.#cancelExitTimer ??= this.#options.clock.after(EXIT_DRAIN_MS, () => this.#emitExit());
  }

  #emitExit(): void {
    if (this.#isStopped) return;
    void this.stop();
    this.#listener.onExit(this.#exitStatus);
  }

  async #stop(): Promise<void> {
    const { stdin, stdout, stderr } = this.#child;
    const { clock } = this.#options;
    stdin.end();
    if (this.#group !== undefined) {
      await settleWithin(STDIN_CLOSE_MS, clock, () => this.#exited);
      if (this.#group.signal("SIGTERM")) await this.#terminateGroup(this.#group);
    }
    this.#untrackGroup?.();
    // A program that left the group may still keep them open.
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
    this.#options.onStopped(this);
  }

  /**
   * Waits for the whole group: programs that the server started may take longer than it, or ignore SIGTERM.
   */
  async #terminateGroup(group: ProcessGroup): Promise<void> {
    const { clock } = this.#options;
    const pollScope = new CancelScope();
    await settleWithin(SIGTERM_MS, clock, async () => {
      await this.#exited;
      while (group.isAlive) await delay(POLL_MS, clock, pollScope);
    });
    pollScope.cancel(undefined);
    if (group.signal("SIGKILL")) await settleWithin(SIGKILL_MS, clock, () => this.#exited);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that programs need to run and that do not contain secrets. */
const INHERITED_VARIABLES: Readonly<Record<"posix" | "windows", readonly string[]>> = {
  posix: ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"],
  windows: [
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
  ],
};

/**
 * Creates the environment of a server process: a few inherited variables and the configured ones. All others,
 * which may contain tokens, are not passed on.
 */
export function createMinimalEnvironment(
  configured: Readonly<Record<string, string>>,
  parent: Environment = process.env,
) {
  const names = INHERITED_VARIABLES[process.platform === "win32" ? "windows" : "posix"];
  const inherited = names.flatMap((name) => {
    const value = parent[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...configured };
}

/** A queued or written line. */
export interface LineHandle {
  /** Whether any byte of it may have reached the reader. */
  readonly isSent: boolean;
}

interface QueuedLine {
  isSent: boolean;
  readonly text: string;
  readonly onDone: () => void;
}

/**
 * Writes one line at a time, as fast as the reader reads. Queued lines have not been sent and can be
 * cancelled.
 */
class LineWriter {
  readonly #stream: Writable;
  readonly #queue = new Set<QueuedLine>();
  #isWriting = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** `onDone` is called when the line was written, or will never be. */
  write(text: string, onDone: () => void = () => undefined): LineHandle {
    const line: QueuedLine = { text, onDone, isSent: false };
    this.#queue.add(line);
    this.#writeNext();
    return line;
  }

  /** Removes a queued line. Has no effect once it is being written. */
  cancel(line: LineHandle): void {
    const queued = line as QueuedLine;
    if (this.#queue.delete(queued)) queued.onDone();
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    const [line] = this.#queue;
    if (line === undefined) return;
    this.#queue.delete(line);
    this.#isWriting = true;
    this.#stream.write(`${line.text}\n`, () => {
      this.#isWriting = false;
      line.onDone();
      this.#writeNext();
    });
    // If the stream is not writable now, it rejected the line synchronously and sent no byte of it.
    line.isSent = this.#stream.writable;
  }
}
