import { isPlainObject, type JsonObject } from "../json/json.js";
import { resolveFragment, toFragment } from "./json-pointer.js";

const MOST_HOPS = 20;
const MOST_SCHEMAS = 500;

/** What a schema says about the members of an object, wherever in it that is said. */
export interface Declared {
  /** All schemas for a member: more than one when the branches of a union differ. */
  schemasOf(name: string): readonly unknown[];
  /** Members with a default that holds in every case. */
  readonly defaults: readonly (readonly [name: string, schema: JsonObject])[];
  readonly required: ReadonlySet<unknown>;
}

export function declaredArguments(schema: JsonObject, root: JsonObject): Declared {
  const schemas = new Map<string, unknown[]>();
  const defaults = new Map<string, JsonObject>();
  const required = new Set<unknown>();
  const waiting = [{ schema: schema as unknown, isCertain: true }];
  // `waiting` grows while it is read.
  for (const { schema: part, isCertain } of waiting) {
    const found = followReference(part, root);
    if (!isPlainObject(found)) continue;
    for (const [name, property] of entriesOf(found["properties"])) {
      schemas.set(name, [...(schemas.get(name) ?? []), property]);
      const inner = followReference(property, root);
      const holder = isPlainObject(property) && Object.hasOwn(property, "default") ? property : inner;
      if (isCertain && isPlainObject(holder) && Object.hasOwn(holder, "default")) defaults.set(name, holder);
    }
    if (isCertain) listOf(found["required"]).forEach((name) => required.add(name));
    const branches = [...listOf(found["anyOf"]), ...listOf(found["oneOf"])];
    const inner = [
      ...listOf(found["allOf"]).map((all) => ({ schema: all, isCertain })),
      ...branches.map((branch) => ({ schema: branch, isCertain: false })),
    ];
    waiting.push(...inner.slice(0, Math.max(0, MOST_SCHEMAS - waiting.length)));
  }
  return { schemasOf: (name) => schemas.get(name) ?? [], defaults: [...defaults], required };
}

/** The schema that local references lead to, or what they cannot reach as `undefined`. */
export function followReference(schema: unknown, root: JsonObject): unknown {
  let found = schema;
  for (let hop = 0; hop < MOST_HOPS; hop += 1) {
    if (!isPlainObject(found) || typeof found["$ref"] !== "string") return found;
    const fragment = toFragment(root, found["$ref"]);
    found = fragment === undefined ? undefined : resolveFragment(root, fragment);
  }
  return undefined;
}

function entriesOf(map: unknown): [string, unknown][] {
  return isPlainObject(map) ? Object.entries(map) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
