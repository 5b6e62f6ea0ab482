import { isPlainObject, type JsonObject, setOwnProperty } from "../json/json.js";
import { declaredArguments, followReference, type Declared } from "./declared-properties.js";
import { kindOf, namesKind } from "./read-constraints.js";

const DEEPEST = 50;

interface Place {
  readonly schema: JsonObject;
  readonly depth: number;
}

/** Fills in and leaves out arguments as one schema says. The schema is read once and kept. */
export class DefaultArguments {
  readonly #root: JsonObject;
  readonly #declared = new Map<JsonObject, Declared>();

  constructor(schema: JsonObject) {
    this.#root = schema;
  }

  /**
   * The arguments as they are sent: defaults of the schema filled in for what is absent, and without
   * empty optional ones, which models like to send for what they do not know. A new object; defaults
   * are copies.
   */
  complete(args: JsonObject): JsonObject {
    return this.#complete(args, { schema: this.#root, depth: 0 });
  }

  #complete(args: JsonObject, { schema, depth }: Place): JsonObject {
    if (depth > DEEPEST) return args;
    const declared = this.#declaredBy(schema);
    const complete: JsonObject = {};
    for (const name of Object.keys(args)) {
      const value = args[name];
      if (!isLeftOut(name, value, declared, this.#root))
        setOwnProperty(complete, name, this.#completeInside(value, declared.schemasOf(name), depth));
    }
    for (const [name, inner] of declared.defaults) {
      const { default: usual } = inner;
      if (!Object.hasOwn(complete, name) && namesKind(inner, kindOf(usual)))
        setOwnProperty(complete, name, structuredClone(usual));
    }
    return complete;
  }

  #completeInside(value: unknown, schemas: readonly unknown[], depth: number): unknown {
    // Which of several schemas is meant cannot be told here, so their defaults cannot either.
    if (!isPlainObject(value) || schemas.length !== 1) return value;
    const schema = followReference(schemas[0], this.#root);
    return isPlainObject(schema) ? this.#complete(value, { schema, depth: depth + 1 }) : value;
  }

  #declaredBy(schema: JsonObject): Declared {
    const known = this.#declared.get(schema) ?? declaredArguments(schema, this.#root);
    this.#declared.set(schema, known);
    return known;
  }
}

function isLeftOut(name: string, value: unknown, declared: Declared, root: JsonObject): boolean {
  if (value === undefined) return true;
  if (value !== null && value !== "") return false;
  const schemas = declared.schemasOf(name);
  if (schemas.length === 0 || declared.required.has(name)) return false;
  const allows = value === null ? allowsNull : allowsEmptyText;
  return !schemas.some((schema) => allows(schema, root, 0));
}

const MOST_UNIONS = 10;

function allowsNull(schema: unknown, root: JsonObject, depth: number): boolean {
  const found = followReference(schema, root);
  if (!isPlainObject(found)) return found !== false;
  if (depth > MOST_UNIONS) return true;
  if (!namesKind(found, "null")) return false;
  const allOf = listOf(found["allOf"]);
  const unions = [listOf(found["anyOf"]), listOf(found["oneOf"])].filter((branches) => branches.length > 0);
  return (
    allOf.every((part) => allowsNull(part, root, depth + 1)) &&
    unions.every((branches) => branches.some((branch) => allowsNull(branch, root, depth + 1)))
  );
}

/** Explicitly: almost every string schema lets an empty string through, and almost none means it. */
function allowsEmptyText(schema: unknown, root: JsonObject, depth: number): boolean {
  const found = followReference(schema, root);
  if (!isPlainObject(found) || depth > MOST_UNIONS) return false;
  const { const: only, default: usual, minLength } = found;
  if (only === "" || usual === "" || minLength === 0 || listOf(found["enum"]).includes("")) return true;
  const inner = [...listOf(found["anyOf"]), ...listOf(found["oneOf"]), ...listOf(found["allOf"])];
  return inner.some((part) => allowsEmptyText(part, root, depth + 1));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
