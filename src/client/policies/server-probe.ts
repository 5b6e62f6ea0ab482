import { CancelScope } from "../../async/cancel-scope.js";
import type { Clock } from "../../async/clock.js";

interface ServerProbeOptions {
  readonly clock: Clock;
  /** Whether a probe starts a process. */
  readonly startsProcess: () => boolean;
  /** Tries a handshake, as the caller whose circuit opened. Resolves with whether the server answered; never rejects. */
  readonly isReachable: (identity: string, cancellation: CancelScope) => Promise<boolean>;
  readonly onReachable: () => void;
}

const INITIAL_DELAY_MS = 250;
/** The return of a server is noticed at most 250 ms plus a fifth of the outage later. Starting a process costs more. */
const DELAY_FACTOR = 1.2;
const PROCESS_DELAY_FACTOR = 2;
/**
 * A handshake that hangs, because it began while the server was starting, must not delay the next one until `connectMs`. The
 * limit doubles each time, for servers that are slow.
 */
const INITIAL_TIMEOUT_MS = 2_000;
const TIMEOUT_FACTOR = 2;

interface ScheduledProbe {
  readonly identity: string;
  readonly scope: CancelScope;
  readonly maxDelayMs: number;
  readonly delayMs: number;
  readonly timeoutMs: number;
}

/**
 * Asks a server that could not be reached, in the background, whether it is back: with a handshake and never with the call
 * of a user, one at a time for all identities, with growing delays.
 */
export class ServerProbe {
  readonly #options: ServerProbeOptions;
  #scope: CancelScope | undefined;
  #cancelTimer: (() => void) | undefined;
  #dueAt = 0;
  #isRunning = false;
  #waiters: (() => void)[] = [];

  constructor(options: ServerProbeOptions) {
    this.#options = options;
  }

  /** A probe is scheduled or running. */
  get isActive(): boolean {
    return this.#scope !== undefined;
  }

  /** The time until the next probe; 0 while it is running. */
  dueInMs(): number {
    return this.#isRunning ? 0 : Math.max(0, this.#dueAt - this.#options.clock.now());
  }

  /** Starts probing, unless it is active. The delays grow up to `maxDelayMs`. */
  start(identity: string, maxDelayMs: number): void {
    if (this.isActive) return;
    const scope = new CancelScope();
    this.#scope = scope;
    const delayMs = Math.min(INITIAL_DELAY_MS, maxDelayMs);
    this.#schedule({ identity, scope, maxDelayMs, delayMs, timeoutMs: INITIAL_TIMEOUT_MS });
  }

  /** Resolves when the next probe has ended, or probing has stopped. */
  next(): Promise<void> {
    if (!this.isActive) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  stop(): void {
    this.#scope?.cancel(undefined);
    this.#scope = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#notifyWaiters();
  }

  #schedule(next: ScheduledProbe): void {
    const { clock } = this.#options;
    this.#dueAt = clock.now() + next.delayMs;
    this.#cancelTimer = clock.after(next.delayMs, () => void this.#probe(next), { unref: true });
  }

  async #probe(current: ScheduledProbe): Promise<void> {
    const { scope, delayMs, maxDelayMs, timeoutMs } = current;
    const { startsProcess, onReachable } = this.#options;
    const isProcess = startsProcess();
    this.#isRunning = true;
    // A program that is slow to start must not be ended and started again.
    const { isReachable, hasTimedOut } = await this.#ask(current, isProcess ? Infinity : timeoutMs);
    this.#isRunning = false;
    if (scope.isCancelled) return;
    if (isReachable) {
      this.#scope = undefined;
      onReachable();
    } else {
      const nextDelayMs = delayMs * (isProcess ? PROCESS_DELAY_FACTOR : DELAY_FACTOR);
      this.#schedule({
        ...current,
        delayMs: Math.min(nextDelayMs, maxDelayMs),
        timeoutMs: hasTimedOut ? timeoutMs * TIMEOUT_FACTOR : timeoutMs,
      });
    }
    this.#notifyWaiters();
  }

  async #ask(
    { identity, scope }: ScheduledProbe,
    timeoutMs: number,
  ): Promise<{ readonly isReachable: boolean; readonly hasTimedOut: boolean }> {
    const { clock, isReachable } = this.#options;
    const attempt = scope.child();
    const timeout = new Error(`No answer within ${timeoutMs} ms.`);
    const cancelTimer =
      timeoutMs === Infinity
        ? undefined
        : clock.after(timeoutMs, () => attempt.cancel(timeout), { unref: true });
    try {
      return { isReachable: await isReachable(identity, attempt), hasTimedOut: attempt.isCancelled };
    } finally {
      cancelTimer?.();
      attempt.dispose();
    }
  }

  #notifyWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
