import { appendSentence } from "../errors/sanitize-text.js";
import { truncateJson } from "../json/describe-value.js";
import { toCanonicalJson } from "./schema-hash.js";
import type { StepBudget } from "./step-budget.js";

/** The JSON types; an integer is a number. In the order in which they are written, `null` last. */
export const JSON_TYPES = ["string", "number", "boolean", "object", "array", "null"] as const;
export type JsonType = (typeof JSON_TYPES)[number];

/**
 * What a schema accepts, possibly a superset: the variants of each JSON type. A type without variants is rejected.
 * Objects, strings and numbers can have more than one variant.
 */
export type TypeModel = ReadonlyMap<JsonType, readonly TypeConstraints[]>;

/** Constraints on values of one type. Without constraints, every value of the type is accepted. */
export interface TypeConstraints {
  /** The type is named explicitly. */
  readonly isNamed?: boolean | undefined;
  /** The type is accepted only because the schema constrains other types and names none. */
  readonly isInferred?: boolean | undefined;
  readonly title?: string | undefined;
  /** The descriptions that apply, from the outer to the inner one. */
  readonly texts?: readonly string[] | undefined;
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
  /** The values of other properties; `undefined` if the schema does not describe them. */
  readonly additional?: TypeModel | undefined;
}

const LOWER_BOUNDS = ["minimum", "minLength", "minItems", "minProperties"] as const;
const UPPER_BOUNDS = ["maximum", "maxLength", "maxItems", "maxProperties"] as const;
type Bound = (typeof LOWER_BOUNDS)[number] | (typeof UPPER_BOUNDS)[number];
export type Bounds = { readonly [Name in Bound]?: number | undefined };

export const ANY: TypeModel = new Map(JSON_TYPES.map((type) => [type, [{}]]));
export const NEVER: TypeModel = new Map();

/** Objects with more variants are merged into one. */
const MAX_VARIANTS = 12;
/** Merging constraints takes as long as that many steps of an evaluation. */
const STEPS_PER_MERGE = 50;

/** Accepts what all models accept. The first model takes precedence for texts and defaults. */
export function intersect(models: readonly TypeModel[], steps: StepBudget): TypeModel {
  const constraining = models.filter((model) => model !== ANY);
  const [only] = constraining;
  if (only === undefined || constraining.length === 1) return only ?? ANY;
  const both = JSON_TYPES.flatMap((type): [JsonType, readonly TypeConstraints[]][] => {
    const alternatives = constraining.map((model) => model.get(type) ?? []);
    if (alternatives.some((variants) => variants.length === 0)) return [];
    const single = alternatives.filter((variants) => variants.length === 1).flat();
    const base = single.length === 0 ? [{}] : toList(intersectConstraints(single, steps));
    const variants = alternatives
      .filter(({ length }) => length > 1)
      .reduce((first, second) => intersectVariants(first, second, steps), base);
    return variants.length === 0 ? [] : [[type, variants]];
  });
  return new Map(both);
}

function intersectVariants(
  first: readonly TypeConstraints[],
  second: readonly TypeConstraints[],
  steps: StepBudget,
): readonly TypeConstraints[] {
  const isTooMany = first.length * second.length > MAX_VARIANTS;
  const [left, right] = isTooMany
    ? [mergeVariants(first, steps), mergeVariants(second, steps)]
    : [first, second];
  return left.flatMap((a) => right.flatMap((b) => toList(intersectConstraints([a, b], steps))));
}

/** Accepts what any model accepts, and possibly more. */
export function union(models: readonly TypeModel[], steps: StepBudget): TypeModel {
  const all = JSON_TYPES.flatMap((type): [JsonType, readonly TypeConstraints[]][] => {
    const variants = models.flatMap((model) => model.get(type) ?? []);
    if (variants.length === 0) return [];
    if (type === "string" || type === "number") return [[type, mergeScalars(variants, steps)]];
    const isKept = type === "object" && shouldKeepVariants(variants);
    return [[type, isKept ? variants : mergeVariants(variants, steps)]];
  });
  return new Map(all);
}

/** More variants of a string or number are merged into one. */
const MAX_SCALAR_VARIANTS = 4;

/** Merges the variants that list values, and those with equal constraints. An enum or a pattern stays what it is. */
function mergeScalars(variants: readonly TypeConstraints[], steps: StepBudget): readonly TypeConstraints[] {
  if (variants.length === 1) return variants;
  steps.spend(STEPS_PER_MERGE * variants.length);
  const groups = new Map<string, TypeConstraints[]>();
  for (const variant of variants) {
    const key = toScalarKey(variant);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [variant]);
    else group.push(variant);
  }
  return groups.size > MAX_SCALAR_VARIANTS
    ? mergeVariants(variants, steps)
    : [...groups.values()].flatMap((group) => mergeVariants(group, steps));
}

function toScalarKey({ values, pattern, format, isInteger, bounds, notes }: TypeConstraints): string {
  if (values !== undefined) return "values";
  return JSON.stringify([pattern, format, isInteger === true, bounds ?? {}, notes ?? []]);
}

/** Variants with the same property names are merged, with a note on which properties belong together. */
function shouldKeepVariants(variants: readonly TypeConstraints[]): boolean {
  if (variants.length > MAX_VARIANTS) return false;
  const names = new Set(
    variants.map(({ properties }) => JSON.stringify([...(properties?.keys() ?? [])].toSorted())),
  );
  return names.size > 1;
}

/** For conditional schemas, which are merged into the unconditional ones instead of becoming a variant. */
export function unionToSingleVariant(models: readonly TypeModel[], steps: StepBudget): TypeModel {
  return new Map([...union(models, steps)].map(([type, variants]) => [type, mergeVariants(variants, steps)]));
}

/** Merges variants into one that accepts all of their values. Linear in their size, however many there are. */
export function mergeVariants(
  variants: readonly TypeConstraints[],
  steps: StepBudget,
): readonly TypeConstraints[] {
  const [first, ...others] = variants;
  if (first === undefined || others.length === 0) return variants;
  steps.spend(STEPS_PER_MERGE * variants.length);
  const note = describeCombinations(variants, steps);
  const isSame = (key: "title" | "pattern" | "format") => others.every((other) => other[key] === first[key]);
  const values = variants.map((variant) => variant.values);
  const items = variants.map((variant) => variant.items);
  const merged: TypeConstraints = {
    isNamed: variants.some(({ isNamed }) => isNamed === true),
    isInferred: variants.every(({ isInferred }) => isInferred === true),
    title: isSame("title") ? first.title : undefined,
    texts: mergeTexts(variants),
    default: variants.find((variant) => variant.default !== undefined)?.default,
    notes: [...intersectTexts(variants, "notes", steps), ...(note === undefined ? [] : [note])],
    values: values.every(isDefined) ? distinctValues(values.flat(), steps) : undefined,
    bounds: combineBounds(variants, "union"),
    isInteger: variants.every(({ isInteger }) => isInteger === true),
    pattern: isSame("pattern") ? first.pattern : undefined,
    format: isSame("format") ? first.format : undefined,
    items: items.every(isDefined) ? union(items, steps) : undefined,
    // A property that only one variant describes is kept as described.
    properties: mergeProperties(variants, union, steps),
    required: intersectTexts(variants, "required", steps),
    additional: mergeAdditional(variants, steps),
  };
  return [merged];
}

/** Returns `undefined` if no value fits all constraints. */
function intersectConstraints(
  constraints: readonly TypeConstraints[],
  steps: StepBudget,
): TypeConstraints | undefined {
  steps.spend(STEPS_PER_MERGE * constraints.length);
  const values = constraints.flatMap((item) => (item.values === undefined ? [] : [item.values]));
  const items = constraints.flatMap((item) => item.items ?? []);
  const additional = constraints.flatMap((item) => item.additional ?? []);
  const allowed = values.length === 0 ? undefined : intersectValues(values, steps);
  if (allowed?.length === 0) return undefined;
  const first = <Key extends keyof TypeConstraints>(key: Key): TypeConstraints[Key] | undefined =>
    constraints.find((item) => item[key] !== undefined)?.[key];
  return {
    isNamed: constraints.some(({ isNamed }) => isNamed === true),
    isInferred: constraints.some(({ isInferred }) => isInferred === true),
    title: first("title"),
    texts: unionTexts(constraints, "texts", steps),
    default: first("default"),
    notes: unionTexts(constraints, "notes", steps),
    values: allowed,
    bounds: combineBounds(constraints, "intersection"),
    isInteger: constraints.some(({ isInteger }) => isInteger === true),
    pattern: first("pattern"),
    format: first("format"),
    items: items.length === 0 ? undefined : intersect(items, steps),
    properties: mergeProperties(constraints, intersect, steps),
    required: unionTexts(constraints, "required", steps),
    additional: additional.length === 0 ? undefined : intersect(additional, steps),
  };
}

/** Longer descriptions are truncated anyway. */
const MAX_DESCRIPTION_CHARS = 8_192;

/** Texts that all variants have come first. The others are alternatives, with the value that they are about. */
function mergeTexts(variants: readonly TypeConstraints[]): readonly string[] {
  const [first, ...others] = variants;
  const sets = others.map(({ texts }) => new Set(texts));
  const shared = new Set((first?.texts ?? []).filter((text) => sets.every((texts) => texts.has(text))));
  const isEnumeration = variants.every(({ values }) => values?.length === 1);
  const alternatives = new Set<string>();
  for (const { texts = [], title, values = [] } of variants) {
    const [own = isEnumeration && title !== values[0] ? (title ?? "") : "", ...more] = texts.filter(
      (text) => !shared.has(text),
    );
    const text = more.reduce(appendSentence, own);
    if (text !== "") alternatives.add(isEnumeration ? `${truncateJson(values[0])}: ${text}` : text);
    if (alternatives.size > MAX_COMBINATIONS) break;
  }
  if (alternatives.size === 0) return [...shared];
  const separator = isEnumeration ? "; " : " Or: ";
  const sentences = [...alternatives].map((text) => text.replace(/[.;]$/, ""));
  return [...shared, joinUntil(isEnumeration ? sentences : [...alternatives], separator)];
}

/** A variant that declares properties and does not describe others is about the declared ones. */
function mergeAdditional(variants: readonly TypeConstraints[], steps: StepBudget): TypeModel | undefined {
  if (variants.every(({ additional }) => additional === undefined)) return undefined;
  return union(
    variants.map(({ additional, properties }) => additional ?? (properties === undefined ? ANY : NEVER)),
    steps,
  );
}

/** Joins texts until the limit of a description is reached. */
function joinUntil(texts: readonly string[], separator: string): string {
  let joined = "";
  for (const [index, text] of texts.entries()) {
    if (joined.length > MAX_DESCRIPTION_CHARS) break;
    joined += index === 0 ? text : separator + text;
  }
  return joined;
}

/** A bound of a union applies only if every variant has one. */
function combineBounds(constraints: readonly TypeConstraints[], operation: "union" | "intersection"): Bounds {
  const isUnion = operation === "union";
  const [chooseLower, chooseUpper] = isUnion ? [Math.min, Math.max] : [Math.max, Math.min];
  const combine = (name: Bound, choose: (x: number, y: number) => number): [Bound, number][] => {
    const bounds = constraints.flatMap(({ bounds: own }) => own?.[name] ?? []);
    const applies = isUnion ? bounds.length === constraints.length : bounds.length > 0;
    return applies ? [[name, bounds.reduce((x, y) => choose(x, y))]] : [];
  };
  return Object.fromEntries([
    ...LOWER_BOUNDS.flatMap((name) => combine(name, chooseLower)),
    ...UPPER_BOUNDS.flatMap((name) => combine(name, chooseUpper)),
  ]);
}

function mergeProperties(
  constraints: readonly TypeConstraints[],
  merge: (models: readonly TypeModel[], steps: StepBudget) => TypeModel,
  steps: StepBudget,
): TypeConstraints["properties"] {
  const all = constraints.flatMap(({ properties }) => (properties === undefined ? [] : [properties]));
  if (all.length <= 1) return all[0];
  const models = new Map<string, TypeModel[]>();
  for (const properties of all) {
    steps.spend(properties.size);
    for (const [name, model] of properties) {
      const list = models.get(name);
      if (list === undefined) models.set(name, [model]);
      else list.push(model);
    }
  }
  return new Map(
    [...models].map(([name, [first = ANY, ...others]]) => [
      name,
      others.length === 0 ? first : merge([first, ...others], steps),
    ]),
  );
}

/** Describes which properties belong together after variants were merged. */
function describeCombinations(variants: readonly TypeConstraints[], steps: StepBudget): string | undefined {
  const always = new Set(intersectTexts(variants, "required", steps));
  const alternatives = new Set<string>();
  for (const variant of variants) {
    const names = (variant.required ?? []).slice(0, MAX_COMBINED_NAMES).flatMap((name) => {
      const constant = constValue(variant, name);
      return always.has(name) && constant === undefined ? [] : [`${name}${constant ?? ""}`];
    });
    alternatives.add(names.length === 0 ? "none of these" : names.join(" with "));
    if (alternatives.size > MAX_COMBINATIONS) break;
  }
  if (alternatives.size < 2) return undefined;
  return `Possible combinations: ${joinUntil([...alternatives], "; or ")}.`;
}

/** More of them do not fit into a description. */
const MAX_COMBINATIONS = 200;
const MAX_COMBINED_NAMES = 200;

function constValue(variant: TypeConstraints, name: string): string | undefined {
  const variants = [...(variant.properties?.get(name)?.values() ?? [])].flat();
  const values = variants.length === 1 ? (variants[0]?.values ?? []) : [];
  return values.length === 1 && values[0] !== undefined ? ` ${truncateJson(values[0])}` : undefined;
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function toList<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

type TextList = "texts" | "notes" | "required";

/** Returns the texts that all constraints have, in the order of the first ones. */
function intersectTexts(
  constraints: readonly TypeConstraints[],
  list: TextList,
  steps: StepBudget,
): string[] {
  steps.spend(constraints.reduce((sum, item) => sum + (item[list]?.length ?? 0), 0));
  const [first, ...others] = constraints;
  const sets = others.map((item) => new Set(item[list]));
  return (first?.[list] ?? []).filter((text) => sets.every((texts) => texts.has(text)));
}

function unionTexts(constraints: readonly TypeConstraints[], list: TextList, steps: StepBudget): string[] {
  const texts = constraints.flatMap((item) => item[list] ?? []);
  steps.spend(texts.length);
  return [...new Set(texts)];
}

/** Equal objects may be written differently, so objects are always kept. */
function intersectValues(
  [first = [], ...others]: readonly (readonly unknown[])[],
  steps: StepBudget,
): readonly unknown[] {
  const sets = others.map((values) => new Set(values));
  steps.spend(first.length + others.reduce((sum, values) => sum + values.length, 0));
  return first.filter(
    (value) => (typeof value === "object" && value !== null) || sets.every((values) => values.has(value)),
  );
}

function distinctValues(values: readonly unknown[], steps: StepBudget): readonly unknown[] {
  steps.spend(values.length);
  const seen = new Set<unknown>();
  const seenObjects = new Set<string>();
  return values.filter((value) => {
    const isObject = typeof value === "object" && value !== null;
    const before = seen.size + seenObjects.size;
    if (isObject) seenObjects.add(toCanonicalJson(value, steps));
    else seen.add(value);
    return seen.size + seenObjects.size > before;
  });
}
