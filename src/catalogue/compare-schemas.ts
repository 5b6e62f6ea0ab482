import { isJsonObject, type JsonObject } from "../definitions/json.js";
import { schemaHash } from "./schema-hash.js";

/**
 * What became of a parameter.
 * - `added`: it is new, and may be left out
 * - `required`: it must be given now
 * - `removed`: it is gone
 * - `type`: it takes other values than before
 * - `changed`: something else about it is new, such as its description
 */
export type ParameterChangeKind = "added" | "required" | "removed" | "type" | "changed";

export interface ParameterChange {
  /** `city`, or `address.street` for one inside another. */
  readonly parameter: string;
  readonly what: ParameterChangeKind;
}

/** `additive`: calls as they were made before still work. */
type Severity = "none" | "additive" | "breaking";

export interface SchemaChange {
  readonly severity: Severity;
  readonly parameters: readonly ParameterChange[];
}

const BREAKING: ReadonlySet<ParameterChangeKind> = new Set(["required", "removed", "type"]);
const DEEPEST = 20;

/** How the parameters of a tool have changed. The order of keys is no change. */
export function compareSchemas(before: JsonObject, now: JsonObject): SchemaChange {
  if (schemaHash(before) === schemaHash(now)) return { severity: "none", parameters: [] };
  const parameters = compareObjects({ schema: before, root: before }, { schema: now, root: now }, "", 0);
  const isBreaking = parameters.some(({ what }) => BREAKING.has(what));
  return { severity: isBreaking ? "breaking" : "additive", parameters };
}

/** A part of a schema, and the whole in which its references lead somewhere. */
interface Part {
  readonly schema: JsonObject;
  readonly root: JsonObject;
}

function compareObjects(before: Part, now: Part, path: string, depth: number): ParameterChange[] {
  const [old, fresh] = [propertiesOf(before), propertiesOf(now)];
  const [wasRequired, isRequired] = [requiredOf(before), requiredOf(now)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].toSorted();
  return names.flatMap((name): ParameterChange[] => {
    const parameter = path === "" ? name : `${path}.${name}`;
    const [was, is] = [old.get(name), fresh.get(name)];
    if (is === undefined) return [{ parameter, what: "removed" }];
    if (was === undefined) return [{ parameter, what: isRequired.has(name) ? "required" : "added" }];
    if (isRequired.has(name) && !wasRequired.has(name)) return [{ parameter, what: "required" }];
    return compareValues({ ...before, schema: was }, { ...now, schema: is }, parameter, depth + 1);
  });
}

function compareValues(given: Part, givenNow: Part, parameter: string, depth: number): ParameterChange[] {
  const [before, now] = [followed(given), followed(givenNow)];
  if (schemaHash(before.schema) === schemaHash(now.schema)) return [];
  if (!takesAllOf(before, now)) return [{ parameter, what: "type" }];
  const inner = depth > DEEPEST ? [] : compareInside(before, now, parameter, depth);
  return inner.length > 0 ? inner : [{ parameter, what: "changed" }];
}

function compareInside(before: Part, now: Part, parameter: string, depth: number): ParameterChange[] {
  const [items, itemsNow] = [before.schema["items"], now.schema["items"]];
  const ofItems =
    isJsonObject(items) && isJsonObject(itemsNow)
      ? compareValues({ ...before, schema: items }, { ...now, schema: itemsNow }, `${parameter}[]`, depth + 1)
      : [];
  return [...compareObjects(before, now, parameter, depth), ...ofItems];
}

/** Whether every value that was taken before is taken now, as far as types and lists of values tell. */
function takesAllOf(before: Part, now: Part): boolean {
  const types = typesOf(now, 0);
  const takes = (type: string) => types.has(type) || (type === "integer" && types.has("number"));
  if (types.size > 0 && ![...typesOf(before, 0)].every(takes)) return false;
  if (types.size > 0 && typesOf(before, 0).size === 0) return false;
  const [values, valuesNow] = [valuesOf(before), valuesOf(now)];
  if (valuesNow === undefined) return true;
  return values !== undefined && values.every((value) => valuesNow.includes(value));
}

/** The JSON types that a schema names; none when it takes any. */
function typesOf(part: Part, depth: number): Set<string> {
  const { schema } = followed(part);
  const { type } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
  const branches = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])];
  if (depth > DEEPEST) return new Set();
  const types = branches.map((branch) => typesOf({ ...part, schema: branch }, depth + 1));
  return types.some(({ size }) => size === 0) ? new Set() : new Set(types.flatMap((names) => [...names]));
}

function valuesOf({ schema }: Part): string[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schemaHash(schema["const"])];
  return Array.isArray(schema["enum"]) ? schema["enum"].map((value) => schemaHash(value)) : undefined;
}

function propertiesOf({ schema }: Part): Map<string, JsonObject> {
  const { properties } = schema;
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return new Map(entries.map(([name, value]) => [name, isJsonObject(value) ? value : {}]));
}

function requiredOf({ schema }: Part): Set<unknown> {
  return new Set(Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : []);
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Where a local reference leads; a schema that refers to nothing we can see is left as it is. */
function followed({ schema, root }: Part): Part {
  let found = schema;
  for (let hops = 0; hops < DEEPEST; hops += 1) {
    const { $ref: reference } = found;
    if (typeof reference !== "string" || !reference.startsWith("#/")) return { schema: found, root };
    const keys = reference
      .slice(2)
      .split("/")
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const target = keys.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), root);
    if (!isJsonObject(target)) return { schema: found, root };
    found = target;
  }
  return { schema: found, root };
}
