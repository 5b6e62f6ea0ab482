import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CancelScope } from "../async/cancel-scope.js";
import { type Clock, settleWithin, systemClock } from "../async/clock.js";
import { printValue, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { isPromiseLike } from "../json/json.js";
import type { Progress } from "../transports/transport.js";

/** A progress notification of a running tool call. */
export interface ToolProgress extends Progress {
  /** Tells this event from others that a stream writer receives. */
  readonly type: "mcp_progress";
  /** The name of the server. */
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  /** The id of the tool call; `undefined` when the tool was invoked with plain arguments. */
  readonly toolCallId: string | undefined;
}

export type ProgressListener = (progress: ToolProgress) => unknown;

interface ProgressReporterOptions {
  readonly source: Pick<ToolProgress, "server" | "tool" | "toolCallId">;
  readonly listeners: readonly ProgressListener[];
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/** The tool that reports progress. */
interface ProgressSource {
  readonly name: string;
  readonly server: string;
  readonly settings: { readonly onProgress?: ProgressListener | undefined };
  readonly warn: (message: string) => void;
}

/**
 * Returns `undefined` when there is no listener. Listeners are the option `onProgress`, LangGraph's `config.writer`,
 * and callback handlers with `handleToolEvent`, which `streamMode: "tools"` uses.
 */
export function createProgressReporter(
  { name: tool, server, settings: { onProgress }, warn }: ProgressSource,
  { runConfig, toolCallId }: { readonly runConfig: RunnableConfig; readonly toolCallId: string | undefined },
  runManager: CallbackManagerForToolRun | undefined,
): ProgressReporter | undefined {
  const writer: unknown = Reflect.get(runConfig, "writer");
  const listeners: ProgressListener[] = [];
  if (onProgress !== undefined) listeners.push(onProgress);
  if (typeof writer === "function") listeners.push(writer as ProgressListener);
  if (runManager?.handlers.some((handler) => handler.handleToolEvent !== undefined) === true)
    listeners.push((progress) => runManager.handleToolEvent(progress));
  if (listeners.length === 0) return undefined;
  return new ProgressReporter({ source: { server, tool, toolCallId }, listeners, clock: systemClock, warn });
}

const MIN_INTERVAL_MS = 100;
/** How long a result waits for the listeners. */
const MAX_END_MS = 1_000;

/** Throttles progress: the first notification is passed on at once, the last one always. */
export class ProgressReporter {
  readonly #options: ProgressReporterOptions;
  #latest: Progress | undefined;
  #cancelTimer: (() => void) | undefined;
  #isEnded = false;
  /** The promises of listeners. */
  readonly #pending = new Set<Promise<void>>();

  constructor(options: ProgressReporterOptions) {
    this.#options = options;
  }

  report(progress: Progress): void {
    if (this.#isEnded) return;
    this.#latest = progress;
    if (this.#cancelTimer === undefined) this.#flush();
  }

  /**
   * Passes on a pending notification, ignores later ones, and waits for the listeners: at most a second, and not once the
   * call is cancelled. Never rejects.
   */
  async end(cancellation: CancelScope): Promise<void> {
    this.#isEnded = true;
    this.#cancelTimer?.();
    if (this.#latest !== undefined) this.#notifyAll(this.#latest);
    if (this.#pending.size === 0) return;
    const { clock, warn } = this.#options;
    await settleWithin(MAX_END_MS, clock, () => cancellation.race(Promise.all(this.#pending)));
    if (this.#pending.size > 0 && !cancellation.isCancelled)
      warn(
        `A progress listener (onProgress, a stream writer or a callback handler) did not settle within ${MAX_END_MS} ms after the call ended; the result is returned without waiting for it.`,
      );
  }

  #flush(): void {
    const progress = this.#latest;
    this.#latest = undefined;
    this.#cancelTimer = undefined;
    if (progress === undefined) return;
    this.#cancelTimer = this.#options.clock.after(MIN_INTERVAL_MS, () => this.#flush());
    this.#notifyAll(progress);
  }

  /** A failing listener is logged and affects neither the call nor other listeners. */
  #notifyAll({ progress, total, message }: Progress): void {
    const { source, listeners, warn } = this.#options;
    const sanitized = message === undefined ? undefined : stripHiddenCharacters(message);
    const event: ToolProgress = { type: "mcp_progress", ...source, progress, total, message: sanitized };
    const warnFailed = (error: unknown) => warn(`A progress listener failed: ${printValue(error)}`);
    for (const listener of listeners) {
      try {
        const returned = listener({ ...event });
        if (isPromiseLike(returned)) this.#track(Promise.resolve(returned).then(() => undefined, warnFailed));
      } catch (error) {
        warnFailed(error);
      }
    }
  }

  #track(notification: Promise<void>): void {
    this.#pending.add(notification);
    void notification.then(() => this.#pending.delete(notification));
  }
}
