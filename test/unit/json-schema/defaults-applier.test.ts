import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainObject, type JsonObject } from "../../../src/json/json.js";
import { DefaultsApplier } from "../../../src/json-schema/defaults-applier.js";

const withDefaults = (schema: JsonObject, args: JsonObject) => new DefaultsApplier(schema).apply(args);

function objectOf(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...more };
}

describe("defaults", () => {
  it("are applied to absent arguments", () => {
    const schema = objectOf({ unit: { type: "string", default: "C" }, days: { type: "number", default: 3 } });
    expect(withDefaults(schema, { days: 5 })).toEqual({ days: 5, unit: "C" });
  });

  it("are applied to a required argument, too", () => {
    const schema = objectOf({ unit: { type: "string", default: "C" } }, { required: ["unit"] });
    expect(withDefaults(schema, {})).toEqual({ unit: "C" });
  });

  it("are applied inside an existing object and do not create a missing one", () => {
    const page = objectOf({ size: { type: "integer", default: 10 } });
    const schema = objectOf({ page, other: page });
    expect(withDefaults(schema, { page: {} })).toEqual({ page: { size: 10 } });
  });

  it("are found through local references", () => {
    const schema = objectOf(
      { page: { $ref: "#/$defs/Page" }, unit: { $ref: "#/$defs/a~1b" } },
      { $defs: { Page: objectOf({ size: { default: 10 } }), "a/b": { type: "string", default: "C" } } },
    );
    expect(withDefaults(schema, { page: {} })).toEqual({ page: { size: 10 }, unit: "C" });
  });

  it("are found in allOf, but not in the branches of a union", () => {
    const schema = {
      allOf: [objectOf({ a: { default: 1 } })],
      oneOf: [objectOf({ b: { default: 2 } }), objectOf({ c: { default: 3 } })],
    };
    expect(withDefaults(schema, {})).toEqual({ a: 1 });
  });

  it("that do not match their own type are not applied", () => {
    expect(withDefaults(objectOf({ name: { type: "string", default: null } }), {})).toEqual({});
  });

  it("of null are applied where null is accepted", () => {
    expect(withDefaults(objectOf({ name: { type: ["string", "null"], default: null } }), {})).toEqual({
      name: null,
    });
  });

  it("are copied", () => {
    const schema = objectOf({ tags: { type: "array", default: ["a"] } });
    (withDefaults(schema, {})["tags"] as string[]).push("b");
    expect(schema).toEqual(objectOf({ tags: { type: "array", default: ["a"] } }));
  });

  it("of a recursive schema terminate", () => {
    const schema = objectOf({
      child: { $ref: "#" },
      name: { default: "x" },
      loop: { $ref: "#/properties/loop" },
    });
    expect(withDefaults(schema, { child: { child: {} } })).toEqual({
      name: "x",
      child: { name: "x", child: { name: "x" } },
    });
  });
});

describe("an empty optional argument", () => {
  it.each([
    ["undefined", undefined, { type: "string" }],
    ["undefined of any type", undefined, {}],
    ["null for a string", null, { type: "string" }],
    ["null for one of several values", null, { enum: ["a", "b"] }],
    ["null for a union without it", null, { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["an empty string", "", { type: "string" }],
    ["an empty string for a number", "", { type: "number" }],
    ["an empty string for null or a string", "", { anyOf: [{ type: "string" }, { type: "null" }] }],
  ])("is omitted: %s", (_, value, property) => {
    expect(withDefaults(objectOf({ a: property }), { a: value })).toEqual({});
  });

  it.each([
    ["null where it is a type", null, { type: ["string", "null"] }],
    ["null where it is a value", null, { enum: ["a", null] }],
    ["null where it is a branch", null, { anyOf: [{ type: "string" }, { type: "null" }] }],
    ["null where everything is allowed", null, {}],
    ["null where everything is allowed, as true", null, true],
    ["an empty string that is a value", "", { enum: ["", "a"] }],
    ["an empty string that is the only value", "", { const: "" }],
    ["an empty string that is the default", "", { type: "string", default: "" }],
    ["an empty string of an allowed length", "", { type: "string", minLength: 0 }],
    ["false", false, { type: "boolean" }],
    ["zero", 0, { type: "number" }],
    ["an empty array", [], { type: "array" }],
  ])("is kept where it is meaningful: %s", (_, value, property) => {
    expect(withDefaults(objectOf({ a: property }), { a: value })).toEqual({ a: value });
  });

  it("is replaced by the default", () => {
    expect(withDefaults(objectOf({ unit: { type: "string", default: "C" } }), { unit: "" })).toEqual({
      unit: "C",
    });
  });

  it("of a union branch is omitted", () => {
    const schema = {
      oneOf: [
        objectOf({ manga_id: { type: "string" } }, { required: ["manga_id"] }),
        objectOf({ isbn: { type: "string" } }, { required: ["isbn"] }),
      ],
    };
    expect(withDefaults(schema, { manga_id: "m1", isbn: "" })).toEqual({ manga_id: "m1" });
  });

  it("that is not declared is kept", () => {
    expect(withDefaults(objectOf({}), { extra: "", other: null })).toEqual({ extra: "", other: null });
  });
});

it("an empty required argument is kept for the validation", () => {
  const schema = objectOf({ a: { type: "string" }, b: { type: "string" } }, { required: ["a", "b"] });
  expect(withDefaults(schema, { a: "", b: null })).toEqual({ a: "", b: null });
});

it("a property named __proto__ is an ordinary property", () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"default":{"x":1}}}}') as JsonObject;
  const result = withDefaults(schema, {});
  expect(Object.keys(result)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
});

it("never throws and never changes its input", () => {
  const json = fc.dictionary(
    fc.constantFrom("properties", "a", "$ref", "default", "type", "allOf", "__proto__"),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(json, json, (schema, args) => {
      const before = JSON.stringify([schema, args]);
      expect(isPlainObject(withDefaults(schema, args))).toBe(true);
      expect(JSON.stringify([schema, args])).toBe(before);
    }),
  );
});
