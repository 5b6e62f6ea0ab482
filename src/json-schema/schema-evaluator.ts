import { isPlainObject, type JsonObject } from "../json/json.js";
import {
  addEvaluated,
  ValidationContext,
  NotJsonError,
  requireAll,
  type Check,
  type SchemaCompiler,
  type ValidationError,
} from "./validation-context.js";
import { KEYWORD_CHECKS } from "./keyword-checks.js";
import type { LinearPatterns } from "./linear-pattern.js";
import { ANNOTATIONS } from "./keywords.js";
import type { SanitizedSchema } from "./sanitize-schema.js";
import type { StepBudget } from "./step-budget.js";

const ACCEPT_ALL: Check = () => true;
const CHECK_ORDER: ReadonlyMap<string, number> = new Map(
  [...KEYWORD_CHECKS.keys()].map((keyword, index) => [keyword, index]),
);

/**
 * Evaluates a sanitized schema of any supported draft. Every schema is compiled on first use. All work is counted,
 * so that no schema and no value can block the process.
 */
export class SchemaEvaluator implements SchemaCompiler {
  readonly #sanitized: SanitizedSchema;
  readonly #patterns: LinearPatterns;
  readonly #ignoresSiblings: boolean;
  readonly #checks = new Map<JsonObject, Check>();
  readonly #root: Check;

  constructor(sanitized: SanitizedSchema, patterns: LinearPatterns) {
    this.#ignoresSiblings = sanitized.draft === "4" || sanitized.draft === "7";
    this.#sanitized = sanitized;
    this.#patterns = patterns;
    this.#root = this.compile(sanitized.schema, {});
  }

  /**
   * @throws StepLimitError
   * @throws NotJsonError
   */
  isValid(value: unknown, steps: StepBudget): boolean {
    return this.#root(value, new ValidationContext(steps, undefined), undefined, undefined);
  }

  /**
   * Adds the errors of a value in the order of the keywords, so that those found before an exception are known.
   *
   * @throws StepLimitError
   * @throws NotJsonError
   */
  collectErrors(value: unknown, steps: StepBudget, errors: ValidationError[]): void {
    this.#root(value, new ValidationContext(steps, errors), undefined, undefined);
  }

  compile(schema: unknown, parent: JsonObject): Check {
    if (schema === false) return (value, context, path) => context.fail("false", parent, value, path);
    return isPlainObject(schema) ? this.#compileObject(schema) : ACCEPT_ALL;
  }

  compileTarget(schema: JsonObject): Check {
    return this.compile(this.#sanitized.targets.get(schema), schema);
  }

  matches(pattern: string, text: string, steps: StepBudget): boolean {
    return this.#patterns.get(pattern)?.test(text, steps) !== false;
  }

  /** A schema that only refers to another one is not evaluated itself, however long the chain of references is. */
  #compileObject(schema: JsonObject): Check {
    const chain: JsonObject[] = [];
    let current: unknown = schema;
    while (isPlainObject(current) && !this.#checks.has(current)) {
      chain.push(current);
      if (!this.#isAlias(current)) break;
      current = this.#sanitized.targets.get(current);
    }
    const last = chain.at(-1) ?? {};
    const known = isPlainObject(current) ? this.#checks.get(current) : this.compile(current, last);
    const check = known ?? this.#createCheck(last);
    for (const alias of chain) this.#checks.set(alias, check);
    return check;
  }

  #isAlias(schema: JsonObject): boolean {
    if (!this.#sanitized.targets.has(schema)) return false;
    return (
      this.#ignoresSiblings ||
      Object.keys(schema).every(
        (keyword) => keyword === "$ref" || (ANNOTATIONS.has(keyword) && keyword !== "const"),
      )
    );
  }

  #createCheck(schema: JsonObject): Check {
    const isTracking =
      Object.hasOwn(schema, "unevaluatedProperties") || Object.hasOwn(schema, "unevaluatedItems");
    let checkKeywords: Check | undefined;
    return (value, context, path, outer) => {
      context.beginSchema();
      if (!isJson(value)) throw new NotJsonError(`a ${typeof value} is not JSON`);
      checkKeywords ??= this.#compileKeywords(schema);
      const evaluated = isTracking ? new Set<string | number>() : outer;
      const isValid = checkKeywords(value, context, path, evaluated);
      if (isTracking) addEvaluated(outer, evaluated, context.steps);
      context.endSchema();
      return isValid;
    };
  }

  #compileKeywords(schema: JsonObject): Check {
    const checks = Object.keys(schema)
      .filter((keyword) => CHECK_ORDER.has(keyword))
      .toSorted((a, b) => (CHECK_ORDER.get(a) ?? 0) - (CHECK_ORDER.get(b) ?? 0))
      .flatMap((keyword) => KEYWORD_CHECKS.get(keyword)?.(schema[keyword], schema, this) ?? []);
    return requireAll(checks);
  }
}

function isJson(value: unknown): boolean {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object";
}
