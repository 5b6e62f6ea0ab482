import { isPlainObject, type JsonObject } from "../json/json.js";
import { ANNOTATIONS } from "./schema-keywords.js";

/** Whether a value fits for sure. What it doubts may fit all the same. */
type Fit = (value: unknown) => boolean;

/** Reads what a schema says under one keyword; `undefined` when it says more than can be told in a glance. */
type ReadTerm = (said: unknown, schema: JsonObject) => Fit | undefined;

/**
 * A quick yes for the values of most calls, which are right: a validator that can explain what is wrong
 * takes three to ten times as long. Schemas with a keyword that is not in the table get none.
 */
export function toCertainFit(schema: unknown): Fit | undefined {
  if (schema === true) return isJson;
  if (!isPlainObject(schema)) return undefined;
  const terms: Fit[] = [];
  for (const [keyword, said] of Object.entries(schema)) {
    const term = TERMS.get(keyword)?.(said, schema);
    if (term !== undefined) terms.push(term);
    else if (TERMS.has(keyword) || !ANNOTATIONS.has(keyword)) return undefined;
  }
  return (value) => {
    if (!isJson(value)) return false;
    for (const fits of terms) if (!fits(value)) return false;
    return true;
  };
}

const TYPES: ReadonlyMap<unknown, Fit> = new Map<unknown, Fit>([
  ["string", (value) => typeof value === "string"],
  ["number", Number.isFinite],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isPlainObject],
]);

const TERMS: ReadonlyMap<string, ReadTerm> = new Map<string, ReadTerm>([
  ["type", (said) => oneOfThese([said].flat().map((type) => TYPES.get(type)))],
  ["enum", (said) => (Array.isArray(said) ? oneOfThese(said.map(sameAs)) : undefined)],
  ["const", sameAs],
  ["anyOf", (said) => (Array.isArray(said) ? oneOfThese(said.map(toCertainFit)) : undefined)],
  ["minimum", limit((least) => (value) => typeof value !== "number" || value >= least)],
  ["maximum", limit((most) => (value) => typeof value !== "number" || value <= most)],
  // A character has one unit or two.
  ["minLength", limit((least) => (value) => typeof value !== "string" || value.length >= least * 2 - 1)],
  ["maxLength", limit((most) => (value) => typeof value !== "string" || value.length <= most)],
  ["minItems", limit((least) => (value) => !Array.isArray(value) || value.length >= least)],
  ["maxItems", limit((most) => (value) => !Array.isArray(value) || value.length <= most)],
  ["items", readItems],
  ["properties", readProperties],
  ["required", readRequired],
  ["additionalProperties", readAdditional],
]);

/** Of what has a type in JSON. A value inside that has none is met by its own schema, if anybody minds. */
function isJson(value: unknown): boolean {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object";
}

function oneOfThese(fits: readonly (Fit | undefined)[]): Fit | undefined {
  const known = fits.filter((fit) => fit !== undefined);
  if (known.length < fits.length) return undefined;
  const [only] = known;
  return known.length === 1 ? only : (value) => known.some((fit) => fit(value));
}

function sameAs(said: unknown): Fit | undefined {
  return typeof said === "object" && said !== null ? undefined : (value) => value === said;
}

function limit(fitOf: (limit: number) => Fit): ReadTerm {
  return (said) => (typeof said === "number" ? fitOf(said) : undefined);
}

function readItems(said: unknown): Fit | undefined {
  const fits = toCertainFit(said);
  // Not `every`, which passes over holes.
  return fits && ((value) => !Array.isArray(value) || !Array.from(value).some((item) => !fits(item)));
}

/** Other values fit, but for an instance of a class, which nobody knows as JSON yet. */
function ofObjects(fits: (value: JsonObject) => boolean): Fit {
  return (value) =>
    typeof value !== "object" ||
    value === null ||
    Array.isArray(value) ||
    (isPlainObject(value) && fits(value));
}

function readProperties(said: unknown): Fit | undefined {
  if (!isPlainObject(said)) return undefined;
  const fits: [string, Fit][] = [];
  for (const [name, schema] of Object.entries(said)) {
    const fit = toCertainFit(schema);
    if (fit === undefined) return undefined;
    fits.push([name, fit]);
  }
  return ofObjects((value) => fits.every(([name, fit]) => !Object.hasOwn(value, name) || fit(value[name])));
}

function readRequired(said: unknown): Fit | undefined {
  if (!Array.isArray(said)) return undefined;
  return ofObjects((value) => said.every((name) => Object.hasOwn(value, String(name))));
}

function readAdditional(said: unknown, { properties, patternProperties }: JsonObject): Fit | undefined {
  if (patternProperties !== undefined) return undefined;
  const known = new Set(isPlainObject(properties) ? Object.keys(properties) : []);
  const fits = said === false ? () => false : toCertainFit(said);
  if (fits === undefined) return undefined;
  return ofObjects((value) => Object.keys(value).every((name) => known.has(name) || fits(value[name])));
}
