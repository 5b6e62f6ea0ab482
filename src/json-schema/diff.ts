import { isPlainObject, type JsonObject } from "../json/json.js";
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
  const budget = { remaining: MAX_COMPARISONS };
  const [oldRoot, newRoot] = [before, now].map((root) => dereference({ schema: root, root, budget })) as [
    SchemaNode,
    SchemaNode,
  ];
  const parameters = compareObjects(oldRoot, newRoot, "", 0);
  const isBreaking = parameters.some(({ what }) => BREAKING.has(what));
  return { severity: isBreaking ? "breaking" : "additive", parameters };
}

/** A subschema and the root against which its references are resolved. */
interface SchemaNode {
  readonly schema: JsonObject;
  readonly root: JsonObject;
  /** The remaining comparisons, shared by all nodes. */
  readonly budget: { remaining: number };
}

function compareObjects(before: SchemaNode, now: SchemaNode, path: string, depth: number): ParameterChange[] {
  const [oldProperties, newProperties] = [collectProperties(before), collectProperties(now)];
  const [wasRequired, isRequired] = [collectRequired(before), collectRequired(now)];
  const names = [...new Set([...oldProperties.keys(), ...newProperties.keys(), ...isRequired])].toSorted();
  return names.flatMap((name): ParameterChange[] => {
    const parameter = path === "" ? name : `${path}.${name}`;
    const [oldSchema, newSchema] = [oldProperties.get(name), newProperties.get(name)];
    if (isRequired.has(name) && !wasRequired.has(name)) return [{ parameter, what: "required" }];
    if (newSchema === undefined) return oldSchema === undefined ? [] : [{ parameter, what: "removed" }];
    if (oldSchema === undefined) return [{ parameter, what: "added" }];
    return compareValues(
      { ...before, schema: oldSchema },
      { ...now, schema: newSchema },
      parameter,
      depth + 1,
    );
  });
}

function compareValues(
  beforeNode: SchemaNode,
  nowNode: SchemaNode,
  parameter: string,
  depth: number,
): ParameterChange[] {
  const [before, now] = [dereference(beforeNode), dereference(nowNode)];
  before.budget.remaining -= 1;
  if (before.budget.remaining <= 0) return [{ parameter, what: "changed" }];
  if (schemaHash(before.schema) === schemaHash(now.schema)) return [];
  if (!acceptsAllOf(before, now)) return [{ parameter, what: "type" }];
  const inner = depth > MAX_DEPTH ? [] : compareNested(before, now, parameter, depth);
  return inner.length > 0 ? inner : [{ parameter, what: "changed" }];
}

function compareNested(
  before: SchemaNode,
  now: SchemaNode,
  parameter: string,
  depth: number,
): ParameterChange[] {
  const [items, itemsNow] = [before.schema["items"], now.schema["items"]];
  const itemChanges =
    isPlainObject(items) && isPlainObject(itemsNow)
      ? compareValues({ ...before, schema: items }, { ...now, schema: itemsNow }, `${parameter}[]`, depth + 1)
      : [];
  return [...compareObjects(before, now, parameter, depth), ...itemChanges];
}

/** Whether every previously accepted value is still accepted, judged by types and enumerated values. */
function acceptsAllOf(before: SchemaNode, now: SchemaNode): boolean {
  const [types, typesNow] = [collectTypes(before), collectTypes(now)];
  const accepts = (type: string) =>
    typesNow?.has(type) === true || (type === "integer" && typesNow?.has("number") === true);
  if (typesNow !== undefined && (types === undefined || ![...types].every(accepts))) return false;
  const [values, valuesNow] = [getAllowedValues(before), getAllowedValues(now)];
  if (valuesNow === undefined) return true;
  return values !== undefined && values.every((value) => valuesNow.includes(value));
}

/** Returns the named JSON types, or `undefined` if any type is accepted. Circular schemas add none. */
function collectTypes(node: SchemaNode, seen = new Set<JsonObject>()): Set<string> | undefined {
  const { schema } = dereference(node);
  if (seen.has(schema)) return new Set();
  seen.add(schema);
  const { type } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
  const branches = [...toSchemas(schema["anyOf"]), ...toSchemas(schema["oneOf"])];
  const types = branches.map((branch) => collectTypes({ ...node, schema: branch }, seen));
  if (types.length === 0 || types.includes(undefined)) return undefined;
  return new Set(types.flatMap((names) => [...(names ?? [])]));
}

function getAllowedValues({ schema }: SchemaNode): string[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schemaHash(schema["const"])];
  return Array.isArray(schema["enum"]) ? schema["enum"].map((value) => schemaHash(value)) : undefined;
}

/** Includes the properties of `allOf`. */
function collectProperties(node: SchemaNode): Map<string, JsonObject> {
  return new Map(
    withAllOf(node).flatMap(({ properties }) =>
      Object.entries(isPlainObject(properties) ? properties : {}).map(
        ([name, value]): [string, JsonObject] => [name, isPlainObject(value) ? value : {}],
      ),
    ),
  );
}

function collectRequired(node: SchemaNode): Set<string> {
  const names = withAllOf(node).flatMap(({ required }): unknown[] =>
    Array.isArray(required) ? required : [],
  );
  return new Set(names.filter((name) => typeof name === "string"));
}

function withAllOf({ schema, ...rest }: SchemaNode): JsonObject[] {
  const subschemas = toSchemas(schema["allOf"]).map(
    (subschema) => dereference({ ...rest, schema: subschema }).schema,
  );
  return [schema, ...subschemas];
}

function toSchemas(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

/** Follows local references; a schema whose reference cannot be resolved is returned unchanged. */
function dereference(node: SchemaNode): SchemaNode {
  let { schema } = node;
  for (let hops = 0; hops < MAX_DEPTH; hops += 1) {
    const { $ref: reference } = schema;
    if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) break;
    const keys = reference
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const target = keys.reduce<unknown>((at, key) => (isPlainObject(at) ? at[key] : undefined), node.root);
    if (!isPlainObject(target)) break;
    schema = target;
  }
  return { ...node, schema };
}
