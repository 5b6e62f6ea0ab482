import { CancelScope } from "../async/cancel-scope.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "./managed-server.js";
import { MANAGER_DEFAULTS, type StartOptions } from "./manager-options.js";
import type { McpServerManager } from "./mcp-server-manager.js";

/**
 * Connects all servers that are not `lazy` and waits until each is connected, has failed, or has cached tools and
 * exceeds `startupWaitMs`; for `optional` ones, at most until `startupWaitMs` after all others. Slower servers continue
 * in the background. Throws if a server without cached tools fails, unless it is `optional`.
 */
export async function startServers(manager: McpServerManager, options: StartOptions): Promise<void> {
  const {
    startupWaitMs = MANAGER_DEFAULTS.startupWaitMs,
    waitForUncached = MANAGER_DEFAULTS.waitForUncached,
  } = options;
  const { all: servers, settings } = manager.serverSet;
  const eager = servers.filter(({ isLazy }) => !isLazy);
  const cancellation = CancelScope.fromSignal(options.signal);
  const required = eager.filter(({ isOptional }) => !isOptional);
  const cached = new Set<ManagedServer>();
  let isCacheLoaded = false;
  let hasTimedOut = false;
  let hasOptionalTimedOut = false;
  let isWaitingForOptional = false;
  const isReady = (server: ManagedServer) =>
    server.state === "connected" ||
    server.hasFailed ||
    (hasTimedOut && (cached.has(server) || !waitForUncached)) ||
    (hasOptionalTimedOut && server.isOptional);
  const unsubscribers: (() => void)[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    const check = () => {
      const failure = eager
        .map((server) => getFatalError(server, waitForUncached))
        .find((error) => error !== undefined);
      if (failure !== undefined) return reject(failure);
      if (!(isCacheLoaded || hasTimedOut) || !required.every(isReady)) return;
      if (eager.every(isReady)) return resolve();
      if (isWaitingForOptional) return;
      isWaitingForOptional = true;
      unsubscribers.push(
        settings.clock.after(startupWaitMs, () => {
          hasOptionalTimedOut = true;
          check();
        }),
      );
    };
    const loading = servers.map(async (server) => {
      if (await server.loadFromCache()) cached.add(server);
    });
    void Promise.allSettled(loading).then(() => {
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
    for (const { name, latestTools } of eager.filter((server) => server.isOptional && !server.hasFailed)) {
      if (latestTools === undefined)
        settings.warn(`Optional server "${name}" is not connected yet; its tools are added when it is.`);
    }
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
