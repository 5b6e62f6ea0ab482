import { isPlainObject, type JsonObject } from "../json/json.js";
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
/** Schemas can lead back into themselves in more ways than anybody has time for; the rest is `changed`. */
const MOST_COMPARISONS = 5_000;

/** How the parameters of a tool have changed. The order of keys is no change. */
export function compareSchemas(before: JsonObject, now: JsonObject): SchemaChange {
  if (schemaHash(before) === schemaHash(now)) return { severity: "none", parameters: [] };
  const budget = { left: MOST_COMPARISONS };
  const [old, fresh] = [before, now].map((root) => followed({ schema: root, root, budget })) as [Part, Part];
  const parameters = compareObjects(old, fresh, "", 0);
  const isBreaking = parameters.some(({ what }) => BREAKING.has(what));
  return { severity: isBreaking ? "breaking" : "additive", parameters };
}

/** A part of a schema, and the whole in which its references lead somewhere. */
interface Part {
  readonly schema: JsonObject;
  readonly root: JsonObject;
  /** How many more may be compared, for all parts together. */
  readonly budget: { left: number };
}

function compareObjects(before: Part, now: Part, path: string, depth: number): ParameterChange[] {
  const [old, fresh] = [propertiesOf(before), propertiesOf(now)];
  const [wasRequired, isRequired] = [requiredOf(before), requiredOf(now)];
  const names = [...new Set([...old.keys(), ...fresh.keys(), ...isRequired])].toSorted();
  return names.flatMap((name): ParameterChange[] => {
    const parameter = path === "" ? name : `${path}.${name}`;
    const [was, is] = [old.get(name), fresh.get(name)];
    if (isRequired.has(name) && !wasRequired.has(name)) return [{ parameter, what: "required" }];
    if (is === undefined) return was === undefined ? [] : [{ parameter, what: "removed" }];
    if (was === undefined) return [{ parameter, what: "added" }];
    return compareValues({ ...before, schema: was }, { ...now, schema: is }, parameter, depth + 1);
  });
}

function compareValues(given: Part, givenNow: Part, parameter: string, depth: number): ParameterChange[] {
  const [before, now] = [followed(given), followed(givenNow)];
  before.budget.left -= 1;
  if (before.budget.left <= 0) return [{ parameter, what: "changed" }];
  if (schemaHash(before.schema) === schemaHash(now.schema)) return [];
  if (!takesAllOf(before, now)) return [{ parameter, what: "type" }];
  const inner = depth > DEEPEST ? [] : compareInside(before, now, parameter, depth);
  return inner.length > 0 ? inner : [{ parameter, what: "changed" }];
}

function compareInside(before: Part, now: Part, parameter: string, depth: number): ParameterChange[] {
  const [items, itemsNow] = [before.schema["items"], now.schema["items"]];
  const ofItems =
    isPlainObject(items) && isPlainObject(itemsNow)
      ? compareValues({ ...before, schema: items }, { ...now, schema: itemsNow }, `${parameter}[]`, depth + 1)
      : [];
  return [...compareObjects(before, now, parameter, depth), ...ofItems];
}

/** Whether every value that was taken before is taken now, as far as types and lists of values tell. */
function takesAllOf(before: Part, now: Part): boolean {
  const [types, typesNow] = [typesOf(before), typesOf(now)];
  const takes = (type: string) =>
    typesNow?.has(type) === true || (type === "integer" && typesNow?.has("number") === true);
  if (typesNow !== undefined && (types === undefined || ![...types].every(takes))) return false;
  const [values, valuesNow] = [valuesOf(before), valuesOf(now)];
  if (valuesNow === undefined) return true;
  return values !== undefined && values.every((value) => valuesNow.includes(value));
}

/** The JSON types that a schema names; `undefined` when it takes any. A schema within itself adds none. */
function typesOf(part: Part, seen = new Set<JsonObject>()): Set<string> | undefined {
  const { schema } = followed(part);
  if (seen.has(schema)) return new Set();
  seen.add(schema);
  const { type } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
  const branches = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])];
  const types = branches.map((branch) => typesOf({ ...part, schema: branch }, seen));
  if (types.length === 0 || types.includes(undefined)) return undefined;
  return new Set(types.flatMap((names) => [...(names ?? [])]));
}

function valuesOf({ schema }: Part): string[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schemaHash(schema["const"])];
  return Array.isArray(schema["enum"]) ? schema["enum"].map((value) => schemaHash(value)) : undefined;
}

/** With those of the schemas that must hold as well. */
function propertiesOf(part: Part): Map<string, JsonObject> {
  return new Map(
    wholeOf(part).flatMap(({ properties }) =>
      Object.entries(isPlainObject(properties) ? properties : {}).map(
        ([name, value]): [string, JsonObject] => [name, isPlainObject(value) ? value : {}],
      ),
    ),
  );
}

function requiredOf(part: Part): Set<string> {
  const names = wholeOf(part).flatMap(({ required }): unknown[] => (Array.isArray(required) ? required : []));
  return new Set(names.filter((name) => typeof name === "string"));
}

function wholeOf({ schema, ...rest }: Part): JsonObject[] {
  const others = listOf(schema["allOf"]).map((other) => followed({ ...rest, schema: other }).schema);
  return [schema, ...others];
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

/** Where a local reference leads; a schema that refers to nothing we can see is left as it is. */
function followed(part: Part): Part {
  let { schema } = part;
  for (let hops = 0; hops < DEEPEST; hops += 1) {
    const { $ref: reference } = schema;
    if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) break;
    const keys = reference
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const target = keys.reduce<unknown>((at, key) => (isPlainObject(at) ? at[key] : undefined), part.root);
    if (!isPlainObject(target)) break;
    schema = target;
  }
  return { ...part, schema };
}
