import { isPlainObject, type JsonObject } from "../json/json.js";
import { EVERY_ITEM, type JsonPath } from "../json/json-path.js";
import { resolveFragment, toFragment } from "./json-pointer.js";

/** What becomes of an argument in the schema that the model sees. */
export type SchemaEdit =
  | { readonly type: "hide" }
  /** It can have one value only. */
  | { readonly type: "pin"; readonly value: unknown }
  /** It need not be given, and the note says why. */
  | { readonly type: "note"; readonly text: string };

/** A schema after an edit. `isGone`: it has nothing left to show. `isOptional`: nobody has to give it. */
interface Edited {
  readonly schema: unknown;
  readonly isGone: boolean;
  readonly isOptional: boolean;
}

const BRANCHES = ["anyOf", "oneOf", "allOf"] as const;
const CONDITIONAL = ["then", "else"] as const;

/** References and branches lead on without a step along the path; somewhere they have to end. */
const MAX_DETOURS = 32;
const MAX_VISITS = 1_000;

/**
 * A schema with an argument hidden or pinned, wherever the path can be followed: through properties,
 * items, branches and local references, which are written out along the path. The schema that was
 * given stays as it is.
 */
export function editSchemaAt(root: JsonObject, path: JsonPath, edit: SchemaEdit): JsonObject {
  const { schema } = new SchemaEditor(root, path, edit).at(root, 0, 0);
  return isPlainObject(schema) ? schema : root;
}

class SchemaEditor {
  readonly #root: JsonObject;
  readonly #path: JsonPath;
  readonly #edit: SchemaEdit;
  #visits = 0;

  constructor(root: JsonObject, path: JsonPath, edit: SchemaEdit) {
    this.#root = root;
    this.#path = path;
    this.#edit = edit;
  }

  at(node: unknown, depth: number, detours: number): Edited {
    const segment = this.#path[depth];
    if (segment === undefined) return applyEdit(node, this.#edit);
    this.#visits += 1;
    if (!isPlainObject(node) || detours > MAX_DETOURS || this.#visits > MAX_VISITS) return unchanged(node);
    const { $ref, ...beside } = node;
    if (typeof $ref === "string") {
      const target = this.#resolve($ref);
      return target === undefined ? unchanged(node) : this.at({ ...target, ...beside }, depth, detours + 1);
    }
    const own = typeof segment === "string" ? this.#property(node, segment, depth) : this.#items(node, depth);
    const hidden = typeof segment === "string" && lost(node, own.schema, segment) ? segment : undefined;
    return this.#branches(own, hidden, depth, detours);
  }

  #resolve(reference: string): JsonObject | undefined {
    const fragment = toFragment(this.#root, reference);
    const target = fragment === undefined ? undefined : resolveFragment(this.#root, fragment);
    return isPlainObject(target) ? target : undefined;
  }

  #property(node: JsonObject, name: string, depth: number): Edited {
    const properties = isPlainObject(node["properties"]) ? node["properties"] : {};
    if (!Object.hasOwn(properties, name)) {
      const isDropped = depth + 1 === this.#path.length && this.#edit.type !== "pin";
      return unchanged(isDropped ? withoutRequired(node, name) : node);
    }
    const { [name]: before, ...others } = properties;
    const { schema, isGone, isOptional } = this.at(before, depth + 1, 0);
    const kept = isGone ? others : { ...properties, [name]: schema };
    const edited = { ...node, properties: kept };
    return {
      schema: isGone || isOptional ? withoutRequired(edited, name) : edited,
      isGone: isGone && Object.keys(others).length === 0 && !takesMore(node),
      isOptional: false,
    };
  }

  #items(node: JsonObject, depth: number): Edited {
    const segment = this.#path[depth];
    const isLast = depth + 1 === this.#path.length;
    const { prefixItems, items } = node;
    const tupleKey = Array.isArray(prefixItems) ? "prefixItems" : "items";
    const tuple: unknown = node[tupleKey];
    if (segment !== EVERY_ITEM) {
      if (!Array.isArray(tuple) || typeof segment !== "number" || segment >= tuple.length) {
        // One item of many alike has no schema of its own.
        return unchanged(
          this.#edit.type === "hide" ? node : withNote(node, `Item ${String(segment)} is filled in for you.`),
        );
      }
      const edited = this.at(tuple[segment], depth + 1, 0);
      return unchanged(edited.isGone ? node : { ...node, [tupleKey]: tuple.with(segment, edited.schema) });
    }
    if (!isPlainObject(items)) return { ...unchanged(node), isGone: isLast && this.#edit.type === "hide" };
    const edited = this.at(items, depth + 1, 0);
    // How many items there are is for the model to say, also when it has nothing to say about each.
    return {
      schema: { ...node, items: edited.schema },
      isGone: edited.isGone && isLast,
      isOptional: edited.isOptional && isLast,
    };
  }

  /** The same edit in every branch. Only when no branch has anything left is the whole gone. */
  #branches(own: Edited, hidden: string | undefined, depth: number, detours: number): Edited {
    if (!isPlainObject(own.schema)) return own;
    const schema: JsonObject = { ...own.schema };
    const branches: Edited[] = [];
    for (const key of BRANCHES) {
      const list: unknown = schema[key];
      if (!Array.isArray(list)) continue;
      const edited = list.map((branch) => this.at(branch, depth, detours + 1));
      schema[key] = edited.map((branch) => withoutRequired(branch.schema, hidden));
      branches.push(...edited.filter((branch) => !isNullType(branch.schema)));
    }
    for (const key of CONDITIONAL) {
      if (schema[key] !== undefined) {
        schema[key] = withoutRequired(this.at(schema[key], depth, detours + 1).schema, hidden);
      }
    }
    if (branches.length === 0) return { ...own, schema };
    const hasOwn = isPlainObject(schema["properties"]) && Object.keys(schema["properties"]).length > 0;
    const isGone = !hasOwn && branches.every((branch) => branch.isGone);
    return { schema, isGone, isOptional: own.isOptional };
  }
}

function unchanged(schema: unknown): Edited {
  return { schema, isGone: false, isOptional: false };
}

function applyEdit(node: unknown, edit: SchemaEdit): Edited {
  const schema = isPlainObject(node) ? node : {};
  switch (edit.type) {
    case "hide":
      return { schema: node, isGone: true, isOptional: true };
    case "pin":
      return unchanged(pinned(schema, edit.value));
    case "note":
      return { schema: withNote(schema, edit.text), isGone: false, isOptional: true };
  }
}

/** Only what describes the argument stays of its schema: the value says all the rest. */
function pinned({ title, description, type }: JsonObject, value: unknown): JsonObject {
  const texts = Object.entries({ title, description }).filter(([, text]) => typeof text === "string");
  const isInteger = type === "integer" && Number.isInteger(value);
  const name = value === null ? "null" : typeof value;
  return { ...Object.fromEntries(texts), type: isInteger ? "integer" : name, enum: [value] };
}

function withNote(schema: JsonObject, note: string): JsonObject {
  const { description } = schema;
  const text = typeof description === "string" && description !== "" ? `${description} ${note}` : note;
  return { ...schema, description: text };
}

/** A property was there before, and is not any more. */
function lost(before: JsonObject, after: unknown, name: string): boolean {
  return hasProperty(before, name) && !hasProperty(after, name);
}

function hasProperty(schema: unknown, name: string): boolean {
  const properties = isPlainObject(schema) ? schema["properties"] : undefined;
  return isPlainObject(properties) && Object.hasOwn(properties, name);
}

function withoutRequired(schema: unknown, name: string | undefined): unknown {
  if (!isPlainObject(schema)) return schema;
  const { required, ...others } = schema;
  if (!Array.isArray(required) || !required.includes(name)) return schema;
  const left: unknown[] = required.filter((entry) => entry !== name);
  return left.length === 0 ? others : { ...schema, required: left };
}

/** Whether an object without properties of its own still has something to be said. */
function takesMore({ additionalProperties = false, patternProperties }: JsonObject): boolean {
  return additionalProperties !== false || patternProperties !== undefined;
}

function isNullType(schema: unknown): boolean {
  return isPlainObject(schema) && schema["type"] === "null";
}
