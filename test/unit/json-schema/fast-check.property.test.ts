import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, it } from "vitest";
import { toCertainFit } from "../../../src/json-schema/fast-check.js";
import { toSoundSchema } from "../../../src/json-schema/sanitize-schema.js";
import { toolArguments, toolSchema } from "./generated-schemas.js";

it("what fits for sure, fits by the validator", () => {
  let certain = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 20, maxLength: 20 }),
      (original, samples) => {
        // A schema with references is not read at a glance.
        const { schema, draft } = toSoundSchema({ ...original, $defs: undefined });
        const fits = toCertainFit(schema);
        if (fits === undefined) return;
        const validator = new Validator(schema, draft, false);
        for (const args of samples.filter(fits)) {
          certain += 1;
          expect({ args, errors: validator.validate(args).errors }).toEqual({ args, errors: [] });
        }
      },
    ),
    { numRuns: 500 },
  );
  expect(certain).toBeGreaterThan(100);
});

const city = { type: "string", minLength: 2, maxLength: 5 };

it.each([
  ["a text in its limits", city, "Oslo", true],
  ["a text that may have too few characters", city, "🏔", false],
  ["a whole number", { type: "integer", minimum: 1 }, 1, true],
  ["a broken number where a whole one is wanted", { type: "integer" }, 1.5, false],
  ["a value that JSON cannot say", {}, undefined, false],
  ["a property without a value", { properties: { a: {} }, required: ["a"] }, { a: undefined }, false],
  ["a required property that objects inherit", { required: ["toString"] }, {}, false],
  ["a property too many", { properties: { a: {} }, additionalProperties: false }, { a: 1, b: 2 }, false],
  ["one of the alternatives", { anyOf: [{ type: "null" }, city] }, null, true],
  ["another value than the one that is wanted", { const: 1 }, 2, false],
  ["one of the values", { enum: ["a", 1, null] }, null, true],
  ["a list with a hole", { items: { type: "string" } }, Object.assign(["a"], { 2: "b" }), false],
  ["an instance of a class", { required: ["a"] }, new Date(), false],
  ["what is no object where only objects are limited", { required: ["a"] }, "text", true],
  ["an item that does not fit", { items: city }, ["Oslo", 7], false],
])("%s", (_, schema, value, expected) => {
  expect(toCertainFit(schema)?.(value)).toBe(expected);
});

it.each([
  ["a keyword that is not known here", { type: "string", pattern: "^a" }],
  ["one in a property", { properties: { a: { $ref: "#" } } }],
  ["one in an alternative", { anyOf: [{}, { not: {} }] }],
  ["values that are compared in depth", { enum: [{ a: 1 }] }],
  ["the same as a constant", { const: [1] }],
  ["a list of item schemas", { items: [{}] }],
])("nothing is said at a glance of a schema with %s", (_, schema) => {
  expect(toCertainFit(schema)).toBeUndefined();
});
