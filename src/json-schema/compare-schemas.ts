import { isPlainObject, type JsonObject, toArray, toObject } from "../json/json.js";
import { dereference } from "./resolve-ref.js";
import { schemaHash } from "./schema-hash.js";

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
/** Bounds the work for recursive schemas; parameters beyond the limit are reported as `changed`. */
const MAX_COMPARISONS = 5_000;

/** Compares the parameters of two versions of a tool. Ignores the order of keys. */
export function compareSchemas(before: JsonObject, now: JsonObject): SchemaChange {
  if (schemaHash(before) === schemaHash(now)) return { severity: "none", parameters: [] };
  const parameters = new SchemaComparison(before, now).run();
  const isBreaking = parameters.some(({ what }) => BREAKING.has(what));
  return { severity: isBreaking ? "breaking" : "additive", parameters };
}

class SchemaComparison {
  readonly #oldRoot: JsonObject;
  readonly #newRoot: JsonObject;
  #remaining = MAX_COMPARISONS;

  constructor(oldRoot: JsonObject, newRoot: JsonObject) {
    this.#oldRoot = oldRoot;
    this.#newRoot = newRoot;
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
    const [before, now] = [followRefs(oldSchema, this.#oldRoot), followRefs(newSchema, this.#newRoot)];
    this.#remaining -= 1;
    if (this.#remaining <= 0) return [{ parameter, what: "changed" }];
    if (schemaHash(before) === schemaHash(now)) return [];
    if (!this.#acceptsAllOf(before, now)) return [{ parameter, what: "type" }];
    const inner = depth > MAX_DEPTH ? [] : this.#compareNested(before, now, parameter, depth);
    return inner.length > 0 ? inner : [{ parameter, what: "changed" }];
  }

  #compareNested(before: JsonObject, now: JsonObject, parameter: string, depth: number): ParameterChange[] {
    const [items, itemsNow] = [before["items"], now["items"]];
    const itemChanges =
      isPlainObject(items) && isPlainObject(itemsNow)
        ? this.#compareValues(items, itemsNow, `${parameter}[]`, depth + 1)
        : [];
    return [...this.#compareObjects(before, now, parameter, depth), ...itemChanges];
  }

  /** Whether every previously accepted value is still accepted, judged by types and enumerated values. */
  #acceptsAllOf(before: JsonObject, now: JsonObject): boolean {
    const [types, typesNow] = [collectTypes(before, this.#oldRoot), collectTypes(now, this.#newRoot)];
    const accepts = (type: string) =>
      typesNow?.has(type) === true || (type === "integer" && typesNow?.has("number") === true);
    if (typesNow !== undefined && (types === undefined || ![...types].every(accepts))) return false;
    const [values, valuesNow] = [getAllowedValues(before), getAllowedValues(now)];
    if (valuesNow === undefined) return true;
    return values !== undefined && values.every((value) => valuesNow.includes(value));
  }
}

/** A schema whose reference cannot be resolved is returned unchanged. */
function followRefs(schema: JsonObject, root: JsonObject): JsonObject {
  const target = dereference(schema, root);
  return isPlainObject(target) ? target : schema;
}

/** Returns the named JSON types, or `undefined` if any type is accepted. Circular schemas add none. */
function collectTypes(
  schema: JsonObject,
  root: JsonObject,
  seen = new Set<JsonObject>(),
): ReadonlySet<string> | undefined {
  const resolved = followRefs(schema, root);
  if (seen.has(resolved)) return new Set();
  seen.add(resolved);
  const { type, anyOf, oneOf } = resolved;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
  const branches = [...toArray(anyOf), ...toArray(oneOf)].filter(isPlainObject);
  const types = branches.map((branch) => collectTypes(branch, root, seen));
  if (types.length === 0 || types.includes(undefined)) return undefined;
  return new Set(types.flatMap((names) => [...(names ?? [])]));
}

function getAllowedValues(schema: JsonObject): string[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schemaHash(schema["const"])];
  return Array.isArray(schema["enum"]) ? schema["enum"].map((value) => schemaHash(value)) : undefined;
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
