import { isPlainObject, type JsonObject, toObject, walkObjects } from "../json/json.js";
import { WILDCARD, type JsonPath } from "../json/json-path.js";
import { resolveRef, toFragment } from "./resolve-ref.js";
import { safeClone } from "../json/safe-clone.js";

/** How an argument changes in the schema that the model sees. */
export type SchemaEdit =
  | { readonly type: "hide" }
  /** The argument has only one allowed value. */
  | { readonly type: "fix"; readonly value: unknown }
  /** The argument becomes optional, and the text is appended to its description. */
  | { readonly type: "annotate"; readonly text: string };

/** A schema after an edit. `isRemoved`: nothing is left to show. `isOptional`: no longer required. */
interface EditedSchema {
  readonly schema: unknown;
  readonly isRemoved: boolean;
  readonly isOptional: boolean;
}

const BRANCHES = ["anyOf", "oneOf", "allOf"] as const;
const CONDITIONAL = ["then", "else"] as const;

/** Limits the references and branches that are followed without advancing along the path. */
const MAX_INDIRECTIONS = 32;
const MAX_VISITS = 1_000;
/** A visit copies the properties of a schema; so many of them take as long as the rest of it. */
const KEYS_PER_VISIT = 100;

/**
 * Returns a copy of a schema in which the argument at a path is edited. Follows properties, items, branches and
 * local references, which are inlined along the path.
 */
export function editSchemaAt(root: JsonObject, path: JsonPath, edit: SchemaEdit): JsonObject {
  const { schema } = new SchemaEditor(root, path, edit).editAt(root, 0, 0);
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

  editAt(node: unknown, depth: number, indirections: number): EditedSchema {
    const segment = this.#path[depth];
    if (segment === undefined) return applyEdit(node, this.#edit);
    this.#visits +=
      1 + Math.trunc(Object.keys(toObject(toObject(node)["properties"])).length / KEYS_PER_VISIT);
    if (!isPlainObject(node) || indirections > MAX_INDIRECTIONS || this.#visits > MAX_VISITS)
      return unchanged(node);
    const { $ref, ...siblings } = node;
    if (typeof $ref === "string") {
      const target = resolveRef($ref, this.#root);
      return isPlainObject(target)
        ? this.editAt({ ...target, ...siblings }, depth, indirections + 1)
        : unchanged(node);
    }
    const own =
      typeof segment === "string" ? this.#editProperty(node, segment, depth) : this.#editItems(node, depth);
    const isHidden =
      typeof segment === "string" && hasProperty(node, segment) && !hasProperty(own.schema, segment);
    return this.#editBranches(own, isHidden ? segment : undefined, depth, indirections);
  }

  #editProperty(node: JsonObject, name: string, depth: number): EditedSchema {
    const properties = toObject(node["properties"]);
    if (!Object.hasOwn(properties, name)) {
      const isDropped = depth + 1 === this.#path.length && this.#edit.type !== "fix";
      return unchanged(isDropped ? withoutRequired(node, name) : node);
    }
    const { [name]: before, ...others } = properties;
    const { schema, isRemoved, isOptional } = this.editAt(before, depth + 1, 0);
    const kept = isRemoved ? others : { ...properties, [name]: schema };
    const edited = { ...node, properties: kept };
    return {
      schema: isRemoved || isOptional ? withoutRequired(edited, name) : edited,
      isRemoved: isRemoved && Object.keys(others).length === 0 && !allowsAdditional(node),
      isOptional: false,
    };
  }

  #editItems(node: JsonObject, depth: number): EditedSchema {
    const segment = this.#path[depth];
    const isLast = depth + 1 === this.#path.length;
    const { prefixItems, items } = node;
    const tupleKey = Array.isArray(prefixItems) ? "prefixItems" : "items";
    const tuple: unknown = node[tupleKey];
    if (segment !== WILDCARD) {
      if (!Array.isArray(tuple) || typeof segment !== "number" || segment >= tuple.length) {
        // A single item of a homogeneous array has no schema of its own.
        return unchanged(
          this.#edit.type === "hide"
            ? node
            : appendDescription(node, `Item ${String(segment)} is set automatically.`),
        );
      }
      const edited = this.editAt(tuple[segment], depth + 1, 0);
      return unchanged(edited.isRemoved ? node : { ...node, [tupleKey]: tuple.with(segment, edited.schema) });
    }
    if (!isPlainObject(items)) return { ...unchanged(node), isRemoved: isLast && this.#edit.type === "hide" };
    const edited = this.editAt(items, depth + 1, 0);
    // The model still chooses the number of items, even if nothing of each item is left to set.
    return {
      schema: { ...node, items: edited.schema },
      isRemoved: edited.isRemoved && isLast,
      isOptional: edited.isOptional && isLast,
    };
  }

  /** Applies the edit to every branch. The schema is removed only if nothing is left in any branch. */
  #editBranches(
    own: EditedSchema,
    hidden: string | undefined,
    depth: number,
    indirections: number,
  ): EditedSchema {
    if (!isPlainObject(own.schema)) return own;
    const schema: JsonObject = { ...own.schema };
    const branches: EditedSchema[] = [];
    for (const key of BRANCHES) {
      const subschemas: unknown = schema[key];
      if (!Array.isArray(subschemas)) continue;
      const edited = subschemas.map((branch) => this.editAt(branch, depth, indirections + 1));
      schema[key] = edited.map((branch) => withoutRequired(branch.schema, hidden));
      branches.push(...edited.filter((branch) => toObject(branch.schema)["type"] !== "null"));
    }
    for (const key of CONDITIONAL) {
      if (schema[key] !== undefined) {
        schema[key] = withoutRequired(this.editAt(schema[key], depth, indirections + 1).schema, hidden);
      }
    }
    if (branches.length === 0) return { ...own, schema };
    const hasOwn = Object.keys(toObject(schema["properties"])).length > 0;
    const isRemoved = !hasOwn && branches.every((branch) => branch.isRemoved);
    return { schema, isRemoved, isOptional: own.isOptional };
  }
}

function unchanged(schema: unknown): EditedSchema {
  return { schema, isRemoved: false, isOptional: false };
}

function applyEdit(node: unknown, edit: SchemaEdit): EditedSchema {
  const schema = toObject(node);
  switch (edit.type) {
    case "hide":
      return { schema: node, isRemoved: true, isOptional: true };
    case "fix":
      return unchanged(toConst(schema, edit.value));
    case "annotate":
      return { schema: appendDescription(schema, edit.text), isRemoved: false, isOptional: true };
  }
}

/** Keeps only the title and description; the value implies everything else. */
function toConst({ title, description, type }: JsonObject, value: unknown): JsonObject {
  const texts = Object.entries({ title, description }).filter(([, text]) => typeof text === "string");
  const isInteger = type === "integer" && Number.isInteger(value);
  const name = value === null ? "null" : typeof value;
  return { ...Object.fromEntries(texts), type: isInteger ? "integer" : name, enum: [value] };
}

function appendDescription(schema: JsonObject, note: string): JsonObject {
  const { description } = schema;
  const text = typeof description === "string" && description !== "" ? `${description} ${note}` : note;
  return { ...schema, description: text };
}

function hasProperty(schema: unknown, name: string): boolean {
  return Object.hasOwn(toObject(toObject(schema)["properties"]), name);
}

function withoutRequired(schema: unknown, name: string | undefined): unknown {
  if (!isPlainObject(schema)) return schema;
  const { required, ...others } = schema;
  if (!Array.isArray(required) || !required.includes(name)) return schema;
  const remaining: unknown[] = required.filter((entry) => entry !== name);
  return remaining.length === 0 ? others : { ...schema, required: remaining };
}

/** Whether an object without declared properties still accepts others. */
function allowsAdditional({ additionalProperties = false, patternProperties }: JsonObject): boolean {
  return additionalProperties !== false || patternProperties !== undefined;
}

/**
 * Returns a copy of a schema in which all references point to definitions. Generators write `#/properties/a` where
 * a type is used twice; after an edit of `a`, such a reference would dangle or edit another argument, too.
 */
export function inlineRootRefs(schema: JsonObject): JsonObject {
  const { copy } = safeClone(schema, { nonJson: "preserve", maxDepth: Number.POSITIVE_INFINITY });
  if (!isPlainObject(copy)) return schema;
  const definitionsKey = isPlainObject(copy["definitions"]) ? "definitions" : "$defs";
  const { $defs: _, definitions: __, ...rootWithoutDefinitions } = copy;
  const definitions = toObject(copy[definitionsKey]);
  const names = new Map<string, string>();
  const added: JsonObject = {};
  const createName = createNames(definitions);
  // The copy is not shared, so it can be changed in place.
  for (const node of walkObjects(copy)) {
    if (!isReference(node)) continue;
    const fragment = toFragment(node["$ref"], copy);
    if (fragment === undefined || /^#\/(?:\$defs|definitions)\//.test(fragment)) continue;
    const target =
      fragment === "#" || fragment === "#/" ? rootWithoutDefinitions : resolveRef(fragment, copy);
    if (target === undefined) continue;
    const name = names.get(fragment) ?? createName();
    names.set(fragment, name);
    added[name] = target;
    node["$ref"] = `#/${definitionsKey}/${name}`;
  }
  return names.size === 0 ? copy : { ...copy, [definitionsKey]: { ...definitions, ...added } };
}

function isReference(node: object): node is JsonObject & { $ref: string } {
  return Object.hasOwn(node, "$ref") && typeof Reflect.get(node, "$ref") === "string";
}

/** Returns a function that returns a new name each time: `shared_1`, `shared_2` … */
function createNames(taken: JsonObject): () => string {
  let number = 0;
  return () => {
    do number += 1;
    while (Object.hasOwn(taken, `shared_${number}`));
    return `shared_${number}`;
  };
}
