import type { JsonObject } from "../json/json.js";

export type Draft = "4" | "7" | "2019-09" | "2020-12";

export function draftOf(schema: JsonObject): Draft {
  const name = String(schema["$schema"]);
  if (/draft-0?[34]\b/.test(name)) return "4";
  if (/draft-0?[67]\b/.test(name)) return "7";
  return name.includes("2019-09") ? "2019-09" : "2020-12";
}

/** In old drafts a `$ref` stands alone: whatever is beside it counts for nothing. */
export function refStandsAlone(draft: Draft): boolean {
  return draft === "4" || draft === "7";
}

/** A reference as a fragment of its own document, `#…`, or nothing when it leaves the document. */
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

/** What a fragment (`#`, `#/$defs/a~1b`, `#/definitions/a%20b`, `#anchor`) points to, or `undefined`. */
export function resolveFragment(root: JsonObject, fragment: string): unknown {
  if (fragment === "#") return root;
  if (!fragment.startsWith("#/")) return findAnchor(root, fragment.slice(1));
  let found: unknown = root;
  for (const segment of fragment.slice(2).split("/")) {
    const key = unescapeSegment(segment);
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** One segment of a JSON pointer in a URI fragment. */
export function unescapeSegment(segment: string): string {
  return decode(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function findAnchor(root: JsonObject, anchor: string): unknown {
  const pointer = anchorsOf(root).get(anchor);
  return pointer === undefined ? undefined : resolveFragment(root, pointer);
}

/** Every `$anchor` of a document with the pointer that leads there. Walks all of it: not for every reference. */
export function anchorsOf(root: JsonObject): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  const waiting: { readonly value: object; readonly pointer: string }[] = [{ value: root, pointer: "#" }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, pointer } = next;
    const anchor: unknown = Reflect.get(value, "$anchor");
    if (typeof anchor === "string" && pointer !== "#") anchors.set(anchor, pointer);
    for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
      if (typeof inner !== "object" || inner === null) continue;
      waiting.push({ value: inner, pointer: `${pointer}/${escapeSegment(key)}` });
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
