import { isPlainObject, type JsonObject, tryDecodeURIComponent, walkObjects } from "../json/json.js";

/** Longer chains of references are circular. */
const MAX_HOPS = 20;

/**
 * Follows the `$ref` of a schema, whose sibling keywords are ignored, until a schema without one. Returns
 * `undefined` if a reference cannot be resolved or is circular.
 */
export function dereference(schema: unknown, root: JsonObject): unknown {
  let current = schema;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    if (!isPlainObject(current) || typeof current["$ref"] !== "string") return current;
    current = resolveRef(current["$ref"], root);
  }
  return undefined;
}

/** Cached, because many schemas may have the same reference, and finding anchors means to walk the whole document. */
interface ResolvedReferences {
  readonly targets: Map<string, unknown>;
  anchors: ReadonlyMap<string, object> | undefined;
}

const resolvedByRoot = new WeakMap<JsonObject, ResolvedReferences>();

/** Returns the target of one reference, or `undefined` if it does not exist in this document. */
export function resolveRef(reference: string, root: JsonObject): unknown {
  let resolved = resolvedByRoot.get(root);
  if (resolved === undefined) {
    resolved = { targets: new Map(), anchors: undefined };
    resolvedByRoot.set(root, resolved);
  }
  const known = resolved.targets.get(reference);
  if (known !== undefined || resolved.targets.has(reference)) return known;
  const target = findTarget(reference, root, resolved);
  resolved.targets.set(reference, target);
  return target;
}

function findTarget(reference: string, root: JsonObject, resolved: ResolvedReferences): unknown {
  const fragment = toFragment(reference, root);
  if (fragment === undefined) return undefined;
  if (fragment === "#") return root;
  if (!fragment.startsWith("#/")) {
    resolved.anchors ??= collectAnchors(root);
    return resolved.anchors.get(fragment.slice(1));
  }
  let current: unknown = root;
  for (const segment of fragment.slice(2).split("/")) {
    const key = unescapeSegment(segment);
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** Returns a reference as `#…`, or `undefined` if it points to another document. */
export function toFragment(reference: string, root: JsonObject): string | undefined {
  if (reference.startsWith("#")) return reference;
  const id = root["$id"] ?? root["id"];
  if (typeof id !== "string") return undefined;
  const document = id.replace(/#$/, "");
  if (document === "" || !reference.startsWith(document)) return undefined;
  const rest = reference.slice(document.length);
  if (rest === "") return "#";
  return rest.startsWith("#") ? rest : undefined;
}

/** Decodes one segment of a JSON pointer in a URI fragment. */
function unescapeSegment(segment: string): string {
  const decoded = segment.includes("%") ? tryDecodeURIComponent(segment) : segment;
  return decoded.includes("~") ? decoded.replaceAll("~1", "/").replaceAll("~0", "~") : decoded;
}

/** Maps every `$anchor` to its schema. */
function collectAnchors(root: JsonObject): ReadonlyMap<string, object> {
  const anchors = new Map<string, object>();
  for (const node of walkObjects(root)) {
    const anchor: unknown = Reflect.get(node, "$anchor");
    if (typeof anchor === "string" && node !== root) anchors.set(anchor, node);
  }
  return anchors;
}
