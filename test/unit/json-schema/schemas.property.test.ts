import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isPlainObject, type JsonObject } from "../../../src/json/json.js";
import { SchemaValidator } from "../../../src/json-schema/schema-validator.js";
import { toPortableSchema } from "../../../src/json-schema/portable-schema.js";
import { findProviderViolations } from "../../fixtures/provider-rules.js";
import { toolArguments, toolSchema } from "./generated-schemas.js";

/** An independent validator. Returns `undefined` for endless recursive references. */
function createReference(schema: JsonObject): (args: unknown) => boolean | undefined {
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

it("what the original schema accepts, the validator and the portable schema accept", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 30, maxLength: 30 }),
      (original, samples) => {
        const validate = createReference(original);
        const valid = samples.filter((args) => validate(args) === true);
        accepted += valid.length;
        const validator = new SchemaValidator(original);
        const portable = createReference(toPortableSchema(original).schema);
        for (const args of valid) {
          expect({ args, issues: validator.validate(args) }).toEqual({ args, issues: [] });
          expect({ args, isValid: portable(args) }).toEqual({ args, isValid: true });
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(accepted).toBeGreaterThan(500);
}, 60_000);

it("what the original schema rejects, the validator rejects with a specific issue", () => {
  let rejected = 0;
  fc.assert(
    fc.property(
      toolSchema,
      fc.array(toolArguments, { minLength: 10, maxLength: 10 }),
      (original, samples) => {
        const validate = createReference(original);
        const validator = new SchemaValidator(original);
        for (const args of samples.filter((sample) => validate(sample) === false)) {
          const issues = validator.validate(args);
          if (validator.takeWarnings().length > 0) return;
          rejected += 1;
          expect({ args, count: issues.length }).not.toEqual({ args, count: 0 });
          expect(issues.length).toBeLessThanOrEqual(10);
          for (const { message } of issues) expect(message).not.toBe("does not match its schema");
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(rejected).toBeGreaterThan(300);
}, 60_000);

it("every provider accepts the portable schema", () => {
  fc.assert(
    fc.property(toolSchema, (original) => {
      expect(findProviderViolations(toPortableSchema(original).schema)).toEqual([]);
    }),
    { numRuns: 200 },
  );
}, 60_000);

const KEYWORDS =
  "type properties required items prefixItems anyOf oneOf allOf not if then else enum const $ref $defs definitions a b pattern " +
  "patternProperties additionalProperties minimum maxLength default description title examples dependencies __proto__ $id format nullable";

/** Arbitrary JSON with fragments of schemas. */
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

it("for any JSON object, conversion and validation do not throw, do not change it, and are deterministic", () => {
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue()).filter(isPlainObject), toolArguments, (original, args) => {
      const before = JSON.stringify(original);
      const first = toPortableSchema(original);
      expect(findProviderViolations(first.schema)).toEqual([]);
      expect(toPortableSchema(original)).toEqual(first);
      expect(Array.isArray(new SchemaValidator(original).validate(args))).toBe(true);
      expect(JSON.stringify(original)).toBe(before);
    }),
    { numRuns: 1_000 },
  );
}, 60_000);
