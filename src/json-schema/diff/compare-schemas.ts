import {
  findLargest,
  isDeepEqual,
  isStringArray,
  type JsonObject,
  toArray,
  toObject,
} from "../../json/json.js";
import { isMultipleOf } from "../keyword-checks.js";
import { keywordType } from "../keywords.js";
import { isBreaking, limitChanges, type ParameterChange, prefixChanges } from "./parameter-change.js";
import {
  areDisjoint,
  COMPARED_WITH_OTHERS,
  isInsignificant,
  isReferencedOnly,
  SchemaDocument,
  SchemaEquality,
  TYPE_SCHEMAS,
} from "./schema-document.js";
import { toCanonicalJson } from "../schema-hash.js";
import { countEntries, StepBudget, tryWithinBudget } from "../step-budget.js";

const NARROWED: readonly ParameterChange[] = [{ parameter: "", what: "type" }];
const CHANGED: readonly ParameterChange[] = [{ parameter: "", what: "changed" }];
const MAX_DEPTH = 100;
const STEPS_PER_COMPARISON = 20;

type Conjuncts = readonly JsonObject[];
/** Whether a keyword of a new schema accepts every value that the old conjuncts accept. */
type KeywordRule = (old: Conjuncts, schema: JsonObject, value: unknown) => boolean;

interface OpenComparison {
  readonly index: number;
  readonly level: number;
}

/**
 * Decides whether a new schema accepts every value that the old one accepts, by comparing keywords: each one of the
 * new schema must follow from what is known about the old one.
 *
 * A recursive schema leads to comparisons that are still open. Below a property or an item they are assumed to hold,
 * because the value is smaller there; for the same value they are not.
 */
class SchemaComparison {
  readonly #roots: readonly [JsonObject, JsonObject];
  readonly #old: SchemaDocument;
  readonly #new: SchemaDocument;
  /** The new document, read like an old one: what its `not` and `oneOf` exclude may be too much, never too little. */
  readonly #excluded: SchemaDocument;
  readonly #steps: StepBudget;
  readonly #ids = new Map<object, number>();
  readonly #results = new Map<string, readonly ParameterChange[]>();
  readonly #open = new Map<string, OpenComparison>();
  readonly #exact: SchemaEquality;
  readonly #significant: SchemaEquality;
  /** How many properties and items lead to the current value. */
  #level = 0;
  /** The outermost open comparison that the current one relies on. */
  #assumed = Infinity;

  constructor(oldRoot: JsonObject, newRoot: JsonObject, steps: StepBudget) {
    this.#roots = [oldRoot, newRoot];
    this.#steps = steps;
    this.#old = new SchemaDocument(oldRoot, "old", steps);
    this.#new = new SchemaDocument(newRoot, "new", steps);
    this.#excluded = new SchemaDocument(newRoot, "old", steps);
    this.#exact = new SchemaEquality(this.#old, this.#new, steps, isReferencedOnly);
    this.#significant = new SchemaEquality(this.#old, this.#new, steps, isInsignificant);
  }

  run(): readonly ParameterChange[] {
    const [oldRoot, newRoot] = this.#roots;
    return tryWithinBudget(() => this.#compare(this.#old.flatten([oldRoot]), newRoot)) ?? NARROWED;
  }

  #accepts(old: Conjuncts, now: unknown): boolean {
    return !isBreaking(this.#compare(old, now));
  }

  /** Like `#accepts`, for the value of a property or an item. */
  #acceptsInner(schemas: readonly unknown[], now: unknown): boolean {
    return !isBreaking(this.#compareInner(schemas, now));
  }

  #compareInner(schemas: readonly unknown[], now: unknown): readonly ParameterChange[] {
    const [only = true] = schemas;
    if (schemas.length <= 1 && this.#exact.isSame(only, now)) return [];
    this.#level += 1;
    try {
      const changes = this.#compare(this.#old.flatten(schemas), now);
      return changes.length === 0 ? CHANGED : changes;
    } finally {
      this.#level -= 1;
    }
  }

  /** Returns the changes between the old conjuncts and a new schema for the same value, with relative paths. */
  #compare(old: Conjuncts, now: unknown): readonly ParameterChange[] {
    const conjuncts = this.#new.flatten([now]);
    if (this.#old.typesOf(old).size === 0) return [];
    const key = `${this.#identify(old)}|${this.#identify(conjuncts)}`;
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const open = this.#open.get(key);
    if (open !== undefined) {
      if (open.level === this.#level) return NARROWED;
      this.#assumed = Math.min(this.#assumed, open.index);
      return [];
    }
    const index = this.#open.size;
    if (index > MAX_DEPTH)
      return conjuncts.every((schema) => this.#hasSame(old, schema)) ? CHANGED : NARROWED;
    const outerAssumed = this.#assumed;
    this.#assumed = Infinity;
    this.#open.set(key, { index, level: this.#level });
    try {
      const changes = limitChanges(this.#compareConjuncts(old, conjuncts));
      if (this.#assumed >= index) this.#results.set(key, changes);
      return changes;
    } finally {
      this.#open.delete(key);
      this.#assumed = Math.min(outerAssumed, this.#assumed >= index ? Infinity : this.#assumed);
    }
  }

  #identify(schemas: Conjuncts): string {
    this.#steps.spend(STEPS_PER_COMPARISON * (1 + schemas.length));
    const ids = schemas.map((schema) => {
      const id = this.#ids.get(schema) ?? this.#ids.size;
      this.#ids.set(schema, id);
      return id;
    });
    return ids.toSorted((a, b) => a - b).join();
  }

  #compareConjuncts(old: Conjuncts, conjuncts: Conjuncts): readonly ParameterChange[] {
    const types = this.#old.typesOf(old);
    const changes = types.has("object") ? this.#compareProperties(old, conjuncts) : [];
    if (old.some(isNullable) && !conjuncts.some(isNullable) && !this.#new.typesOf(conjuncts).has("null"))
      return [...changes, ...NARROWED];
    for (const schema of conjuncts) {
      this.#steps.spend(1 + countEntries(schema));
      if (isBreaking(changes)) return changes;
      if (types.has("array")) for (const change of this.#compareItems(old, schema)) changes.push(change);
      if (!isBreaking(changes) && !this.#acceptsKeywords(old, schema, types))
        return [...changes, ...NARROWED];
    }
    return changes;
  }

  #acceptsKeywords(old: Conjuncts, schema: JsonObject, types: ReadonlySet<string>): boolean {
    if (this.#hasSame(old, schema)) return true;
    return Object.keys(schema).every((keyword) => {
      const value = schema[keyword];
      if (value === undefined || isInsignificant(keyword) || COMPARED_WITH_OTHERS.has(keyword)) return true;
      const type = keywordType(keyword);
      const isNumeric = type === "number" && types.has("integer");
      if (type !== undefined && !types.has(type) && !isNumeric) return true;
      if (!this.#new.isWellFormed(keyword, value)) return false;
      // Servers choose the names of keywords: `constructor` is not a rule.
      const rule = Object.hasOwn(this.#rules, keyword) ? this.#rules[keyword] : undefined;
      if (rule !== undefined) return rule(old, schema, value);
      return old.some((candidate) => this.#significant.isSame(candidate[keyword], value, "data"));
    });
  }

  #hasSame(old: Conjuncts, schema: JsonObject): boolean {
    return old.some((candidate) => this.#significant.isSame(candidate, schema));
  }

  #compareProperties(old: Conjuncts, conjuncts: Conjuncts): ParameterChange[] {
    const [declared, declaredNow] = [this.#old.namesOf(old), this.#new.namesOf(conjuncts)];
    const [required, requiredNow] = [this.#old.requiredBy(old), this.#new.requiredBy(conjuncts)];
    const names = [...new Set([...declared, ...declaredNow, ...requiredNow])].toSorted();
    return names.flatMap((name): ParameterChange[] => {
      if (requiredNow.has(name) && !required.has(name)) return [{ parameter: name, what: "required" }];
      if (!declaredNow.has(name)) return declared.has(name) ? [{ parameter: name, what: "removed" }] : [];
      const isNew = !declared.has(name);
      if (isNew && this.#isFree(old, declared, name)) return [{ parameter: name, what: "added" }];
      const changes = this.#compareProperty(old, conjuncts, name);
      if (isNew) return [{ parameter: name, what: isBreaking(changes) ? "type" : "added" }];
      return prefixChanges(name, changes);
    });
  }

  /** Whether calls did not use an undeclared property. Objects without any properties are maps, except at the top. */
  #isFree(old: Conjuncts, declared: ReadonlySet<string>, name: string): boolean {
    return (this.#level === 0 || declared.size > 0) && this.#old.isUndeclared(old, name);
  }

  #compareProperty(old: Conjuncts, conjuncts: Conjuncts, name: string): readonly ParameterChange[] {
    if (this.#steps.isExceeded) return NARROWED;
    const changes = tryWithinBudget(() => {
      this.#steps.spend(old.length + conjuncts.length);
      const before = this.#old.valueOf(old, name);
      const schemas = conjuncts.flatMap((schema) => {
        const properties = this.#new.propertiesOf(schema);
        return Object.hasOwn(properties, name) ? [properties[name]] : [];
      });
      const significant = before.filter((schema) => schema !== true);
      return schemas.flatMap((schema) => this.#compareInner(significant, schema));
    });
    return changes ?? NARROWED;
  }

  #compareItems(old: Conjuncts, schema: JsonObject): ParameterChange[] {
    const now = this.#new.itemsOf(schema);
    if (now.tuple.length === 0 && now.rest === true) return [];
    const before = old.map((candidate) => this.#old.itemsOf(candidate));
    const length = Math.max(now.tuple.length, findLargest(before.map(({ tuple }) => tuple.length)));
    const changes: ParameterChange[] = [];
    for (let index = 0; index <= length; index += 1) {
      this.#steps.spend(old.length);
      const schemas = before.map(({ tuple, rest }) => (index < tuple.length ? tuple[index] : rest));
      const schemaNow = index < now.tuple.length ? now.tuple[index] : now.rest;
      const inner = this.#compareInner(
        schemas.filter((item) => item !== true),
        schemaNow,
      );
      const prefixed = prefixChanges(index < length ? `[${index}]` : "[]", inner);
      for (const change of prefixed) changes.push(change);
    }
    return changes;
  }

  readonly #rules: Readonly<Record<string, KeywordRule>> = {
    type: (old, _, value) => {
      const types = this.#new.typesOf([{ type: value }]);
      return [...this.#old.typesOf(old)].every((type) => types.has(type));
    },
    const: (old, _, value) => this.#hasOnlyValues(old, [value]),
    enum: (old, _, value) => this.#hasOnlyValues(old, toArray(value)),
    nullable: () => true,
    minimum: (old, schema) => this.#isBounded(old, schema, "minimum"),
    exclusiveMinimum: (old, schema) => this.#isBounded(old, schema, "minimum"),
    maximum: (old, schema) => this.#isBounded(old, schema, "maximum"),
    exclusiveMaximum: (old, schema) => this.#isBounded(old, schema, "maximum"),
    multipleOf: (old, _, value) =>
      old.some((candidate) => {
        const divisor = this.#old.read(candidate, "multipleOf");
        return typeof divisor === "number" && isMultipleOf(divisor, Number(value));
      }),
    minLength: (old, _, value) => this.#isAtLeast(old, "minLength", value),
    minItems: (old, _, value) => this.#isAtLeast(old, "minItems", value),
    minProperties: (old, _, value) => this.#isAtLeast(old, "minProperties", value),
    maxLength: (old, _, value) => this.#isAtMost(old, "maxLength", value),
    maxItems: (old, _, value) => this.#isAtMost(old, "maxItems", value),
    maxProperties: (old, _, value) => this.#isAtMost(old, "maxProperties", value),
    uniqueItems: (old, _, value) =>
      value === false || old.some((candidate) => candidate["uniqueItems"] === true),
    required: () => true,
    propertyNames: (old, _, value) => {
      const names = old.map((candidate) => this.#old.read(candidate, "propertyNames") ?? true);
      return this.#acceptsInner([TYPE_SCHEMAS.get("string"), ...names], value);
    },
    patternProperties: (old, _, value) =>
      Object.entries(toObject(value)).every(([pattern, schema]) => {
        const schemas = old.flatMap((candidate) => {
          const patterns = toObject(candidate["patternProperties"]);
          return Object.hasOwn(patterns, pattern) ? [patterns[pattern]] : [];
        });
        return this.#acceptsInner(schemas, schema);
      }),
    additionalProperties: (old, schema, value) => this.#acceptsAdditional(old, schema, value),
    unevaluatedProperties: (old, schema, value) =>
      this.#acceptsInner([], value) ||
      (schema["additionalProperties"] === undefined &&
        this.#new.additionalOf(schema) === value &&
        this.#acceptsAdditional(old, schema, value)),
    unevaluatedItems: (_, __, value) => this.#acceptsInner([], value),
    dependentRequired: (old, _, value) => this.#acceptsDependencies(old, value),
    dependentSchemas: (old, _, value) => this.#acceptsDependencies(old, value),
    dependencies: (old, _, value) => this.#acceptsDependencies(old, value),
    items: (_, { prefixItems }, value) => !Array.isArray(value) || prefixItems === undefined,
    contains: (old, schema, value) => this.#acceptsContains(old, schema, value),
    anyOf: (old, _, value) => this.#isCovered(old, toArray(value)),
    oneOf: (old, _, value) => this.#acceptsOneOf(old, toArray(value)),
    not: (old, _, value) =>
      old.some((candidate) => this.#significant.isSame(candidate["not"], value)) ||
      areDisjoint([this.#old, old], [this.#excluded, this.#excluded.flatten([value])], this.#steps),
    if: (old, schema, value) => this.#acceptsCondition(old, schema, value),
    $ref: (old, schema, value) =>
      this.#new.get(schema) !== undefined ||
      (this.#new.isDangling(value as string) && old.some((candidate) => candidate["$ref"] === value)),
    $dynamicRef: () => false,
    $recursiveRef: () => false,
  };

  #hasOnlyValues(old: Conjuncts, listed: readonly unknown[]): boolean {
    const accepted = new Set(this.#toTexts(listed));
    return old.some((candidate) => {
      const values = this.#old.listValues(candidate);
      return values !== undefined && this.#toTexts(values).every((text) => accepted.has(text));
    });
  }

  #toTexts(values: readonly unknown[]): string[] {
    return values.map((value) => toCanonicalJson(value, this.#steps));
  }

  #isBounded(old: Conjuncts, schema: JsonObject, side: "minimum" | "maximum"): boolean {
    const sign = side === "minimum" ? 1 : -1;
    const bounds = old.flatMap((candidate) => this.#old.boundsOf(candidate, side));
    return this.#new.boundsOf(schema, side).every((limit) =>
      bounds.some(({ value, isExclusive }) => {
        if (value !== limit.value) return sign * value > sign * limit.value;
        return isExclusive || !limit.isExclusive;
      }),
    );
  }

  #isAtLeast(old: Conjuncts, keyword: string, value: unknown): boolean {
    if (value === 0) return true;
    return old.some((candidate) => Number(this.#old.read(candidate, keyword) ?? Number.NaN) >= Number(value));
  }

  #isAtMost(old: Conjuncts, keyword: string, value: unknown): boolean {
    return old.some((candidate) => Number(this.#old.read(candidate, keyword) ?? Number.NaN) <= Number(value));
  }

  #acceptsAdditional(old: Conjuncts, schema: JsonObject, additional: unknown): boolean {
    if (this.#acceptsInner([], additional)) return true;
    const declared = this.#new.propertiesOf(schema);
    const patterns = toObject(schema["patternProperties"]);
    const others = [...this.#old.namesOf(old)].filter((name) => !Object.hasOwn(declared, name));
    return (
      others.every((name) => this.#acceptsInner(this.#old.valueOf(old, name), additional)) &&
      old.some((candidate) => {
        const before = this.#old.additionalOf(candidate);
        this.#steps.spend(1 + countEntries(candidate));
        const isCovered = Object.keys(toObject(candidate["patternProperties"])).every((pattern) =>
          Object.hasOwn(patterns, pattern),
        );
        return before !== undefined && isCovered && this.#acceptsInner([before], additional);
      })
    );
  }

  #acceptsDependencies(old: Conjuncts, value: unknown): boolean {
    const names = this.#old.namesOf(old);
    return Object.entries(toObject(value)).every(([trigger, dependency]) => {
      this.#steps.spend(old.length);
      if (!names.has(trigger) && this.#isFree(old, names, trigger)) return true;
      const before = old.flatMap(({ dependentRequired, dependentSchemas, dependencies }) =>
        [dependentRequired, dependentSchemas, dependencies].flatMap((map) => {
          const dependent = toObject(map)[trigger];
          return Object.hasOwn(toObject(map), trigger)
            ? [isStringArray(dependent) ? { required: dependent } : dependent]
            : [];
        }),
      );
      const now = isStringArray(dependency) ? { required: dependency } : dependency;
      return this.#accepts(this.#old.flatten([...old, { required: [trigger] }, ...before]), now);
    });
  }

  /** Draft 7 has no `minContains`: a new `contains` is a constraint even with a minimum of 0. */
  #acceptsContains(old: Conjuncts, schema: JsonObject, value: unknown): boolean {
    const [min, max] = [this.#new.read(schema, "minContains") ?? 1, this.#new.read(schema, "maxContains")];
    return old.some((candidate) => {
      const before = this.#old.read(candidate, "contains");
      if (before === undefined) return false;
      const oldMin = this.#old.read(candidate, "minContains") ?? 1;
      const oldMax = this.#old.read(candidate, "maxContains") ?? Infinity;
      if (Number(oldMin) < Number(min) || Number(oldMax) > Number(max ?? Infinity)) return false;
      return (
        this.#significant.isSame(before, value) || (max === undefined && this.#acceptsInner([before], value))
      );
    });
  }

  #acceptsCondition(old: Conjuncts, schema: JsonObject, condition: unknown): boolean {
    const [thenNow, elseNow] = [schema["then"] ?? true, schema["else"] ?? true];
    const isAccepted = (onThen: unknown, onElse: unknown) =>
      this.#accepts(this.#old.flatten([...old, onThen]), thenNow) &&
      this.#accepts(this.#old.flatten([...old, onElse]), elseNow);
    const same = old.find((candidate) => this.#significant.isSame(candidate["if"], condition));
    return isAccepted(same?.["then"] ?? true, same?.["else"] ?? true);
  }

  #acceptsOneOf(old: Conjuncts, branches: readonly unknown[]): boolean {
    const isSameUnion = old.some(({ oneOf }) => {
      const rest = [...toArray(oneOf)];
      return (
        rest.length === branches.length &&
        branches.every((branch) => {
          const index = rest.findIndex((candidate) => this.#significant.isSame(candidate, branch));
          if (index !== -1) rest.splice(index, 1);
          return index !== -1;
        })
      );
    });
    if (isSameUnion) return true;
    const schemas = branches.map((branch) => [this.#excluded, this.#excluded.flatten([branch])] as const);
    const isExclusive = schemas.every((branch, index) =>
      schemas.slice(index + 1).every((other) => areDisjoint(branch, other, this.#steps)),
    );
    return isExclusive && this.#isCovered(old, branches);
  }

  /** Whether every value is accepted by one of the branches, found by splitting the old schema into cases. */
  #isCovered(old: Conjuncts, branches: readonly unknown[], used: ReadonlySet<unknown> = new Set()): boolean {
    if (branches.some((branch) => this.#accepts(old, branch))) return true;
    const unions = old.flatMap((schema) => this.#old.unionsOf(schema));
    const union = unions.find((cases) => !used.has(cases));
    const nowUsed = union === undefined ? used : new Set([...used, union]);
    const cases = union ?? this.#splitTypes(old) ?? this.#splitValues(old) ?? [];
    return (
      cases.length > 0 &&
      cases.every((schema) => this.#isCovered(this.#old.flatten([...old, schema]), branches, nowUsed))
    );
  }

  #splitTypes(old: Conjuncts): readonly unknown[] | undefined {
    const types = [...this.#old.typesOf(old)];
    const jsonTypes = types.filter((type) => type !== "integer" || !types.includes("number"));
    return jsonTypes.length < 2 ? undefined : jsonTypes.map((type) => TYPE_SCHEMAS.get(type));
  }

  #splitValues(old: Conjuncts): readonly unknown[] | undefined {
    const lists = old.flatMap((schema) => {
      const values = this.#old.listValues(schema);
      return values === undefined ? [] : [values];
    });
    const isSplit = lists.length === 0 || lists.some(({ length }) => length === 1);
    return isSplit ? undefined : lists[0]?.map((value) => ({ const: value }));
  }
}

function isNullable(schema: JsonObject): boolean {
  return schema["nullable"] === true;
}

/**
 * `additive`: every call that was valid is still valid, unless it used a parameter that was not declared then. What
 * cannot be decided is `breaking`.
 */
type ChangeSeverity = "none" | "additive" | "breaking";

/** The difference between two versions of a schema. */
export interface SchemaChange {
  readonly severity: ChangeSeverity;
  readonly parameters: readonly ParameterChange[];
}

/**
 * Bounds the work for large and recursive schemas, to about 30 ms more than a plain schema for documents of 1 MB; parameters
 * beyond it are reported as `type`.
 */
export const MAX_COMPARISON_STEPS = 50_000;

/** Compares the parameters of two versions of a tool. Ignores the order of keys. */
export function compareSchemas(
  before: JsonObject,
  now: JsonObject,
  steps = new StepBudget(MAX_COMPARISON_STEPS),
): SchemaChange {
  if (isDeepEqual(before, now)) return { severity: "none", parameters: [] };
  const parameters = new SchemaComparison(before, now, steps).run();
  return { severity: isBreaking(parameters) ? "breaking" : "additive", parameters };
}
