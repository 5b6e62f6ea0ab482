import { CancelScope } from "../async/cancel-scope.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "./managed-server.js";
import { MANAGER_DEFAULTS, type StartOptions } from "./manager-options.js";
import type { McpServerManager } from "./mcp-server-manager.js";

/**
 * Connects all servers that are not `lazy` and waits until each is connected, has failed, or has cached tools and
 * exceeds `startupWaitMs`. Slower servers continue in the background. Throws if a server without cached tools
 * fails, unless it is `optional`.
 */
export async function startServers(manager: McpServerManager, options: StartOptions): Promise<void> {
  const {
    startupWaitMs = MANAGER_DEFAULTS.startupWaitMs,
    waitForUncached = MANAGER_DEFAULTS.waitForUncached,
  } = options;
  const { all: servers, settings } = manager.serverSet;
  const eager = servers.filter(({ isLazy }) => !isLazy);
  const cancellation = CancelScope.fromSignal(options.signal);
  let hasTimedOut = false;
  let isCacheLoaded = false;
  const isReady = ({ state, hasFailed, latestTools }: ManagedServer) =>
    state === "connected" || hasFailed || (hasTimedOut && (latestTools !== undefined || !waitForUncached));
  const unsubscribers: (() => void)[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    const check = () => {
      const failure = eager
        .map((server) => getFatalError(server, waitForUncached))
        .find((error) => error !== undefined);
      if (failure !== undefined) reject(failure);
      else if ((isCacheLoaded || hasTimedOut) && eager.every(isReady)) resolve();
    };
    void Promise.allSettled(servers.map((server) => server.loadFromCache())).then(() => {
      isCacheLoaded = true;
      check();
    });
    const onTimeout = () => {
      hasTimedOut = true;
      check();
    };
    unsubscribers.push(
      manager.on("serverChanged", check),
      manager.on("toolsChanged", check),
      settings.clock.after(startupWaitMs, onTimeout),
    );
    check();
  });
  try {
    cancellation.throwIfCancelled();
    // Continues after the start; each server's state has the result.
    manager.connect().catch(() => undefined);
    await cancellation.race(ready);
  } finally {
    for (const unsubscribe of unsubscribers) unsubscribe();
    cancellation.dispose();
  }
}

/** The error that fails the start, if any. An invalid definition always does. */
function getFatalError(
  { hasFailed, error, latestTools, isOptional }: ManagedServer,
  waitForUncached: boolean,
): McpRuntimeError | undefined {
  if (!hasFailed || error === undefined || latestTools !== undefined) return undefined;
  const isTolerated = isOptional || !waitForUncached;
  return isTolerated && error.kind !== "invalid-config" ? undefined : error;
}
