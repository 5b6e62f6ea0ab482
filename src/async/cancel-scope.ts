import { onAbort } from "./shared-abort-listener.js";
import { checkSignal } from "./assert-abort-signal.js";

type Listener = (reason: unknown) => void;

/** A part of some work, which is ended with it. */
export interface Cancellable {
  cancel(reason: unknown): void;
}

/**
 * Ends one piece of work, and whatever it waits for, with a reason.
 *
 * Why not an `AbortSignal`: every call needs two (the whole call, one attempt), and on Node 20 a
 * signal with a listener costs 5 µs, a chain of two 12 µs, a tenth of a local call. Signals are
 * taken from callers at the edge (`fromSignal`); inside, this is enough.
 */
export class CancelScope implements Cancellable {
  /** Most have one part: a set is made for more. */
  #part: Cancellable | undefined;
  #others: Set<Cancellable> | undefined;
  #parent: CancelScope | undefined;
  #leaveSignal: (() => void) | undefined;
  #isCancelled = false;
  #reason: unknown;

  /** Follows a caller's signal until `release()`. */
  static fromSignal(signal: AbortSignal | undefined): CancelScope {
    const cancellation = new CancelScope();
    if (signal === undefined) return cancellation;
    checkSignal(signal);
    if (signal.aborted) {
      cancellation.cancel(signal.reason);
      return cancellation;
    }
    cancellation.#leaveSignal = onAbort(signal, () => cancellation.cancel(signal.reason));
    return cancellation;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** The first reason wins; later ones change nothing. */
  cancel(reason: unknown): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#reason = reason;
    try {
      this.#part?.cancel(reason);
      for (const other of this.#others ?? []) other.cancel(reason);
    } finally {
      // Not before: one part may take out another that has not been told yet.
      this.#part = undefined;
      this.#others = undefined;
    }
  }

  /** Cancels it with this work, at once when that is already cancelled; until it is taken out. */
  attach(part: Cancellable): void {
    if (this.#isCancelled) part.cancel(this.#reason);
    else if (this.#part === undefined) this.#part = part;
    else (this.#others ??= new Set()).add(part);
  }

  detach(part: Cancellable): void {
    if (this.#part === part) this.#part = undefined;
    else this.#others?.delete(part);
  }

  /** Called once, at once when it is already cancelled. The function that comes back forgets it. */
  onCancel(listener: Listener): () => void {
    const part = { cancel: listener };
    this.attach(part);
    return () => this.detach(part);
  }

  /** A part of this work that can be ended alone. Release it when it is over. */
  child(): CancelScope {
    const child = new CancelScope();
    child.#parent = this;
    this.attach(child);
    return child;
  }

  /** Stops listening to the signal or parent it came from. */
  release(): void {
    this.#parent?.detach(this);
    this.#parent = undefined;
    this.#leaveSignal?.();
    this.#leaveSignal = undefined;
  }

  throwIfCancelled(): void {
    if (this.#isCancelled) throw this.#reason;
  }

  /** What the promise gives, or the reason as soon as there is one. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const forget = this.onCancel(reject);
      promise.then(
        (value) => {
          forget();
          resolve(value);
        },
        (error: unknown) => {
          forget();
          reject(error);
        },
      );
    });
  }
}
