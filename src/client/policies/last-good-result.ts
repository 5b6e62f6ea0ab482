import type { FallbackCall, FallbackResult, FallbackOption } from "../../config/server-definition.js";
import { fullHash } from "../../json-schema/schema-hash.js";
import { option, optionsSchema, parseOptions } from "../../config/parse-options.js";
import { estimateJsonLength } from "../../json/describe-value.js";

interface LastGoodResultOptions {
  /** The maximum age of a result. */
  readonly maxAgeMs: number;
  /** The maximum number of results, of 64 MiB together; the least recently recorded are evicted first. @default 500 */
  readonly maxEntries?: number;
}

const DEFAULT_MAX_ENTRIES = 500;
/** The limit for all results together, as JSON: servers choose how large they are. */
const MAX_TOTAL_CHARS = 64 * 1_048_576;

interface RecordedResult {
  readonly result: FallbackResult;
  readonly chars: number;
  readonly at: number;
}

const nonNegative = option.opaque(
  "a number of at least 0",
  (value) => typeof value === "number" && value >= 0,
);
const LAST_GOOD_RESULT_SCHEMA = optionsSchema<LastGoodResultOptions>(
  { maxAgeMs: nonNegative, maxEntries: nonNegative },
  { required: ["maxAgeMs"] },
);

/**
 * Creates a `fallback` that returns the last successful result of the same call, by server, identity, tool, arguments,
 * and the headers and `_meta` of the call.
 * Applies to idempotent tools only, and to calls without input: what a person or a handler answers to the server is not part of
 * the call. The result is marked in `_meta`:
 * `"langchain-mcp-runtime/fallback": { kind, ageMs }`.
 *
 * @throws {McpRuntimeError} kind `invalid-config` if an option is not a non-negative number.
 *
 * @example
 * ```ts
 * const client = new McpClient({ name: "rates", url, fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
 * ```
 */
export function lastGoodResult(
  options: LastGoodResultOptions,
): Exclude<FallbackOption, (...args: never) => unknown> {
  const { maxAgeMs, maxEntries = DEFAULT_MAX_ENTRIES } = parseOptions(
    LAST_GOOD_RESULT_SCHEMA,
    options ?? {},
    {
      subject: "The options object of lastGoodResult",
    },
  );
  const results = new Map<string, RecordedResult>();
  let totalChars = 0;
  const remove = (key: string) => {
    totalChars -= results.get(key)?.chars ?? 0;
    results.delete(key);
  };
  return {
    record(call, result) {
      if (!call.isIdempotent) return;
      const key = keyOf(call);
      // Now the result of this call depends on what is answered.
      if (call.hasInput) return remove(key);
      if (result["isError"] === true) return;
      const chars = estimateJsonLength(result, MAX_TOTAL_CHARS);
      remove(key);
      results.set(key, { result: structuredClone(result), chars, at: performance.now() });
      totalChars += chars;
      for (const oldest of results.keys())
        if (results.size > maxEntries || totalChars > MAX_TOTAL_CHARS) remove(oldest);
    },
    respond(failure, call) {
      const last = call.isIdempotent && !call.hasInput ? results.get(keyOf(call)) : undefined;
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : performance.now() - last.at;
      if (last === undefined || ageMs > maxAgeMs) return undefined;
      const note = { kind: failure.kind, ageMs: Math.round(ageMs) };
      const result = structuredClone(last.result);
      return { ...result, _meta: { ...result._meta, "langchain-mcp-runtime/fallback": note } };
    },
  };
}

/** Everything that may identify the caller is part of the key. A hash, because headers may contain secrets. */
function keyOf({ server, tool, args, identity, headers, meta }: FallbackCall): string {
  return fullHash([server, identity, tool, args, headers, meta]);
}
