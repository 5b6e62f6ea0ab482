import { copyUntrusted } from "../json/safe-clone.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { resolveFragment, toFragment } from "./json-pointer.js";

/**
 * A copy of a schema whose references all point to its definitions. Generators write
 * `#/properties/a` where a type is used twice: once `a` is hidden or pinned, such a reference would
 * point to nothing, or pin another argument with it.
 */
export function detachReferences(schema: JsonObject): JsonObject {
  const { copy } = copyUntrusted(schema, { foreign: "keep", maxDepth: Number.POSITIVE_INFINITY });
  if (!isPlainObject(copy)) return schema;
  const store = isPlainObject(copy["definitions"]) ? "definitions" : "$defs";
  const { $defs: _, definitions: __, ...own } = copy;
  const before = isPlainObject(copy[store]) ? copy[store] : {};
  const names = new Map<string, string>();
  const added: JsonObject = {};
  for (const node of referringNodes(copy)) {
    const fragment = toFragment(copy, node["$ref"]);
    if (fragment === undefined || /^#\/(?:\$defs|definitions)\//.test(fragment)) continue;
    const target = fragment === "#" || fragment === "#/" ? own : resolveFragment(copy, fragment);
    if (target === undefined) continue;
    const name = names.get(fragment) ?? freeName({ ...before, ...added });
    names.set(fragment, name);
    added[name] = target;
    // The copy is ours alone, so it may be changed in place.
    node["$ref"] = `#/${store}/${name}`;
  }
  return names.size === 0 ? copy : { ...copy, [store]: { ...before, ...added } };
}

/** Every object with a reference in it, found without a stack that could overflow. */
function referringNodes(schema: JsonObject): (JsonObject & { $ref: string })[] {
  const seen = new Set<unknown>();
  const found: (JsonObject & { $ref: string })[] = [];
  const waiting: unknown[] = [schema];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== "object" || node === null || seen.has(node)) continue;
    seen.add(node);
    if (refersTo(node)) found.push(node);
    for (const child of Object.values(node)) if (typeof child === "object") waiting.push(child);
  }
  return found;
}

function refersTo(node: object): node is JsonObject & { $ref: string } {
  return Object.hasOwn(node, "$ref") && typeof Reflect.get(node, "$ref") === "string";
}

function freeName(taken: JsonObject): string {
  let number = 1;
  while (Object.hasOwn(taken, `shared_${number}`)) number += 1;
  return `shared_${number}`;
}
