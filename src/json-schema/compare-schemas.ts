import { isPlainObject, type JsonObject, toArray, toObject } from "../json/json.js";
import { dereference } from "./resolve-ref.js";
import { fullHash, toCanonicalJson } from "./schema-hash.js";
import { countEntries, StepBudget, StepLimitError } from "./step-budget.js";

/**
 * How a parameter changed.
 * - `added`: new and optional
 * - `required`: now required
 * - `removed`: no longer exists
 * - `type`: no longer accepts all previous values
 * - `changed`: anything else, such as the description
 */
export type ParameterChangeKind = "added" | "required" | "removed" | "type" | "changed";

/** A changed parameter of a tool. */
export interface ParameterChange {
  /** The path of the parameter: `city`, or `address.street` if nested. */
  readonly parameter: string;
  /** How it changed. */
  readonly what: ParameterChangeKind;
}

/** `additive`: previously valid calls are still valid. */
type ChangeSeverity = "none" | "additive" | "breaking";

/** The difference between two versions of a schema. */
export interface SchemaChange {
  readonly severity: ChangeSeverity;
  readonly parameters: readonly ParameterChange[];
}

const BREAKING: ReadonlySet<ParameterChangeKind> = new Set(["required", "removed", "type"]);
const MAX_DEPTH = 20;
/** Bounds the work for large and recursive schemas; parameters beyond the limit are reported as `changed`. */
const MAX_STEPS = 400_000;
const STEPS_PER_PARAMETER = 20;
const CHARACTERS_PER_STEP = 64;

/** Compares the parameters of two versions of a tool. Ignores the order of keys. */
export function compareSchemas(
  before: JsonObject,
  now: JsonObject,
  steps = new StepBudget(MAX_STEPS),
): SchemaChange {
  if (fullHash(before) === fullHash(now)) return { severity: "none", parameters: [] };
  const parameters = new SchemaComparison(before, now, steps).run();
  const isBreaking = parameters.some(({ what }) => BREAKING.has(what));
  return { severity: isBreaking ? "breaking" : "additive", parameters };
}

class SchemaComparison {
  readonly #oldRoot: JsonObject;
  readonly #newRoot: JsonObject;
  readonly #steps: StepBudget;
  readonly #compared = new Map<object, { readonly other: object; readonly isEqual: boolean }>();

  constructor(oldRoot: JsonObject, newRoot: JsonObject, steps: StepBudget) {
    this.#oldRoot = oldRoot;
    this.#newRoot = newRoot;
    this.#steps = steps;
  }

  run(): ParameterChange[] {
    const [oldRoot, newRoot] = [this.#oldRoot, this.#newRoot];
    return this.#compareObjects(followRefs(oldRoot, oldRoot), followRefs(newRoot, newRoot), "", 0);
  }

  #compareObjects(before: JsonObject, now: JsonObject, path: string, depth: number): ParameterChange[] {
    const [oldSchemas, newSchemas] = [withAllOf(before, this.#oldRoot), withAllOf(now, this.#newRoot)];
    const [oldProperties, newProperties] = [collectProperties(oldSchemas), collectProperties(newSchemas)];
    const [wasRequired, isRequired] = [collectRequired(oldSchemas), collectRequired(newSchemas)];
    const names = [...new Set([...oldProperties.keys(), ...newProperties.keys(), ...isRequired])].toSorted();
    return names.flatMap((name): ParameterChange[] => {
      const parameter = path === "" ? name : `${path}.${name}`;
      const [oldSchema, newSchema] = [oldProperties.get(name), newProperties.get(name)];
      if (isRequired.has(name) && !wasRequired.has(name)) return [{ parameter, what: "required" }];
      if (newSchema === undefined) return oldSchema === undefined ? [] : [{ parameter, what: "removed" }];
      if (oldSchema === undefined) return [{ parameter, what: "added" }];
      return this.#compareValues(oldSchema, newSchema, parameter, depth + 1);
    });
  }

  #compareValues(
    oldSchema: JsonObject,
    newSchema: JsonObject,
    parameter: string,
    depth: number,
  ): ParameterChange[] {
    if (this.#steps.isExceeded) return [{ parameter, what: "changed" }];
    try {
      const [before, now] = [followRefs(oldSchema, this.#oldRoot), followRefs(newSchema, this.#newRoot)];
      this.#steps.spend(STEPS_PER_PARAMETER + countEntries(before) + countEntries(now));
      if (this.#isEqual(before, now, 0)) return [];
      if (!this.#acceptsAllOf(before, now)) return [{ parameter, what: "type" }];
      const inner = depth > MAX_DEPTH ? [] : this.#compareNested(before, now, parameter, depth);
      return inner.length > 0 ? inner : [{ parameter, what: "changed" }];
    } catch (error) {
      if (error instanceof StepLimitError) return [{ parameter, what: "changed" }];
      throw error;
    }
  }

  #compareNested(before: JsonObject, now: JsonObject, parameter: string, depth: number): ParameterChange[] {
    const [items, itemsNow] = [before["items"], now["items"]];
    const itemChanges =
      isPlainObject(items) && isPlainObject(itemsNow)
        ? this.#compareValues(items, itemsNow, `${parameter}[]`, depth + 1)
        : [];
    return [...this.#compareObjects(before, now, parameter, depth), ...itemChanges];
  }

  /**
   * Whether two values are equal, apart from the order of keys. The last result of each object is kept, because
   * references lead to the same objects again.
   *
   * @throws StepLimitError
   */
  #isEqual(before: unknown, now: unknown, depth: number): boolean {
    if (typeof before !== "object" || before === null || typeof now !== "object" || now === null) {
      this.#steps.spend(typeof before === "string" ? Math.trunc(before.length / CHARACTERS_PER_STEP) : 0);
      return before === now;
    }
    const known = this.#compared.get(before);
    if (known?.other === now) return known.isEqual;
    if (Array.isArray(before) !== Array.isArray(now)) return false;
    const [oldKeys, newKeys] = [Object.keys(before), Object.keys(now)];
    this.#steps.spend(1 + oldKeys.length);
    this.#steps.assertDepth(depth);
    const isEqual =
      oldKeys.length === newKeys.length &&
      oldKeys.every(
        (key) =>
          Object.hasOwn(now, key) &&
          this.#isEqual(Reflect.get(before, key), Reflect.get(now, key), depth + 1),
      );
    this.#compared.set(before, { other: now, isEqual });
    return isEqual;
  }

  /** Whether every previously accepted value is still accepted, judged by types and enumerated values. */
  #acceptsAllOf(before: JsonObject, now: JsonObject): boolean {
    const types = this.#collectTypes(before, this.#oldRoot, new Set(), 0);
    const typesNow = this.#collectTypes(now, this.#newRoot, new Set(), 0);
    const accepts = (type: string) =>
      typesNow?.has(type) === true || (type === "integer" && typesNow?.has("number") === true);
    if (typesNow !== undefined && (types === undefined || ![...types].every(accepts))) return false;
    const [values, valuesNow] = [this.#getAllowedValues(before), this.#getAllowedValues(now)];
    if (valuesNow === undefined) return true;
    return values !== undefined && [...values].every((value) => valuesNow.has(value));
  }

  /** Returns the named JSON types, or `undefined` if any type is accepted. Circular schemas add none. */
  #collectTypes(
    schema: JsonObject,
    root: JsonObject,
    seen: Set<JsonObject>,
    depth: number,
  ): ReadonlySet<string> | undefined {
    const resolved = followRefs(schema, root);
    if (seen.has(resolved)) return new Set();
    seen.add(resolved);
    this.#steps.spend(1 + countEntries(resolved));
    this.#steps.assertDepth(depth);
    const { type, anyOf, oneOf } = resolved;
    if (typeof type === "string") return new Set([type]);
    if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
    const branches = [...toArray(anyOf), ...toArray(oneOf)].filter(isPlainObject);
    const types = branches.map((branch) => this.#collectTypes(branch, root, seen, depth + 1));
    if (types.length === 0 || types.includes(undefined)) return undefined;
    return new Set(types.flatMap((names) => [...(names ?? [])]));
  }

  #getAllowedValues(schema: JsonObject): ReadonlySet<string> | undefined {
    const { enum: listed, const: only } = schema;
    const values = Object.hasOwn(schema, "const") ? [only] : listed;
    if (!Array.isArray(values)) return undefined;
    return new Set(values.map((value) => toCanonicalJson(value, this.#steps)));
  }
}

/** A schema whose reference cannot be resolved is returned unchanged. */
function followRefs(schema: JsonObject, root: JsonObject): JsonObject {
  const target = dereference(schema, root);
  return isPlainObject(target) ? target : schema;
}

function withAllOf(schema: JsonObject, root: JsonObject): JsonObject[] {
  const subschemas = toArray(schema["allOf"]).filter(isPlainObject);
  return [schema, ...subschemas.map((subschema) => followRefs(subschema, root))];
}

function collectProperties(schemas: readonly JsonObject[]): Map<string, JsonObject> {
  const entries = schemas.flatMap(({ properties }) => Object.entries(toObject(properties)));
  return new Map(entries.map(([name, value]) => [name, toObject(value)]));
}

function collectRequired(schemas: readonly JsonObject[]): Set<string> {
  const names = schemas.flatMap(({ required }) => toArray(required));
  return new Set(names.filter((name) => typeof name === "string"));
}
