import { isJsonObject, type JsonObject } from "../../src/definitions/json.js";

/**
 * The published rules for the schema of a function, as a list of what is broken and where.
 * Written apart from the code that makes such schemas, so that the two can disagree.
 */
export function brokenRules(schema: JsonObject): string[] {
  return [...openAiRules(schema), ...anthropicRules(schema), ...geminiRules(schema)];
}

/** https://platform.openai.com/docs/guides/function-calling, without `strict`. */
function openAiRules(top: JsonObject): string[] {
  const banned = ["oneOf", "anyOf", "allOf", "enum", "const", "not", "if"].filter(
    (keyword) => keyword in top,
  );
  return [
    ...(top["type"] === "object" ? [] : ["OpenAI: the top is no object"]),
    ...(isJsonObject(top["properties"]) ? [] : ["OpenAI: object schema missing properties"]),
    ...banned.map((keyword) => `OpenAI: "${keyword}" at the top`),
    ...everySchema(top).flatMap(({ path, schema }) => {
      const inner = { array: "items", object: "properties" }[String(schema["type"])];
      const isMissing = inner !== undefined && !isJsonObject(schema[inner]);
      return isMissing ? [`OpenAI: ${path}: schema missing ${inner}`] : [];
    }),
  ];
}

/** https://platform.claude.com/docs: tool use, `input_schema`. */
function anthropicRules(top: JsonObject): string[] {
  const names = Object.keys(isJsonObject(top["properties"]) ? top["properties"] : {});
  return [
    ...(top["type"] === "object" ? [] : ["Anthropic: input_schema.type is not object"]),
    ...["oneOf", "anyOf", "allOf"]
      .filter((keyword) => keyword in top)
      .map((keyword) => `Anthropic: "${keyword}" at the top`),
    ...names
      .filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
      .map((name) => `Anthropic: property key ${JSON.stringify(name)}`),
    ...everySchema(top).flatMap(({ path, schema }) => ("$ref" in schema ? [`Anthropic: ${path}: $ref`] : [])),
  ];
}

/** The fields of `Schema` in https://ai.google.dev/api/caching#Schema. */
const GEMINI_FIELDS = new Set(
  (
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
  ).split(" "),
);
const GEMINI_TYPES = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);
const GEMINI_FORMATS: Record<string, string[]> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};
const ONLY_BESIDE: Record<string, string[]> = {
  properties: ["object"],
  required: ["object"],
  minProperties: ["object"],
  maxProperties: ["object"],
  items: ["array"],
  minItems: ["array"],
  maxItems: ["array"],
  enum: ["string"],
  pattern: ["string"],
  minLength: ["string"],
  maxLength: ["string"],
  minimum: ["number", "integer"],
  maximum: ["number", "integer"],
};

function geminiRules(top: JsonObject): string[] {
  return everySchema(top).flatMap(({ path, schema }) =>
    geminiRulesOfOne(schema).map((rule) => `Gemini: ${path}: ${rule}`),
  );
}

function geminiRulesOfOne(schema: JsonObject): string[] {
  const { type, format, enum: values, required, properties, anyOf } = schema;
  const keywords = Object.keys(schema);
  const names = Object.keys(isJsonObject(properties) ? properties : {});
  return [
    ...keywords
      .filter((keyword) => !GEMINI_FIELDS.has(keyword))
      .map((keyword) => `unknown name "${keyword}"`),
    ...(type === undefined || GEMINI_TYPES.has(type as string) ? [] : [`type ${JSON.stringify(type)}`]),
    ...(anyOf !== undefined && keywords.length > 1 ? ["other fields alongside any_of"] : []),
    ...(anyOf !== undefined && (!Array.isArray(anyOf) || anyOf.length === 0)
      ? ["an any_of without schemas"]
      : []),
    ...keywords
      .filter((keyword) => ONLY_BESIDE[keyword]?.includes(type as string) === false)
      .map((keyword) => `${keyword}: only allowed for ${ONLY_BESIDE[keyword]?.join(", ")}`),
    ...(format === undefined || GEMINI_FORMATS[type as string]?.includes(format as string)
      ? []
      : [`format ${JSON.stringify(format)}`]),
    ...(values === undefined ||
    (Array.isArray(values) && values.every((value) => typeof value === "string" && value !== ""))
      ? []
      : ["enum: only strings that are not empty"]),
    ...(Array.isArray(required) ? required : [])
      .filter((name) => !names.includes(name))
      .map((name) => `required[${String(name)}]: property is not defined`),
    ...(Array.isArray(required) && required.length === 0 ? ["an empty required"] : []),
    ...["title", "description"]
      .filter((keyword) => keyword in schema && typeof schema[keyword] !== "string")
      .map((keyword) => `${keyword} is no text`),
  ];
}

interface Place {
  readonly path: string;
  readonly schema: JsonObject;
}

function everySchema(schema: JsonObject, path = "#"): Place[] {
  const { properties, items, anyOf } = schema;
  const inner = [
    ...Object.entries(isJsonObject(properties) ? properties : {}).map(
      ([name, value]) => [`${path}/${name}`, value] as const,
    ),
    ...(items === undefined ? [] : [[`${path}/items`, items] as const]),
    ...(Array.isArray(anyOf) ? anyOf : []).map((value, index) => [`${path}/anyOf/${index}`, value] as const),
  ];
  return [
    { path, schema },
    ...inner.flatMap(([place, value]) =>
      isJsonObject(value) ? everySchema(value, place) : [{ path: place, schema: { "no schema": 1 } }],
    ),
  ];
}
