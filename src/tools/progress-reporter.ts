import type { CallbackManagerForToolRun } from "@langchain/core/callbacks/manager";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Clock } from "../async/clock.js";
import { toReadable } from "../errors/sanitize-text.js";
import type { Progress } from "../session/session.js";

/** How far a call is, as its server tells. */
export interface ToolProgress extends Progress {
  readonly type: "mcp_progress";
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  readonly toolCallId: string | undefined;
}

export type ProgressListener = (progress: ToolProgress) => unknown;

interface ProgressParts {
  readonly about: Pick<ToolProgress, "server" | "tool" | "toolCallId">;
  readonly listeners: readonly ProgressListener[];
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/**
 * Who listens to a call: the user's function, LangGraph's `config.writer`, and callbacks that take
 * events of tools, as those of `streamMode: "tools"` do.
 */
export function progressListeners(
  onProgress: ProgressListener | undefined,
  config: RunnableConfig,
  runManager: CallbackManagerForToolRun | undefined,
): ProgressListener[] {
  const writer: unknown = Reflect.get(config, "writer");
  const takesEvents = runManager?.handlers.some((handler) => handler.handleToolEvent !== undefined) === true;
  return [
    ...(onProgress === undefined ? [] : [onProgress]),
    ...(typeof writer === "function" ? [writer as ProgressListener] : []),
    ...(takesEvents ? [(progress: ToolProgress) => runManager.handleToolEvent(progress)] : []),
  ];
}

/** Whoever looks at it is a person, or tells one. */
const SHORTEST_PAUSE_MS = 100;

/** Passes progress on: the first at once, then no more often than people can look, the last one always. */
export class ProgressReport {
  readonly #parts: ProgressParts;
  #latest: Progress | undefined;
  #stopWaiting: (() => void) | undefined;
  #isOver = false;
  #telling: Promise<unknown> = Promise.resolve();

  constructor(parts: ProgressParts) {
    this.#parts = parts;
  }

  hear(progress: Progress): void {
    if (this.#isOver) return;
    this.#latest = progress;
    if (this.#stopWaiting === undefined) this.#tell();
  }

  /** The call is over: what was held back is told, and nothing more. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#stopWaiting?.();
    if (this.#latest !== undefined) this.#tellAll(this.#latest);
    await this.#telling;
  }

  #tell(): void {
    const progress = this.#latest;
    this.#latest = undefined;
    this.#stopWaiting = undefined;
    if (progress === undefined) return;
    this.#stopWaiting = this.#parts.clock.after(SHORTEST_PAUSE_MS, () => this.#tell());
    this.#tellAll(progress);
  }

  /** A listener that fails is told of, and harms neither the call nor the others. */
  #tellAll({ progress, total, message }: Progress): void {
    const { about, listeners, warn } = this.#parts;
    const readable = message === undefined ? undefined : toReadable(message);
    const told: ToolProgress = { type: "mcp_progress", ...about, progress, total, message: readable };
    const telling = listeners.map(async (listener) => {
      try {
        await listener({ ...told });
      } catch (error) {
        warn(`A listener to progress failed: ${String(error)}`);
      }
    });
    this.#telling = Promise.all([this.#telling, ...telling]);
  }
}
