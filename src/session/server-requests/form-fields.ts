import { z } from "zod";
import type { FormSchema, FormValue } from "../../config/server-request-handlers.js";
import { quoteServer, toReadable } from "../../errors/sanitize-text.js";

const shown = {
  title: z.string().transform(toReadable).optional(),
  description: z.string().transform(toReadable).optional(),
};
const named = z.looseObject({ const: z.string() });

const FIELD = z.discriminatedUnion("type", [
  z.looseObject({
    ...shown,
    type: z.literal("string"),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    format: z.string().optional(),
    enum: z.array(z.string()).optional(),
    oneOf: z.array(named).optional(),
    default: z.string().optional(),
  }),
  z.looseObject({
    ...shown,
    type: z.enum(["number", "integer"]),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    default: z.number().optional(),
  }),
  z.looseObject({ ...shown, type: z.literal("boolean"), default: z.boolean().optional() }),
  z.looseObject({
    ...shown,
    type: z.literal("array"),
    items: z.looseObject({ enum: z.array(z.string()).optional(), anyOf: z.array(named).optional() }),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    default: z.array(z.string()).optional(),
  }),
]);
type Field = z.infer<typeof FIELD>;
type FieldOf<Type extends Field["type"]> = Extract<Field, { type: Type }>;

/** The forms that MCP allows: one level of texts, numbers, booleans, choices and lists of choices. */
export const FORM = z.object({
  type: z.literal("object"),
  properties: z.record(z.string(), FIELD),
  required: z.array(z.string()).optional(),
}) satisfies z.ZodType<FormSchema>;
export type Form = z.infer<typeof FORM>;

/** The form as it was filled in, with the defaults for what was left out; or why it does not fit. */
export function fillForm(
  { properties, required = [] }: Form,
  given: Readonly<Record<string, FormValue | undefined>>,
): { readonly content: Record<string, FormValue> } | { readonly problem: string } {
  const entries = Object.entries(properties).flatMap(([name, field]): [string, FormValue][] => {
    const value = (Object.hasOwn(given, name) ? given[name] : undefined) ?? field.default;
    return value === undefined ? [] : [[name, value]];
  });
  const content = Object.fromEntries(entries);
  const problems = [
    ...Object.entries(given)
      .filter(([name, value]) => value !== undefined && !Object.hasOwn(properties, name))
      .map(([name]) => `${quoteServer(name)} was not asked for`),
    ...required
      .filter((name) => !Object.hasOwn(content, name))
      .map((name) => `${quoteServer(name)} is required`),
    ...Object.entries(properties).flatMap(([name, field]) => {
      const value = content[name];
      const expected = value === undefined ? undefined : expectedInstead(field, value);
      return expected === undefined ? [] : [`${quoteServer(name)}: expected ${expected}`];
    }),
  ];
  return problems.length === 0 ? { content } : { problem: problems.join("; ") };
}

/** What the field takes, if it does not take this. The value itself is never told. */
function expectedInstead(field: Field, value: FormValue): string | undefined {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
    case "integer":
      return typeof value === "number" ? numberProblem(field, value) : "a number";
    case "string":
      return typeof value === "string" ? textProblem(field, value) : "a text";
    case "array":
      return typeof value === "object" ? listProblem(field, value) : "a list of texts";
  }
}

function numberProblem({ type, minimum, maximum }: FieldOf<"number" | "integer">, value: number) {
  if (!Number.isFinite(value)) return "a number that JSON has";
  if (type === "integer" && !Number.isInteger(value)) return "an integer";
  if (minimum !== undefined && value < minimum) return `${minimum} or more`;
  if (maximum !== undefined && value > maximum) return `${maximum} or less`;
  return undefined;
}

const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["email", (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  ["uri", (text) => URL.canParse(text)],
  ["date", (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))],
  ["date-time", (text) => /^\d{4}-\d\d-\d\dT\d/i.test(text) && !Number.isNaN(Date.parse(text))],
]);

function textProblem(field: FieldOf<"string">, value: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format = "" } = field;
  const choices = field.enum ?? field.oneOf?.map((choice) => choice.const);
  if (choices !== undefined && !choices.includes(value)) return `one of the ${choices.length} choices`;
  // JSON Schema counts characters, not halves of them.
  const length = Array.from(value).length;
  if (length < minLength) return `${minLength} characters or more`;
  if (length > maxLength) return `${maxLength} characters or less`;
  return FORMATS.get(format)?.(value) === false ? `a text of format ${format}` : undefined;
}

function listProblem({ items, minItems = 0, maxItems }: FieldOf<"array">, value: readonly string[]) {
  const choices = items.enum ?? items.anyOf?.map((choice) => choice.const);
  if (choices !== undefined && !value.every((item) => choices.includes(item)))
    return `some of the ${choices.length} choices`;
  if (value.length < minItems) return `${minItems} items or more`;
  if (maxItems !== undefined && value.length > maxItems) return `${maxItems} items or less`;
  return undefined;
}
