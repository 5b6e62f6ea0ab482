import { isPlainObject, type JsonObject } from "./json.js";
import { EVERY_ITEM, type JsonPath } from "./json-path.js";

interface Edit {
  /** What comes in the place of what was found; `undefined` takes it away. */
  readonly change: (found: unknown) => unknown;
  /** Whether objects and lists are made where they are missing, or only what is there is changed. */
  readonly missing: "create" | "skip";
}

/** Arguments with a value at a path, made for each place anew. What is missing on the way is created. */
export function setAt(args: unknown, path: JsonPath, make: () => unknown): unknown {
  return editAt(args, path, { change: make, missing: "create" });
}

/** Arguments with what is found at a path replaced. */
export function replaceAt(args: unknown, path: JsonPath, value: unknown): unknown {
  return editAt(args, path, { change: () => value, missing: "skip" });
}

/** Arguments without what is found at a path. An item of a list becomes `null`: the others keep their places. */
export function removeAt(args: unknown, path: JsonPath): unknown {
  return editAt(args, path, { change: () => undefined, missing: "skip" });
}

/** Everything that is found at a path. */
export function allAt(args: unknown, path: JsonPath): unknown[] {
  const values: unknown[] = [];
  editAt(args, path, { change: (found) => values.push(found), missing: "skip" });
  return values;
}

/** The first value at a path, or `undefined`. Own properties only. */
export function valueAt(value: unknown, path: JsonPath): unknown {
  let found = value;
  for (const segment of path) {
    if (typeof found !== "object" || found === null) return undefined;
    const key = segment === EVERY_ITEM ? 0 : segment;
    const isReachable = Array.isArray(found) === (typeof key === "number") && Object.hasOwn(found, key);
    if (!isReachable) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** A copy along the path; everything else is shared with what was given, which stays as it is. */
function editAt(value: unknown, path: JsonPath, edit: Edit): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return edit.change(value);
  if (segment === EVERY_ITEM) return editItems(value, rest, edit);
  return typeof segment === "number"
    ? editItem(value, segment, rest, edit)
    : editField(value, segment, rest, edit);
}

function editField(value: unknown, name: string, rest: JsonPath, edit: Edit): unknown {
  const object: JsonObject = isPlainObject(value) ? value : {};
  const isThere = Object.hasOwn(object, name);
  if (!isThere && edit.missing === "skip") return value;
  const before = isThere ? object[name] : undefined;
  const after = editAt(before, rest, edit);
  if (after === before) return value;
  if (after !== undefined) return { ...object, [name]: after };
  const { [name]: _, ...others } = object;
  return others;
}

function editItem(value: unknown, index: number, rest: JsonPath, edit: Edit): unknown {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (index >= list.length && edit.missing === "skip") return value;
  const after = editAt(list[index], rest, edit);
  if (after === list[index]) return value;
  const gap = Array.from({ length: Math.max(0, index - list.length) }, () => null);
  return [...list, ...gap].slice(0, index).concat([after ?? null], list.slice(index + 1));
}

function editItems(value: unknown, rest: JsonPath, edit: Edit): unknown {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length === 0) {
    // A list of which nothing but its items is known: one of them is the best guess.
    return rest.length === 0 && edit.missing === "create" ? [edit.change(undefined)] : value;
  }
  const items = list.map((item) => editAt(item, rest, edit));
  if (items.every((item) => item === undefined)) return undefined;
  return items.map((item) => item ?? null);
}
