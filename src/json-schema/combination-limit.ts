import { isPlainObject, type JsonObject } from "../json/json.js";
import { resolveFragment } from "./json-pointer.js";
import type { SoundSchema } from "./sanitize-schema.js";

/** Checks of one value at one place. A schema that somebody wrote needs a few dozen. */
const MOST_CHECKS = 5_000;
const LONGEST_CHAIN = 300;

/**
 * Whether one value could be checked thousands of times, or for ever: unions of references to unions
 * of references double with every step, and a reference may lead back to itself.
 */
export function hasRunawayCombinations({ schema: root, nodes }: SoundSchema): boolean {
  const known = new Map<JsonObject, number>();

  function checksOf(schema: unknown, chain: number): number {
    if (!isPlainObject(schema)) return 1;
    const before = known.get(schema);
    if (before !== undefined) return before;
    // Until it is known, a schema that meets itself counts as endless.
    known.set(schema, Infinity);
    const inPlace =
      chain > LONGEST_CHAIN ? [Infinity] : inPlaceOf(schema, root).map((part) => checksOf(part, chain + 1));
    const checks = inPlace.reduce((sum, part) => sum + part, 1);
    known.set(schema, checks);
    return checks;
  }

  return nodes.some((node) => checksOf(node, 0) > MOST_CHECKS);
}

/** The schemas that look at the same value again. */
function inPlaceOf(schema: JsonObject, root: JsonObject): unknown[] {
  const lists = ["allOf", "anyOf", "oneOf"].map((keyword) => schema[keyword]).filter(Array.isArray);
  const maps = ["dependentSchemas", "dependencies"].map((keyword) => schema[keyword]).filter(isPlainObject);
  const singles = ["not", "if", "then", "else"].map((keyword) => schema[keyword]);
  const { $ref } = schema;
  const target = typeof $ref === "string" ? resolveFragment(root, $ref) : undefined;
  return [...lists.flat(), ...maps.flatMap((map) => Object.values(map)), ...singles, target].filter(
    isPlainObject,
  );
}
