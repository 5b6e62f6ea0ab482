/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import type { Ajv } from "ajv";
import fc from "fast-check";
import type { JsonObject } from "../../../src/json/json.js";

const name = fc.constantFrom("a", "b", "c");
const count = fc.integer({ min: 0, max: 3 });
const plain = fc.constantFrom<unknown[]>("", "a", "ab", "😀", 0, 1, 2, -1, 0.5, 2.5, true, false, null);
export const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    plain,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

/** Creates schemas of the keywords that are evaluated, in any combination. */
function createSchemas(
  addKeywords: (
    keywords: Record<string, fc.Arbitrary<unknown>>,
    subschema: fc.Arbitrary<JsonObject | boolean>,
  ) => Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<JsonObject | boolean> {
  const { schema } = fc.letrec<{ schema: JsonObject | boolean }>((tie) => {
    const subschema = tie("schema");
    const keywords = addKeywords(createKeywords(subschema), subschema);
    return {
      schema: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        fc.boolean(),
        fc.constantFrom<JsonObject[]>({ $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }),
        fc
          .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { minLength: 1, maxLength: 4 })
          .chain((chosen) =>
            fc.record(Object.fromEntries(chosen.map((key) => [key, keywords[key] ?? plain]))),
          ),
      ),
    };
  });
  return schema;
}

const names = fc.uniqueArray(name, { maxLength: 2 });
const namesByName = fc.dictionary(name, names, { maxKeys: 2, noNullPrototype: true });

/** The keywords that all drafts have. */
function createKeywords(
  subschema: fc.Arbitrary<JsonObject | boolean>,
): Record<string, fc.Arbitrary<unknown>> {
  const subschemas = fc.array(subschema, { minLength: 1, maxLength: 3 });
  const byPattern = fc.dictionary(fc.constantFrom("^a", "b|c", "."), subschema, {
    maxKeys: 2,
    noNullPrototype: true,
  });
  return {
    type: fc.oneof(
      fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object"),
      fc.constantFrom(["string", "integer"], ["object", "array"], ["null", "boolean", "number"]),
    ),
    const: value,
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (item) => JSON.stringify(item) }),
    not: subschema,
    anyOf: subschemas,
    allOf: subschemas,
    oneOf: subschemas,
    if: subschema,
    then: subschema,
    else: subschema,
    required: names,
    minProperties: count,
    maxProperties: count,
    propertyNames: fc.oneof(
      subschema,
      fc.constantFrom({ maxLength: 1 }, { pattern: "^[ab]" }, { enum: ["a"] }),
    ),
    properties: fc.dictionary(name, subschema, { maxKeys: 2, noNullPrototype: true }),
    patternProperties: byPattern,
    additionalProperties: subschema,
    minItems: count,
    maxItems: count,
    items: subschema,
    contains: subschema,
    uniqueItems: fc.boolean(),
    minimum: count,
    maximum: count,
    exclusiveMinimum: count,
    exclusiveMaximum: count,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom("^a", "b$", "^[a-z]*$", "^.$", "^(?=a)\\w+$"),
  };
}

const modernSchema = createSchemas((keywords, subschema) => ({
  ...keywords,
  $ref: fc.constantFrom("#/$defs/one", "#/$defs/two", "#two"),
  dependentRequired: namesByName,
  dependentSchemas: fc.dictionary(name, subschema, { maxKeys: 2, noNullPrototype: true }),
  unevaluatedProperties: subschema,
  prefixItems: fc.array(subschema, { minLength: 1, maxLength: 3 }),
  minContains: count,
  maxContains: count,
  unevaluatedItems: subschema,
}));

const draft7Schema = createSchemas((keywords, subschema) => ({
  ...keywords,
  dependencies: fc.oneof(namesByName, fc.dictionary(name, subschema, { maxKeys: 2, noNullPrototype: true })),
  items: fc.oneof(subschema, fc.array(subschema, { minLength: 1, maxLength: 3 })),
  additionalItems: subschema,
}));

export const modernDocument = fc
  .record({ root: modernSchema, one: modernSchema, two: modernSchema })
  .map(({ root, one, two }) => ({
    ...toObjectSchema(root),
    $defs: { one, two: { ...toObjectSchema(two), $anchor: "two" } },
  }));

export const draft7Document = fc
  .record({ root: draft7Schema, one: draft7Schema, two: draft7Schema })
  .map(({ root, one, two }) => ({
    $schema: "http://json-schema.org/draft-07/schema#",
    allOf: [root],
    $defs: { one, two },
  }));

function toObjectSchema(schema: JsonObject | boolean): JsonObject {
  return typeof schema === "boolean" ? { allOf: [schema] } : schema;
}

export const AJV_OPTIONS = {
  strict: false,
  logger: false,
  validateFormats: false,
  validateSchema: false,
} as const;

/** The code that ajv generates throws for some schemas. */
export function tryValidate(ajv: Ajv, document: JsonObject, sample: unknown): boolean | undefined {
  try {
    return ajv.validate(document, sample);
  } catch {
    return undefined;
  }
}
