import { toJson } from "../json/describe-value.js";

/** The JSON types; an integer is a number. In the order in which they are written, `null` last. */
export const JSON_TYPES = ["string", "number", "boolean", "object", "array", "null"] as const;
export type JsonType = (typeof JSON_TYPES)[number];

/**
 * What a schema accepts, possibly a superset: the variants of each JSON type. A type without variants is rejected.
 * Only objects can have more than one variant.
 */
export type TypeModel = ReadonlyMap<JsonType, readonly TypeConstraints[]>;

/** Constraints on values of one type. Without constraints, every value of the type is accepted. */
export interface TypeConstraints {
  /** The type is named explicitly. */
  readonly isNamed?: boolean | undefined;
  /** The type is accepted only because the schema constrains other types and names none. */
  readonly isInferred?: boolean | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: { readonly value: unknown } | undefined;
  /** Sentences for what the supported keywords cannot express. */
  readonly notes?: readonly string[] | undefined;
  readonly values?: readonly unknown[] | undefined;
  readonly bounds?: Bounds | undefined;
  readonly isInteger?: boolean | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
  readonly items?: TypeModel | undefined;
  readonly properties?: ReadonlyMap<string, TypeModel> | undefined;
  readonly required?: readonly string[] | undefined;
}

const LOWER_BOUNDS = ["minimum", "minLength", "minItems", "minProperties"] as const;
const UPPER_BOUNDS = ["maximum", "maxLength", "maxItems", "maxProperties"] as const;
type Bound = (typeof LOWER_BOUNDS)[number] | (typeof UPPER_BOUNDS)[number];
export type Bounds = { readonly [Name in Bound]?: number | undefined };

export const ANY: TypeModel = new Map(JSON_TYPES.map((type) => [type, [{}]]));
export const NEVER: TypeModel = new Map();

/** Objects with more variants are merged into one. */
const MAX_VARIANTS = 12;

export function intersect(first: TypeModel, second: TypeModel): TypeModel {
  if (first === ANY) return second;
  if (second === ANY) return first;
  const both = JSON_TYPES.flatMap((type): [JsonType, TypeConstraints[]][] => {
    const [firstVariants, secondVariants] = [first.get(type) ?? [], second.get(type) ?? []];
    const [left, right] =
      firstVariants.length * secondVariants.length > MAX_VARIANTS
        ? [mergeVariants(firstVariants), mergeVariants(secondVariants)]
        : [firstVariants, secondVariants];
    const variants = left.flatMap((a) => right.flatMap((b) => intersectConstraints(a, b) ?? []));
    return variants.length === 0 ? [] : [[type, variants]];
  });
  return new Map(both);
}

export function union(models: readonly TypeModel[]): TypeModel {
  const all = JSON_TYPES.flatMap((type): [JsonType, readonly TypeConstraints[]][] => {
    const variants = models.flatMap((model) => model.get(type) ?? []);
    if (variants.length === 0) return [];
    return [[type, type === "object" && shouldKeepVariants(variants) ? variants : mergeVariants(variants)]];
  });
  return new Map(all);
}

/** Variants with the same property names are merged, with a note on which properties belong together. */
function shouldKeepVariants(variants: readonly TypeConstraints[]): boolean {
  const names = new Set(
    variants.map(({ properties }) => JSON.stringify([...(properties?.keys() ?? [])].toSorted())),
  );
  return names.size > 1 && variants.length <= MAX_VARIANTS;
}

/** For conditional schemas, which are merged into the unconditional ones instead of becoming a variant. */
export function unionToSingleVariant(models: readonly TypeModel[]): TypeModel {
  return new Map([...union(models)].map(([type, variants]) => [type, mergeVariants(variants)]));
}

/** Merges variants into one that accepts all of their values. */
export function mergeVariants(variants: readonly TypeConstraints[]): readonly TypeConstraints[] {
  const [first, ...others] = variants;
  if (first === undefined || others.length === 0) return variants;
  const note = describeCombinations(variants);
  const { notes = [], ...merged } = others.reduce(mergePair, first);
  return [{ ...merged, notes: note === undefined ? notes : [...notes, note] }];
}

function intersectConstraints(a: TypeConstraints, b: TypeConstraints): TypeConstraints | undefined {
  const values = a.values && b.values ? common(a.values, b.values) : (a.values ?? b.values);
  if (values?.length === 0) return undefined;
  return {
    isNamed: a.isNamed === true || b.isNamed === true,
    isInferred: a.isInferred === true || b.isInferred === true,
    title: a.title ?? b.title,
    description: a.description ?? b.description,
    default: a.default ?? b.default,
    notes: distinct([...(a.notes ?? []), ...(b.notes ?? [])]),
    values,
    bounds: {
      ...eachBound(LOWER_BOUNDS, a, b, (x, y) => Math.max(x ?? -Infinity, y ?? -Infinity)),
      ...eachBound(UPPER_BOUNDS, a, b, (x, y) => Math.min(x ?? Infinity, y ?? Infinity)),
    },
    isInteger: a.isInteger === true || b.isInteger === true,
    pattern: a.pattern ?? b.pattern,
    format: a.format ?? b.format,
    items: a.items && b.items ? intersect(a.items, b.items) : (a.items ?? b.items),
    properties: mergeProperties(a, b, intersect),
    required: distinct([...(a.required ?? []), ...(b.required ?? [])]),
  };
}

function mergePair(a: TypeConstraints, b: TypeConstraints): TypeConstraints {
  return {
    isNamed: a.isNamed === true || b.isNamed === true,
    isInferred: a.isInferred === true && b.isInferred === true,
    title: a.title === b.title ? a.title : undefined,
    description: mergeDescriptions(a.description, b.description),
    default: a.default ?? b.default,
    notes: common(a.notes ?? [], b.notes ?? []),
    values: a.values && b.values ? distinct([...a.values, ...b.values]) : undefined,
    bounds: {
      ...eachBound(LOWER_BOUNDS, a, b, (x, y) => Math.min(x ?? -Infinity, y ?? -Infinity)),
      ...eachBound(UPPER_BOUNDS, a, b, (x, y) => Math.max(x ?? Infinity, y ?? Infinity)),
    },
    isInteger: a.isInteger === true && b.isInteger === true,
    pattern: a.pattern === b.pattern ? a.pattern : undefined,
    format: a.format === b.format ? a.format : undefined,
    items: a.items && b.items ? union([a.items, b.items]) : undefined,
    // A property that only one variant describes is kept as described.
    properties: mergeProperties(a, b, (x, y) => union([x, y])),
    required: common(a.required ?? [], b.required ?? []),
  };
}

function mergeDescriptions(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || b === undefined || a === b ? (a ?? b) : `${a} Or: ${b}`;
}

function eachBound(
  names: readonly Bound[],
  a: TypeConstraints,
  b: TypeConstraints,
  choose: (x: number | undefined, y: number | undefined) => number,
): Bounds {
  const chosen = names.map((name) => [name, choose(a.bounds?.[name], b.bounds?.[name])] as const);
  return Object.fromEntries(chosen.filter(([, bound]) => Number.isFinite(bound)));
}

function mergeProperties(
  a: TypeConstraints,
  b: TypeConstraints,
  merge: (x: TypeModel, y: TypeModel) => TypeModel,
): TypeConstraints["properties"] {
  if (!a.properties || !b.properties) return a.properties ?? b.properties;
  const merged = new Map(a.properties);
  for (const [name, model] of b.properties) {
    const existing = merged.get(name);
    merged.set(name, existing === undefined ? model : merge(existing, model));
  }
  return merged;
}

/** Describes which properties belong together after variants were merged. */
function describeCombinations(variants: readonly TypeConstraints[]): string | undefined {
  const required = variants.map((variant) => variant.required ?? []);
  const always = required.reduce((a, b) => common(a, b));
  const texts = variants.map((variant) => {
    const names = (variant.required ?? []).filter(
      (name) => !always.includes(name) || constValue(variant, name) !== undefined,
    );
    return names.map((name) => `${name}${constValue(variant, name) ?? ""}`).join(" with ");
  });
  const alternatives = distinct(texts.map((text) => (text === "" ? "none of these" : text)));
  return alternatives.length < 2 ? undefined : `Possible combinations: ${alternatives.join("; or ")}.`;
}

function constValue(variant: TypeConstraints, name: string): string | undefined {
  const variants = [...(variant.properties?.get(name)?.values() ?? [])].flat();
  const [value] = variants.length === 1 ? (variants[0]?.values ?? []) : [];
  return value !== undefined && variants[0]?.values?.length === 1 ? ` ${toJson(value)}` : undefined;
}

function common<T>(a: readonly T[], b: readonly T[]): T[] {
  const texts = new Set(b.map(toJson));
  // Equal objects may be written differently, so objects are always kept.
  return a.filter((value) => (typeof value === "object" && value !== null) || texts.has(toJson(value)));
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [toJson(value), value])).values()];
}
