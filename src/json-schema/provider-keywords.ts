import type { Kind } from "./schema-type-model.js";

/**
 * What a tool's schema may contain, so that OpenAI (non-strict function calling), Anthropic and
 * Gemini all take it. As published, and as their error messages tell (2026-10):
 *
 * | rule                                                                   | whose             |
 * | ---------------------------------------------------------------------- | ----------------- |
 * | `type: "object"` with `properties` at the top                          | all               |
 * | no oneOf, anyOf, allOf, not, enum, const at the top                    | OpenAI, Anthropic |
 * | names of top-level properties match `^[a-zA-Z0-9_.-]{1,64}$`           | Anthropic         |
 * | no `$ref`                                                              | Anthropic, Gemini |
 * | an array has `items`, an object has `properties`                       | OpenAI, Gemini    |
 * | only the keywords of its OpenAPI subset, here below                    | Gemini            |
 * | `type` is one name, no list                                            | Gemini            |
 * | `anyOf` stands alone, also without a description beside it             | Gemini (Vertex)   |
 * | `enum` is for strings, and none of them is empty                       | Gemini            |
 * | `format`: date-time for strings, float/double, int32/int64             | Gemini            |
 * | `required` names only what is in `properties`                          | Gemini            |
 * | `properties`, `required`, `items`, … only beside their own type        | Gemini            |
 *
 * Everything else becomes a sentence in the description.
 */
export const KEYWORDS_FOR_ALL = ["type", "title", "description", "default"] as const;

export const KEYWORDS_OF_KIND: Readonly<Record<Kind, readonly string[]>> = {
  string: ["enum", "format", "pattern", "minLength", "maxLength"],
  number: ["format", "minimum", "maximum"],
  boolean: [],
  object: ["properties", "required", "minProperties", "maxProperties"],
  array: ["items", "minItems", "maxItems"],
  null: [],
};

export const FORMATS: Readonly<Record<"string" | "number" | "integer", readonly string[]>> = {
  string: ["date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

export const TOP_LEVEL_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
