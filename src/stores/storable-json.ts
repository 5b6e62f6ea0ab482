import { safeClone } from "../json/safe-clone.js";
import { configError } from "../errors/config-error.js";
import { formatPath } from "../json/describe-value.js";
import type { JsonValue } from "../json/json.js";

/** Far beyond real documents, and small enough for recursive code that reads the value later. */
const MAX_DEPTH = 500;
const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep`;

/** A key that sets the prototype of an object when it is copied by assignment. */
const PROTO_KEY = "__proto__";

interface StorableJson {
  /** A deep copy of the input. */
  readonly copy: JsonValue;
  readonly text: string;
}

/** Copies and serializes a value. Throws `invalid-config` for a value that could not be read back unchanged. */
export function toStorableJson(value: unknown): StorableJson {
  const { copy, problems } = safeClone(value, { nonJson: "reject", maxDepth: MAX_DEPTH });
  if (value === undefined) throw valueError([{ path: "", message: "expected JSON, got undefined" }]);
  if (problems.length > 0)
    throw valueError(problems.map(({ path, message }) => ({ path: formatPath(path), message })));
  const text = JSON.stringify(copy);
  // Quotes inside strings are escaped, so this matches a key only.
  if (text.includes(`"${PROTO_KEY}":`)) throw valueError([{ path: "", message: `has a key "${PROTO_KEY}"` }]);
  return { copy: copy as JsonValue, text };
}

/** Returns why a parsed value must not be used, or `undefined`. */
export function findUnsafeJson(value: unknown, depth = 0): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = findUnsafeJson(item, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const key in value) {
    if (key === PROTO_KEY) return `has a key "${PROTO_KEY}"`;
    const problem = findUnsafeJson(value[key as keyof typeof value], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueError(issues: Parameters<typeof configError>[1]): Error {
  return configError("The value for a store", issues);
}
