import { setImmediate } from "node:timers";
import type { Clock } from "../../async/clock.js";

/** How often the server is pinged, and how long it has to send anything. */
const PING_INTERVAL_MS = 30_000;

interface HeartbeatOptions {
  readonly clock: Clock;
  readonly bytesReceived: () => number;
  readonly ping: () => void;
  readonly onTimeout: () => void;
}

/**
 * Detects a silently dropped connection: an unplugged cable, a suspended machine, a NAT timeout. Any
 * received byte counts as activity, so a long message that is still arriving keeps its connection open.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #cancelTimer: () => void;
  /** The bytes that had been received when the last ping was sent. */
  #receivedAtPing: number | undefined;
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#cancelTimer = this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #schedule(): () => void {
    return this.#options.clock.after(PING_INTERVAL_MS, () => this.#tick());
  }

  #tick(): void {
    if (!this.#isSilent) this.#ping();
    // In a process that was busy or suspended, timers fire before pending input has been read.
    else setImmediate(() => this.#evaluate());
  }

  #evaluate(): void {
    if (this.#isStopped) return;
    if (this.#isSilent) this.#options.onTimeout();
    else this.#ping();
  }

  #ping(): void {
    this.#receivedAtPing = this.#options.bytesReceived();
    this.#options.ping();
    this.#cancelTimer = this.#schedule();
  }

  get #isSilent(): boolean {
    return this.#options.bytesReceived() === this.#receivedAtPing;
  }
}
