import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/agent-definition.js";
import type { JsonObject } from "../../../src/json/json.js";
import { ArgumentInjector } from "../../../src/tools/argument-injector.js";

const fixed = (value: unknown): ArgumentProperty => ({ variant: "static", value, isSensitive: false });
const secret: ArgumentProperty = { variant: "static", value: "s3cr3t", isSensitive: true };
const fromInput: ArgumentProperty = { variant: "argument", argumentPath: "x", isSensitive: false };
const text = { type: "string" };
const REPLACED = "any value given here is replaced.";

function modelSchema(properties: Readonly<Record<string, ArgumentProperty>>, schema: JsonObject): JsonObject {
  return new ArgumentInjector(properties, schema).modelSchema;
}

function object(properties: JsonObject, ...required: string[]): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

describe("a sensitive argument in the model's schema", () => {
  it("is hidden and not required", () => {
    expect(modelSchema({ "$['key']": secret }, object({ key: text, city: text }, "key", "city"))).toEqual(
      object({ city: text }, "city"),
    );
  });

  it("leaves no empty required array", () => {
    expect(modelSchema({ "$.key": secret }, object({ key: text, city: text }, "key"))).toEqual(
      object({ city: text }),
    );
  });

  it("hides a parent without other properties", () => {
    const schema = object(
      { auth: object({ login: object({ key: text }, "key") }, "login"), city: text },
      "auth",
      "city",
    );
    expect(modelSchema({ "$.auth.login.key": secret }, schema)).toEqual(object({ city: text }, "city"));
  });

  it("leaves a parent with other properties", () => {
    const schema = object({ auth: object({ key: text, user: text }, "key", "user") }, "auth");
    expect(modelSchema({ "$.auth.key": secret }, schema)).toEqual(
      object({ auth: object({ user: text }, "user") }, "auth"),
    );
  });

  it("leaves a parent with additionalProperties", () => {
    const schema = object({ auth: { ...object({ key: text }), additionalProperties: true } });
    expect(modelSchema({ "$.auth.key": secret }, schema)).toEqual(
      object({ auth: { ...object({}), additionalProperties: true } }),
    );
  });

  it("hides a parent whose properties are all sensitive", () => {
    const schema = object({ auth: object({ key: text, user: text }) });
    expect(modelSchema({ "$.auth.key": secret, "$.auth.user": secret }, schema)).toEqual(object({}));
  });

  it("leaves the root an object", () => {
    expect(modelSchema({ "$.key": secret }, object({ key: text }, "key"))).toEqual(object({}));
  });

  it("is hidden in the items of an array", () => {
    const schema = object({ list: { type: "array", items: object({ id: text, name: text }, "id") } });
    expect(modelSchema({ "$.list[*].id": secret }, schema)).toEqual(
      object({ list: { type: "array", items: object({ name: text }) } }),
    );
  });

  it("leaves the array, because the model decides its length", () => {
    const schema = object({ list: { type: "array", items: object({ id: text }) } }, "list");
    expect(modelSchema({ "$.list[*].id": secret }, schema)).toEqual(
      object({ list: { type: "array", items: object({}) } }, "list"),
    );
  });

  it("that is every item of an array hides the array", () => {
    const schema = object({ list: { type: "array", items: text }, a: text }, "list");
    expect(modelSchema({ "$.list[*]": secret }, schema)).toEqual(object({ a: text }));
  });

  it("that is one item of an array leaves the array unchanged", () => {
    const schema = object({ list: { type: "array", items: text } });
    expect(modelSchema({ "$.list[0]": secret }, schema)).toEqual(schema);
  });

  it("that the schema does not declare changes nothing", () => {
    const schema = object({ a: text }, "a");
    expect(modelSchema({ "$.b": secret, "$.a.b": secret, "$.a[*].c": secret }, schema)).toEqual(schema);
  });

  it("is hidden behind a $ref, without changing other uses of it", () => {
    const schema = {
      ...object({ a: { $ref: "#/$defs/User", description: "A" }, b: { $ref: "#/$defs/User" } }),
      $defs: { User: object({ pass: text, name: text }, "pass") },
    };
    expect(modelSchema({ "$.a.pass": secret }, schema)).toEqual({
      ...object({ a: { ...object({ name: text }), description: "A" }, b: { $ref: "#/$defs/User" } }),
      $defs: { User: object({ pass: text, name: text }, "pass") },
    });
  });

  it("keeps a schema that others refer to", () => {
    const schema = object({ a: text, b: { $ref: "#/properties/a" }, c: { $ref: "#/properties/b" } });
    expect(modelSchema({ "$.a": secret }, schema)).toEqual({
      ...object({ b: { $ref: "#/$defs/shared_1" }, c: { $ref: "#/$defs/shared_2" } }),
      $defs: { shared_2: { $ref: "#/$defs/shared_1" }, shared_1: text },
    });
  });

  it("is hidden in a nullable object", () => {
    const nullable = (properties: JsonObject) => ({ anyOf: [object(properties), { type: "null" }] });
    const schema = object({ a: nullable({ key: text }), b: nullable({ key: text, name: text }) });
    expect(modelSchema({ "$.a.key": secret, "$.b.key": secret }, schema)).toEqual(
      object({ b: nullable({ name: text }) }),
    );
  });

  it("is not required by any branch", () => {
    const schema = {
      ...object({ isbn: text, title: text }),
      anyOf: [{ required: ["isbn"] }, { required: ["title", "isbn"] }],
      ...(JSON.parse(`{"then":{"required":["isbn"]}}`) as JsonObject),
    };
    expect(modelSchema({ "$.isbn": secret }, schema)).toEqual({
      ...object({ title: text }),
      anyOf: [{}, { required: ["title"] }],
      ...(JSON.parse(`{"then":{}}`) as JsonObject),
    });
  });

  it("whose parent is hidden makes no branch require the parent", () => {
    const schema = {
      ...object({ auth: object({ key: text }), a: text }),
      oneOf: [{ required: ["auth"] }, { required: ["a"] }],
    };
    expect(modelSchema({ "$.auth.key": secret }, schema)).toEqual({
      ...object({ a: text }),
      oneOf: [{}, { required: ["a"] }],
    });
  });

  it("hides the parameters in full if circular references make that too expensive", () => {
    const schema = {
      ...object({ node: { $ref: "#/$defs/Node" }, loop: { $ref: "#/$defs/Loop" } }),
      $defs: {
        Node: { ...object({ key: text, next: { $ref: "#/$defs/Node" } }), allOf: [{ $ref: "#/$defs/Node" }] },
        Loop: { $ref: "#/$defs/Loop" },
      },
    };
    const path = `$.node${".next".repeat(60)}.key`;
    const edited = modelSchema({ [path]: secret, "$.loop.key": secret }, schema);
    expect(edited["properties"]).toEqual({});
  });

  it("is hidden in a schema that is deeply nested elsewhere", () => {
    const deep = JSON.parse(`${`{"not":`.repeat(100_000)}{}${"}".repeat(100_000)}`) as unknown;
    const { properties } = modelSchema({ "$.key": secret }, object({ key: text, deep }));
    expect(Object.keys(properties as object)).toEqual(["deep"]);
  });

  it("can be named __proto__", () => {
    const properties = JSON.parse(`{"__proto__":{"type":"string"},"a":{"type":"string"}}`) as JsonObject;
    expect(JSON.stringify(modelSchema({ "$['__proto__']": secret }, { properties }))).toBe(
      `{"properties":{"a":{"type":"string"}}}`,
    );
  });
});

describe("a static value in the model's schema", () => {
  it.each([
    [
      { type: "string", format: "uri", description: "Where" },
      "x",
      { type: "string", description: "Where", enum: ["x"] },
    ],
    [{ type: "integer", minimum: 1 }, 7, { type: "integer", enum: [7] }],
    [{ type: "number" }, 7.5, { type: "number", enum: [7.5] }],
    [{ type: ["boolean", "null"], title: "On" }, true, { title: "On", type: "boolean", enum: [true] }],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, null, { type: "null", enum: [null] }],
    [{ $ref: "#/$defs/X" }, "x", { type: "string", enum: ["x"] }],
    [true, "x", { type: "string", enum: ["x"] }],
  ])("in %j is the only allowed value", (schema, value, expected) => {
    expect(modelSchema({ "$.a": fixed(value) }, object({ a: schema }, "a"))).toEqual(
      object({ a: expected }, "a"),
    );
  });

  it("can be nested", () => {
    const schema = object({ l: { type: "array", items: object({ id: text, n: text }) } });
    expect(modelSchema({ "$.l[*].id": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", items: object({ id: { type: "string", enum: ["x"] }, n: text }) } }),
    );
  });

  it("can be an item of a tuple", () => {
    const schema = object({ l: { type: "array", prefixItems: [text, text] } });
    expect(modelSchema({ "$.l[1]": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", prefixItems: [text, { type: "string", enum: ["x"] }] } }),
    );
  });

  it("at one index of an array is noted in the description", () => {
    const schema = object({ l: { type: "array", items: text, description: "Names." } });
    expect(modelSchema({ "$.l[1]": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", items: text, description: "Names. Item 1 is set automatically." } }),
    );
  });

  it("that is an object or an array is noted and not required", () => {
    const schema = object({ a: { type: "object", description: "Options." }, b: { type: "array" } }, "a", "b");
    expect(modelSchema({ "$.a": fixed({ x: 1 }), "$.b": fixed([1]) }, schema)).toEqual(
      object({
        a: { type: "object", description: `Options. Always {"x":1}: ${REPLACED}` },
        b: { type: "array", description: `Always [1]: ${REPLACED}` },
      }),
    );
  });

  it("that is long is truncated", () => {
    const { properties } = modelSchema({ "$.a": fixed(["x".repeat(10_000)]) }, object({ a: {} }));
    expect(JSON.stringify(properties).length).toBeLessThan(600);
  });

  it("does not show nested sensitive values", () => {
    const schema = object({ user: object({ name: text, pass: text }) });
    const properties = { "$.user": fixed({ name: "n", pass: "s3cr3t" }), "$.user.pass": secret };
    expect(JSON.stringify(modelSchema(properties, schema))).not.toContain("s3cr3t");
  });

  it("does not restrict others that refer to the same schema", () => {
    const schema = object({ a: text, b: { $ref: "#/properties/a" } });
    expect(modelSchema({ "$.a": fixed("x") }, schema)).toEqual({
      ...object({ a: { type: "string", enum: ["x"] }, b: { $ref: "#/$defs/shared_1" } }),
      $defs: { shared_1: text },
    });
  });

  it("can be a text without variables", () => {
    const textBuilder: ArgumentProperty = {
      variant: "textBuilder",
      tokens: [
        { type: "simpleText", rawString: "a" },
        { type: "expression", rawString: "b" },
      ],
      isSensitive: false,
    };
    expect(modelSchema({ "$.a": textBuilder }, object({ a: text }))).toEqual(
      object({ a: { type: "string", enum: ["ab"] } }),
    );
  });
});

describe("a value that depends on the run", () => {
  it("from the agent's input is noted and not required", () => {
    expect(modelSchema({ "$.a": fromInput }, object({ a: text, b: text }, "a", "b"))).toEqual(
      object(
        {
          a: {
            type: "string",
            description: `Taken from the agent's input if present there: then ${REPLACED}`,
          },
          b: text,
        },
        "b",
      ),
    );
  });

  it.each<ArgumentProperty>([
    { variant: "textBuilder", tokens: [{ type: "variable", rawString: "x" }], isSensitive: false },
    { variant: "arrayBuilder", isSensitive: false },
  ])("of a $variant is noted and not required", (property) => {
    expect(modelSchema({ "$.a": property }, object({ a: {} }, "a"))).toEqual(
      object({ a: { description: `Set automatically: ${REPLACED}` } }),
    );
  });
});
