import { truncateJson } from "../json/describe-value.js";
import { ANY, JSON_TYPES, type JsonType, type TypeConstraints, type TypeModel } from "./schema-type-model.js";

/** Deeper levels and further entries are only named by their type. */
const MAX_DEPTH = 2;
const MAX_ENTRIES = 20;

/** Describes values in a sentence: `integer from 1 to 9`, `"asc" or "desc"`, `{ name: string; age?: integer }`. */
export function describeTypeModel(model: TypeModel, depth = 0): string {
  const types = intendedTypes(model);
  if (types.length === 0) return "none";
  if (isUnconstrained(model)) return "anything";
  const alternatives = types.flatMap((type) =>
    (model.get(type) ?? []).slice(0, MAX_ENTRIES).map((variant) => describeVariant(type, variant, depth)),
  );
  return [...new Set(alternatives)].join(" or ");
}

/** Whether every value is accepted, without any description. */
export function isUnconstrained(model: TypeModel): boolean {
  if (model === ANY) return true;
  return JSON_TYPES.every((type) => model.get(type)?.some(isEmptyVariant) === true);
}

function isEmptyVariant(variant: TypeConstraints): boolean {
  return Object.entries(variant).every(([key, value]) => {
    if (key === "isNamed" || key === "isInferred" || value === undefined || value === false) return true;
    const isPlain = typeof value === "object" && !(value instanceof Map);
    return isPlain && Object.values(value).every((item) => item === undefined);
  });
}

/**
 * Strictly, a schema with `properties` and without `type` also accepts a string. It is written as the object that
 * is meant.
 */
export function intendedTypes(model: TypeModel): JsonType[] {
  const accepted = JSON_TYPES.filter((type) => model.has(type));
  const intended = accepted.filter((type) =>
    model.get(type)?.some(({ isInferred, isNamed }) => isInferred !== true || isNamed === true),
  );
  return intended.length === 0 ? accepted : intended;
}

function describeVariant(type: JsonType, constraints: TypeConstraints, depth: number): string {
  const { values, texts = [], notes = [] } = constraints;
  const kind =
    values === undefined
      ? DESCRIPTIONS_BY_TYPE[type](constraints, depth)
      : `${values.slice(0, MAX_ENTRIES).map(truncateJson).join(" or ")}${values.length > MAX_ENTRIES ? " or others" : ""}`;
  const remarks = [...texts, ...notes].join(" ").replace(/\.$/, "");
  return remarks === "" ? kind : `${kind} (${remarks})`;
}

const DESCRIPTIONS_BY_TYPE: Readonly<
  Record<JsonType, (constraints: TypeConstraints, depth: number) => string>
> = {
  string: ({ pattern, format, bounds }) =>
    [
      "string",
      ...(format === undefined ? [] : [`in the format ${format}`]),
      ...(pattern === undefined ? [] : [`that matches ${pattern}`]),
      ...describeRange(bounds?.minLength, bounds?.maxLength, " characters"),
    ].join(" "),
  number: ({ isInteger, bounds }) =>
    [isInteger === true ? "integer" : "number", ...describeRange(bounds?.minimum, bounds?.maximum)].join(" "),
  boolean: () => "boolean",
  object: ({ properties, required, additional }, depth) => {
    if (depth >= MAX_DEPTH) return "object";
    const entries = [...(properties ?? [])].slice(0, MAX_ENTRIES).map(([name, model]) => {
      const mark = required?.includes(name) === true ? "" : "?";
      return `${name}${mark}: ${describeTypeModel(model, depth + 1)}`;
    });
    const others = additional === undefined || additional.size === 0 || isUnconstrained(additional);
    if (!others) entries.push(`[key]: ${describeTypeModel(additional, depth + 1)}`);
    return entries.length === 0 ? "object" : `{ ${entries.join("; ")} }`;
  },
  array: ({ items, bounds }, depth) =>
    [
      items === undefined || depth >= MAX_DEPTH ? "array" : `array of ${describeTypeModel(items, depth + 1)}`,
      ...describeRange(bounds?.minItems, bounds?.maxItems, " items"),
    ].join(" "),
  null: () => "null",
};

function describeRange(lower: number | undefined, upper: number | undefined, unit = ""): string[] {
  if (lower === undefined && upper === undefined) return [];
  if (lower === undefined) return [`up to ${upper}${unit}`];
  return [upper === undefined ? `from ${lower}${unit}` : `from ${lower} to ${upper}${unit}`];
}
