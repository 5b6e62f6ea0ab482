import { isStringArray, type JsonObject, toArray, toObject } from "../json/json.js";
import {
  compileSizeLimit,
  isAtLeast,
  isAtMost,
  requireAll,
  type Check,
  type CheckCompiler,
  type EvaluatedKeys,
  type ValidationContext,
  type SchemaCompiler,
} from "./validation-context.js";

/** The work of a step that does not evaluate a schema. */
const LOOKUPS_PER_STEP = 8;
const KEYS_PER_STEP = 2;

/** Lists the keys of an object. Takes longer for large objects than for the same number of small ones. */
function keysOf(value: JsonObject, { steps }: ValidationContext): string[] {
  const keys = Object.keys(value);
  steps.spend(Math.trunc(keys.length / KEYS_PER_STEP));
  return keys;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const compileRequired: CheckCompiler = (required, schema) => {
  const names = [...new Set(toArray(required).map(String))];
  return (value, context, path) =>
    !isObject(value) || hasAll(value, names, context) || context.fail("required", schema, value, path);
};

function hasAll(value: JsonObject, names: readonly string[], { steps }: ValidationContext): boolean {
  let found = 0;
  for (const name of names) {
    if (!Object.hasOwn(value, name)) break;
    found += 1;
  }
  steps.spend(Math.trunc(found / LOOKUPS_PER_STEP));
  return found === names.length;
}

function keyCount(value: unknown, context: ValidationContext): number | undefined {
  return isObject(value) ? keysOf(value, context).length : undefined;
}

const compilePropertyNames: CheckCompiler = (subschema, schema, compiler) => {
  const check = compiler.compile(subschema, schema);
  return (value, context, path) => {
    if (!isObject(value)) return true;
    for (const name of keysOf(value, context))
      if (!context.isValid(check, name)) return context.fail("propertyNames", schema, value, path);
    return true;
  };
};

function compileDependentRequired(keyword: string, dependencies: unknown, schema: JsonObject): Check {
  const requirements = Object.entries(toObject(dependencies)).flatMap(([trigger, names]) =>
    isStringArray(names) ? [{ trigger, names: [...new Set(names)] }] : [],
  );
  return (value, context, path) => {
    if (!isObject(value)) return true;
    context.steps.spend(Math.trunc(requirements.length / LOOKUPS_PER_STEP));
    const isComplete = requirements.every(
      ({ trigger, names }) => !Object.hasOwn(value, trigger) || hasAll(value, names, context),
    );
    return isComplete || context.fail(keyword, schema, value, path);
  };
}

function compileDependentSchemas(subschemas: unknown, schema: JsonObject, compiler: SchemaCompiler): Check {
  const dependents = Object.entries(toObject(subschemas))
    .filter(([, subschema]) => !Array.isArray(subschema))
    .map(([trigger, subschema]) => ({ trigger, check: compiler.compile(subschema, schema) }));
  return (value, context, path, evaluated) => {
    if (!isObject(value)) return true;
    context.steps.spend(Math.trunc(dependents.length / LOOKUPS_PER_STEP));
    let isValid = true;
    for (const { trigger, check } of dependents) {
      if (!Object.hasOwn(value, trigger) || check(value, context, path, evaluated)) continue;
      isValid = false;
      if (context.errors === undefined) break;
    }
    return isValid;
  };
}

/** The keyword of older drafts for both `dependentRequired` and `dependentSchemas`. */
const compileDependencies: CheckCompiler = (dependencies, schema, compiler) => {
  return requireAll([
    compileDependentRequired("dependencies", dependencies, schema),
    compileDependentSchemas(dependencies, schema, compiler),
  ]);
};

/** With more declared properties, those of the value are looked up in them, not the other way round. */
const MAX_SCANNED_PROPERTIES = 32;

const compileProperties: CheckCompiler = (properties, schema, compiler) => {
  const subschemas = toObject(properties);
  const names = Object.keys(subschemas);
  const checks = new Map<string, Check>();
  // Most of many properties are not used by any call.
  const getCheck = (name: string): Check => {
    const known = checks.get(name);
    if (known !== undefined) return known;
    const check = compiler.compile(subschemas[name], schema);
    checks.set(name, check);
    return check;
  };
  if (names.length <= MAX_SCANNED_PROPERTIES) names.forEach(getCheck);
  return (value, context, path, evaluated) => {
    if (!isObject(value)) return true;
    const isScanned = names.length <= MAX_SCANNED_PROPERTIES || context.errors !== undefined;
    if (!isScanned) {
      for (const name of keysOf(value, context)) {
        if (!Object.hasOwn(subschemas, name)) continue;
        evaluated?.add(name);
        if (!getCheck(name)(value[name], context, undefined, undefined)) return false;
      }
      return true;
    }
    context.steps.spend(Math.trunc(names.length / LOOKUPS_PER_STEP));
    let isValid = true;
    for (const name of names) {
      if (!Object.hasOwn(value, name)) continue;
      evaluated?.add(name);
      if (getCheck(name)(value[name], context, context.pathTo(path, name), undefined)) continue;
      isValid = false;
      if (context.errors === undefined) break;
    }
    return isValid;
  };
};

/** Evaluates the properties that are selected. */
function evaluateProperties(
  check: Check,
  isSelected: (name: string, context: ValidationContext, evaluated: EvaluatedKeys | undefined) => boolean,
): Check {
  return (value, context, path, evaluated) => {
    if (!isObject(value)) return true;
    let isValid = true;
    const names = keysOf(value, context);
    if (evaluated !== undefined) context.steps.spend(names.length);
    for (const name of names) {
      if (!isSelected(name, context, evaluated)) continue;
      evaluated?.add(name);
      if (check(value[name], context, context.pathTo(path, name), undefined)) continue;
      isValid = false;
      if (context.errors === undefined) break;
    }
    return isValid;
  };
}

const compilePatternProperties: CheckCompiler = (patterns, schema, compiler) => {
  const checks = Object.entries(toObject(patterns)).map(([pattern, subschema]) =>
    evaluateProperties(compiler.compile(subschema, schema), (name, { steps }) =>
      compiler.matches(pattern, name, steps),
    ),
  );
  return requireAll(checks);
};

const compileAdditionalProperties: CheckCompiler = (subschema, schema, compiler) => {
  const declared = new Set(Object.keys(toObject(schema["properties"])));
  const patterns = Object.keys(toObject(schema["patternProperties"]));
  return evaluateProperties(
    compiler.compile(subschema, schema),
    (name, { steps }) =>
      !declared.has(name) && !patterns.some((pattern) => compiler.matches(pattern, name, steps)),
  );
};

const compileUnevaluatedProperties: CheckCompiler = (subschema, schema, compiler) => {
  return evaluateProperties(
    compiler.compile(subschema, schema),
    (name, _, evaluated) => evaluated?.has(name) !== true,
  );
};

/** The keywords for objects, in the order in which their errors are reported. */
export const OBJECT_CHECKS: readonly (readonly [keyword: string, compile: CheckCompiler])[] = [
  ["required", compileRequired],
  ["minProperties", compileSizeLimit("minProperties", keyCount, isAtLeast)],
  ["maxProperties", compileSizeLimit("maxProperties", keyCount, isAtMost)],
  ["propertyNames", compilePropertyNames],
  ["dependentRequired", (names, schema) => compileDependentRequired("dependentRequired", names, schema)],
  ["dependentSchemas", compileDependentSchemas],
  ["dependencies", compileDependencies],
  ["properties", compileProperties],
  ["patternProperties", compilePatternProperties],
  ["additionalProperties", compileAdditionalProperties],
  ["unevaluatedProperties", compileUnevaluatedProperties],
];
