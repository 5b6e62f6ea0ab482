import { isPlainObject, type JsonObject } from "../json/json.js";
import { refStandsAlone, resolveFragment, type Draft } from "./json-pointer.js";
import { namesKind, readFacts } from "./read-constraints.js";
import { toShortJson } from "./truncate-json.js";
import {
  ANY,
  intersect,
  KINDS,
  NOTHING,
  union,
  unionAsOne,
  type Facts,
  type Kind,
  type Shape,
} from "./schema-type-model.js";

/** How often one definition may stand within itself before only its type is told. */
const MOST_RECURSION = 2;

/** Where the reader is, and how far it may go. */
export interface Reading {
  readonly root: JsonObject;
  readonly draft: Draft;
  readonly levelsLeft: number;
  readonly openReferences: readonly string[];
  /** Shared by all readers of one schema. */
  readonly budget: { schemasLeft: number };
}

/** What a sound schema accepts, told by kinds. */
export function readShape(schema: unknown, at: Reading): Shape {
  if (schema === false) return NOTHING;
  if (!isPlainObject(schema)) return ANY;
  at.budget.schemasLeft -= 1;
  if (at.budget.schemasLeft < 0) return ANY;
  if (at.levelsLeft <= 0) return readOutline(schema, at.root);
  const inside = { ...at, levelsLeft: at.levelsLeft - 1 };
  const { $ref, ...beside } = schema;
  if (typeof $ref !== "string") return readWithout(schema, inside);
  const { title, description } = schema;
  const own = refStandsAlone(at.draft) ? { title, description } : beside;
  if (Object.keys(beside).length === 0) return readReference($ref, inside);
  return intersect(readWithout(own, inside), readReference($ref, inside));
}

function readReference(reference: string, at: Reading): Shape {
  const target = resolveFragment(at.root, reference);
  const depth = at.openReferences.filter((open) => open === reference).length;
  if (depth >= MOST_RECURSION) return isPlainObject(target) ? readOutline(target, at.root) : ANY;
  return readShape(target, { ...at, openReferences: [...at.openReferences, reference] });
}

/** Only the types of a schema, when its details would be too much. */
function readOutline(schema: JsonObject, root: JsonObject): Shape {
  const { title, description } = schema;
  const target = resolveOutline(schema, root);
  const { type, nullable } = target;
  const outline = {
    type,
    nullable,
    title: title ?? target["title"],
    description: description ?? target["description"],
  };
  return ownShape(outline, (kind) =>
    kind === "object" || kind === "array" ? { notes: ["Details left out."] } : {},
  );
}

const MOST_HOPS = 10;

function resolveOutline(schema: JsonObject, root: JsonObject): JsonObject {
  let target: unknown = schema;
  for (
    let hop = 0;
    hop < MOST_HOPS && isPlainObject(target) && typeof target["$ref"] === "string";
    hop += 1
  ) {
    target = resolveFragment(root, target["$ref"]);
  }
  return isPlainObject(target) && target["$ref"] === undefined ? target : {};
}

function readWithout(schema: JsonObject, at: Reading): Shape {
  const own = ownShape(schema, (kind) => readInner(schema, kind, at));
  const parts = [
    ...listOf(schema["allOf"]).map((part) => readShape(part, at)),
    ...[schema["anyOf"], schema["oneOf"]].filter(Array.isArray).map((branches) => readUnion(branches, at)),
    ...readConditions(schema, at),
  ];
  return parts.reduce(intersect, own);
}

function readUnion(branches: readonly unknown[], at: Reading): Shape {
  return union(branches.map((branch) => readShape(branch, at)));
}

/** What holds only sometimes: the names are worth knowing always, the rest is not demanded. */
function readConditions(schema: JsonObject, at: Reading): Shape[] {
  const conditional = Object.values(
    isPlainObject(schema["dependentSchemas"]) ? schema["dependentSchemas"] : {},
  )
    .concat(Object.values(isPlainObject(schema["dependencies"]) ? schema["dependencies"] : {}))
    .filter(isPlainObject)
    .map((inner) => unionAsOne([ANY, readShape(inner, at)]));
  if (schema["if"] === undefined) return conditional;
  const outcomes = [schema["then"], schema["else"]].map((inner) => readShape(inner ?? true, at));
  return [...conditional, unionAsOne(outcomes)];
}

function ownShape(schema: JsonObject, inner: (kind: Kind) => Facts): Shape {
  const kinds = KINDS.filter((kind) => namesKind(schema, kind)).map((kind): [Kind, Facts] => {
    const [plain, deep] = [readFacts(schema, kind), inner(kind)];
    return [kind, { ...plain, ...deep, notes: [...(plain.notes ?? []), ...(deep.notes ?? [])] }];
  });
  const isNamed = schema["type"] !== undefined || kinds.some(([, { values }]) => values !== undefined);
  const isAboutSome = kinds.some(([, facts]) => isDescribed(facts));
  return new Map(
    kinds.map(([kind, facts]) => {
      const origin = { isNamed, isImplied: isAboutSome && !isDescribed(facts) };
      return [kind, [{ ...facts, origin }]];
    }),
  );
}

function isDescribed({ values, bounds, pattern, items, properties, required }: Facts): boolean {
  const hasBounds = Object.values(bounds ?? {}).some((bound) => bound !== undefined);
  const hasParts = items !== undefined || properties !== undefined || (required?.length ?? 0) > 0;
  return values !== undefined || pattern !== undefined || hasBounds || hasParts;
}

function readInner(schema: JsonObject, kind: Kind, at: Reading): Facts {
  if (kind === "array") return readItems(schema, at);
  return kind === "object" ? readProperties(schema, at) : {};
}

function readProperties(schema: JsonObject, at: Reading): Facts {
  const { properties, additionalProperties, patternProperties } = schema;
  const known = isPlainObject(properties)
    ? new Map(Object.entries(properties).map(([name, inner]) => [name, readShape(inner, at)]))
    : undefined;
  const others = [
    additionalProperties,
    ...Object.values(isPlainObject(patternProperties) ? patternProperties : {}),
  ];
  const possible = union(others.filter(isPlainObject).map((inner) => readShape(inner, at)));
  const kinds = [...possible.keys()];
  const isTold = kinds.length > 0 && kinds.length < KINDS.length;
  const note = `Other names are possible; their values: ${kinds.join(" or ")}.`;
  return { properties: known, notes: [...(isTold ? [note] : []), ...conditionNotes(schema)] };
}

/** `items` for the rest of a tuple is `additionalItems` where `items` itself is the tuple. */
function readItems(schema: JsonObject, at: Reading): Facts {
  const { prefixItems, items, additionalItems, maxItems } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined) return items === undefined ? {} : { items: readShape(items, at) };
  const shapes = tuple.map((item) => readShape(item, at));
  const isClosed = typeof maxItems === "number" && maxItems <= tuple.length;
  const rest = isClosed ? false : ((tuple === items ? additionalItems : items) ?? true);
  const order = shapes.map((shape) =>
    shape.size === KINDS.length ? "anything" : [...shape.keys()].join(" or "),
  );
  return {
    items: union([...shapes, readShape(rest, at)]),
    notes: [`In this order: ${order.join(", ")}.`],
  };
}

/** `When country is "US" also give postcode.` */
function conditionNotes({ if: condition, then }: JsonObject): string[] {
  if (!isPlainObject(condition) || !isPlainObject(then) || !isPlainObject(condition["properties"])) return [];
  const cases = Object.entries(condition["properties"]).flatMap(([name, inner]) =>
    isPlainObject(inner) && Object.hasOwn(inner, "const")
      ? [`${name} is ${toShortJson(inner["const"])}`]
      : [],
  );
  const names = listOf(then["required"]).filter((name) => typeof name === "string");
  return cases.length === 0 || names.length === 0
    ? []
    : [`When ${cases.join(" and ")} also give ${names.join(", ")}.`];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
