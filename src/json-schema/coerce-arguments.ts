import { formatPath } from "../json/describe-value.js";
import { isPlainObject, type JsonObject, setOwnProperty } from "../json/json.js";
import { toSegments, type ValidationError } from "./validation-context.js";
import { jsonTypeOf } from "./read-type-model.js";
import type { SchemaValidator } from "./schema-validator.js";

/** A string that was converted to the type that the schema expects. */
interface Coercion {
  /** `items[2].price`. */
  readonly path: string;
  readonly segments: readonly (string | number)[];
  readonly value: unknown;
}

interface CoercedArguments {
  readonly args: JsonObject;
  readonly changes: readonly Coercion[];
}

/** The work that is left. */
interface CoercionBudget {
  attempts: number;
  steps: number;
}

/** A JSON string may contain strings again. */
const MAX_ROUNDS = 4;
/** Each attempt is a validation. */
const MAX_ATTEMPTS = 20;
/** The number of steps of all validations together, after which no further one is started. */
const MAX_STEPS = 100_000;
const MAX_JSON_CHARS = 100_000;

/**
 * Converts strings in place of numbers, booleans, objects and arrays, where the schema rejects the string and accepts
 * the type of what it contains. Returns the same object if there are none.
 */
export function coerceArguments(validator: SchemaValidator, args: JsonObject): CoercedArguments {
  const budget = { attempts: MAX_ATTEMPTS, steps: MAX_STEPS };
  let current: CoercedArguments = { args, changes: [] };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = coerceOnce(validator, current, budget);
    if (next === undefined) break;
    current = next;
  }
  return current;
}

function coerceOnce(
  validator: SchemaValidator,
  current: CoercedArguments,
  budget: CoercionBudget,
): CoercedArguments | undefined {
  const errors = findErrors(validator, current.args, budget) ?? [];
  const certain = errors.flatMap(toCoercion);
  if (certain.length > 0) return applyCoercions(current, certain);
  for (const branch of errors.flatMap(({ branches }) => branches)) {
    const possible = flattenErrors(branch).flatMap(toCoercion);
    if (possible.length === 0 || budget.attempts <= 0) continue;
    budget.attempts -= 1;
    const attempt = applyCoercions(current, possible);
    // Another branch may be the intended one.
    const remaining = findErrors(validator, attempt.args, budget);
    if (remaining !== undefined && remaining.length < errors.length) return attempt;
  }
  return undefined;
}

/** Returns `undefined` if the work exceeds the limit: the validation before the call reports that. */
function findErrors(
  validator: SchemaValidator,
  args: JsonObject,
  budget: CoercionBudget,
): readonly ValidationError[] | undefined {
  if (budget.steps <= 0) return undefined;
  try {
    return validator.findErrors(args) ?? [];
  } catch {
    return undefined;
  } finally {
    budget.steps -= validator.steps.used;
  }
}

function flattenErrors(errors: readonly ValidationError[]): ValidationError[] {
  return errors.flatMap((error) => [error, ...error.branches.flatMap(flattenErrors)]);
}

function toCoercion({ keyword, schema, value, path }: ValidationError): Coercion[] {
  if (keyword !== "type" || typeof value !== "string" || path === undefined) return [];
  const parsed = parseText(value);
  const types = new Set([schema["type"]].flat());
  const isExpected = types.has(jsonTypeOf(parsed)) || (types.has("integer") && Number.isInteger(parsed));
  if (parsed === undefined || parsed === null || typeof parsed === "string" || !isExpected) return [];
  const segments = toSegments(path);
  return [{ path: formatPath(segments), segments, value: parsed }];
}

/**
 * Returns what a string contains as JSON; `undefined` if it is not JSON, or an integer that would lose digits. Also reads
 * `True` and `False` of Python.
 */
function parseText(text: string): unknown {
  if (text.length > MAX_JSON_CHARS) return undefined;
  const trimmed = text.trim();
  try {
    const parsed: unknown = JSON.parse(/^(?:true|false)$/i.test(trimmed) ? trimmed.toLowerCase() : trimmed);
    const isInexact = typeof parsed === "number" && Math.abs(parsed) > Number.MAX_SAFE_INTEGER;
    return isInexact ? undefined : parsed;
  } catch {
    return undefined;
  }
}

function applyCoercions(
  { args, changes }: CoercedArguments,
  coercions: readonly Coercion[],
): CoercedArguments {
  const distinct = [...new Map(coercions.map((coercion) => [coercion.path, coercion])).values()];
  const copies = new Set<object>();
  const copy = distinct.reduce<unknown>(
    (target, { segments, value }) => replaceAt(target, segments, value, copies),
    args,
  );
  return { args: copy as JsonObject, changes: [...changes, ...distinct] };
}

/**
 * Returns a copy with another value at a path. Values outside of the path are shared; objects in `copies` are not
 * copied again.
 */
function replaceAt(
  target: unknown,
  segments: readonly (string | number)[],
  value: unknown,
  copies: Set<object>,
): unknown {
  const [key, ...rest] = segments;
  if (key === undefined) return value;
  if (!Array.isArray(target) && !isPlainObject(target)) return target;
  const copy = copies.has(target)
    ? target
    : Array.isArray(target)
      ? [...(target as unknown[])]
      : { ...target };
  copies.add(copy);
  const inner: unknown = Object.hasOwn(copy, key) ? Reflect.get(copy, key) : undefined;
  setOwnProperty(copy as JsonObject, String(key), replaceAt(inner, rest, value, copies));
  return copy;
}
