import type { Clock } from "./clock.js";

/** Waits for something that may fail or never end, but no longer than `ms`, and never throws. */
export async function within(ms: number, clock: Clock, work: () => unknown): Promise<void> {
  let stop: (() => void) | undefined;
  const enough = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  const done = (async () => work())().catch(() => undefined);
  await Promise.race([done, enough]);
  stop?.();
}
