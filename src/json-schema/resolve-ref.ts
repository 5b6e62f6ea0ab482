import { isPlainObject, type JsonObject } from "../json/json.js";

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

/** Returns the target of one reference, or `undefined` if it does not exist in this document. */
export function resolveRef(reference: string, root: JsonObject): unknown {
  const pointer = toPointer(reference, root);
  if (pointer === undefined) return undefined;
  if (pointer === "#") return root;
  let current: unknown = root;
  for (const segment of pointer.slice(2).split("/")) {
    const key = unescapeSegment(segment);
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** Returns a reference as `#` or `#/…`, or `undefined` for another document or an unknown `$anchor`. */
export function toPointer(reference: string, root: JsonObject): string | undefined {
  const fragment = toFragment(reference, root);
  if (fragment === undefined || fragment === "#" || fragment.startsWith("#/")) return fragment;
  return getAnchors(root).get(fragment.slice(1));
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
export function unescapeSegment(segment: string): string {
  return tryDecodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}

function tryDecodeURIComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Cached, because finding the anchors means to walk the whole document. */
const anchorsByRoot = new WeakMap<JsonObject, ReadonlyMap<string, string>>();

function getAnchors(root: JsonObject): ReadonlyMap<string, string> {
  const anchors = anchorsByRoot.get(root) ?? collectAnchors(root);
  anchorsByRoot.set(root, anchors);
  return anchors;
}

/** Maps every `$anchor` to its pointer. */
function collectAnchors(root: JsonObject): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  const stack: { readonly value: object; readonly pointer: string }[] = [{ value: root, pointer: "#" }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, pointer } = next;
    const anchor: unknown = Reflect.get(value, "$anchor");
    if (typeof anchor === "string" && pointer !== "#") anchors.set(anchor, pointer);
    for (const [key, child] of Object.entries(value) as [string, unknown][]) {
      if (typeof child !== "object" || child === null) continue;
      stack.push({ value: child, pointer: `${pointer}/${escapeSegment(key)}` });
    }
  }
  return anchors;
}

function escapeSegment(key: string): string {
  return encodeURI(
    key
      .replace(/[\ud800-\udfff]/gu, "")
      .replaceAll("~", "~0")
      .replaceAll("/", "~1"),
  ).replaceAll("#", "%23");
}
