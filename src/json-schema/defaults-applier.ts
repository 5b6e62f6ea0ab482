import {
  cloneJson,
  isPlainObject,
  type JsonObject,
  setOwnProperty,
  toArray,
  toObject,
  walkObjects,
} from "../json/json.js";
import { jsonTypeOf, allowsType } from "./read-type-model.js";
import { dereference } from "./resolve-ref.js";
import { StepBudget } from "./step-budget.js";

const MAX_DEPTH = 50;
/** The number of values in the defaults that are added to the arguments of a call. */
const MAX_ADDED_VALUES = 200_000;

/**
 * Applies the defaults of one schema to arguments. The schema is read once and cached. The work is limited: every
 * schema is read once, however many references lead to it, and nested arguments share a limit for added defaults.
 */
export class DefaultsApplier {
  readonly #root: JsonObject;
  readonly #declared = new Map<JsonObject, DeclaredProperties>();
  readonly #allowsNull: (schema: unknown) => boolean;
  readonly #allowsEmptyString: (schema: unknown) => boolean;

  constructor(schema: JsonObject) {
    this.#root = schema;
    this.#allowsNull = createCheck(schema, "unless-excluded", allowsNull);
    this.#allowsEmptyString = createCheck(schema, "if-stated", allowsEmptyString);
  }

  /**
   * Returns the arguments to send: with defaults for absent arguments, and without empty optional arguments, which
   * models often send for unknown values. A new object; defaults are copied.
   */
  apply(args: JsonObject): JsonObject {
    return this.#apply(args, this.#root, 0, new StepBudget(MAX_ADDED_VALUES));
  }

  #apply(args: JsonObject, schema: JsonObject, depth: number, added: StepBudget): JsonObject {
    if (depth > MAX_DEPTH) return args;
    const declared = this.#getDeclared(schema);
    const result: JsonObject = {};
    for (const name of Object.keys(args)) {
      const value = args[name];
      if (!this.#isEmptyOptional(name, value, declared))
        setOwnProperty(
          result,
          name,
          isPlainObject(value) ? this.#applyNested(value, findSchemas(declared, name), depth, added) : value,
        );
    }
    for (const [name, { value, size }] of declared.defaults) {
      if (Object.hasOwn(result, name) || added.used + size > added.maxSteps) continue;
      added.add(size);
      setOwnProperty(result, name, cloneJson(value));
    }
    return result;
  }

  #applyNested(value: JsonObject, schemas: readonly unknown[], depth: number, added: StepBudget): JsonObject {
    // With several schemas it is unknown which one applies, so their defaults are not applied.
    if (schemas.length !== 1) return value;
    const schema = dereference(schemas[0], this.#root);
    return isPlainObject(schema) ? this.#apply(value, schema, depth + 1, added) : value;
  }

  #getDeclared(schema: JsonObject): DeclaredProperties {
    const declared = this.#declared.get(schema) ?? collectDeclared(schema, this.#root);
    this.#declared.set(schema, declared);
    return declared;
  }

  #isEmptyOptional(name: string, value: unknown, declared: DeclaredProperties): boolean {
    if (value === undefined) return true;
    if (value !== null && value !== "") return false;
    const schemas = findSchemas(declared, name);
    if (schemas.length === 0 || declared.required.has(name)) return false;
    return !schemas.some(value === null ? this.#allowsNull : this.#allowsEmptyString);
  }
}

const MAX_UNION_DEPTH = 50;

/** Decides about a schema without references; `allows` decides about its subschemas. */
type SchemaCheck = (schema: JsonObject, allows: (subschema: unknown) => boolean) => boolean;

/**
 * Returns a function that decides whether a schema allows a value. It decides once about each schema; `allowed` is the
 * result for one that refers to itself or has no relevant keyword.
 */
function createCheck(root: JsonObject, allowed: "unless-excluded" | "if-stated", check: SchemaCheck) {
  const assumed = allowed === "unless-excluded";
  const known = new Map<JsonObject, boolean>();
  const decide = (schema: unknown, depth: number): boolean => {
    const resolved = dereference(schema, root);
    if (!isPlainObject(resolved)) return assumed && resolved !== false;
    if (depth > MAX_UNION_DEPTH) return assumed;
    const earlier = known.get(resolved);
    if (earlier !== undefined) return earlier;
    known.set(resolved, assumed);
    const isAllowed = check(resolved, (subschema) => decide(subschema, depth + 1));
    known.set(resolved, isAllowed);
    return isAllowed;
  };
  return (schema: unknown) => decide(schema, 0);
}

const allowsNull: SchemaCheck = (schema, allows) => {
  const unions = [toArray(schema["anyOf"]), toArray(schema["oneOf"])];
  return (
    allowsType(schema, "null") &&
    toArray(schema["allOf"]).every(allows) &&
    unions.every((branches) => branches.length === 0 || branches.some(allows))
  );
};

/** Only if explicitly allowed: almost every string schema accepts an empty string without meaning it. */
const allowsEmptyString: SchemaCheck = (schema, allows) => {
  const { const: constValue, default: defaultValue, minLength, enum: values, anyOf, oneOf, allOf } = schema;
  return (
    constValue === "" ||
    defaultValue === "" ||
    minLength === 0 ||
    toArray(values).includes("") ||
    [anyOf, oneOf, allOf].flatMap(toArray).some(allows)
  );
};

const MAX_SCHEMAS = 500;

/** What a schema declares about the properties of an object, including in its subschemas. */
interface DeclaredProperties {
  /** The values of `properties`. */
  readonly properties: readonly JsonObject[];
  /** Properties with a default that applies unconditionally, and the number of values in it. */
  readonly defaults: ReadonlyMap<string, { readonly value: unknown; readonly size: number }>;
  readonly required: ReadonlySet<unknown>;
}

/** Returns all schemas of a property; more than one if the branches of a union differ. */
function findSchemas({ properties }: DeclaredProperties, name: string): unknown[] {
  const schemas = properties.flatMap((map) => (Object.hasOwn(map, name) ? [map[name]] : []));
  return schemas.length > 1 ? [...new Set(schemas)] : schemas;
}

function collectDeclared(schema: JsonObject, root: JsonObject): DeclaredProperties {
  const properties: JsonObject[] = [];
  const defaults = new Map<string, JsonObject>();
  const required = new Set<unknown>();
  const seen = { unconditional: new Set<JsonObject>(), conditional: new Set<JsonObject>() };
  const queue = [{ schema: schema as unknown, isUnconditional: true }];
  // `queue` grows during the iteration.
  for (const { schema: item, isUnconditional } of queue) {
    const resolved = dereference(item, root);
    const readBefore = isUnconditional ? seen.unconditional : seen.conditional;
    if (!isPlainObject(resolved) || readBefore.has(resolved)) continue;
    readBefore.add(resolved);
    const declared = toObject(resolved["properties"]);
    properties.push(declared);
    if (isUnconditional) collectDefaults(declared, root, defaults);
    if (isUnconditional) toArray(resolved["required"]).forEach((name) => required.add(name));
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const isApplied = isUnconditional && keyword === "allOf";
      for (const subschema of toArray(resolved[keyword])) {
        if (queue.length >= MAX_SCHEMAS) break;
        queue.push({ schema: subschema, isUnconditional: isApplied });
      }
    }
  }
  const allowed = [...defaults].filter(([, holder]) => allowsType(holder, jsonTypeOf(holder["default"])));
  return {
    properties,
    defaults: new Map(
      allowed.map(([name, { default: value }]) => [name, { value, size: countValues(value) }]),
    ),
    required,
  };
}

function collectDefaults(properties: JsonObject, root: JsonObject, defaults: Map<string, JsonObject>): void {
  for (const name of Object.keys(properties)) {
    const property = properties[name];
    if (!isPlainObject(property)) continue;
    const holder = Object.hasOwn(property, "default") ? property : dereference(property, root);
    if (isPlainObject(holder) && Object.hasOwn(holder, "default")) defaults.set(name, holder);
  }
}

function countValues(value: unknown): number {
  let count = 1;
  if (typeof value === "object" && value !== null)
    for (const node of walkObjects(value)) count += Object.keys(node).length;
  return count;
}
