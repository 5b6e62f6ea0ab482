import { CancelScope } from "../async/cancel-scope.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "./managed-server.js";
import { issuesOfMs, MANAGER_DEFAULTS } from "./manager-options.js";
import type { McpServerManager } from "./mcp-server-manager.js";

/** How long a start waits for its servers. */
export interface StartOptions {
  /** After this, servers whose tools are known from a cache are waited for no longer. */
  readonly startupWaitMs?: number;
  /**
   * Servers of which nothing is known are waited for, up to their connect timeout. With `false` they
   * come when they come, and none of them fails the start.
   */
  readonly waitForUncached?: boolean;
  /** Gives up the start, and closes what was opened. */
  readonly signal?: AbortSignal;
}

/**
 * Connects all servers that are not `lazy` and waits until each is there, has failed, or is slow and
 * known. Throws when one fails of which nothing is known, unless it is `optional`. Whatever is slower
 * goes on.
 */
export async function startServers(manager: McpServerManager, options: StartOptions): Promise<void> {
  const {
    startupWaitMs = MANAGER_DEFAULTS.startupWaitMs,
    waitForUncached = MANAGER_DEFAULTS.waitForUncached,
  } = options;
  checkStart({ startupWaitMs, waitForUncached });
  const { all: servers, settings } = manager.fleet;
  const eager = servers.filter(({ isLazy }) => !isLazy);
  const cancellation = CancelScope.fromSignal(options.signal);
  let isTimeUp = false;
  let isRecalled = false;
  const isReady = ({ state, hasFailed, known }: ManagedServer) =>
    state === "connected" || hasFailed || (isTimeUp && (known.tools !== undefined || !waitForUncached));
  const stops: (() => void)[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    const check = () => {
      const failure = eager
        .map((server) => fatalError(server, waitForUncached))
        .find((error) => error !== undefined);
      if (failure !== undefined) reject(failure);
      else if ((isRecalled || isTimeUp) && eager.every(isReady)) resolve();
    };
    void Promise.allSettled(servers.map((server) => server.recall())).then(() => {
      isRecalled = true;
      check();
    });
    const onTimeUp = () => {
      isTimeUp = true;
      check();
    };
    stops.push(
      manager.on("serverChanged", check),
      manager.on("toolsChanged", check),
      settings.clock.after(startupWaitMs, onTimeUp),
    );
    check();
  });
  try {
    cancellation.throwIfCancelled();
    // Goes on behind the start; what becomes of each server, its state tells.
    manager.connect().catch(() => undefined);
    await cancellation.race(ready);
  } finally {
    for (const stop of stops) stop();
    cancellation.release();
  }
}

/** Whether a server's failure fails the start. A wrong definition always does. */
function fatalError(
  { hasFailed, error, known, isOptional }: ManagedServer,
  waitForUncached: boolean,
): McpRuntimeError | undefined {
  if (!hasFailed || error === undefined || known.tools !== undefined) return undefined;
  const isPardoned = isOptional || !waitForUncached;
  return isPardoned && error.kind !== "invalid-config" ? undefined : error;
}

function checkStart({ startupWaitMs, waitForUncached }: Readonly<Record<string, unknown>>): void {
  const issues = [
    ...issuesOfMs({ startupWaitMs }),
    ...(typeof waitForUncached === "boolean"
      ? []
      : [
          {
            path: "waitForUncached",
            message: `expected true or false, found ${describeValue(waitForUncached)}`,
          },
        ]),
  ];
  if (issues.length > 0) throw configError("The set of options", issues);
}
