import { isPlainObject, isStringArray, type JsonObject, toArray, toObject } from "../../json/json.js";
import {
  ANNOTATIONS,
  type Draft,
  draftOf,
  DYNAMIC_KEYWORDS,
  formOf,
  getInPlaceNodes,
  isSchema,
} from "../keywords.js";
import { jsonTypeOf } from "../read-type-model.js";
import { resolveRef, toFragment } from "../resolve-ref.js";
import { toCanonicalJson } from "../schema-hash.js";
import { countEntries, countNames, type StepBudget, countTextSteps } from "../step-budget.js";

/** The JSON types, where `number` stands for numbers that are not integers. */
const TYPES: readonly string[] = ["string", "integer", "number", "boolean", "null", "array", "object"];
const ALL_TYPES: ReadonlySet<string> = new Set(TYPES);
const NO_TYPES: ReadonlySet<string> = new Set();

/** Accepts nothing, as `false` does. */
const REJECT_ALL: JsonObject = Object.freeze({ enum: [] });
/** Accepts the values of one type. */
export const TYPE_SCHEMAS: ReadonlyMap<string, JsonObject> = new Map(TYPES.map((type) => [type, { type }]));

/** A pointer is parsed and followed each time. */
const STEPS_PER_REFERENCE = 5;
const ALIAS_KEYWORDS: ReadonlySet<string> = new Set(["$ref", "title", "description", "default", "examples"]);
const NAMES_PER_STEP = 8;
/** How deep the property may be that distinguishes two objects. */
const MAX_DISCRIMINATOR_DEPTH = 3;

/** A bound of a number. */
export interface NumberBound {
  readonly value: number;
  readonly isExclusive: boolean;
}

/**
 * Reads a schema document by its draft. What it derives from an old schema may be too permissive, never too strict:
 * malformed keywords and references that cannot be resolved are read as if they accepted everything.
 *
 * A schema is read as a list of conjuncts: schemas without `allOf` and `$ref`, which all have to accept a value.
 */
export class SchemaDocument {
  readonly draft: Draft;
  readonly #root: JsonObject;
  readonly #steps: StepBudget;
  readonly #types = new Map<JsonObject, ReadonlySet<string>>();
  readonly #required = new Map<JsonObject, ReadonlySet<string>>();
  readonly #additional = new Map<JsonObject, unknown>();
  readonly #mentioned = new WeakMap<readonly JsonObject[], MentionedNames>();
  readonly #ignoresSiblings: boolean;
  #depth = 0;

  constructor(root: JsonObject, version: "old" | "new", steps: StepBudget) {
    this.#root = root;
    this.#steps = steps;
    this.draft = draftOf(root);
    this.#ignoresSiblings = version === "old" && this.hasOldReferences;
  }

  /** Whether the draft ignores the siblings of a `$ref`. Some validators do not. */
  get hasOldReferences(): boolean {
    return this.draft === "4" || this.draft === "7";
  }

  /**
   * The target of the reference of a schema, or `undefined` if there is none.
   *
   * @throws StepLimitError
   */
  get(schema: JsonObject): JsonObject | boolean | undefined {
    const { $ref: reference } = schema;
    if (typeof reference !== "string" || this.#hasEmbeddedResources) return undefined;
    this.#steps.spend(STEPS_PER_REFERENCE);
    const target = resolveRef(reference, this.#root);
    return isSchema(target) ? target : undefined;
  }

  get #hasEmbeddedResources(): boolean {
    const known = embedsResources.get(this.#root);
    if (known !== undefined) return known;
    const found = hasEmbeddedResources(this.#root);
    embedsResources.set(this.#root, found);
    return found;
  }

  /** Whether a reference that is not resolved leads out of the document, or nowhere. */
  isDangling(reference: string): boolean {
    return !this.#hasEmbeddedResources || toFragment(reference, this.#root) === undefined;
  }

  /** The value of a keyword, or `undefined` if it is malformed. */
  read(schema: JsonObject, keyword: string): unknown {
    const value = schema[keyword];
    return this.isWellFormed(keyword, value) ? value : undefined;
  }

  isWellFormed(keyword: string, value: unknown): boolean {
    const form = formOf(keyword, value, this.draft);
    return form === "schemas" ? toArray(value).length > 0 : form !== "malformed";
  }

  /** Returns the conjuncts of schemas that all apply to a value. */
  flatten(schemas: readonly unknown[]): JsonObject[] {
    const conjuncts = new Set<JsonObject>();
    // The queue grows during the iteration.
    const queue = [...schemas];
    for (const schema of queue) {
      if (schema === false) return [REJECT_ALL];
      if (!isPlainObject(schema) || conjuncts.has(schema)) continue;
      this.#steps.spend(1);
      conjuncts.add(schema);
      const target = this.get(schema);
      if (target !== undefined) queue.push(target);
      if (target !== undefined && this.#ignoresSiblings) continue;
      const parts = toArray(schema["allOf"]);
      this.#steps.spend(parts.length);
      for (const part of parts) queue.push(part);
    }
    return [...conjuncts].filter((schema) => this.get(schema) === undefined || !this.#isAlias(schema));
  }

  #isAlias(schema: JsonObject): boolean {
    return this.#ignoresSiblings || Object.keys(schema).every((keyword) => ALIAS_KEYWORDS.has(keyword));
  }

  /** Returns the types that the conjuncts may accept. */
  typesOf(conjuncts: readonly JsonObject[]): ReadonlySet<string> {
    let types = ALL_TYPES;
    for (const schema of conjuncts) {
      const own = this.#typesOfSchema(schema);
      if (own !== ALL_TYPES) types = new Set([...types].filter((type) => own.has(type)));
    }
    return types;
  }

  #typesOfSchema(schema: JsonObject): ReadonlySet<string> {
    if (schema === REJECT_ALL) return NO_TYPES;
    const known = this.#types.get(schema);
    if (known !== undefined) return known;
    // What a circular schema finds for itself.
    this.#types.set(schema, ALL_TYPES);
    this.#steps.spend(1 + countEntries(schema));
    this.#steps.assertDepth((this.#depth += 1));
    const sets = [toTypes(this.read(schema, "type")), toValueTypes(this.listValues(schema))];
    for (const branches of this.unionsOf(schema))
      sets.push(new Set(branches.flatMap((branch) => [...this.typesOf(this.flatten([branch]))])));
    this.#depth -= 1;
    const types = new Set([...ALL_TYPES].filter((type) => sets.every((set) => set?.has(type) !== false)));
    this.#types.set(schema, types);
    return types;
  }

  /** Returns the `anyOf` and `oneOf` of a schema. */
  unionsOf(schema: JsonObject): (readonly unknown[])[] {
    return ["anyOf", "oneOf"].flatMap((keyword) => {
      const branches = this.read(schema, keyword);
      return Array.isArray(branches) ? [branches] : [];
    });
  }

  /** Returns the only values that a schema accepts, or `undefined` if they are not listed. */
  listValues(schema: JsonObject): readonly unknown[] | undefined {
    if (Object.hasOwn(schema, "const") && schema["const"] !== undefined) return [schema["const"]];
    const values = schema === REJECT_ALL ? [] : this.read(schema, "enum");
    return Array.isArray(values) ? values : undefined;
  }

  boundsOf(schema: JsonObject, side: "minimum" | "maximum"): NumberBound[] {
    const exclusive = this.read(schema, side === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
    const inclusive = this.read(schema, side);
    return [
      ...(typeof inclusive === "number" ? [{ value: inclusive, isExclusive: exclusive === true }] : []),
      ...(typeof exclusive === "number" ? [{ value: exclusive, isExclusive: true }] : []),
    ];
  }

  propertiesOf(schema: JsonObject): JsonObject {
    return toObject(this.read(schema, "properties"));
  }

  /** Returns the names of the properties that conjuncts declare. */
  namesOf(conjuncts: readonly JsonObject[]): ReadonlySet<string> {
    const names = new Set<string>();
    for (const schema of conjuncts) {
      const properties = this.propertiesOf(schema);
      this.#steps.spend(countNames(properties));
      for (const name of Object.keys(properties)) names.add(name);
    }
    return names;
  }

  /** Returns the names of the properties that conjuncts require. */
  requiredBy(conjuncts: readonly JsonObject[]): ReadonlySet<string> {
    const names = new Set<string>();
    for (const schema of conjuncts) {
      const required = this.requiredOf(schema);
      this.#steps.spend(required.size);
      for (const name of required) names.add(name);
    }
    return names;
  }

  /** Returns the names of the required properties. Cached, because each pair of branches is compared. */
  requiredOf(schema: JsonObject): ReadonlySet<string> {
    const known = this.#required.get(schema);
    if (known !== undefined) return known;
    this.#steps.spend(toArray(schema["required"]).length);
    const names = this.read(schema, "required");
    const required = new Set(isStringArray(names) ? names : []);
    this.#required.set(schema, required);
    return required;
  }

  /** Returns what applies to properties that are neither declared nor match a pattern. */
  additionalOf(schema: JsonObject): unknown {
    if (!this.#additional.has(schema)) this.#additional.set(schema, this.#readAdditional(schema));
    return this.#additional.get(schema);
  }

  #readAdditional(schema: JsonObject): unknown {
    const additional = this.read(schema, "additionalProperties");
    const isEvaluatedElsewhere = this.hasOldReferences || getInPlaceNodes(schema, this).length > 0;
    if (additional !== undefined || isEvaluatedElsewhere) return additional;
    return this.read(schema, "unevaluatedProperties");
  }

  /** Returns the schemas that the conjuncts apply to the value of a property. */
  valueOf(conjuncts: readonly JsonObject[], name: string): unknown[] {
    return conjuncts.flatMap((schema) => {
      const properties = this.propertiesOf(schema);
      if (Object.hasOwn(properties, name)) return [properties[name]];
      // A pattern that is not evaluated here might match instead.
      return schema["patternProperties"] === undefined ? [this.additionalOf(schema) ?? true] : [];
    });
  }

  /** Returns the schemas of the first items, and of those after them. */
  itemsOf(schema: JsonObject): { readonly tuple: readonly unknown[]; readonly rest: unknown } {
    const items = this.read(schema, "items");
    const prefixItems = toArray(this.read(schema, "prefixItems"));
    if (!Array.isArray(items)) return { tuple: prefixItems, rest: items ?? true };
    if (prefixItems.length > 0) return { tuple: [], rest: true };
    return { tuple: items, rest: this.read(schema, "additionalItems") ?? true };
  }

  /**
   * Whether a name is unknown to the conjuncts: nothing that may apply to the same value mentions it, or says what
   * other properties may be.
   */
  isUndeclared(conjuncts: readonly JsonObject[], name: string): boolean {
    const mentioned = this.#mentioned.get(conjuncts) ?? this.#readMentioned(conjuncts);
    this.#mentioned.set(conjuncts, mentioned);
    return mentioned !== "all" && !mentioned.has(name);
  }

  #readMentioned(conjuncts: readonly JsonObject[]): MentionedNames {
    const names = new Set<unknown>();
    const seen = new Set(conjuncts);
    // `seen` grows during the iteration.
    for (const schema of seen) {
      this.#steps.spend(1 + countEntries(schema));
      if (describesOtherProperties(schema)) return "all";
      for (const list of listMentioned(schema)) {
        this.#steps.spend(list.length);
        for (const name of list) names.add(name);
      }
      for (const node of getInPlaceNodes(schema, this)) seen.add(node);
    }
    return names;
  }
}

/** The names that schemas mention; `all` if they also describe other properties. */
type MentionedNames = ReadonlySet<unknown> | "all";

function listMentioned(schema: JsonObject): (readonly unknown[])[] {
  const { properties, required, dependentRequired, dependentSchemas, dependencies } = schema;
  const maps = [properties, dependentRequired, dependentSchemas, dependencies].map(toObject);
  const lists = [dependentRequired, dependencies].flatMap((map) => Object.values(toObject(map)));
  return [...maps.map((map) => Object.keys(map)), ...[required, ...lists].map(toArray)];
}

function describesOtherProperties(schema: JsonObject): boolean {
  const { additionalProperties = false, unevaluatedProperties = false } = schema;
  if (additionalProperties !== false || unevaluatedProperties !== false) return true;
  return schema["patternProperties"] !== undefined || schema["propertyNames"] !== undefined;
}

function toTypes(type: unknown): ReadonlySet<string> | undefined {
  if (type === undefined) return undefined;
  const names = [type].flat();
  return new Set(
    names.flatMap((name) =>
      name === "number" ? ["integer", "number"] : typeof name === "string" ? [name] : [],
    ),
  );
}

function toValueTypes(values: readonly unknown[] | undefined): ReadonlySet<string> | undefined {
  return values && new Set(values.map(typeOfValue));
}

function typeOfValue(value: unknown): string {
  return Number.isInteger(value) ? "integer" : jsonTypeOf(value);
}

/** The new document of a comparison is read in two ways, and all of it is walked. */
const embedsResources = new WeakMap<JsonObject, boolean>();

/** A nested `$id` changes what the references below it mean. Without a set of visited objects: a document is a tree. */
function hasEmbeddedResources(root: JsonObject): boolean {
  const stack: object[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const item of node as unknown[]) if (typeof item === "object" && item !== null) stack.push(item);
      continue;
    }
    for (const key in node) {
      const value = (node as JsonObject)[key];
      if (typeof value === "object" && value !== null) stack.push(value);
      else if (typeof value === "string" && (key === "$id" || key === "id") && node !== root) return true;
    }
  }
  return false;
}

/** What two values are: a schema, an array or a map of schemas, or anything else. */
type ComparedKind = "schema" | "container" | "data";

interface ComparedPair {
  readonly before: unknown;
  readonly now: unknown;
  readonly kind: ComparedKind;
}

/**
 * Whether schemas of two documents are the same, apart from the order of keys and from ignored keywords. References
 * are the same if their targets are.
 */
export class SchemaEquality {
  readonly #old: SchemaDocument;
  readonly #new: SchemaDocument;
  readonly #steps: StepBudget;
  readonly #isIgnored: (keyword: string) => boolean;
  /** The results of pairs of objects, because references lead to the same objects again. */
  readonly #results = new Map<object, Map<object, boolean>>();

  constructor(
    oldDocument: SchemaDocument,
    newDocument: SchemaDocument,
    steps: StepBudget,
    isIgnored: (keyword: string) => boolean,
  ) {
    this.#old = oldDocument;
    this.#new = newDocument;
    this.#steps = steps;
    this.#isIgnored = isIgnored;
  }

  /** @throws StepLimitError */
  isSame(before: unknown, now: unknown, kind: ComparedKind = "schema"): boolean {
    this.#steps.spend(1);
    const queue: ComparedPair[] = [{ before, now, kind }];
    const visited: [object, object][] = [];
    const seen = new Map<object, Set<object>>();
    // The queue grows during the iteration. Pairs that it already has are assumed to be the same.
    for (const pair of queue) {
      if (!isObjectPair(pair)) {
        if (this.#isSamePrimitive(pair)) continue;
        return this.#setResult(before, now, false);
      }
      const known = this.#results.get(pair.before)?.get(pair.now);
      if (known === true || seen.get(pair.before)?.has(pair.now) === true) continue;
      if (known === false || !this.#addChildren(pair, queue)) return this.#setResult(before, now, false);
      seen.set(pair.before, (seen.get(pair.before) ?? new Set()).add(pair.now));
      visited.push([pair.before, pair.now]);
    }
    for (const [one, other] of visited) this.#setResult(one, other, true);
    return true;
  }

  #setResult(before: unknown, now: unknown, isSame: boolean): boolean {
    if (typeof before !== "object" || before === null || typeof now !== "object" || now === null)
      return isSame;
    this.#results.set(before, (this.#results.get(before) ?? new Map<object, boolean>()).set(now, isSame));
    return isSame;
  }

  #isSamePrimitive({ before, now }: ComparedPair): boolean {
    this.#steps.spend(typeof before === "string" ? countTextSteps(before) : 0);
    return before === now;
  }

  /** Adds what two objects consist of; returns `false` if they differ. */
  #addChildren({ before, now, kind }: ObjectPair, queue: ComparedPair[]): boolean {
    if (Array.isArray(before) !== Array.isArray(now)) return false;
    // Listing the names of a large object takes long.
    this.#steps.spend(1 + countNames(before));
    const isSchemaPair = kind === "schema" && !Array.isArray(before);
    if (isSchemaPair && !this.#addTargets(before as JsonObject, now as JsonObject, queue)) return false;
    const isCompared = (key: string) => !isSchemaPair || (key !== "$ref" && !this.#isIgnored(key));
    const [oldKeys, newKeys] = [Object.keys(before).filter(isCompared), Object.keys(now).filter(isCompared)];
    if (oldKeys.length !== newKeys.length) return false;
    return oldKeys.every((key) => {
      if (!Object.hasOwn(now, key) || (isSchemaPair && DYNAMIC_KEYWORDS.has(key))) return false;
      const [child, childNow] = [Reflect.get(before, key), Reflect.get(now, key)];
      const childKind = isSchemaPair ? this.#kindOf(key, child) : kind === "data" ? "data" : "schema";
      queue.push({ before: child, now: childNow, kind: childKind });
      return true;
    });
  }

  #kindOf(keyword: string, value: unknown): ComparedKind {
    const form = formOf(keyword, value, this.#old.draft);
    if (form === "schemas" || form === "map") return "container";
    return form === "schema" ? "schema" : "data";
  }

  #addTargets(before: JsonObject, now: JsonObject, queue: ComparedPair[]): boolean {
    const [reference, referenceNow] = [before["$ref"], now["$ref"]];
    if (reference === undefined && referenceNow === undefined) return true;
    if (this.#old.hasOldReferences !== this.#new.hasOldReferences) return false;
    const [target, targetNow] = [this.#old.get(before), this.#new.get(now)];
    if (target === undefined || targetNow === undefined)
      return typeof reference === "string" && reference === referenceNow && this.#new.isDangling(reference);
    queue.push({ before: target, now: targetNow, kind: "schema" });
    return true;
  }
}

interface ObjectPair extends ComparedPair {
  readonly before: object;
  readonly now: object;
}

function isObjectPair(pair: ComparedPair): pair is ObjectPair {
  const { before, now } = pair;
  return typeof before === "object" && before !== null && typeof now === "object" && now !== null;
}

type LocatedConjuncts = readonly [document: SchemaDocument, conjuncts: readonly JsonObject[]];

/** Whether no value is accepted by both. `false` if that cannot be decided. */
export function areDisjoint(
  one: LocatedConjuncts,
  other: LocatedConjuncts,
  steps: StepBudget,
  depth = 0,
): boolean {
  const [[document, conjuncts], [otherDocument, otherConjuncts]] = [one, other];
  steps.spend(1 + conjuncts.length + otherConjuncts.length);
  const otherTypes = otherDocument.typesOf(otherConjuncts);
  const shared = [...document.typesOf(conjuncts)].filter((type) => otherTypes.has(type));
  if (shared.length === 0) return true;
  const [values, otherValues] = [listTexts(one, steps), new Set(listTexts(other, steps))];
  if (values !== undefined && otherValues.size > 0 && values.every((text) => !otherValues.has(text)))
    return true;
  if (shared.length > 1 || shared[0] !== "object" || depth >= MAX_DISCRIMINATOR_DEPTH) return false;
  const required = conjuncts.flatMap((schema) => [...document.requiredOf(schema)]);
  steps.spend(Math.ceil(required.length / NAMES_PER_STEP));
  return required.some((name) => {
    if (!otherConjuncts.some((schema) => otherDocument.requiredOf(schema).has(name))) return false;
    const property = document.flatten(document.valueOf(conjuncts, name));
    const otherProperty = otherDocument.flatten(otherDocument.valueOf(otherConjuncts, name));
    return areDisjoint([document, property], [otherDocument, otherProperty], steps, depth + 1);
  });
}

function listTexts([document, conjuncts]: LocatedConjuncts, steps: StepBudget): string[] | undefined {
  const values = conjuncts.map((schema) => document.listValues(schema)).find((list) => list !== undefined);
  return values?.map((value) => toCanonicalJson(value, steps));
}

/** The targets of references are compared where they are used. */
const REFERENCED_ONLY: ReadonlySet<string> = new Set(["$defs", "definitions", "$schema", "$id", "id"]);
/** Servers may enforce these, although validators do not have to. */
const ENFORCED_ANNOTATIONS: ReadonlySet<string> = new Set(["const", "format", "nullable"]);

export function isReferencedOnly(keyword: string): boolean {
  return REFERENCED_ONLY.has(keyword);
}

/** Whether a keyword never decides whether a call is valid. */
export function isInsignificant(keyword: string): boolean {
  if (REFERENCED_ONLY.has(keyword) || keyword.startsWith("x-")) return true;
  return ANNOTATIONS.has(keyword) && !ENFORCED_ANNOTATIONS.has(keyword);
}

/** Keywords that are compared together with others. */
export const COMPARED_WITH_OTHERS: ReadonlySet<string> = new Set([
  "properties",
  "allOf",
  "then",
  "else",
  "minContains",
  "maxContains",
  "additionalItems",
  "prefixItems",
]);
