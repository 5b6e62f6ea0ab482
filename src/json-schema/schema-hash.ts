import { createHash } from "node:crypto";
import { isPlainObject } from "../json/json.js";
import { type StepBudget, countTextSteps } from "./step-budget.js";

const HASH_LENGTH = 12;

/** Returns a hash that does not depend on key order: 12 hex digits of SHA-256 over canonical JSON. */
export function schemaHash(value: unknown): string {
  return fullHash(value).slice(0, HASH_LENGTH);
}

/** Returns the full SHA-256, for uses in which a collision would be harmful. */
export function fullHash(value: unknown): string {
  return createHash("sha256").update(toCanonicalJson(value)).digest("hex");
}

/**
 * Returns JSON that does not depend on key order. Not recursive, because a server's schema may be nested deeper than
 * the stack allows. Pushes values one by one, because a call with a hundred thousand arguments fails.
 *
 * @throws StepLimitError
 */
export function toCanonicalJson(root: unknown, steps?: StepBudget): string {
  const stack: (string | { readonly value: unknown })[] = [{ value: root }];
  let text = "";
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next === "string") {
      text += next;
    } else if (Array.isArray(next.value)) {
      steps?.spend(1 + next.value.length);
      stack.push("]");
      for (const value of next.value.toReversed()) stack.push({ value }, ",");
      stack.push("[");
    } else if (isPlainObject(next.value)) {
      const { value } = next;
      const keys = Object.keys(value).filter((key) => value[key] !== undefined);
      steps?.spend(1 + keys.length);
      stack.push("}");
      for (const key of keys.toSorted((a, b) => (a < b ? 1 : -1)))
        stack.push({ value: value[key] }, `,${JSON.stringify(key)}:`);
      stack.push("{");
    } else {
      const json = JSON.stringify(next.value) ?? "null";
      steps?.spend(1 + countTextSteps(json));
      text += json;
    }
  }
  return text;
}
