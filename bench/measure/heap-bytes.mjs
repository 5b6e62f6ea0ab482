import { setImmediate } from "node:timers/promises";

/** Collects twice with an event loop turn in between, because finalizers free more memory for the second. */
export async function measureHeapBytes() {
  for (let n = 0; n < 2; n += 1) {
    globalThis.gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed;
}
