import type { JsonObject } from "../json/json.js";
import { toReadable } from "../errors/sanitize-text.js";
import { FORMATS, KEYWORDS_FOR_ALL, KEYWORDS_OF_KIND } from "./provider-keywords.js";
import { ANY, KINDS, type Facts, type Kind, type Shape } from "./schema-type-model.js";
import { cutText, toJson, toShortJson } from "./truncate-json.js";

/** How much of the texts is shown. */
export interface TextLimits {
  readonly descriptionChars: number;
  readonly valueChars: number;
}

/** A shape in the words that all providers understand. */
function writeShape(shape: Shape, limits: TextLimits): JsonObject {
  const kinds = kindsMeant(shape);
  if (kinds.length === 0 || kinds.length === KINDS.length) return writeAnything(shape, limits);
  const branches = kinds.flatMap((kind) =>
    (shape.get(kind) ?? []).map((facts) => writeFacts(kind, facts, limits)),
  );
  const [first] = branches;
  return branches.length === 1 && first !== undefined ? first : { anyOf: toldOnce(branches) };
}

/**
 * A schema that names no type but has `properties` accepts a text, too, by the letter. What it means
 * is an object, and so it is shown.
 */
function kindsMeant(shape: Shape): Kind[] {
  const accepted = KINDS.filter((kind) => shape.has(kind));
  const meant = accepted.filter((kind) =>
    shape.get(kind)?.some(({ origin }) => !origin?.isImplied || origin.isNamed),
  );
  return meant.length === 0 ? accepted : meant;
}

function writeAnything(shape: Shape, limits: TextLimits): JsonObject {
  const [facts = {}] = [...shape.values()].flat();
  const { title, description } = writeTexts(facts, [], limits);
  return withoutUndefined({ title, description });
}

export function writeFacts(kind: Kind, facts: Facts, limits: TextLimits): JsonObject {
  const { notes, ...keywords } = WRITERS[kind](facts, limits);
  const written: JsonObject = { type: kind, ...writeTexts(facts, notes ?? [], limits), ...keywords };
  const allowed = [...KEYWORDS_FOR_ALL, ...KEYWORDS_OF_KIND[kind]];
  return withoutUndefined(Object.fromEntries(allowed.map((keyword) => [keyword, written[keyword]])));
}

interface Written extends JsonObject {
  readonly notes?: readonly string[];
}

const WRITERS: Readonly<Record<Kind, (facts: Facts, limits: TextLimits) => Written>> = {
  string: (facts, limits) => {
    const { values, pattern, format, bounds } = facts;
    if (values === undefined) return { pattern, ...writeFormat("string", format), ...bounds };
    const fits = toJson(values).length <= limits.valueChars && !values.includes("");
    return fits ? { enum: [...values] } : { notes: [listValues(values)] };
  },
  number: ({ values, integer, bounds, format }) => {
    const type = integer === true || values?.every(Number.isInteger) === true ? "integer" : "number";
    if (values === undefined) return { type, ...bounds, ...writeFormat(type, format) };
    return { type, notes: [listValues(values)] };
  },
  boolean: ({ values }) => (values?.length === 1 ? { notes: [listValues(values)] } : {}),
  object: ({ properties, required = [], values, bounds }, limits) => {
    const shown = [...(properties ?? [])].filter(([, shape]) => shape.size > 0);
    const names = new Set(shown.map(([name]) => name));
    const demanded = [...new Set(required)].filter((name) => names.has(name));
    return {
      ...bounds,
      properties: Object.fromEntries(shown.map(([name, shape]) => [name, writeShape(shape, limits)])),
      required: demanded.length === 0 ? undefined : demanded,
      notes: values === undefined ? [] : [listValues(values)],
    };
  },
  array: ({ items = ANY, values, bounds }, limits) => ({
    ...bounds,
    items: writeShape(items, limits),
    ...(items.size === 0 ? { maxItems: 0 } : {}),
    notes: values === undefined ? [] : [listValues(values)],
  }),
  null: () => ({}),
};

function writeFormat(type: keyof typeof FORMATS, format: string | undefined): Written {
  if (format === undefined) return {};
  return FORMATS[type].includes(format) ? { format } : { notes: [`Format: ${format}.`] };
}

const MOST_VALUES = 50;

function listValues(values: readonly unknown[]): string {
  const more = values.length > MOST_VALUES ? `, and ${values.length - MOST_VALUES} more` : "";
  return `One of: ${values.slice(0, MOST_VALUES).map(toShortJson).join(", ")}${more}.`;
}

function writeTexts(facts: Facts, more: readonly string[], limits: TextLimits): JsonObject {
  const sentences = [facts.description, ...(facts.notes ?? []), ...more].filter((text) => text !== undefined);
  return {
    title: readable(facts.title ?? "", limits),
    description: readable(sentences.join(" "), limits),
    default: writeDefault(facts, limits),
  };
}

/** A copy, and only when a reader sees all of it: the value itself is filled in from the original. */
function writeDefault({ default: given }: Facts, limits: TextLimits): unknown {
  const text = given === undefined ? "…" : toJson(given.value);
  if (text === "…" || text.length > limits.valueChars || toReadable(text) !== text) return undefined;
  return JSON.parse(text);
}

export function readable(text: string, { descriptionChars }: TextLimits): string | undefined {
  const clean = toReadable(text).trim();
  return clean === "" ? undefined : cutText(clean, descriptionChars);
}

/** The same title and description on every branch of a union would be said again and again. */
function toldOnce(branches: readonly JsonObject[]): JsonObject[] {
  const told = new Set<unknown>();
  return branches.map((branch) => {
    const news = Object.entries(branch).filter(([keyword, value]) => {
      if (keyword !== "title" && keyword !== "description") return true;
      const isNew = !told.has(value);
      told.add(value);
      return isNew;
    });
    return Object.fromEntries(news);
  });
}

function withoutUndefined(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
