import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, it } from "vitest";
import { compileFastCheck } from "../../../src/json-schema/compile-fast-check.js";
import { sanitizeSchema } from "../../../src/json-schema/sanitize-schema.js";
import { toolArguments, toolSchema } from "./generated-schemas.js";

it("what the fast check accepts, the validator accepts", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 20, maxLength: 20 }),
      (original, samples) => {
        // Schemas with references have no fast check.
        const { schema, draft } = sanitizeSchema({ ...original, $defs: undefined });
        const fastCheck = compileFastCheck(schema);
        if (fastCheck === undefined) return;
        const validator = new Validator(schema, draft, false);
        for (const args of samples.filter(fastCheck)) {
          accepted += 1;
          expect({ args, errors: validator.validate(args).errors }).toEqual({ args, errors: [] });
        }
      },
    ),
    { numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(100);
});

const city = { type: "string", minLength: 2, maxLength: 5 };

it.each([
  ["a string within its limits", city, "Oslo", true],
  ["a string that may have too few characters", city, "🏔", false],
  ["an integer", { type: "integer", minimum: 1 }, 1, true],
  ["a fraction instead of an integer", { type: "integer" }, 1.5, false],
  ["a value that is not JSON", {}, undefined, false],
  ["a property without a value", { properties: { a: {} }, required: ["a"] }, { a: undefined }, false],
  ["a required property that is only inherited", { required: ["toString"] }, {}, false],
  ["an additional property", { properties: { a: {} }, additionalProperties: false }, { a: 1, b: 2 }, false],
  ["one of the alternatives", { anyOf: [{ type: "null" }, city] }, null, true],
  ["a value other than the constant", { const: 1 }, 2, false],
  ["one of the values", { enum: ["a", 1, null] }, null, true],
  ["a sparse array", { items: { type: "string" } }, Object.assign(["a"], { 2: "b" }), false],
  ["an instance of a class", { required: ["a"] }, new Date(), false],
  ["a string where only objects are constrained", { required: ["a"] }, "text", true],
  ["an invalid item", { items: city }, ["Oslo", 7], false],
])("%s", (_, schema, value, expected) => {
  expect(compileFastCheck(schema)?.(value)).toBe(expected);
});

it.each([
  ["an unsupported keyword", { type: "string", pattern: "^a" }],
  ["an unsupported keyword in a property", { properties: { a: { $ref: "#" } } }],
  ["an unsupported keyword in an alternative", { anyOf: [{}, { not: {} }] }],
  ["an object in enum", { enum: [{ a: 1 }] }],
  ["an array in const", { const: [1] }],
  ["an array of item schemas", { items: [{}] }],
])("there is no fast check for a schema with %s", (_, schema) => {
  expect(compileFastCheck(schema)).toBeUndefined();
});
