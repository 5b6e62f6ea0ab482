import type { CallerContext } from "./call-options.js";
import type { RequestTrace } from "./request-context.js";

interface Subscription {
  /** What became of the request that asked for it. */
  readonly trace: RequestTrace;
  /** Who asked. */
  readonly context: CallerContext | undefined;
}

/**
 * The resources whose updates are wanted, by identity, until somebody says otherwise: sessions come
 * and go, and each new one is told.
 */
export class ResourceSubscriptions {
  readonly #wanted = new Map<string, Map<string, Subscription>>();

  /** The function that comes back takes it back, unless it was wanted before. */
  add(identity: string, uri: string, subscription: Subscription): () => void {
    const wanted = this.#wanted.get(identity) ?? new Map<string, Subscription>();
    if (wanted.has(uri)) return () => undefined;
    this.#wanted.set(identity, wanted.set(uri, subscription));
    return () => {
      if (wanted.get(uri) === subscription) this.remove(identity, uri);
    };
  }

  remove(identity: string, uri: string): void {
    const wanted = this.#wanted.get(identity);
    wanted?.delete(uri);
    if (wanted?.size === 0) this.#wanted.delete(identity);
  }

  /** What a new session is told. Of a request that was handed to no session yet, it will hear anyway. */
  urisOf(identity: string): string[] {
    const wanted = [...(this.#wanted.get(identity) ?? [])];
    return wanted.filter(([, { trace }]) => trace.attempts > 0).map(([uri]) => uri);
  }

  /** Who wants updates, if anybody does: the one who asked first. */
  askerOf(identity: string): { readonly context: CallerContext | undefined } | undefined {
    return this.#wanted.get(identity)?.values().next().value;
  }
}
