import type { CancelScope } from "./cancel-scope.js";
import type { Clock } from "./clock.js";

/** Waits `ms` milliseconds; rejects with the reason on cancellation. */
export function delay(ms: number, clock: Clock, cancellation: CancelScope): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelTimer = clock.after(ms, () => {
      unsubscribe();
      resolve();
    });
    const unsubscribe = cancellation.onCancel((reason) => {
      cancelTimer();
      reject(reason);
    });
  });
}
