import { copyUntrusted } from "../json/safe-clone.js";
import { configError } from "../errors/config-error.js";
import { formatPath } from "../json/describe-value.js";
import type { JsonValue } from "../json/json.js";

/** Deeper than any honest document, and no danger for the stack of whoever walks it later. */
const DEEPEST = 500;
const TOO_DEEP = `is nested more than ${DEEPEST} levels deep`;

/** A key that changes an object's prototype where it is copied carelessly. */
const HOSTILE_KEY = "__proto__";

interface SoundJson {
  /** Shares nothing with what was given. */
  readonly copy: JsonValue;
  readonly text: string;
}

/** A value as it can be kept. What would not be given back later is refused now. */
export function toSoundJson(value: unknown): SoundJson {
  const { copy, problems } = copyUntrusted(value, { foreign: "refuse", maxDepth: DEEPEST });
  if (value === undefined) throw valueError([{ path: "", message: "expected JSON, found nothing" }]);
  if (problems.length > 0)
    throw valueError(problems.map(({ path, message }) => ({ path: formatPath(path), message })));
  const text = JSON.stringify(copy);
  // Quotes inside of a text are escaped, so this is the end of a key.
  if (text.includes(`"${HOSTILE_KEY}":`))
    throw valueError([{ path: "", message: `has a key "${HOSTILE_KEY}"` }]);
  return { copy: copy as JsonValue, text };
}

/** What is wrong with a value that a parser has made, in words. */
export function findHostile(value: unknown, depth = 0): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === DEEPEST) return TOO_DEEP;
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = findHostile(item, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const key in value) {
    if (key === HOSTILE_KEY) return `has a key "${HOSTILE_KEY}"`;
    const problem = findHostile(value[key as keyof typeof value], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Shared by all who read it, and harmed by none. */
export function deepFreeze(value: JsonValue): void {
  const left: unknown[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const item of Object.values(next)) left.push(item);
  }
}

function valueError(issues: Parameters<typeof configError>[1]): Error {
  return configError("The value for a store", issues);
}
