import type { JsonObject } from "../json/json.js";
import { toCanonicalJson } from "./schema-hash.js";
import type { StepBudget } from "./step-budget.js";

/** The location of a value: its key in its parent. `undefined` is the location of the whole value. */
export interface ValuePath {
  readonly parent: ValuePath | undefined;
  readonly key: string | number;
}

/** Returns the keys that lead to a value. */
export function toSegments(path: ValuePath | undefined): (string | number)[] {
  const segments: (string | number)[] = [];
  for (let current = path; current !== undefined; current = current.parent) segments.push(current.key);
  return segments.toReversed();
}

/** A keyword that rejects a value. A `false` schema has the keyword `false`. */
export interface ValidationError {
  readonly keyword: string;
  /** The schema with the keyword; for a `false` schema, the one that contains it. */
  readonly schema: JsonObject;
  readonly value: unknown;
  readonly path: ValuePath | undefined;
  /** Of `anyOf` and `oneOf`: the errors of each subschema. Empty for one that accepts the value. */
  readonly branches: readonly (readonly ValidationError[])[];
}

/** Evaluates a schema or one of its keywords. Returns whether the value is valid; adds errors to the context. */
export type Check = (
  value: unknown,
  context: ValidationContext,
  path: ValuePath | undefined,
  evaluated: EvaluatedKeys | undefined,
) => boolean;

/** Compiles a keyword; `undefined` if it has no effect. */
export type CheckCompiler = (
  keywordValue: unknown,
  schema: JsonObject,
  compiler: SchemaCompiler,
) => Check | undefined;

/** What the keywords need to compile their subschemas. */
export interface SchemaCompiler {
  /** Compiles a subschema on first use. `parent` contains it. */
  compile: (schema: unknown, parent: JsonObject) => Check;
  /** Compiles the schema that the `$ref` of a schema points to. */
  compileTarget: (schema: JsonObject) => Check;
  /** Returns whether a string matches a pattern of the schema. */
  matches: (pattern: string, text: string, steps: StepBudget) => boolean;
}

/** Combines checks of the same value. If only the verdict matters, the first that fails ends the evaluation. */
export function requireAll(checks: readonly Check[]): Check {
  return (value, context, path, evaluated) => {
    let isValid = true;
    for (const check of checks) {
      if (check(value, context, path, evaluated)) continue;
      isValid = false;
      if (context.errors === undefined) break;
    }
    return isValid;
  };
}

export type Comparison = (value: number, limit: number) => boolean;
export const isAtLeast: Comparison = (value, limit) => value >= limit;
export const isAtMost: Comparison = (value, limit) => value <= limit;
export const isAbove: Comparison = (value, limit) => value > limit;
export const isBelow: Comparison = (value, limit) => value < limit;

/** Limits the size of values of one type. `getSize` returns `undefined` for other values. */
export function compileSizeLimit(
  keyword: string,
  getSize: (value: unknown, context: ValidationContext) => number | undefined,
  isWithin: Comparison,
): CheckCompiler {
  return (limit, schema) => (value, context, path) => {
    const size = getSize(value, context);
    return size === undefined || isWithin(size, Number(limit)) || context.fail(keyword, schema, value, path);
  };
}

/** Thrown for a value without a JSON type, such as `undefined` or a BigInt. */
export class NotJsonError extends Error {
  override readonly name = "NotJsonError";
}

/** The state of one validation. */
export class ValidationContext {
  readonly steps: StepBudget;
  /** Where errors are added. `undefined` if only the verdict matters: then the first error ends the evaluation. */
  errors: ValidationError[] | undefined;
  #depth = 0;
  #canonicalJson: Map<object, string> | undefined;

  constructor(steps: StepBudget, errors: ValidationError[] | undefined) {
    this.steps = steps;
    this.errors = errors;
  }

  /** Every evaluated schema calls this, and `endSchema` when it is done. */
  beginSchema(): void {
    this.steps.spend(1);
    this.#depth += 1;
    this.steps.assertDepth(this.#depth);
  }

  endSchema(): void {
    this.#depth -= 1;
  }

  /** The path of a property or item. Only errors need it. */
  pathTo(parent: ValuePath | undefined, key: string | number): ValuePath | undefined {
    return this.errors === undefined ? undefined : { parent, key };
  }

  fail(
    keyword: string,
    schema: JsonObject,
    value: unknown,
    path: ValuePath | undefined,
    branches: ValidationError["branches"] = [],
  ): false {
    this.errors?.push({ keyword, schema, value, path, branches });
    return false;
  }

  /** Evaluates a schema whose errors do not matter. */
  isValid(check: Check, value: unknown, evaluated?: EvaluatedKeys): boolean {
    const { errors } = this;
    this.errors = undefined;
    const isValid = check(value, this, undefined, evaluated);
    this.errors = errors;
    return isValid;
  }

  /** Returns the errors of a schema instead of adding them. */
  collectErrors(
    check: Check,
    value: unknown,
    path: ValuePath | undefined,
    evaluated: EvaluatedKeys | undefined,
  ): readonly ValidationError[] {
    const { errors } = this;
    const collected: ValidationError[] = [];
    this.errors = collected;
    check(value, this, path, evaluated);
    this.errors = errors;
    return collected;
  }

  /** Returns the same text for equal objects and arrays. */
  toCanonicalJson(value: object): string {
    this.#canonicalJson ??= new Map();
    const known = this.#canonicalJson.get(value);
    if (known !== undefined) return known;
    const text = toCanonicalJson(value, this.steps);
    this.#canonicalJson.set(value, text);
    return text;
  }
}

/** The properties or items of one value that schemas have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
export type EvaluatedKeys = Set<string | number>;

/** Adds the keys that a subschema has evaluated, if they matter. */
export function addEvaluated(
  keys: EvaluatedKeys | undefined,
  added: EvaluatedKeys | undefined,
  steps: StepBudget,
): void {
  if (keys === undefined || added === undefined) return;
  steps.spend(added.size);
  for (const key of added) keys.add(key);
}
