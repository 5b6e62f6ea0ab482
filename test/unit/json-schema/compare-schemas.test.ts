import { describe, expect, it } from "vitest";
import { compareSchemas } from "../../../src/json-schema/compare-schemas.js";
import type { JsonObject } from "../../../src/json/json.js";

const objectOf = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const text = { type: "string" };
const count = { type: "integer" };

describe("a schema that changed", () => {
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
    expect(compareSchemas({ $ref: "#" }, { $ref: "#", a: 1 }).severity).toBe("additive");
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
});
