import { isPlainObject, type JsonObject, toArray, toObject, walkObjects } from "../json/json.js";
import { WILDCARD, type JsonPath } from "../json/json-path.js";
import { excerpt, joinNames } from "../errors/sanitize-text.js";
import { resolveRef, toFragment } from "./resolve-ref.js";
import { safeClone } from "../json/safe-clone.js";
import { countEntries, countTextSteps, isLimitError, StepBudget } from "./step-budget.js";

/** How an argument changes in the schema that the model sees. */
export type SchemaEdit =
  | { readonly type: "hide" }
  /** The argument has only one allowed value. */
  | { readonly type: "fix"; readonly value: unknown }
  /** The argument becomes optional, and the text is appended to its description. */
  | { readonly type: "annotate"; readonly text: string };

/** An edit of the argument at a path. */
export interface ArgumentEdit {
  readonly path: JsonPath;
  readonly edit: SchemaEdit;
}

/** A schema after all edits. */
interface EditResult {
  readonly schema: JsonObject;
  /** For the log: the parameters that are hidden in full. */
  readonly warnings: readonly string[];
}

/** A schema after an edit. `isRemoved`: nothing is left to show. `isOptional`: no longer required. */
interface EditedSchema {
  readonly schema: unknown;
  readonly isRemoved: boolean;
  readonly isOptional: boolean;
}

const BRANCHES = ["anyOf", "oneOf", "allOf"] as const;
const CONDITIONAL = ["then", "else"] as const;
/** Where a schema may declare a parameter, other than in `properties`. */
const OTHER_DECLARATIONS: ReadonlySet<string> = new Set([
  ...BRANCHES,
  ...CONDITIONAL,
  "if",
  "$ref",
  "dependentSchemas",
]);

/** Limits the references and branches that are followed without advancing along the path. */
const MAX_INDIRECTIONS = 32;
/** For all edits of the schema of a tool together. */
const MAX_EDIT_STEPS = 200_000;
const STEPS_PER_VISIT = 10;
const STEPS_PER_WALKED_NODE = 10;
const STEPS_PER_CLONED_NODE = 20;

/**
 * Returns a copy of a schema in which arguments are edited. Follows properties, items, branches and local references,
 * which are inlined along the paths. If that takes too many steps, the parameters to which the rest of the paths belong
 * are hidden in full: a server chooses the size of its schemas.
 */
export function editSchema(
  schema: JsonObject,
  edits: readonly ArgumentEdit[],
  budget = new StepBudget(MAX_EDIT_STEPS),
): EditResult {
  let edited = schema;
  let editor: SchemaEditor | undefined;
  const hidden = new Set<string>();
  for (const { path, edit } of edits) {
    const parameter = String(path[0]);
    if (hidden.has(parameter)) continue;
    try {
      if (editor === undefined) {
        edited = inlineRootRefs(schema, budget);
        editor = new SchemaEditor(edited, budget);
      }
      edited = editor.edit(edited, path, edit);
    } catch (error) {
      if (!isLimitError(error)) throw error;
      hidden.add(parameter);
    }
  }
  if (hidden.size === 0) return { schema: edited, warnings: [] };
  const warning = `The input schema is too large to hide or annotate single arguments in it. Models do not see these parameters at all: ${joinNames([...hidden].map(excerpt), MAX_LISTED_NAMES)}.`;
  return { schema: withoutParameters(edited, hidden), warnings: [warning] };
}

const MAX_LISTED_NAMES = 10;

/** Leaves out parameters, and the keywords that may declare them elsewhere. */
function withoutParameters(schema: JsonObject, names: ReadonlySet<string>): JsonObject {
  const { properties, required, ...others } = schema;
  const kept = Object.entries(others).filter(([keyword]) => !OTHER_DECLARATIONS.has(keyword));
  return {
    ...Object.fromEntries(kept),
    properties: Object.fromEntries(Object.entries(toObject(properties)).filter(([name]) => !names.has(name))),
    required: toArray(required).filter((name) => typeof name !== "string" || !names.has(name)),
  };
}

class SchemaEditor {
  /** No edit changes the definitions, so references are resolved here. */
  readonly #root: JsonObject;
  readonly #budget: StepBudget;
  #path: JsonPath = [];
  #edit: SchemaEdit = { type: "hide" };

  constructor(root: JsonObject, budget: StepBudget) {
    this.#root = root;
    this.#budget = budget;
  }

  /** @throws StepLimitError if the budget is exceeded */
  edit(schema: JsonObject, path: JsonPath, edit: SchemaEdit): JsonObject {
    this.#path = path;
    this.#edit = edit;
    const { schema: edited } = this.editAt(schema, 0, 0);
    return isPlainObject(edited) ? edited : schema;
  }

  editAt(node: unknown, depth: number, indirections: number): EditedSchema {
    const segment = this.#path[depth];
    if (segment === undefined) return applyEdit(node, this.#edit);
    this.#budget.spend(STEPS_PER_VISIT);
    if (!isPlainObject(node) || indirections > MAX_INDIRECTIONS) return unchanged(node);
    this.#budget.spend(Object.keys(node).length + countEntries(node));
    const { $ref, ...siblings } = node;
    if (typeof $ref === "string") {
      this.#budget.spend(countTextSteps($ref));
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
    let hasBranch = false;
    let areRemoved = true;
    for (const key of BRANCHES) {
      const subschemas: unknown = schema[key];
      if (!Array.isArray(subschemas)) continue;
      const edited = subschemas.map((branch) => this.editAt(branch, depth, indirections + 1));
      schema[key] = edited.map((branch) => withoutRequired(branch.schema, hidden));
      for (const { schema: branch, isRemoved } of edited) {
        if (toObject(branch)["type"] === "null") continue;
        hasBranch = true;
        areRemoved &&= isRemoved;
      }
    }
    for (const key of CONDITIONAL) {
      if (schema[key] !== undefined) {
        schema[key] = withoutRequired(this.editAt(schema[key], depth, indirections + 1).schema, hidden);
      }
    }
    if (!hasBranch) return { ...own, schema };
    const hasOwn = Object.keys(toObject(schema["properties"])).length > 0;
    return { schema, isRemoved: !hasOwn && areRemoved, isOptional: own.isOptional };
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
 * Returns a schema in which all references point to definitions. Generators write `#/properties/a` where a type is used
 * twice; after an edit of `a`, such a reference would dangle or edit another argument, too.
 *
 * @throws StepLimitError if the schema is too large
 */
function inlineRootRefs(schema: JsonObject, budget: StepBudget): JsonObject {
  const nodes = collectObjects(schema, budget);
  const isNeeded = (node: object) =>
    isReference(node) && !pointsToDefinition(toFragment(node["$ref"], schema));
  if (!nodes.some(isNeeded)) return schema;
  budget.spend(nodes.length * STEPS_PER_CLONED_NODE);
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
    if (fragment === undefined || pointsToDefinition(fragment)) continue;
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

/** Like `walkObjects`, within a budget: the objects of a large array are counted before they are collected. */
function collectObjects(root: object, budget: StepBudget): readonly object[] {
  const seen = new Set<object>([root]);
  // `seen` grows during the iteration.
  for (const node of seen) {
    for (const child of Object.values(node) as unknown[]) {
      if (typeof child !== "object" || child === null) continue;
      budget.spend(STEPS_PER_WALKED_NODE);
      seen.add(child);
    }
  }
  return [...seen];
}

/** References to other documents are kept: they cannot be resolved here. */
function pointsToDefinition(fragment: string | undefined): boolean {
  return fragment === undefined || /^#\/(?:\$defs|definitions)\//.test(fragment);
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
