import type { Clock } from "../async/clock.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ReconnectionSettings } from "./manager-options.js";

interface ReconnectScheduleOptions {
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** `undefined`: a lost connection is not restored before the next call. */
  readonly settings: ReconnectionSettings | undefined;
  /** A remote server may take long to come back, so it is retried without limit; a local program is not. */
  readonly isRemote: boolean;
  /** Makes one attempt. */
  readonly reconnect: () => Promise<void>;
  /** The last attempt failed. */
  readonly onExhausted: (error: unknown) => void;
}

/** Connects again with increasing delays, and stops for a connection that is lost repeatedly. */
export class ReconnectSchedule {
  readonly #options: ReconnectScheduleOptions;
  #lostAt: readonly number[] = [];
  #attempt = 0;
  #cancelTimer: (() => void) | undefined;
  /** Incremented by `pause`: an attempt of an earlier run has no effect when it ends. */
  #runId = 0;

  constructor(options: ReconnectScheduleOptions) {
    this.#options = options;
  }

  /** Whether connections are restored at all. */
  get isEnabled(): boolean {
    return this.#options.settings !== undefined;
  }

  /** Starts reconnecting after a loss. Returns false, and does nothing, after too many recent losses. */
  start(): boolean {
    const { clock, settings } = this.#options;
    const now = clock.now();
    this.stop();
    if (settings === undefined) return false;
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < settings.lossWindowMs), now];
    return this.#lostAt.length <= settings.maxLosses && this.#scheduleAttempt(settings, { isLoss: true });
  }

  /**
   * Continues after a failed attempt to connect a remote server. Unlike after a loss, that does not keep the process
   * alive, and rejected credentials are tried less often.
   */
  continueAfter(error: McpRuntimeError): void {
    const { settings, isRemote } = this.#options;
    if (settings === undefined || !isRemote) return;
    this.pause();
    this.#scheduleAttempt(settings, { isLoss: false, failure: error });
  }

  /** Cancels the next attempt. */
  pause(): void {
    this.#runId += 1;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Cancels further attempts; the next ones begin with the shortest delay. */
  stop(): void {
    this.pause();
    this.#attempt = 0;
  }

  /** Returns false after the last attempt. `isLoss`: the first of these attempts follows a lost connection. */
  #scheduleAttempt(
    settings: ReconnectionSettings,
    { isLoss, failure }: { readonly isLoss: boolean; readonly failure?: unknown },
  ): boolean {
    const { clock, random, isRemote, reconnect, onExhausted } = this.#options;
    const { maxAttempts = isRemote ? Number.POSITIVE_INFINITY : LOCAL_MAX_ATTEMPTS } = settings;
    const delaysMs = selectDelays(settings, failure);
    const delayMs = delaysMs[Math.min(this.#attempt, delaysMs.length - 1)];
    if (this.#attempt >= maxAttempts || delayMs === undefined) return false;
    const runId = this.#runId;
    this.#attempt += 1;
    const onFailed = (error: unknown) => {
      if (runId !== this.#runId) return;
      if (!this.#scheduleAttempt(settings, { isLoss, failure: error })) onExhausted(error);
    };
    const attempt = () => {
      this.#cancelTimer = undefined;
      reconnect().catch(onFailed);
    };
    const waitMs = Math.max(delayMs, getRetryAfterMs(failure)) * (isRemote ? 1 + JITTER * random() : 1);
    this.#cancelTimer = clock.after(waitMs, attempt, { unref: !isLoss });
    return true;
  }
}

/** Spreads the attempts of processes that have lost the same remote server at the same time. */
const JITTER = 0.2;

/** Credentials that were rejected seldom become valid within seconds; an authorization server may be asked, too. */
const MIN_UNAUTHORIZED_DELAY_MS = 15_000;

function selectDelays({ delaysMs }: ReconnectionSettings, error: unknown): readonly number[] {
  if (!(error instanceof McpRuntimeError) || error.kind !== "unauthorized") return delaysMs;
  const long = delaysMs.filter((ms) => ms >= MIN_UNAUTHORIZED_DELAY_MS);
  return long.length > 0 ? long : delaysMs.slice(-1);
}

const MAX_RETRY_AFTER_MS = 3_600_000;

/** How long the server has asked to wait. */
function getRetryAfterMs(error: unknown): number {
  if (!(error instanceof McpRuntimeError) || error.retryAt === undefined) return 0;
  return Math.min(error.retryAt.getTime() - Date.now(), MAX_RETRY_AFTER_MS);
}

/** A program that exits right after its start four times will most likely exit again. */
const LOCAL_MAX_ATTEMPTS = 4;
