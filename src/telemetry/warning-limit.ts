import type { Logger } from "./logger.js";

const MAX_WARNINGS = 5;

type WarningSink = Pick<Logger, "warn" | "debug">;

/**
 * Limits the warnings about what a server lists: after the first ones, those that follow are only in the debug log, and
 * one line has their number.
 */
export class WarningLimit {
  readonly #server: string;
  #remaining = MAX_WARNINGS;
  #omitted: string[] = [];

  constructor(server: string) {
    this.#server = server;
  }

  /** Call before the server is listed: every list may have its own problems. */
  reset(): void {
    this.#remaining = MAX_WARNINGS;
  }

  warn(message: string, sink: WarningSink): void {
    if (this.#remaining > 0) {
      this.#remaining -= 1;
      sink.warn(message);
      return;
    }
    this.#omitted.push(message);
    // After everything that happens synchronously.
    if (this.#omitted.length === 1) setImmediate(() => this.#reportOmitted(sink));
  }

  #reportOmitted(sink: WarningSink): void {
    const messages = this.#omitted;
    this.#omitted = [];
    const [only = "", second] = messages;
    if (second === undefined) return sink.warn(only);
    for (const message of messages) sink.debug(message);
    sink.warn(
      `Server "${this.#server}": ${messages.length} more warnings. The log level "debug" shows them all.`,
    );
  }
}

/** The limit of each client, for the tools that are created from its lists. */
export const LIST_WARNINGS = new WeakMap<object, WarningLimit>();
