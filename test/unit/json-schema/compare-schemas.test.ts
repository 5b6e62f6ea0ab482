import { describe, expect, it } from "vitest";
import { compareSchemas } from "../../../src/json-schema/diff/compare-schemas.js";
import { StepBudget } from "../../../src/json-schema/step-budget.js";
import type { JsonObject } from "../../../src/json/json.js";

const objectOf = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const text = { type: "string" };
const count = { type: "integer" };

describe("a schema that changed", () => {
  it.each(["constructor", "toString", "__proto__"])("is breaking with an unknown keyword %s", (keyword) => {
    const now = JSON.parse(`{ "type": "object", "${keyword}": "text" }`) as JsonObject;
    expect(compareSchemas({ type: "object" }, now).severity).toBe("breaking");
    expect(compareSchemas(now, { ...now, minProperties: 0 }).severity).toBe("additive");
  });

  it("is unchanged if only the order of its keys differs", () => {
    const before = { type: "object", properties: { a: text, b: { type: "integer", minimum: 1 } } };
    const now = { properties: { b: { minimum: 1, type: "integer" }, a: text }, type: "object" };
    expect(compareSchemas(before, now)).toEqual({ severity: "none", parameters: [] });
  });

  it.each([
    ["an optional parameter", objectOf({ a: text }), objectOf({ a: text, b: count }), ["b added"]],
    ["a description", objectOf({ a: text }), objectOf({ a: { ...text, description: "x" } }), ["a changed"]],
    ["a wider type", objectOf({ a: count }), objectOf({ a: { type: "number" } }), ["a changed"]],
    ["one more type", objectOf({ a: text }), objectOf({ a: { type: ["string", "null"] } }), ["a changed"]],
    ["one more value", objectOf({ a: { enum: [1] } }), objectOf({ a: { enum: [1, 2] } }), ["a changed"]],
    ["a parameter that is no longer required", objectOf({ a: text }, ["a"]), objectOf({ a: text }), []],
    [
      "a new nested parameter",
      objectOf({ a: objectOf({ b: text }) }),
      objectOf({ a: objectOf({ b: text, c: text }) }),
      ["a.c added"],
    ],
  ])("is additive with %s", (_what, before, now, changes) => {
    const { severity, parameters } = compareSchemas(before, now);
    expect(severity).toBe("additive");
    expect(parameters.map(({ parameter, what }) => `${parameter} ${what}`)).toEqual(changes);
  });

  it.each([
    ["a new required parameter", objectOf({}), objectOf({ a: text }, ["a"]), ["a required"]],
    ["a parameter that is now required", objectOf({ a: text }), objectOf({ a: text }, ["a"]), ["a required"]],
    ["a removed parameter", objectOf({ a: text, b: text }), objectOf({ a: text }), ["b removed"]],
    ["another type", objectOf({ a: text }), objectOf({ a: count }), ["a type"]],
    ["a narrower type", objectOf({ a: { type: "number" } }), objectOf({ a: count }), ["a type"]],
    ["a type where any was accepted", objectOf({ a: {} }), objectOf({ a: text }), ["a type"]],
    ["fewer values", objectOf({ a: { enum: [1, 2] } }), objectOf({ a: { enum: [1] } }), ["a type"]],
    [
      "an array item",
      objectOf({ a: { type: "array", items: objectOf({ b: text }) } }),
      objectOf({ a: { type: "array", items: objectOf({ b: count }) } }),
      ["a[].b type"],
    ],
    [
      "the target of a reference",
      { ...objectOf({ a: { $ref: "#/$defs/A" } }), $defs: { A: text } },
      { ...objectOf({ a: { $ref: "#/$defs/A" } }), $defs: { A: count } },
      ["a type"],
    ],
    [
      "the target of a reference to an anchor",
      { ...objectOf({ a: { $ref: "#A" } }), $defs: { x: { $anchor: "A", ...text } } },
      { ...objectOf({ a: { $ref: "#A" } }), $defs: { x: { $anchor: "A", ...count } } },
      ["a type"],
    ],
    [
      "a removed branch of a union",
      objectOf({ a: { anyOf: [text, count] } }),
      objectOf({ a: { anyOf: [text] } }),
      ["a type"],
    ],
    [
      "a required parameter without a schema",
      objectOf({ a: text }),
      { ...objectOf({ a: text }), required: ["b"] },
      ["b required"],
    ],
    [
      "the target of a top-level reference",
      { type: "object", $ref: "#/$defs/A", $defs: { A: objectOf({ a: text }) } },
      { type: "object", $ref: "#/$defs/A", $defs: { A: objectOf({ a: count }) } },
      ["a type"],
    ],
    [
      "a change in allOf",
      { type: "object", allOf: [objectOf({ a: text })] },
      { type: "object", allOf: [{ ...objectOf({ a: text, b: text }), required: ["b"] }] },
      ["b required"],
    ],
  ])("is breaking with %s", (_what, before, now, changes) => {
    const { severity, parameters } = compareSchemas(before, now);
    expect(severity).toBe("breaking");
    expect(parameters.map(({ parameter, what }) => `${parameter} ${what}`)).toEqual(changes);
  });

  it("terminates for recursive schemas", () => {
    const loop = (type: string) => ({
      ...objectOf({ next: { $ref: "#" }, value: { type } }),
    });
    expect(compareSchemas(loop("string"), loop("integer")).severity).toBe("breaking");
    expect(compareSchemas({ $ref: "#" }, { $ref: "#", title: "x" }).severity).toBe("additive");
  });

  it("terminates quickly for schemas with many recursive references", () => {
    const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
    const recursive = (description: string) => ({
      type: "object",
      description,
      properties: Object.fromEntries(names.map((name) => [name, { $ref: "#" }])),
    });
    expect(compareSchemas(recursive("one"), recursive("two")).severity).toBe("additive");
    const union = (description: string) => ({
      ...objectOf({ a: { $ref: "#/$defs/U" } }),
      $defs: { U: { description, anyOf: names.map(() => ({ $ref: "#/$defs/U" })) } },
    });
    expect(compareSchemas(union("one"), union("two")).severity).toBe("additive");
  });

  const objects = (keywords: JsonObject) => ({
    type: "object",
    properties: { x: text, y: text },
    ...keywords,
  });
  const closed = (properties: JsonObject) => ({ ...objectOf(properties), additionalProperties: false });

  it.each([
    ["maximum", { type: "number", maximum: 10 }, { type: "number", maximum: 5 }],
    ["minimum", { type: "number", minimum: 1 }, { type: "number", minimum: 2 }],
    ["exclusiveMaximum", { type: "number", maximum: 5 }, { type: "number", exclusiveMaximum: 5 }],
    ["exclusiveMinimum", { type: "number", minimum: 5 }, { type: "number", exclusiveMinimum: 5 }],
    ["multipleOf", { type: "number", multipleOf: 2 }, { type: "number", multipleOf: 4 }],
    ["minLength", text, { ...text, minLength: 1 }],
    ["maxLength", { ...text, maxLength: 9 }, { ...text, maxLength: 8 }],
    ["pattern", { ...text, pattern: "^a" }, { ...text, pattern: "^ab" }],
    ["format", text, { ...text, format: "email" }],
    ["enum", { enum: ["a", "b"] }, { enum: ["a", "c"] }],
    ["const", { enum: ["a", "b"] }, { const: "a" }],
    ["nullable", { ...text, nullable: true }, text],
    ["additionalProperties", objects({}), objects({ additionalProperties: false })],
    [
      "the type of additional properties",
      { type: "object", additionalProperties: { type: "number" } },
      { type: "object", additionalProperties: count },
    ],
    ["properties of a map", { type: "object" }, objectOf({ x: text })],
    ["patternProperties", objects({}), objects({ patternProperties: { "^x": { maxLength: 1 } } })],
    ["propertyNames", objects({}), objects({ propertyNames: { maxLength: 3 } })],
    ["minProperties", objects({}), objects({ minProperties: 1 })],
    ["maxProperties", objects({}), objects({ maxProperties: 1 })],
    ["dependentRequired", objects({}), objects({ dependentRequired: { x: ["y"] } })],
    ["dependentSchemas", objects({}), objects({ dependentSchemas: { x: { required: ["y"] } } })],
    ["dependencies", objects({}), objects({ dependencies: { x: ["y"] } })],
    ["unevaluatedProperties", objects({}), objects({ unevaluatedProperties: false })],
    ["items", { type: "array" }, { type: "array", items: text }],
    ["prefixItems", { type: "array", items: {} }, { type: "array", prefixItems: [text] }],
    ["unevaluatedItems", { type: "array" }, { type: "array", unevaluatedItems: false }],
    ["minItems", { type: "array" }, { type: "array", minItems: 1 }],
    ["maxItems", { type: "array" }, { type: "array", maxItems: 1 }],
    ["uniqueItems", { type: "array" }, { type: "array", uniqueItems: true }],
    ["contains", { type: "array" }, { type: "array", contains: text }],
    ["maxContains", { type: "array", contains: text }, { type: "array", contains: text, maxContains: 1 }],
    ["anyOf", { anyOf: [text, count] }, { anyOf: [{ ...text, maxLength: 3 }, count] }],
    ["a new oneOf that overlaps", { oneOf: [text] }, { oneOf: [text, { minLength: 3 }] }],
    ["oneOf", text, { ...text, oneOf: [{ minLength: 1 }] }],
    ["allOf", text, { allOf: [text, { minLength: 1 }] }],
    ["not", text, { ...text, not: { const: "a" } }],
    ["if", objects({}), objects({ if: { required: ["x"] }, then: { required: ["y"] } })],
    ["an unknown keyword", text, { ...text, validator: "strict" }],
    ["a malformed keyword", text, { ...text, minLength: "1" }],
    ["a remote reference", text, { $ref: "https://example.com/text.json" }],
    ["a dynamic reference", text, { $dynamicRef: "#text" }],
    ["a parameter of a branch", { anyOf: [objectOf({ x: text })] }, { ...objectOf({ y: text, x: count }) }],
  ])("is breaking with a narrower constraint: %s", (_what, before, now) => {
    expect(compareSchemas(objectOf({ a: before }), objectOf({ a: now })).severity).toBe("breaking");
    // In the place where the arguments are declared, and below an array.
    const inArray = (schema: JsonObject) => objectOf({ a: { type: "array", items: schema } });
    expect(compareSchemas(inArray(before), inArray(now)).severity).toBe("breaking");
    expect(compareSchemas({ allOf: [before] }, { allOf: [now] }).severity).toBe(
      _what === "properties of a map" ? "additive" : "breaking",
    );
  });

  it.each([
    ["maximum", { type: "number", exclusiveMaximum: 5 }, { type: "number", maximum: 5 }],
    ["multipleOf", { type: "number", multipleOf: 0.2 }, { type: "number", multipleOf: 0.1 }],
    ["maxLength", { ...text, maxLength: 8 }, { ...text, maxLength: 9 }],
    ["no pattern", { ...text, pattern: "^a", format: "email" }, text],
    ["const", { const: "a" }, { enum: ["a", "b"] }],
    ["a keyword for other types", text, { ...text, maximum: 1, maxItems: 1, required: ["a"] }],
    ["additionalProperties", closed({ x: text }), objects({})],
    ["a property of a closed object", closed({ x: text }), closed({ x: text, y: count })],
    [
      "unevaluatedProperties",
      { ...objectOf({ x: text }), unevaluatedProperties: false },
      { ...objectOf({ x: text, y: text }), unevaluatedProperties: false },
    ],
    ["names that are strings", objects({}), objects({ propertyNames: { type: "string" } })],
    [
      "prefixItems",
      { type: "array", prefixItems: [count] },
      { type: "array", prefixItems: [{ type: "number" }] },
    ],
    ["a tuple of draft 7", { type: "array", items: [text] }, { type: "array", prefixItems: [text] }],
    ["contains", { type: "array", contains: count }, { type: "array", contains: { type: "number" } }],
    ["one more branch", { anyOf: [text, count] }, { anyOf: [count, { type: "null" }, text] }],
    ["a union of types", { type: ["string", "null"] }, { anyOf: [text, { type: "null" }] }],
    ["a union of values", { enum: ["a", "b"] }, { anyOf: [{ const: "a" }, { const: "b" }, { const: "c" }] }],
    [
      "one more variant",
      { oneOf: [{ ...objectOf({ kind: { const: "a" } }, ["kind"]) }] },
      { oneOf: [objectOf({ kind: { const: "a" } }, ["kind"]), objectOf({ kind: { const: "b" } }, ["kind"])] },
    ],
    ["not", { type: ["string", "number"], not: { const: 1 } }, { type: ["string", "number"] }],
    ["not of another type", text, { ...text, not: count }],
    [
      "a wider branch of a condition",
      { if: { const: 1 }, then: { type: "integer" }, else: text },
      { if: { const: 1 }, then: { type: "number" }, else: text },
    ],
    ["an annotation", text, { ...text, title: "x", default: "y", examples: ["z"], "x-order": 1 }],
    ["a definition instead of a copy", text, { $ref: "#/properties/b" }],
  ])("is additive with a wider constraint: %s", (_what, before, now) => {
    const [old, current] = [objectOf({ a: before, b: text }), objectOf({ a: now, b: text })];
    const { severity, parameters } = compareSchemas(old, current);
    expect({ severity, parameters: parameters.map(({ parameter }) => parameter.split(/[.[]/)[0]) }).toEqual({
      severity: "additive",
      parameters: ["a"],
    });
  });

  it("counts a step for each subschema that may declare a parameter", () => {
    const schema = (type: string): JsonObject => ({
      allOf: Array.from({ length: 300 }, (_, n) => objectOf({ [`p${n}`]: { type } })),
    });
    const steps = new StepBudget(Infinity);
    compareSchemas(schema("string"), schema("number"), steps);
    expect(steps.used).toBeGreaterThan(300 * 300);
  });

  it("is breaking if comparing it takes too many steps", () => {
    const schema = (maximum: number) =>
      objectOf(Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`p${n}`, { ...count, maximum }])));
    expect(compareSchemas(schema(1), schema(2), new StepBudget(1_000)).severity).toBe("breaking");
    expect(compareSchemas(schema(1), schema(2)).severity).toBe("additive");
  });
});
