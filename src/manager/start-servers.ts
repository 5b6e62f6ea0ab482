import { withSignal } from "../async/cancel-scope.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "./managed-server.js";
import { MANAGER_DEFAULTS, type StartOptions } from "./manager-options.js";
import type { McpServerManager } from "./mcp-server-manager.js";
import { isThrown, mergeServerErrors } from "./server-errors.js";

/** How long a start that has failed waits for other servers, to report those that fail, too. */
const FAILURE_WAIT_MS = 1_000;

/**
 * Connects all servers that are not `lazy` and waits until each is connected, has failed, or has cached tools and
 * exceeds `startupWaitMs`; for `optional` ones, at most until `startupWaitMs` after all others. Slower servers continue
 * in the background. Throws if a server without cached tools fails, unless it is `optional` or `onServerError` decides
 * otherwise; if several fail, one error names all.
 */
export async function startServers(manager: McpServerManager, options: StartOptions): Promise<void> {
  await withSignal(options.signal, (cancellation) => {
    const start = new ServerStart(manager, options);
    const ready = start.waitUntilReady();
    // Continues after the start; each server's state has the result.
    manager.connect().catch(() => undefined);
    return cancellation.race(ready).finally(() => start.end());
  });
  const { all, settings } = manager.serverSet;
  for (const { name, isLazy, isOptional, hasFailed, latestTools } of all) {
    if (!isLazy && isOptional && !hasFailed && latestTools === undefined)
      settings.warn(`Optional server "${name}" is not connected yet; its tools are added when it is.`);
  }
}

type Wait = "cached" | "optional" | "failed";

/** Waits for the servers of a manager until they are ready or the start has failed. */
class ServerStart {
  readonly #manager: McpServerManager;
  readonly #options: StartOptions;
  readonly #startupWaitMs: number;
  readonly #waitForUncached: boolean;
  /** The servers that are connected at the start, by name. */
  readonly #eager: ReadonlyMap<string, ManagedServer>;
  /** Those that are not ready. Updated one server at a time: there may be thousands. */
  readonly #pending = { required: new Set<ManagedServer>(), optional: new Set<ManagedServer>() };
  /** The failures that fail the start. */
  readonly #failures = new Map<ManagedServer, McpRuntimeError>();
  /** The servers whose tools are cached. */
  readonly #cached = new Set<ManagedServer>();
  /** What was decided about a failure: whether it fails the start. */
  readonly #decisions = new Map<McpRuntimeError, boolean>();
  /** The waits that have begun, and whether they are over. */
  readonly #waits = new Map<Wait, boolean>();
  readonly #unsubscribers: (() => void)[] = [];
  #isCacheLoaded = false;

  constructor(manager: McpServerManager, options: StartOptions) {
    this.#manager = manager;
    this.#options = options;
    this.#startupWaitMs = options.startupWaitMs ?? MANAGER_DEFAULTS.startupWaitMs;
    this.#waitForUncached = options.waitForUncached ?? MANAGER_DEFAULTS.waitForUncached;
    const eager = manager.serverSet.all.filter(({ isLazy }) => !isLazy);
    this.#eager = new Map(eager.map((server) => [server.name, server]));
  }

  waitUntilReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (servers: Iterable<ManagedServer>) => {
        try {
          for (const server of servers) this.#update(server);
          if (this.#isReady(checkAll)) resolve();
        } catch (error) {
          reject(error);
        }
      };
      const checkAll = () => check(this.#eager.values());
      const checkOne = ({ server: name }: { readonly server: string }) => {
        const server = this.#eager.get(name);
        if (server !== undefined) check([server]);
      };
      this.#unsubscribers.push(
        this.#manager.on("serverChanged", checkOne),
        this.#manager.on("toolsChanged", checkOne),
      );
      this.#hasElapsed("cached", this.#startupWaitMs, checkAll);
      const loading = this.#manager.serverSet.all.map(async (server) => {
        if (await server.loadFromCache()) this.#cached.add(server);
      });
      void Promise.allSettled(loading).then(() => {
        this.#isCacheLoaded = true;
        checkAll();
      });
      checkAll();
    });
  }

  /** Removes all listeners and timers. */
  end(): void {
    for (const unsubscribe of this.#unsubscribers) unsubscribe();
  }

  #update(server: ManagedServer): void {
    const pending = server.isOptional ? this.#pending.optional : this.#pending.required;
    if (this.#isServerReady(server)) pending.delete(server);
    else pending.add(server);
    const failure = this.#getFatalError(server);
    if (failure === undefined) {
      this.#failures.delete(server);
      return;
    }
    this.#failures.set(server, failure);
    server.cancelRetry();
  }

  /** Throws if the start has failed. `check` is called when a wait is over. */
  #isReady(check: () => void): boolean {
    const { required, optional } = this.#pending;
    if (this.#failures.size > 0) {
      if (required.size > 0 && !this.#hasElapsed("failed", FAILURE_WAIT_MS, check)) return false;
      throw this.#mergeFailures();
    }
    if (required.size > 0 || !(this.#isCacheLoaded || this.#waits.get("cached") === true)) return false;
    return optional.size === 0 || this.#hasElapsed("optional", this.#startupWaitMs, check);
  }

  #mergeFailures(): unknown {
    const eager = [...this.#eager.values()];
    return mergeServerErrors(
      eager.flatMap((server) => this.#failures.get(server) ?? []),
      eager.filter((server) => this.#pending.required.has(server)).map(({ name }) => name),
    );
  }

  #isServerReady(server: ManagedServer): boolean {
    const isUsable = this.#cached.has(server) || !this.#waitForUncached;
    return (
      server.state === "connected" || server.hasFailed || (isUsable && this.#waits.get("cached") === true)
    );
  }

  /** The error that fails the start, if any. Without `onServerError`, an invalid definition always does. */
  #getFatalError({ name, hasFailed, error, latestTools, isOptional }: ManagedServer) {
    if (!hasFailed || error === undefined || latestTools !== undefined) return undefined;
    const isTolerated = (isOptional || !this.#waitForUncached) && error.kind !== "invalid-config";
    const decision =
      this.#decisions.get(error) ??
      isThrown(
        error,
        { server: name, optional: isOptional },
        { onServerError: this.#options.onServerError, isFatal: !isTolerated },
      );
    this.#decisions.set(error, decision);
    return decision ? error : undefined;
  }

  /** Whether a wait is over. Begins it with the first call. */
  #hasElapsed(wait: Wait, ms: number, check: () => void): boolean {
    const hasElapsed = this.#waits.get(wait);
    if (hasElapsed !== undefined) return hasElapsed;
    this.#waits.set(wait, false);
    const cancel = this.#manager.serverSet.settings.clock.after(ms, () => {
      this.#waits.set(wait, true);
      check();
    });
    this.#unsubscribers.push(cancel);
    return false;
  }
}
