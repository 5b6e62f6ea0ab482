/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { NotJsonError } from "../../../src/json-schema/validation-context.js";
import { LinearPatterns } from "../../../src/json-schema/linear-pattern.js";
import { sanitizeSchema } from "../../../src/json-schema/sanitize-schema.js";
import { SchemaEvaluator } from "../../../src/json-schema/schema-evaluator.js";
import { StepBudget } from "../../../src/json-schema/step-budget.js";

function isValid(schema: JsonObject, value: unknown): boolean {
  const patterns = new LinearPatterns("run");
  const evaluator = new SchemaEvaluator(sanitizeSchema(schema, patterns), patterns);
  return evaluator.isValid(value, new StepBudget(1_000_000));
}

describe("a value is valid:", () => {
  it.each<[string, JsonObject, unknown, boolean]>([
    ["an integer that is written as a fraction", { type: "integer" }, 1.0, true],
    ["a fraction instead of an integer", { type: "integer" }, 1.5, false],
    ["an integer beyond the range of doubles", { type: "integer" }, Number.POSITIVE_INFINITY, true],
    ["a multiple of a fraction", { multipleOf: 0.1 }, 0.3, true],
    ["a multiple of a small fraction", { multipleOf: 1e-8 }, 12_391_239_123, true],
    ["a large multiple", { multipleOf: 1 }, 1e308, true],
    ["a multiple of a large number", { multipleOf: 1e20 }, 2.5e20, false],
    ["one of the values", { enum: ["a", 1, null] }, null, true],
    ["a string instead of a number of the same text", { enum: [1] }, "1", false],
    ["an object with another order of keys", { const: { a: [1], b: 2 } }, { b: 2, a: [1] }, true],
    ["an array with another order", { const: [1, 2] }, [2, 1], false],
    ["0 and false", { uniqueItems: true }, [0, false, "0", null], true],
    [
      "equal objects",
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    ["characters, not code units", { minLength: 2 }, "😀", false],
    ["half a surrogate pair", { maxLength: 1 }, "\ud83d", true],
    ["a required property that is inherited", { required: ["toString"] }, {}, false],
    ["a string where only objects are constrained", { required: ["a"] }, "text", true],
    [
      "a property named __proto__",
      { properties: { ["__proto__"]: false } },
      JSON.parse('{"__proto__":1}'),
      false,
    ],
    [
      "of many declared properties, an invalid one",
      {
        properties: Object.fromEntries(
          Array.from({ length: 50 }, (_, index) => [`p${index}`, { type: "null" }]),
        ),
      },
      { p49: 1 },
      false,
    ],
    [
      "properties that a nested schema has evaluated",
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1 },
      true,
    ],
    [
      "properties that a failed alternative has evaluated",
      {
        anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: true } }],
        unevaluatedProperties: false,
      },
      { a: 1, b: 1 },
      false,
    ],
    [
      "properties that another subschema has evaluated",
      { properties: { a: true }, allOf: [{ unevaluatedProperties: false }] },
      { a: 1 },
      false,
    ],
    [
      "properties that only a condition has evaluated",
      { if: { properties: { a: { const: 1 } } }, unevaluatedProperties: false },
      { a: 1 },
      true,
    ],
    [
      "items that contain has evaluated",
      { contains: { type: "string" }, unevaluatedItems: false },
      ["a", 1],
      false,
    ],
    ["items after a tuple", { prefixItems: [true], items: { type: "string" } }, [1, "a"], true],
    [
      "no item that is contained, if none is needed",
      { contains: { type: "string" }, minContains: 0 },
      [],
      true,
    ],
    ["too many contained items", { contains: { type: "string" }, maxContains: 1 }, ["a", "b"], false],
    [
      "a sibling of a reference",
      { $ref: "#/$defs/a", minLength: 2, $defs: { a: { type: "string" } } },
      "x",
      false,
    ],
    [
      "a sibling of a reference in draft 7",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        allOf: [{ $ref: "#/$defs/a", minLength: 2 }],
        $defs: { a: { type: "string" } },
      },
      "x",
      true,
    ],
    ["a reference to a false schema", { $ref: "#/$defs/a", $defs: { a: false } }, 1, false],
    ["an instance of a class", { type: "object" }, new Date(), true],
    ["anything, also without a JSON type", { properties: { a: true } }, { a: undefined }, true],
  ])("%s", (_, schema, value, expected) => {
    expect(isValid(schema, value)).toBe(expected);
  });

  it.each([
    ["undefined", { properties: { a: {} } }, { a: undefined }],
    ["a BigInt", { items: { type: "number" } }, [1n]],
    ["a hole of an array", { items: {} }, Object.assign(["a"], { 2: "b" })],
  ])("%s is not JSON", (_, schema, value) => {
    expect(() => isValid(schema, value)).toThrow(NotJsonError);
  });
});
