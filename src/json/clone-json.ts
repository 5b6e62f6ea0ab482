import { isPlainObject, type JsonObject, setOwnProperty } from "./json.js";

/** Deep enough for every honest document, shallow enough for `JSON.stringify` and its like on any stack. */
const DEEPEST = 500;
const TOO_DEEP = `[nested deeper than ${DEEPEST} levels]`;

/**
 * A copy that shares no object or list with the original. What lies too deep becomes a short text:
 * a parser takes a hundred thousand brackets, but whoever stores or prints them afterwards would
 * overflow its stack. Instances of classes, which only an output schema of ours makes, are shared.
 */
export function copyJson<Value>(value: Value): Value {
  return copyLevel(value, 0) as Value;
}

function copyLevel(value: unknown, depth: number): unknown {
  const isList = Array.isArray(value);
  if (!isList && !isPlainObject(value)) return value;
  if (depth >= DEEPEST) return TOO_DEEP;
  if (isList) return value.map((item) => copyLevel(item, depth + 1));
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setOwnProperty(copy, key, copyLevel(value[key], depth + 1));
  return copy;
}
