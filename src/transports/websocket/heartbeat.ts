import { setImmediate } from "node:timers";
import type { Clock } from "../../async/clock.js";

/** How often the other side is asked for a sign of life, and how long it has to give one. */
const BEAT_MS = 30_000;

interface HeartbeatOptions {
  readonly clock: Clock;
  /** Counts what was received; it grows with every sign of life. */
  readonly received: () => number;
  readonly ping: () => void;
  readonly onSilence: () => void;
}

/**
 * Finds out that the other side is gone where no connection breaks: a cable, a suspended machine, a
 * router that forgot us. Any byte is a sign of life, so a long message that is still coming in holds
 * its own connection up.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #stopTimer: () => void;
  /** What had been received when the last ping was sent. */
  #receivedBefore: number | undefined;
  #isStopped = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#stopTimer = this.#wait();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  #wait(): () => void {
    return this.#options.clock.after(BEAT_MS, () => this.#beat());
  }

  #beat(): void {
    if (!this.#isSilent) this.#ask();
    // A process that was busy or suspended has timers due before it has read what came meanwhile.
    else setImmediate(() => this.#decide());
  }

  #decide(): void {
    if (this.#isStopped) return;
    if (this.#isSilent) this.#options.onSilence();
    else this.#ask();
  }

  #ask(): void {
    this.#receivedBefore = this.#options.received();
    this.#options.ping();
    this.#stopTimer = this.#wait();
  }

  get #isSilent(): boolean {
    return this.#options.received() === this.#receivedBefore;
  }
}
