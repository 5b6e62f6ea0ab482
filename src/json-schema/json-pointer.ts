import type { JsonObject } from "../json/json.js";

/** The JSON Schema draft. */
export type Draft = "4" | "7" | "2019-09" | "2020-12";

export function draftOf(schema: JsonObject): Draft {
  const name = String(schema["$schema"]);
  if (/draft-0?[34]\b/.test(name)) return "4";
  if (/draft-0?[67]\b/.test(name)) return "7";
  return name.includes("2019-09") ? "2019-09" : "2020-12";
}

/** In old drafts, sibling keywords of `$ref` are ignored. */
export function ignoresSiblings(draft: Draft): boolean {
  return draft === "4" || draft === "7";
}

/** Returns a reference as a fragment (`#…`), or `undefined` if it points to another document. */
export function toFragment(root: JsonObject, reference: string): string | undefined {
  if (reference.startsWith("#")) return reference;
  const id = root["$id"] ?? root["id"];
  if (typeof id !== "string") return undefined;
  const document = id.replace(/#$/, "");
  if (document === "" || !reference.startsWith(document)) return undefined;
  const rest = reference.slice(document.length);
  if (rest === "") return "#";
  return rest.startsWith("#") ? rest : undefined;
}

/** Returns the value at a fragment (`#`, `#/$defs/a~1b`, `#/definitions/a%20b`, `#anchor`), or `undefined`. */
export function resolvePointer(root: JsonObject, fragment: string): unknown {
  if (fragment === "#") return root;
  if (!fragment.startsWith("#/")) return findAnchor(root, fragment.slice(1));
  let current: unknown = root;
  for (const segment of fragment.slice(2).split("/")) {
    const key = unescapeSegment(segment);
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
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

function findAnchor(root: JsonObject, anchor: string): unknown {
  const pointer = collectAnchors(root).get(anchor);
  return pointer === undefined ? undefined : resolvePointer(root, pointer);
}

/** Maps every `$anchor` to its pointer. Walks the whole document, so do not call it per reference. */
export function collectAnchors(root: JsonObject): ReadonlyMap<string, string> {
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
