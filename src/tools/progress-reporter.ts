import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Clock, systemClock } from "../async/clock.js";
import { printValue, stripHiddenCharacters } from "../errors/sanitize-text.js";
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

/** Throttles progress: the first notification is passed on at once, the last one always. */
export class ProgressReporter {
  readonly #options: ProgressReporterOptions;
  #latest: Progress | undefined;
  #cancelTimer: (() => void) | undefined;
  #isEnded = false;
  #flushing: Promise<unknown> = Promise.resolve();

  constructor(options: ProgressReporterOptions) {
    this.#options = options;
  }

  report(progress: Progress): void {
    if (this.#isEnded) return;
    this.#latest = progress;
    if (this.#cancelTimer === undefined) this.#flush();
  }

  /** Passes on a pending notification, ignores later ones, and waits for the listeners. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancelTimer?.();
    if (this.#latest !== undefined) this.#notifyAll(this.#latest);
    await this.#flushing;
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
    const notifications = listeners.map(async (listener) => {
      try {
        await listener({ ...event });
      } catch (error) {
        warn(`A progress listener failed: ${printValue(error)}`);
      }
    });
    this.#flushing = Promise.all([this.#flushing, ...notifications]);
  }
}
