/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import fc from "fast-check";
import type { JsonObject } from "../../../src/json/json.js";

const NAMES = ["a", "b", "c"];
const name = fc.constantFrom(...NAMES);
const small = fc.integer({ min: 0, max: 4 });
const scalar = fc.constantFrom<unknown[]>("", "a", "ab", "abc", "x1", 0, 1, 2, 3, 1.5, -1, true, false, null);

function some(keywords: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc.record(keywords, { requiredKeys: [] });
}

function withType(type: unknown, keywords: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return keywords.map((others) => ({ type, ...others }));
}

const { schema, object, closedObject } = fc.letrec<{
  schema: JsonObject | boolean;
  object: JsonObject;
  closedObject: JsonObject;
}>((tie) => {
  const objectKeywords = {
    properties: fc.dictionary(name, tie("schema"), { maxKeys: 3, noNullPrototype: true }),
    required: fc.uniqueArray(name, { maxLength: 2 }),
  };
  return {
    object: withType(
      "object",
      some({
        ...objectKeywords,
        additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
        minProperties: fc.constantFrom(0, 1),
        maxProperties: fc.constantFrom(2, 3),
        dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
          maxKeys: 1,
          noNullPrototype: true,
        }),
        patternProperties: fc.dictionary(fc.constantFrom("^a", "b|c"), tie("schema"), {
          maxKeys: 1,
          noNullPrototype: true,
        }),
      }),
    ),
    closedObject: fc
      .record(objectKeywords)
      .map((keywords) => Object.assign({ type: "object", additionalProperties: false }, keywords)),
    schema: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      withType(
        "string",
        some({
          minLength: small,
          maxLength: small,
          pattern: fc.constantFrom("^a", "\\d$", "^[a-z]*$"),
          description: fc.string(),
        }),
      ),
      withType(
        "number",
        some({
          minimum: small,
          maximum: small,
          exclusiveMinimum: small,
          exclusiveMaximum: small,
          multipleOf: fc.constantFrom(1, 2),
        }),
      ),
      withType("integer", some({ minimum: small, exclusiveMaximum: small, default: small })),
      fc.constantFrom<(JsonObject | boolean)[]>(
        true,
        false,
        {},
        { type: "boolean" },
        { type: "null" },
        { $ref: "#/$defs/one" },
        { $ref: "#/$defs/two" },
      ),
      fc.constantFrom<JsonObject[]>(
        { type: ["string", "null"] },
        { type: ["integer", "boolean", "null"] },
        { $ref: "#" },
      ),
      fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
      scalar.map((value) => ({ const: value })),
      tie("object"),
      withType(
        "array",
        some({
          items: tie("schema"),
          minItems: fc.constantFrom(0, 1),
          maxItems: small,
          uniqueItems: fc.boolean(),
          prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        }),
      ),
      fc
        .record({
          keyword: fc.constantFrom("anyOf", "oneOf", "allOf"),
          subschemas: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
          others: fc.constantFrom<JsonObject[]>({}, { type: "object" }, { type: ["string", "object"] }),
        })
        .map(({ keyword, subschemas, others }) => Object.assign({ [keyword]: subschemas }, others)),
      tie("schema").map((inner) => ({ type: ["string", "number", "object"], not: inner })),
      fc
        .record({ if: tie("schema"), then: tie("object"), else: fc.constant(false) })
        .map((condition) => Object.assign({ type: "object" }, condition)),
    ),
  };
});

const definitions = fc.record({ one: schema, two: schema });
const top = fc.oneof(
  fc.record({
    properties: fc.dictionary(name, schema, { maxKeys: 3, noNullPrototype: true }),
    required: fc.uniqueArray(name, { maxLength: 1 }),
  }),
  fc.array(closedObject, { minLength: 1, maxLength: 3 }).map((branches) => ({ oneOf: branches })),
  fc.array(closedObject, { minLength: 1, maxLength: 3 }).map((branches) => ({ anyOf: branches })),
  fc.array(object, { minLength: 1, maxLength: 2 }).map((subschemas) => ({ allOf: subschemas })),
);

/**
 * A tool schema with explicit types and closed top-level branches, for which the intended and the strict reading are
 * the same.
 */
export const toolSchema: fc.Arbitrary<JsonObject> = fc
  .tuple(top, definitions)
  .map(([keywords, $defs]) => Object.assign({ type: "object", $defs }, keywords));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

export const toolArguments: fc.Arbitrary<JsonObject> = fc.dictionary(name, value, {
  maxKeys: 3,
  noNullPrototype: true,
});
