import type { CancelScope } from "./cancel-scope.js";
import type { Clock } from "./clock.js";

/** Waits; a cancellation ends the wait at once with its reason. */
export function delay(ms: number, clock: Clock, cancellation: CancelScope): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(ms, () => {
      forget();
      resolve();
    });
    const forget = cancellation.onCancel((reason) => {
      stop();
      reject(reason);
    });
  });
}
