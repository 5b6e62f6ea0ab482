import { z } from "zod";
import { receivedArray, receivedRecord } from "../../config/received-schemas.js";
import type {
  FormElicitation,
  ServerRequestHandlers,
  UrlElicitation,
  FormSchema,
  FormValue,
} from "../../config/server-request-handlers.js";
import {
  excerpt,
  hasHiddenCharacters,
  stripHiddenCharacters,
  withoutJoiners,
} from "../../errors/sanitize-text.js";
import { toJsonWithin } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import {
  HandlerError,
  invalidResultError,
  parseHandlerResult,
  parseRequest,
  type ServerRequestHandler,
} from "./server-request-handler.js";

const shown = z.string().transform(stripHiddenCharacters);

const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]/u;

/** Whether a person sees all of a name or value. It is sent back to the server, so it must not be changed. */
export function isVisible(text: string): boolean {
  return !hasHiddenCharacters(withoutJoiners(text)) && !CONTROL_CHARACTERS.test(text);
}

const visible = z.string().refine(isVisible, { error: "expected no hidden and no control characters" });

const titleFields = { title: shown.optional(), description: shown.optional() };
const titledChoice = z.looseObject({ const: visible, title: shown.optional() });
const visibleNames = receivedArray(visible).optional();

const FIELD = z.lazy(() =>
  z.discriminatedUnion("type", [
    z.looseObject({
      ...titleFields,
      type: z.literal("string"),
      minLength: z.number().optional(),
      maxLength: z.number().optional(),
      format: z.string().optional(),
      enum: visibleNames,
      enumNames: receivedArray(shown).optional(),
      oneOf: receivedArray(titledChoice).optional(),
      default: z.string().optional(),
    }),
    z.looseObject({
      ...titleFields,
      type: z.enum(["number", "integer"]),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
      default: z.number().optional(),
    }),
    z.looseObject({ ...titleFields, type: z.literal("boolean"), default: z.boolean().optional() }),
    z.looseObject({
      ...titleFields,
      type: z.literal("array"),
      items: z.looseObject({ enum: visibleNames, anyOf: receivedArray(titledChoice).optional() }),
      minItems: z.number().optional(),
      maxItems: z.number().optional(),
      default: receivedArray(z.string()).optional(),
    }),
  ]),
);
type Field = z.infer<typeof FIELD>;
type FieldOf<Type extends Field["type"]> = Extract<Field, { type: Type }>;

/** Removes hidden characters from everything else in a field: defaults, and what is not part of the protocol. */
function stripTexts<T>(value: T): T {
  const strip = (item: unknown): unknown => {
    if (typeof item === "string")
      return hasHiddenCharacters(withoutJoiners(item)) ? stripHiddenCharacters(item) : item;
    if (Array.isArray(item)) return item.map(strip);
    if (!isPlainObject(item)) return item;
    return Object.fromEntries(
      Object.entries(item).map(([key, child]) => [stripHiddenCharacters(key), strip(child)]),
    );
  };
  return strip(value) as T;
}

/** Whether a person can tell all names or values apart: joiners are not seen. */
function areDistinct(texts: readonly string[]): boolean {
  return new Set(texts.map(withoutJoiners)).size === new Set(texts).size;
}

function getChoices(field: Field): readonly string[] {
  if (field.type === "string") return [...(field.enum ?? []), ...(field.oneOf ?? []).map(toConst)];
  return field.type === "array"
    ? [...(field.items.enum ?? []), ...(field.items.anyOf ?? []).map(toConst)]
    : [];
}

function toConst(choice: z.infer<typeof titledChoice>): string {
  return choice.const;
}

function isUnambiguous({ properties }: { readonly properties: Readonly<Record<string, Field>> }): boolean {
  return (
    areDistinct(Object.keys(properties)) &&
    Object.values(properties).every((field) => areDistinct(getChoices(field)))
  );
}

/** The forms that MCP allows: a flat object of strings, numbers, booleans, enums and arrays of enums. */
export const FORM = z
  .object({
    type: z.literal("object"),
    properties: receivedRecord(visible, FIELD.transform(stripTexts)),
    required: visibleNames,
  })
  .refine(isUnambiguous, {
    error: "expected names and choices that differ visibly",
  }) satisfies z.ZodType<FormSchema>;
type Form = z.infer<typeof FORM>;

const FORM_REQUEST = z.object({ message: shown, requestedSchema: FORM });

const URL_REQUEST = z.object({
  message: shown,
  // A person opens the URL, so only web pages are allowed. Parsing escapes hidden and control characters.
  url: z
    .string()
    .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
      error: "expected a URL starting with https:// or http://",
    })
    .transform((url) => new URL(url).href),
  // Not sent in the modern era, where the state is in requestState.
  elicitationId: visible.optional(),
});

const FORM_RESULT = z.lazy(() =>
  z.discriminatedUnion("action", [
    z.object({
      action: z.literal("accept"),
      content: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional())
        .optional(),
    }),
    z.object({ action: z.enum(["decline", "cancel"]) }),
  ]),
);

const URL_RESULT = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.undefined({ error: "not allowed for a URL elicitation" }).optional(),
});

/** A person answers the request, and in a graph it is saved in the checkpoint. */
const MAX_REQUEST_LENGTH = 262_144;

function parseElicitationRequest<T>(schema: z.ZodType<T>, params: JsonObject): T {
  assertLength(params);
  const request = parseRequest(schema, params);
  // An escaped URL is longer.
  assertLength(request);
  return request;
}

function assertLength(request: unknown): void {
  if (toJsonWithin(request, MAX_REQUEST_LENGTH) !== undefined) return;
  throw new HandlerError("invalidParams", `Invalid params: more than ${MAX_REQUEST_LENGTH} characters.`);
}

function parseForm(params: JsonObject) {
  return { mode: "form" as const, ...parseElicitationRequest(FORM_REQUEST, params) };
}

function parseUrl(params: JsonObject) {
  return { mode: "url" as const, ...parseElicitationRequest(URL_REQUEST, params) };
}

/** Parses an elicitation request and removes hidden characters from what a person sees. */
export function parseElicitation(params: JsonObject): FormElicitation | UrlElicitation {
  return params["mode"] === "url" ? parseUrl(params) : parseForm(params);
}

/**
 * Handles `elicitation/create` in the modes that have a handler. `invalidSummary` begins the warning about an invalid
 * result.
 */
export function createElicitationHandler(
  { elicitForm, elicitUrl }: Pick<ServerRequestHandlers, "elicitForm" | "elicitUrl">,
  invalidSummary = "onElicitationRequest returned an invalid result",
): ServerRequestHandler {
  return (params) => {
    const { mode = "form" } = params;
    if (mode === "form" && elicitForm !== undefined) {
      const form = parseForm(params);
      return async (context) => {
        const result = parseHandlerResult(FORM_RESULT, invalidSummary, await elicitForm(form, context));
        if (result.action !== "accept") return result;
        const filled = applyFormDefaults(form.requestedSchema, result.content ?? {});
        if ("problem" in filled) throw invalidResultError(invalidSummary, filled.problem);
        return { action: "accept", content: filled.content };
      };
    }
    if (mode === "url" && elicitUrl !== undefined) {
      const request = parseUrl(params);
      return async (context) => {
        const { action } = parseHandlerResult(URL_RESULT, invalidSummary, await elicitUrl(request, context));
        return { action };
      };
    }
    throw new HandlerError("invalidParams", "Invalid params: this client did not declare that mode.");
  };
}

/** Returns the submitted values with defaults for missing ones, or a description of what is invalid. */
export function applyFormDefaults(
  { properties, required = [] }: Form,
  input: Readonly<Record<string, FormValue | undefined>>,
): { readonly content: Record<string, FormValue> } | { readonly problem: string } {
  const entries = Object.entries(properties).flatMap(([name, field]): [string, FormValue][] => {
    const value = (Object.hasOwn(input, name) ? input[name] : undefined) ?? field.default;
    return value === undefined ? [] : [[name, value]];
  });
  const content = Object.fromEntries(entries);
  const problems = [
    ...Object.entries(input)
      .filter(([name, value]) => value !== undefined && !Object.hasOwn(properties, name))
      .map(([name]) => `${excerpt(name)} was not requested`),
    ...required.filter((name) => !Object.hasOwn(content, name)).map((name) => `${excerpt(name)} is required`),
    ...Object.entries(properties).flatMap(([name, field]) => {
      const value = content[name];
      const expected = value === undefined ? undefined : validateField(field, value);
      return expected === undefined ? [] : [`${excerpt(name)}: expected ${expected}`];
    }),
  ];
  return problems.length === 0 ? { content } : { problem: problems.join("; ") };
}

/** Returns what was expected if the value is invalid. The message never contains the value. */
function validateField(field: Field, value: FormValue): string | undefined {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
    case "integer":
      return typeof value === "number" ? validateNumber(field, value) : "a number";
    case "string":
      return typeof value === "string" ? validateString(field, value) : "a string";
    case "array":
      return typeof value === "object" ? validateArray(field, value) : "an array of strings";
  }
}

function validateNumber({ type, minimum, maximum }: FieldOf<"number" | "integer">, value: number) {
  if (!Number.isFinite(value)) return "a finite number";
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

function validateString(field: FieldOf<"string">, value: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format = "" } = field;
  const choices = field.enum ?? field.oneOf?.map((choice) => choice.const);
  if (choices !== undefined && !choices.includes(value)) return `one of the ${choices.length} choices`;
  // JSON Schema counts code points, not UTF-16 units.
  const length = Array.from(value).length;
  if (length < minLength) return `${minLength} characters or more`;
  if (length > maxLength) return `${maxLength} characters or less`;
  return FORMATS.get(format)?.(value) === false ? `a string of format ${format}` : undefined;
}

function validateArray({ items, minItems = 0, maxItems }: FieldOf<"array">, value: readonly string[]) {
  const choices = items.enum ?? items.anyOf?.map((choice) => choice.const);
  if (choices !== undefined && !value.every((item) => choices.includes(item)))
    return `some of the ${choices.length} choices`;
  if (value.length < minItems) return `${minItems} items or more`;
  if (maxItems !== undefined && value.length > maxItems) return `${maxItems} items or less`;
  return undefined;
}
