import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import type { FallbackCall, FallbackResult } from "../../config/fallback-call.js";
import type { FallbackOption } from "../../config/server-definition.js";

interface LastGoodResultOptions {
  /** How old an answer may be. */
  readonly maxAgeMs: number;
  /** How many answers are kept; the ones not used for longest go first. */
  readonly maxEntries?: number;
}

const DEFAULT_ENTRIES = 500;

/**
 * Answers with what the same call gave last, for tools that are idempotent, by identity and arguments.
 * The result says so in `_meta`: `"langchain-mcp-runtime/fallback": { kind, ageMs }`.
 */
export function lastGoodResult(
  options: LastGoodResultOptions,
): Exclude<FallbackOption, (...args: never) => unknown> {
  const { maxAgeMs, maxEntries = DEFAULT_ENTRIES } = options ?? {};
  checkNumber("maxAgeMs", maxAgeMs);
  checkNumber("maxEntries", maxEntries);
  const kept = new Map<string, { readonly result: FallbackResult; readonly at: number }>();
  return {
    remember(call, result) {
      if (!call.isIdempotent || result["isError"] === true) return;
      const key = keyOf(call);
      kept.delete(key);
      kept.set(key, { result: structuredClone(result), at: performance.now() });
      for (const oldest of kept.keys()) if (kept.size > maxEntries) kept.delete(oldest);
    },
    answer(failure, call) {
      const last = call.isIdempotent ? kept.get(keyOf(call)) : undefined;
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : performance.now() - last.at;
      if (last === undefined || ageMs > maxAgeMs) return undefined;
      const note = { kind: failure.kind, ageMs: Math.round(ageMs) };
      const result = structuredClone(last.result);
      return { ...result, _meta: { ...result._meta, "langchain-mcp-runtime/fallback": note } };
    },
  };
}

function checkNumber(path: string, value: unknown): void {
  if (typeof value === "number" && value >= 0) return;
  const message = `expected a number of at least 0, found ${describeValue(value)}`;
  throw configError("What lastGoodResult was given", [{ path, message }]);
}

/** The order of keys makes no difference. */
function keyOf({ server, tool, args, identity }: FallbackCall): string {
  return JSON.stringify([server, identity, tool, args], (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
