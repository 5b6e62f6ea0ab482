import type { CancelScope } from "../async/cancel-scope.js";
import { mapLimited } from "../async/map-concurrent.js";
import type { ManagedServer } from "./managed-server.js";

interface ConnectOptions {
  /** A failure undoes the whole attempt. */
  readonly isStrict: boolean;
  /** How many at a time; one is one after the other. */
  readonly concurrency: number;
  readonly cancellation: CancelScope;
}

/** How it went with one server. It was not reached when the attempt was over before. */
type Outcome = "connected" | "skipped" | { readonly error: unknown };

/**
 * Connects servers that are not connected. Failures are theirs to tell, unless `isStrict`: then the
 * first one, in the order of the servers and not of the clock, is thrown after everything is as it was.
 */
export async function connectServers(
  servers: readonly ManagedServer[],
  { isStrict, concurrency, cancellation }: ConnectOptions,
): Promise<void> {
  const before = servers.map((server) => server.moment());
  let isOver = false;
  const outcomes = await mapLimited(servers, concurrency, async (server): Promise<Outcome> => {
    if (isOver || cancellation.isCancelled) return "skipped";
    try {
      await cancellation.race(server.connect());
      return "connected";
    } catch (error) {
      isOver = isStrict && concurrency === 1;
      return { error };
    }
  });
  const failed = outcomes.find((outcome) => typeof outcome === "object");
  const isUndone = (outcome: Outcome) => outcome !== "skipped" && (isStrict || outcome !== "connected");
  if (cancellation.isCancelled || (isStrict && failed !== undefined)) {
    const undone = servers.map(async (server, index) => {
      const moment = before[index];
      if (moment === undefined || moment.state === "connected" || !isUndone(outcomes[index] ?? "skipped"))
        return;
      await server.letGo(moment);
    });
    await Promise.allSettled(undone);
    cancellation.throwIfCancelled();
    throw (failed as { readonly error: unknown }).error;
  }
}
