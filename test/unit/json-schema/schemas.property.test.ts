import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isPlainObject, type JsonObject } from "../../../src/json/json.js";
import { ArgumentCheck } from "../../../src/json-schema/schema-validator.js";
import { toShownSchema } from "../../../src/json-schema/portable-schema.js";
import { brokenRules } from "../../fixtures/provider-rules.js";
import { toolArguments, toolSchema } from "./generated-schemas.js";

/**
 * Another validator, by other people, with other mistakes. It has no answer where a reference leads
 * back to itself without end.
 */
function verdictOf(schema: JsonObject): (args: unknown) => boolean | undefined {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    validateFormats: false,
    meta: false,
    validateSchema: false,
  });
  return (args) => {
    try {
      return ajv.validate(schema, args);
    } catch {
      return undefined;
    }
  };
}

it("what the original accepts is accepted by the check and by the shown schema", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 30, maxLength: 30 }),
      (original, samples) => {
        const verdict = verdictOf(original);
        const valid = samples.filter((args) => verdict(args) === true);
        accepted += valid.length;
        const check = new ArgumentCheck(original);
        const isShown = verdictOf(toShownSchema(original).schema);
        for (const args of valid) {
          expect({ args, issues: check.issuesOf(args) }).toEqual({ args, issues: [] });
          expect({ args, isShown: isShown(args) }).toEqual({ args, isShown: true });
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(accepted).toBeGreaterThan(500);
}, 60_000);

it("what the original refuses is refused by the check, with a problem that names a place", () => {
  let refused = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 10, maxLength: 10 }),
      (original, samples) => {
        const verdict = verdictOf(original);
        const check = new ArgumentCheck(original);
        for (const args of samples.filter((sample) => verdict(sample) === false)) {
          const issues = check.issuesOf(args);
          if (check.warnings.length > 0) return;
          refused += 1;
          expect({ args, count: issues.length }).not.toEqual({ args, count: 0 });
          expect(issues.length).toBeLessThanOrEqual(10);
          for (const { message } of issues) expect(message).not.toBe("does not fit its schema");
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(refused).toBeGreaterThan(300);
}, 60_000);

it("every provider accepts what is shown", () => {
  fc.assert(
    fc.property(toolSchema, (original) => {
      expect(brokenRules(toShownSchema(original).schema)).toEqual([]);
    }),
    { numRuns: 200 },
  );
}, 60_000);

const KEYWORDS =
  "type properties required items prefixItems anyOf oneOf allOf not if then else enum const $ref $defs definitions a b pattern " +
  "patternProperties additionalProperties minimum maxLength default description title examples dependencies __proto__ $id format nullable";

/** JSON of any shape that looks like a schema here and there. */
const { anything } = fc.letrec<{ anything: unknown }>((tie) => ({
  anything: fc.oneof(
    { maxDepth: 5, depthSize: "medium" },
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom<unknown[]>(
      "object",
      "string",
      "array",
      "#",
      "#/$defs/a",
      "#/properties/a",
      "#/%",
      "(a+)+$",
      "(?i)x",
      "a",
      ["null"],
    ),
    fc.array(tie("anything"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYWORDS.split(" ")), tie("anything"), { maxKeys: 4 }),
  ),
}));

it("no JSON object of any shape makes them throw, is changed by them, or gives another answer the next time", () => {
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue()).filter(isPlainObject), toolArguments, (original, args) => {
      const before = JSON.stringify(original);
      const first = toShownSchema(original);
      expect(brokenRules(first.schema)).toEqual([]);
      expect(toShownSchema(original)).toEqual(first);
      expect(Array.isArray(new ArgumentCheck(original).issuesOf(args))).toBe(true);
      expect(JSON.stringify(original)).toBe(before);
    }),
    { numRuns: 1_000 },
  );
}, 60_000);
