import { toJson } from "./truncate-json.js";

/** The kinds of values in JSON; an integer is a number. `null` last: so it is shown. */
export const KINDS = ["string", "number", "boolean", "object", "array", "null"] as const;
export type Kind = (typeof KINDS)[number];

/**
 * What a schema accepts, or a little more: for each kind of value the ways in which it may look.
 * A kind without a way is refused. Only objects have more than one way.
 */
export type Shape = ReadonlyMap<Kind, readonly Facts[]>;

/** What is known about values of one kind. Nothing known: every value of that kind. */
export interface Facts {
  /** Whether the kind was named, or is accepted only because a schema that is about others names none. */
  readonly origin?: { readonly isNamed: boolean; readonly isImplied: boolean } | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: { readonly value: unknown } | undefined;
  /** Sentences for what the keywords of the providers cannot say. */
  readonly notes?: readonly string[] | undefined;
  readonly values?: readonly unknown[] | undefined;
  readonly bounds?: Bounds | undefined;
  readonly integer?: boolean | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
  readonly items?: Shape | undefined;
  readonly properties?: ReadonlyMap<string, Shape> | undefined;
  readonly required?: readonly string[] | undefined;
}

const LOWER_BOUNDS = ["minimum", "minLength", "minItems", "minProperties"] as const;
const UPPER_BOUNDS = ["maximum", "maxLength", "maxItems", "maxProperties"] as const;
type Bound = (typeof LOWER_BOUNDS)[number] | (typeof UPPER_BOUNDS)[number];
export type Bounds = { readonly [Name in Bound]?: number | undefined };

export const ANY: Shape = new Map(KINDS.map((kind) => [kind, [{}]]));
export const NOTHING: Shape = new Map();

/** More ways than this for an object are told as one. */
const MOST_WAYS = 12;

export function intersect(one: Shape, other: Shape): Shape {
  if (one === ANY) return other;
  if (other === ANY) return one;
  const both = KINDS.flatMap((kind): [Kind, Facts[]][] => {
    const [ways, others] = [one.get(kind) ?? [], other.get(kind) ?? []];
    const [left, right] =
      ways.length * others.length > MOST_WAYS ? [join(ways), join(others)] : [ways, others];
    const met = left.flatMap((a) => right.flatMap((b) => meet(a, b) ?? []));
    return met.length === 0 ? [] : [[kind, met]];
  });
  return new Map(both);
}

export function union(shapes: readonly Shape[]): Shape {
  const all = KINDS.flatMap((kind): [Kind, readonly Facts[]][] => {
    const ways = shapes.flatMap((shape) => shape.get(kind) ?? []);
    if (ways.length === 0) return [];
    return [[kind, kind === "object" && areWorthTelling(ways) ? ways : join(ways)]];
  });
  return new Map(all);
}

/** Ways that have the same names can be told as one, with a sentence on what belongs together. */
function areWorthTelling(ways: readonly Facts[]): boolean {
  const names = new Set(
    ways.map(({ properties }) => JSON.stringify([...(properties?.keys() ?? [])].toSorted())),
  );
  return names.size > 1 && ways.length <= MOST_WAYS;
}

/** What may hold or not: told together with what always holds, not beside it. */
export function unionAsOne(shapes: readonly Shape[]): Shape {
  return new Map([...union(shapes)].map(([kind, ways]) => [kind, join(ways)]));
}

/** One way that covers all of them. */
export function join(ways: readonly Facts[]): readonly Facts[] {
  const [first, ...others] = ways;
  if (first === undefined || others.length === 0) return ways;
  const note = combinationsOf(ways);
  const { notes = [], ...joined } = others.reduce(joinTwo, first);
  return [{ ...joined, notes: note === undefined ? notes : [...notes, note] }];
}

function meet(a: Facts, b: Facts): Facts | undefined {
  const values = a.values && b.values ? common(a.values, b.values) : (a.values ?? b.values);
  if (values?.length === 0) return undefined;
  return {
    origin: {
      isNamed: a.origin?.isNamed === true || b.origin?.isNamed === true,
      isImplied: a.origin?.isImplied === true || b.origin?.isImplied === true,
    },
    title: a.title ?? b.title,
    description: a.description ?? b.description,
    default: a.default ?? b.default,
    notes: distinct([...(a.notes ?? []), ...(b.notes ?? [])]),
    values,
    bounds: {
      ...eachBound(LOWER_BOUNDS, a, b, (x, y) => Math.max(x ?? -Infinity, y ?? -Infinity)),
      ...eachBound(UPPER_BOUNDS, a, b, (x, y) => Math.min(x ?? Infinity, y ?? Infinity)),
    },
    integer: a.integer === true || b.integer === true,
    pattern: a.pattern ?? b.pattern,
    format: a.format ?? b.format,
    items: a.items && b.items ? intersect(a.items, b.items) : (a.items ?? b.items),
    properties: mergeProperties(a, b, intersect),
    required: distinct([...(a.required ?? []), ...(b.required ?? [])]),
  };
}

function joinTwo(a: Facts, b: Facts): Facts {
  return {
    origin: {
      isNamed: a.origin?.isNamed === true || b.origin?.isNamed === true,
      isImplied: a.origin?.isImplied === true && b.origin?.isImplied === true,
    },
    title: a.title === b.title ? a.title : undefined,
    description: joinDescriptions(a.description, b.description),
    default: a.default ?? b.default,
    notes: common(a.notes ?? [], b.notes ?? []),
    values: a.values && b.values ? distinct([...a.values, ...b.values]) : undefined,
    bounds: {
      ...eachBound(LOWER_BOUNDS, a, b, (x, y) => Math.min(x ?? -Infinity, y ?? -Infinity)),
      ...eachBound(UPPER_BOUNDS, a, b, (x, y) => Math.max(x ?? Infinity, y ?? Infinity)),
    },
    integer: a.integer === true && b.integer === true,
    pattern: a.pattern === b.pattern ? a.pattern : undefined,
    format: a.format === b.format ? a.format : undefined,
    items: a.items && b.items ? union([a.items, b.items]) : undefined,
    // A name that only one way knows is kept as that way describes it: the other does not care.
    properties: mergeProperties(a, b, (x, y) => union([x, y])),
    required: common(a.required ?? [], b.required ?? []),
  };
}

function joinDescriptions(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || b === undefined || a === b ? (a ?? b) : `${a} Or: ${b}`;
}

function eachBound(
  names: readonly Bound[],
  a: Facts,
  b: Facts,
  choose: (x: number | undefined, y: number | undefined) => number,
): Bounds {
  const chosen = names.map((name) => [name, choose(a.bounds?.[name], b.bounds?.[name])] as const);
  return Object.fromEntries(chosen.filter(([, bound]) => Number.isFinite(bound)));
}

function mergeProperties(a: Facts, b: Facts, merge: (x: Shape, y: Shape) => Shape): Facts["properties"] {
  if (!a.properties || !b.properties) return a.properties ?? b.properties;
  const merged = new Map(a.properties);
  for (const [name, shape] of b.properties) {
    const known = merged.get(name);
    merged.set(name, known === undefined ? shape : merge(known, shape));
  }
  return merged;
}

/** Which arguments belong together, when several ways become one. */
function combinationsOf(ways: readonly Facts[]): string | undefined {
  const required = ways.map((way) => way.required ?? []);
  const always = required.reduce((a, b) => common(a, b));
  const texts = ways.map((way) => {
    const names = (way.required ?? []).filter(
      (name) => !always.includes(name) || onlyValue(way, name) !== undefined,
    );
    return names.map((name) => `${name}${onlyValue(way, name) ?? ""}`).join(" with ");
  });
  const told = distinct(texts.map((text) => (text === "" ? "none of these" : text)));
  return told.length < 2 ? undefined : `Possible combinations: ${told.join("; or ")}.`;
}

function onlyValue(way: Facts, name: string): string | undefined {
  const ways = [...(way.properties?.get(name)?.values() ?? [])].flat();
  const [value] = ways.length === 1 ? (ways[0]?.values ?? []) : [];
  return value !== undefined && ways[0]?.values?.length === 1 ? ` ${toJson(value)}` : undefined;
}

function common<T>(a: readonly T[], b: readonly T[]): T[] {
  const texts = new Set(b.map(toJson));
  // Two objects may be equal and written differently, so an object is always kept.
  return a.filter((value) => (typeof value === "object" && value !== null) || texts.has(toJson(value)));
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [toJson(value), value])).values()];
}
