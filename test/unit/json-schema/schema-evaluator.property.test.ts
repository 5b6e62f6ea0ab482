import { Validator } from "@cfworker/json-schema";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { LinearPatterns } from "../../../src/json-schema/linear-pattern.js";
import { sanitizeSchema } from "../../../src/json-schema/sanitize-schema.js";
import { SchemaEvaluator } from "../../../src/json-schema/schema-evaluator.js";
import { StepBudget } from "../../../src/json-schema/step-budget.js";
import { AJV_OPTIONS, draft7Document, modernDocument, tryValidate, value } from "./keyword-schemas.js";

/** Returns our verdict, or `undefined` if something is omitted, such as a circular reference. */
function createEvaluator(document: JsonObject): ((sample: unknown) => boolean) | undefined {
  const patterns = new LinearPatterns("run");
  const sanitized = sanitizeSchema(document, patterns);
  if (sanitized.warnings.length > 0) return undefined;
  const evaluator = new SchemaEvaluator(sanitized, patterns);
  return (sample) => {
    const errors: never[] = [];
    const isValid = evaluator.isValid(sample, new StepBudget(1_000_000));
    evaluator.collectErrors(sample, new StepBudget(1_000_000), errors);
    // Both ways of evaluation agree.
    expect({ document, sample, hasErrors: errors.length > 0 }).toEqual({
      document,
      sample,
      hasErrors: !isValid,
    });
    return isValid;
  };
}

interface Comparison {
  valid: number;
  invalid: number;
  /** Verdicts on which the other validators disagree, such as `contains` with an empty array. */
  disputed: number;
}

function compare(
  document: JsonObject,
  samples: readonly unknown[],
  { ajv, draft, total }: { ajv: Ajv; draft: "7" | "2020-12"; total: Comparison },
): void {
  const evaluate = createEvaluator(document);
  if (evaluate === undefined) return;
  const validator = new Validator(document, draft, false);
  for (const sample of samples) {
    const isValid = evaluate(sample);
    total[isValid ? "valid" : "invalid"] += 1;
    const others = {
      ajv: tryValidate(ajv, document, sample),
      cfworker: validator.validate(sample as never).valid,
    };
    if (others.ajv === others.cfworker)
      expect({ document, sample, isValid }).toEqual({ document, sample, isValid: others.ajv });
    else total.disputed += 1;
  }
}

it.each([["2020-12", modernDocument] as const, ["7", draft7Document] as const])(
  "the verdicts of draft %s are those of other validators",
  (draft, documents) => {
    const total: Comparison = { valid: 0, invalid: 0, disputed: 0 };
    fc.assert(
      fc.property(documents, fc.array(value, { minLength: 20, maxLength: 20 }), (document, samples) => {
        const ajv = draft === "7" ? new Ajv(AJV_OPTIONS) : new Ajv2020(AJV_OPTIONS);
        compare(document, samples, { ajv, draft, total });
      }),
      { numRuns: 300 },
    );
    expect(total.valid).toBeGreaterThan(500);
    expect(total.invalid).toBeGreaterThan(500);
    expect(total.disputed).toBeLessThan((total.valid + total.invalid) / 50);
  },
  120_000,
);
