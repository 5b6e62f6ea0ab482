import { CancelScope } from "../../async/cancel-scope.js";
import type { Clock } from "../../async/clock.js";

interface ServerProbeOptions {
  readonly clock: Clock;
  /** Whether a probe starts a process. */
  readonly startsProcess: () => boolean;
  /** Tries a handshake. Resolves with whether the server answered; never rejects. */
  readonly isReachable: (cancellation: CancelScope) => Promise<boolean>;
  readonly onReachable: () => void;
}

const INITIAL_DELAY_MS = 250;
/** The return of a server is noticed at most 250 ms plus a fifth of the outage later. Starting a process costs more. */
const DELAY_FACTOR = 1.2;
const PROCESS_DELAY_FACTOR = 2;

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
  start(maxDelayMs: number): void {
    if (this.isActive) return;
    this.#scope = new CancelScope();
    this.#schedule(Math.min(INITIAL_DELAY_MS, maxDelayMs), maxDelayMs, this.#scope);
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

  #schedule(delayMs: number, maxDelayMs: number, scope: CancelScope): void {
    const { clock, startsProcess } = this.#options;
    this.#dueAt = clock.now() + delayMs;
    const nextDelayMs = delayMs * (startsProcess() ? PROCESS_DELAY_FACTOR : DELAY_FACTOR);
    const probe = () => void this.#probe(Math.min(nextDelayMs, maxDelayMs), maxDelayMs, scope);
    this.#cancelTimer = clock.after(delayMs, probe, { unref: true });
  }

  async #probe(nextDelayMs: number, maxDelayMs: number, scope: CancelScope): Promise<void> {
    this.#isRunning = true;
    const isReachable = await this.#options.isReachable(scope);
    this.#isRunning = false;
    if (scope.isCancelled) return;
    if (isReachable) {
      this.#scope = undefined;
      this.#options.onReachable();
    } else this.#schedule(nextDelayMs, maxDelayMs, scope);
    this.#notifyWaiters();
  }

  #notifyWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
