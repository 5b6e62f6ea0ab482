import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isPlainObject, type JsonObject, omitUndefined, toArray } from "../../../src/json/json.js";
import { compareSchemas } from "../../../src/json-schema/diff/compare-schemas.js";
import { LinearPatterns } from "../../../src/json-schema/linear-pattern.js";
import { sanitizeSchema } from "../../../src/json-schema/sanitize-schema.js";
import { SchemaEvaluator } from "../../../src/json-schema/schema-evaluator.js";
import { StepBudget } from "../../../src/json-schema/step-budget.js";
import { AJV_OPTIONS, draft7Document, modernDocument, tryValidate, value } from "./keyword-schemas.js";

/** One change of one schema in a document. */
interface Edit {
  readonly node: number;
  readonly keyword: number;
  readonly action: "remove" | "adjust" | "merge" | "union" | "branch" | "swap";
  readonly amount: number;
  readonly other: JsonObject;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  node: fc.nat(),
  keyword: fc.nat(),
  action: fc.constantFrom("remove", "adjust", "merge", "union", "branch", "swap"),
  amount: fc.constantFrom(-1, 1),
  other: modernDocument.map((document) => ({ ...document, $defs: undefined })),
});

/** Returns all schemas of a document. Generated values have none of the keywords as names. */
function collectSchemas(schemas: unknown, found: JsonObject[] = []): JsonObject[] {
  if (Array.isArray(schemas)) for (const item of schemas) collectSchemas(item, found);
  if (!isPlainObject(schemas)) return found;
  found.push(schemas);
  for (const [keyword, child] of Object.entries(schemas)) {
    const isMap = ["properties", "patternProperties", "dependentSchemas", "$defs"].includes(keyword);
    if (["const", "enum", "dependentRequired", "dependencies"].includes(keyword)) continue;
    if (isMap && isPlainObject(child))
      for (const schema of Object.values(child)) collectSchemas(schema, found);
    else collectSchemas(child, found);
  }
  return found;
}

function applyEdit(document: JsonObject, { node, keyword, action, amount, other }: Edit): void {
  const schemas = collectSchemas(document);
  const schema = schemas[node % schemas.length] ?? document;
  const keywords = Object.keys(schema).filter((name) => !name.startsWith("$"));
  const chosen = keywords[keyword % Math.max(1, keywords.length)] ?? "title";
  const current = schema[chosen];
  if (action === "remove") delete schema[chosen];
  if (action === "adjust" && typeof current === "number") schema[chosen] = Math.max(0, current + amount);
  if (action === "adjust" && chosen === "enum")
    schema[chosen] = amount > 0 ? [...toArray(current), "added"] : toArray(current).slice(0, 1);
  if (action === "merge") Object.assign(schema, omitUndefined(other));
  if (action === "swap" && isPlainObject(current)) schema[chosen] = other;
  if (action === "branch" && Array.isArray(schema["anyOf"]))
    schema["anyOf"] = [...toArray(schema["anyOf"]), other];
  if (action === "branch" && Array.isArray(schema["oneOf"]))
    schema["oneOf"] = [...toArray(schema["oneOf"]), other];
  if (action === "union" && schema !== document) {
    const copy = { ...schema };
    for (const name of Object.keys(schema)) delete schema[name];
    schema["anyOf"] = [copy, other];
  }
}

/** States that other properties were possible, without another effect. */
function declareOtherProperties(document: JsonObject): JsonObject {
  for (const schema of collectSchemas(document)) schema["propertyNames"] ??= true;
  return document;
}

/** Returns our verdict, or `undefined` if something is omitted, such as a circular reference. */
function createEvaluator(document: JsonObject): ((sample: unknown) => boolean) | undefined {
  const patterns = new LinearPatterns("run");
  const sanitized = sanitizeSchema(document, patterns);
  if (sanitized.warnings.length > 0) return undefined;
  const evaluator = new SchemaEvaluator(sanitized, patterns);
  return (sample) => evaluator.isValid(sample, new StepBudget(1_000_000));
}

it.each([
  ["2020-12", modernDocument, () => new Ajv2020(AJV_OPTIONS)] as const,
  ["7", draft7Document, () => new Ajv(AJV_OPTIONS)] as const,
])(
  "after an additive change, every value that fitted still fits (draft %s)",
  (_, documents, createAjv) => {
    const counts = { additive: 0, breaking: 0, none: 0, fitting: 0 };
    fc.assert(
      fc.property(
        documents,
        fc.array(edit, { minLength: 1, maxLength: 2 }),
        fc.array(value, { minLength: 30, maxLength: 30 }),
        (document, edits, samples) => {
          const before = declareOtherProperties(structuredClone(document) as JsonObject);
          const now = structuredClone(before);
          for (const change of edits) applyEdit(now, structuredClone(change));
          const { severity } = compareSchemas(before, now);
          counts[severity] += 1;
          const [evaluate, evaluateNow] = [createEvaluator(before), createEvaluator(now)];
          if (severity !== "additive" || evaluate === undefined || evaluateNow === undefined) return;
          const [ajv, ajvNow] = [createAjv(), createAjv()];
          for (const sample of samples) {
            const results = [evaluate(sample), evaluateNow(sample)];
            counts.fitting += Number(results[0]);
            expect({ before, now, sample, results }).not.toMatchObject({ results: [true, false] });
            const others = [tryValidate(ajv, before, sample), tryValidate(ajvNow, now, sample)];
            expect({ before, now, sample, others }).not.toMatchObject({ others: [true, false] });
          }
        },
      ),
      { numRuns: 600 },
    );
    expect(counts.additive).toBeGreaterThan(100);
    expect(counts.breaking).toBeGreaterThan(20);
    expect(counts.fitting).toBeGreaterThan(500);
  },
  120_000,
);

it.each<[name: string, before: JsonObject, now: JsonObject]>([
  ["not", {}, { not: { anyOf: [false], $ref: "#/$defs/all" } }],
  [
    "oneOf",
    { type: ["string", "number"] },
    { oneOf: [{ type: "string" }, { type: "number", $ref: "#/$defs/all" }] },
  ],
])("a reference whose siblings draft 7 ignores is breaking in %s", (_, before, now) => {
  const document = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $defs: { all: { title: "accepts all" } },
  };
  const toSchema = (a: JsonObject) => ({ ...document, type: "object", properties: { a } });
  expect(compareSchemas(toSchema(before), toSchema(now)).severity).toBe("breaking");
});

it("a new contains is breaking with a minimum of 0, too, which draft 7 ignores", () => {
  const before = { type: "object", properties: { a: { type: "array" } } };
  const now = {
    type: "object",
    properties: { a: { type: "array", contains: { type: "string" }, minContains: 0 } },
  };
  expect(compareSchemas(before, now).severity).toBe("breaking");
});

/** Parameters of usual tools, which do not say whether other ones are possible. */
const { parameter } = fc.letrec<{ parameter: JsonObject }>((tie) => ({
  parameter: fc.oneof(
    { maxDepth: 2, depthSize: "small" },
    fc.record({ type: fc.constantFrom("string", "integer", "boolean", ["string", "null"]) }),
    fc.record({ type: fc.constant("integer"), minimum: fc.nat(2), maximum: fc.nat(3) }),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom("", "a", "ab"), { minLength: 1 }) }),
    fc.record({ type: fc.constant("array"), items: tie("parameter") }),
    toObjects(tie("parameter")),
  ),
}));

function toObjects(parameters: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  const names = fc.constantFrom("a", "b", "c");
  return fc
    .record({
      properties: fc.dictionary(names, parameters, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
      required: fc.uniqueArray(names, { maxLength: 1 }),
    })
    .map((keywords) => Object.assign({ type: "object" }, keywords));
}

/** Whether a value has something at the path of a parameter, such as `a.b` or `a[].b`. */
function hasParameter(sample: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  if (name === "[]") return Array.isArray(sample) && sample.some((item) => hasParameter(item, rest));
  return isPlainObject(sample) && Object.hasOwn(sample, name) && hasParameter(sample[name], rest);
}

it("after an additive change, every value that fitted and has no new parameter still fits", () => {
  const counts = { additive: 0, breaking: 0, none: 0, fitting: 0 };
  const objects = toObjects(parameter);
  fc.assert(
    fc.property(
      objects,
      objects,
      edit,
      fc.array(value, { minLength: 40 }),
      (before, other, change, samples) => {
        const now = structuredClone(before);
        applyEdit(now, { ...change, other: structuredClone(other) });
        const { severity, parameters } = compareSchemas(before, now);
        counts[severity] += 1;
        const [evaluate, evaluateNow] = [createEvaluator(before), createEvaluator(now)];
        if (severity !== "additive" || evaluate === undefined || evaluateNow === undefined) return;
        const added = parameters.filter(({ what }) => what === "added");
        const paths = added.map((entry) => entry.parameter.replaceAll("[]", ".[]").split("."));
        for (const sample of samples) {
          if (!evaluate(sample) || paths.some((path) => hasParameter(sample, path))) continue;
          counts.fitting += 1;
          expect({ before, now, sample, fits: evaluateNow(sample) }).toMatchObject({ fits: true });
        }
      },
    ),
    { numRuns: 600 },
  );
  expect(counts.additive).toBeGreaterThan(50);
  expect(counts.breaking).toBeGreaterThan(50);
  expect(counts.fitting).toBeGreaterThan(100);
}, 120_000);
