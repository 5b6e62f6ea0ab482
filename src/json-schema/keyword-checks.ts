import { type JsonObject, toArray } from "../json/json.js";
import {
  addEvaluated,
  compileSizeLimit,
  isAbove,
  isAtLeast,
  isAtMost,
  isBelow,
  requireAll,
  type Check,
  type CheckCompiler,
  type Comparison,
  type ValidationContext,
  type SchemaCompiler,
} from "./validation-context.js";
import { isObject, OBJECT_CHECKS } from "./object-keyword-checks.js";
import { toCanonicalJson } from "./schema-hash.js";
import { countTextSteps } from "./step-budget.js";

/** The work of a step that does not evaluate a schema. */
const DIVISION_STEPS = 20;

/** The keywords that are evaluated. Their errors are reported in this order. */
export const KEYWORD_CHECKS: ReadonlyMap<string, CheckCompiler> = new Map<string, CheckCompiler>([
  ["$ref", (_, schema, compiler) => compiler.compileTarget(schema)],
  ["type", compileType],
  ["const", (value, schema) => compileValues("const", [value], schema)],
  ["enum", (values, schema) => compileValues("enum", toArray(values), schema)],
  ["not", compileNot],
  ["anyOf", (subschemas, schema, compiler) => compileUnion("anyOf", subschemas, schema, compiler)],
  ["allOf", (subschemas, schema, compiler) => requireAll(compileEach(subschemas, schema, compiler))],
  ["oneOf", (subschemas, schema, compiler) => compileUnion("oneOf", subschemas, schema, compiler)],
  ["if", compileCondition],
  ...OBJECT_CHECKS,
  ["maxItems", compileSizeLimit("maxItems", itemCount, isAtMost)],
  ["minItems", compileSizeLimit("minItems", itemCount, isAtLeast)],
  [
    "prefixItems",
    (tuple, schema, compiler) => evaluateItems({ tuple: compileEach(tuple, schema, compiler) }),
  ],
  ["items", compileItems],
  ["contains", compileContains],
  [
    "unevaluatedItems",
    (subschema, schema, compiler) =>
      evaluateItems({ rest: compiler.compile(subschema, schema), isUnevaluatedOnly: true }),
  ],
  ["uniqueItems", compileUniqueItems],
  ["minimum", compileNumberLimit("minimum", isAtLeast)],
  ["maximum", compileNumberLimit("maximum", isAtMost)],
  ["exclusiveMinimum", compileNumberLimit("exclusiveMinimum", isAbove)],
  ["exclusiveMaximum", compileNumberLimit("exclusiveMaximum", isBelow)],
  ["multipleOf", compileMultipleOf],
  ["minLength", compileSizeLimit("minLength", characterCount, isAtLeast)],
  ["maxLength", compileSizeLimit("maxLength", characterCount, isAtMost)],
  ["pattern", compilePattern],
]);

const TYPE_PREDICATES: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map<
  unknown,
  (value: unknown) => boolean
>([
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  // A number beyond the range of doubles was parsed as infinite.
  ["integer", (value) => Number.isInteger(value) || value === Infinity || value === -Infinity],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isObject],
]);

function compileType(type: unknown, schema: JsonObject): Check {
  const [first, ...others] = [type].flat().flatMap((name) => TYPE_PREDICATES.get(name) ?? []);
  const isExpected =
    first === undefined || others.length === 0
      ? first
      : (value: unknown) => first(value) || others.some((predicate) => predicate(value));
  return (value, context, path) => isExpected?.(value) !== false || context.fail("type", schema, value, path);
}

function compileValues(keyword: string, values: readonly unknown[], schema: JsonObject): Check {
  const [only] = values;
  if (values.length === 1 && !(typeof only === "object" && only !== null))
    return (value, context, path) => value === only || context.fail(keyword, schema, value, path);
  const plain = new Set(values.filter((value) => typeof value !== "object" || value === null));
  const objects = values.filter((value) => typeof value === "object" && value !== null);
  const canonical = new Set(objects.map((value) => toCanonicalJson(value)));
  return (value, context, path) => {
    const isListed =
      typeof value === "object" && value !== null
        ? canonical.size > 0 && canonical.has(context.toCanonicalJson(value))
        : plain.has(value);
    return isListed || context.fail(keyword, schema, value, path);
  };
}

function compileEach(subschemas: unknown, schema: JsonObject, compiler: SchemaCompiler): Check[] {
  return toArray(subschemas).map((subschema) => compiler.compile(subschema, schema));
}

function compileNot(subschema: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const check = compiler.compile(subschema, schema);
  return (value, context, path) => !context.isValid(check, value) || context.fail("not", schema, value, path);
}

function compileUnion(
  keyword: "anyOf" | "oneOf",
  subschemas: unknown,
  schema: JsonObject,
  compiler: SchemaCompiler,
): Check {
  const checks = compileEach(subschemas, schema, compiler);
  const decisive = keyword === "anyOf" ? 1 : 2;
  return (value, context, path, evaluated) => {
    let matches = 0;
    if (context.errors === undefined && evaluated === undefined) {
      for (const check of checks) if (check(value, context, path, undefined) && ++matches === decisive) break;
      return matches === 1;
    }
    // All subschemas are evaluated, because their errors or what they have evaluated matters.
    const branches = checks.map((check) => {
      const branchKeys = evaluated && new Set<string | number>();
      const errors = context.collectErrors(check, value, path, branchKeys);
      if (errors.length > 0) return errors;
      matches += 1;
      addEvaluated(evaluated, branchKeys, context.steps);
      return errors;
    });
    const isValid = keyword === "anyOf" ? matches > 0 : matches === 1;
    return isValid || context.fail(keyword, schema, value, path, branches);
  };
}

function compileCondition(condition: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const check = compiler.compile(condition, schema);
  const [thenCheck, elseCheck] = [schema["then"] ?? true, schema["else"] ?? true].map((subschema) =>
    compiler.compile(subschema, schema),
  );
  return (value, context, path, evaluated) => {
    const conditionKeys = evaluated && new Set<string | number>();
    const isMet = context.isValid(check, value, conditionKeys);
    if (isMet) addEvaluated(evaluated, conditionKeys, context.steps);
    const branch = isMet ? thenCheck : elseCheck;
    return branch === undefined || branch(value, context, path, evaluated);
  };
}

function itemCount(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function characterCount(value: unknown, { steps }: ValidationContext): number | undefined {
  if (typeof value !== "string") return undefined;
  steps.spend(countTextSteps(value));
  return countCharacters(value);
}

/** Counts code points without creating an array of them. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const isPair = isSurrogate(text, index, 0xd800) && isSurrogate(text, index + 1, 0xdc00);
    if (isPair) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}

function isSurrogate(text: string, index: number, start: 0xd800 | 0xdc00): boolean {
  return (text.charCodeAt(index) & 0xfc00) === start;
}

interface ItemChecks {
  /** The checks of the first items. */
  readonly tuple?: readonly Check[];
  /** The check of the items after the tuple. */
  readonly rest?: Check | undefined;
  /** The first item to evaluate. */
  readonly start?: number;
  /** Skip the items that another keyword has evaluated. */
  readonly isUnevaluatedOnly?: boolean;
}

function evaluateItems({ tuple = [], rest, start = 0, isUnevaluatedOnly = false }: ItemChecks): Check {
  return (value, context, path, evaluated) => {
    if (!Array.isArray(value)) return true;
    let isValid = true;
    const end = rest === undefined ? Math.min(tuple.length, value.length) : value.length;
    for (let index = start; index < end; index += 1) {
      if (isUnevaluatedOnly && evaluated?.has(index) === true) continue;
      evaluated?.add(index);
      const check = tuple[index] ?? rest;
      if (check?.(value[index], context, context.pathTo(path, index), undefined) !== false) continue;
      isValid = false;
      if (context.errors === undefined) break;
    }
    return isValid;
  };
}

/** In older drafts `items` can be a tuple, and `additionalItems` is for the items after it. */
function compileItems(items: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const { prefixItems, additionalItems } = schema;
  const start = toArray(prefixItems).length;
  if (!Array.isArray(items)) return evaluateItems({ rest: compiler.compile(items, schema), start });
  const rest = additionalItems === undefined ? undefined : compiler.compile(additionalItems, schema);
  return evaluateItems({ tuple: compileEach(items, schema, compiler), rest, start });
}

function compileContains(subschema: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const check = compiler.compile(subschema, schema);
  const { minContains, maxContains } = schema;
  const min = typeof minContains === "number" ? minContains : 1;
  const max = typeof maxContains === "number" ? maxContains : Number.POSITIVE_INFINITY;
  return (value, context, path, evaluated) => {
    if (!Array.isArray(value)) return true;
    let count = 0;
    for (const [index, item] of value.entries()) {
      if (!context.isValid(check, item)) continue;
      count += 1;
      evaluated?.add(index);
      // Only what `maxContains` and `unevaluatedItems` need.
      if (count >= min && maxContains === undefined && evaluated === undefined) break;
    }
    if (count < min)
      return context.fail(minContains === undefined ? "contains" : "minContains", schema, value, path);
    return count <= max || context.fail("maxContains", schema, value, path);
  };
}

/** Compares texts instead of pairs of items, of which there are 200 million for 20,000 items. */
function compileUniqueItems(isRequired: unknown, schema: JsonObject): Check | undefined {
  if (isRequired !== true) return undefined;
  return (value, context, path) => {
    if (!Array.isArray(value)) return true;
    const plain = new Set<unknown>();
    const objects = new Set<string>();
    for (const item of value) {
      if (typeof item === "object" && item !== null) objects.add(context.toCanonicalJson(item));
      else plain.add(item);
    }
    context.steps.spend(value.length);
    return plain.size + objects.size === value.length || context.fail("uniqueItems", schema, value, path);
  };
}

function compileNumberLimit(keyword: string, isWithin: Comparison): CheckCompiler {
  return (limit, schema) => (value, context, path) =>
    typeof value !== "number" ||
    isWithin(value, limit as number) ||
    context.fail(keyword, schema, value, path);
}

function compileMultipleOf(divisor: unknown, schema: JsonObject): Check {
  return (value, context, path) => {
    if (typeof value !== "number") return true;
    context.steps.spend(DIVISION_STEPS);
    return isMultipleOf(value, Number(divisor)) || context.fail("multipleOf", schema, value, path);
  };
}

/** Exact, as written: 0.3 is a multiple of 0.1. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  if (!Number.isFinite(value)) return false;
  const [dividend, dividendExponent] = toDecimal(value);
  const [coefficient, exponent] = toDecimal(divisor);
  const difference = dividendExponent - exponent;
  const scale = 10n ** BigInt(Math.abs(difference));
  return difference >= 0 ? (dividend * scale) % coefficient === 0n : dividend % (coefficient * scale) === 0n;
}

/** Returns a number as a whole coefficient and a power of ten. */
function toDecimal(value: number): [coefficient: bigint, exponent: number] {
  const [digits = "0", exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole = "0", fraction = ""] = digits.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function compilePattern(pattern: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const source = pattern as string;
  return (value, context, path) =>
    typeof value !== "string" ||
    compiler.matches(source, value, context.steps) ||
    context.fail("pattern", schema, value, path);
}
