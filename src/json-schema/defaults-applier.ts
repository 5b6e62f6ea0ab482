import { isPlainObject, type JsonObject, setOwnProperty, toArray, toObject } from "../json/json.js";
import { jsonTypeOf, allowsType } from "./read-type-model.js";
import { dereference } from "./resolve-ref.js";

const MAX_DEPTH = 50;

/** Applies the defaults of one schema to arguments. The schema is read once and cached. */
export class DefaultsApplier {
  readonly #root: JsonObject;
  readonly #declared = new Map<JsonObject, DeclaredProperties>();

  constructor(schema: JsonObject) {
    this.#root = schema;
  }

  /**
   * Returns the arguments to send: with defaults for absent arguments, and without empty optional arguments, which
   * models often send for unknown values. A new object; defaults are copied.
   */
  apply(args: JsonObject): JsonObject {
    return this.#apply(args, this.#root, 0);
  }

  #apply(args: JsonObject, schema: JsonObject, depth: number): JsonObject {
    if (depth > MAX_DEPTH) return args;
    const declared = this.#getDeclared(schema);
    const result: JsonObject = {};
    for (const name of Object.keys(args)) {
      const value = args[name];
      if (!this.#isEmptyOptional(name, value, declared))
        setOwnProperty(result, name, this.#applyNested(value, declared.schemas.get(name), depth));
    }
    for (const [name, propertySchema] of declared.defaults) {
      const { default: defaultValue } = propertySchema;
      if (!Object.hasOwn(result, name) && allowsType(propertySchema, jsonTypeOf(defaultValue)))
        setOwnProperty(result, name, structuredClone(defaultValue));
    }
    return result;
  }

  #applyNested(value: unknown, schemas: readonly unknown[] | undefined, depth: number): unknown {
    // With several schemas it is unknown which one applies, so their defaults are not applied.
    if (!isPlainObject(value) || schemas?.length !== 1) return value;
    const schema = dereference(schemas[0], this.#root);
    return isPlainObject(schema) ? this.#apply(value, schema, depth + 1) : value;
  }

  #getDeclared(schema: JsonObject): DeclaredProperties {
    const declared = this.#declared.get(schema) ?? collectDeclared(schema, this.#root);
    this.#declared.set(schema, declared);
    return declared;
  }

  #isEmptyOptional(name: string, value: unknown, { schemas, required }: DeclaredProperties): boolean {
    if (value === undefined) return true;
    if (value !== null && value !== "") return false;
    const declared = schemas.get(name);
    if (declared === undefined || required.has(name)) return false;
    const allows = value === null ? allowsNull : allowsEmptyString;
    return !declared.some((schema) => allows(schema, this.#root, 0));
  }
}

const MAX_UNION_DEPTH = 10;

function allowsNull(schema: unknown, root: JsonObject, depth: number): boolean {
  const resolved = dereference(schema, root);
  if (!isPlainObject(resolved)) return resolved !== false;
  if (depth > MAX_UNION_DEPTH) return true;
  if (!allowsType(resolved, "null")) return false;
  const allows = (subschema: unknown) => allowsNull(subschema, root, depth + 1);
  const unions = [toArray(resolved["anyOf"]), toArray(resolved["oneOf"])];
  return (
    toArray(resolved["allOf"]).every(allows) &&
    unions.every((branches) => branches.length === 0 || branches.some(allows))
  );
}

/** Only if explicitly allowed: almost every string schema accepts an empty string without meaning it. */
function allowsEmptyString(schema: unknown, root: JsonObject, depth: number): boolean {
  const resolved = dereference(schema, root);
  if (!isPlainObject(resolved) || depth > MAX_UNION_DEPTH) return false;
  const { const: constValue, default: defaultValue, minLength } = resolved;
  if (constValue === "" || defaultValue === "" || minLength === 0 || toArray(resolved["enum"]).includes(""))
    return true;
  const inner = [...toArray(resolved["anyOf"]), ...toArray(resolved["oneOf"]), ...toArray(resolved["allOf"])];
  return inner.some((subschema) => allowsEmptyString(subschema, root, depth + 1));
}

const MAX_SCHEMAS = 500;

/** What a schema declares about the properties of an object, including in its subschemas. */
interface DeclaredProperties {
  /** All schemas of a property; more than one if the branches of a union differ. */
  readonly schemas: ReadonlyMap<string, readonly unknown[]>;
  /** Properties with a default that applies unconditionally. */
  readonly defaults: ReadonlyMap<string, JsonObject>;
  readonly required: ReadonlySet<unknown>;
}

function collectDeclared(schema: JsonObject, root: JsonObject): DeclaredProperties {
  const schemas = new Map<string, unknown[]>();
  const defaults = new Map<string, JsonObject>();
  const required = new Set<unknown>();
  const queue = [{ schema: schema as unknown, isUnconditional: true }];
  // `queue` grows during the iteration.
  for (const { schema: item, isUnconditional } of queue) {
    const resolved = dereference(item, root);
    if (!isPlainObject(resolved)) continue;
    for (const [name, property] of Object.entries(toObject(resolved["properties"]))) {
      schemas.set(name, [...(schemas.get(name) ?? []), property]);
      const inner = dereference(property, root);
      const holder = isPlainObject(property) && Object.hasOwn(property, "default") ? property : inner;
      if (isUnconditional && isPlainObject(holder) && Object.hasOwn(holder, "default"))
        defaults.set(name, holder);
    }
    if (isUnconditional) toArray(resolved["required"]).forEach((name) => required.add(name));
    const branches = [...toArray(resolved["anyOf"]), ...toArray(resolved["oneOf"])];
    const inner = [
      ...toArray(resolved["allOf"]).map((subschema) => ({ schema: subschema, isUnconditional })),
      ...branches.map((branch) => ({ schema: branch, isUnconditional: false })),
    ];
    queue.push(...inner.slice(0, Math.max(0, MAX_SCHEMAS - queue.length)));
  }
  return { schemas, defaults, required };
}
