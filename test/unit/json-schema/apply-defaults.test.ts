import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainObject, type JsonObject } from "../../../src/json/json.js";
import { DefaultArguments } from "../../../src/json-schema/apply-defaults.js";

const withDefaults = (schema: JsonObject, args: JsonObject) => new DefaultArguments(schema).complete(args);

function objectOf(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...more };
}

describe("defaults", () => {
  it("are filled in for what is absent", () => {
    const schema = objectOf({ unit: { type: "string", default: "C" }, days: { type: "number", default: 3 } });
    expect(withDefaults(schema, { days: 5 })).toEqual({ days: 5, unit: "C" });
  });

  it("are filled in for a required argument, too", () => {
    const schema = objectOf({ unit: { type: "string", default: "C" } }, { required: ["unit"] });
    expect(withDefaults(schema, {})).toEqual({ unit: "C" });
  });

  it("are filled in inside an object that is there, and do not create one that is not", () => {
    const page = objectOf({ size: { type: "integer", default: 10 } });
    const schema = objectOf({ page, other: page });
    expect(withDefaults(schema, { page: {} })).toEqual({ page: { size: 10 } });
  });

  it("are found behind local references", () => {
    const schema = objectOf(
      { page: { $ref: "#/$defs/Page" }, unit: { $ref: "#/$defs/a~1b" } },
      { $defs: { Page: objectOf({ size: { default: 10 } }), "a/b": { type: "string", default: "C" } } },
    );
    expect(withDefaults(schema, { page: {} })).toEqual({ page: { size: 10 }, unit: "C" });
  });

  it("are found in allOf, and not taken from a branch of a union", () => {
    const schema = {
      allOf: [objectOf({ a: { default: 1 } })],
      oneOf: [objectOf({ b: { default: 2 } }), objectOf({ c: { default: 3 } })],
    };
    expect(withDefaults(schema, {})).toEqual({ a: 1 });
  });

  it("that do not fit their own type are not filled in", () => {
    expect(withDefaults(objectOf({ name: { type: "string", default: null } }), {})).toEqual({});
  });

  it("of null are filled in where null is accepted", () => {
    expect(withDefaults(objectOf({ name: { type: ["string", "null"], default: null } }), {})).toEqual({
      name: null,
    });
  });

  it("are copies", () => {
    const schema = objectOf({ tags: { type: "array", default: ["a"] } });
    (withDefaults(schema, {})["tags"] as string[]).push("b");
    expect(schema).toEqual(objectOf({ tags: { type: "array", default: ["a"] } }));
  });

  it("of a schema that contains itself end", () => {
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
    ["an empty text", "", { type: "string" }],
    ["an empty text for a number", "", { type: "number" }],
    ["an empty text for null or a string", "", { anyOf: [{ type: "string" }, { type: "null" }] }],
  ])("is left out: %s", (_, value, property) => {
    expect(withDefaults(objectOf({ a: property }), { a: value })).toEqual({});
  });

  it.each([
    ["null where it is a type", null, { type: ["string", "null"] }],
    ["null where it is a value", null, { enum: ["a", null] }],
    ["null where it is a branch", null, { anyOf: [{ type: "string" }, { type: "null" }] }],
    ["null where everything goes", null, {}],
    ["null where everything goes, as true", null, true],
    ["an empty text that is a value", "", { enum: ["", "a"] }],
    ["an empty text that is the only value", "", { const: "" }],
    ["an empty text that is the default", "", { type: "string", default: "" }],
    ["an empty text of an allowed length", "", { type: "string", minLength: 0 }],
    ["false", false, { type: "boolean" }],
    ["zero", 0, { type: "number" }],
    ["an empty list", [], { type: "array" }],
  ])("stays when it means something: %s", (_, value, property) => {
    expect(withDefaults(objectOf({ a: property }), { a: value })).toEqual({ a: value });
  });

  it("gives way to the default", () => {
    expect(withDefaults(objectOf({ unit: { type: "string", default: "C" } }), { unit: "" })).toEqual({
      unit: "C",
    });
  });

  it("is left out of a branch of a union", () => {
    const schema = {
      oneOf: [
        objectOf({ manga_id: { type: "string" } }, { required: ["manga_id"] }),
        objectOf({ isbn: { type: "string" } }, { required: ["isbn"] }),
      ],
    };
    expect(withDefaults(schema, { manga_id: "m1", isbn: "" })).toEqual({ manga_id: "m1" });
  });

  it("that nobody declared stays", () => {
    expect(withDefaults(objectOf({}), { extra: "", other: null })).toEqual({ extra: "", other: null });
  });
});

it("an empty required argument stays, so that the check can tell", () => {
  const schema = objectOf({ a: { type: "string" }, b: { type: "string" } }, { required: ["a", "b"] });
  expect(withDefaults(schema, { a: "", b: null })).toEqual({ a: "", b: null });
});

it("a member called __proto__ is a member", () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"default":{"x":1}}}}') as JsonObject;
  const filled = withDefaults(schema, {});
  expect(Object.keys(filled)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
});

it("never throws and never changes what it was given", () => {
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
