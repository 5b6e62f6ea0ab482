import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

/** The moment at which an entry is gone, or none. */
export function expiryOf(ttlMs: number | undefined, now: number): number | undefined {
  if (ttlMs === undefined) return undefined;
  const expiresAt = typeof ttlMs === "number" && ttlMs > 0 ? Math.ceil(now + ttlMs) : undefined;
  if (Number.isSafeInteger(expiresAt)) return expiresAt;
  const message = `expected a number of milliseconds above 0, found ${describeValue(ttlMs)}`;
  throw configError("The entry for a store", [{ path: "ttlMs", message }]);
}
