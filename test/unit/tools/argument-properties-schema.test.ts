import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/argument-property.js";
import type { JsonObject } from "../../../src/json/json.js";
import { compileArgumentProperties } from "../../../src/tools/argument-injector.js";

const fixed = (value: unknown): ArgumentProperty => ({ variant: "static", value, isSensitive: false });
const secret: ArgumentProperty = { variant: "static", value: "s3cr3t", isSensitive: true };
const fromInput: ArgumentProperty = { variant: "argument", argumentPath: "x", isSensitive: false };
const text = { type: "string" };
const REPLACED = "whatever is given here is replaced.";

/** The schema that the model sees. */
function shown(properties: Readonly<Record<string, ArgumentProperty>>, schema: JsonObject): JsonObject {
  return compileArgumentProperties(properties, schema).shownSchema;
}

/** The schema of an object with these properties. */
function object(properties: JsonObject, ...required: string[]): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

describe("a sensitive argument", () => {
  it("is not shown and not required", () => {
    expect(shown({ "$['key']": secret }, object({ key: text, city: text }, "key", "city"))).toEqual(
      object({ city: text }, "city"),
    );
  });

  it("leaves no empty list of what is required", () => {
    expect(shown({ "$.key": secret }, object({ key: text, city: text }, "key"))).toEqual(
      object({ city: text }),
    );
  });

  it("takes a parent with it that has nothing else to show", () => {
    const schema = object(
      { auth: object({ login: object({ key: text }, "key") }, "login"), city: text },
      "auth",
      "city",
    );
    expect(shown({ "$.auth.login.key": secret }, schema)).toEqual(object({ city: text }, "city"));
  });

  it("leaves a parent that has more to show", () => {
    const schema = object({ auth: object({ key: text, user: text }, "key", "user") }, "auth");
    expect(shown({ "$.auth.key": secret }, schema)).toEqual(
      object({ auth: object({ user: text }, "user") }, "auth"),
    );
  });

  it("leaves a parent that takes any key", () => {
    const schema = object({ auth: { ...object({ key: text }), additionalProperties: true } });
    expect(shown({ "$.auth.key": secret }, schema)).toEqual(
      object({ auth: { ...object({}), additionalProperties: true } }),
    );
  });

  it("two of them take their parent with them", () => {
    const schema = object({ auth: object({ key: text, user: text }) });
    expect(shown({ "$.auth.key": secret, "$.auth.user": secret }, schema)).toEqual(object({}));
  });

  it("the arguments themselves stay an object", () => {
    expect(shown({ "$.key": secret }, object({ key: text }, "key"))).toEqual(object({}));
  });

  it("is hidden in the items of a list", () => {
    const schema = object({ list: { type: "array", items: object({ id: text, name: text }, "id") } });
    expect(shown({ "$.list[*].id": secret }, schema)).toEqual(
      object({ list: { type: "array", items: object({ name: text }) } }),
    );
  });

  it("leaves the list, whose length is for the model to say", () => {
    const schema = object({ list: { type: "array", items: object({ id: text }) } }, "list");
    expect(shown({ "$.list[*].id": secret }, schema)).toEqual(
      object({ list: { type: "array", items: object({}) } }, "list"),
    );
  });

  it("that is every item of a list hides the list", () => {
    const schema = object({ list: { type: "array", items: text }, a: text }, "list");
    expect(shown({ "$.list[*]": secret }, schema)).toEqual(object({ a: text }));
  });

  it("that is one item of a list leaves the list as it is", () => {
    const schema = object({ list: { type: "array", items: text } });
    expect(shown({ "$.list[0]": secret }, schema)).toEqual(schema);
  });

  it("that the schema does not know changes nothing", () => {
    const schema = object({ a: text }, "a");
    expect(shown({ "$.b": secret, "$.a.b": secret, "$.a[*].c": secret }, schema)).toEqual(schema);
  });

  it("is hidden behind a reference, which others still see in full", () => {
    const schema = {
      ...object({ a: { $ref: "#/$defs/User", description: "A" }, b: { $ref: "#/$defs/User" } }),
      $defs: { User: object({ pass: text, name: text }, "pass") },
    };
    expect(shown({ "$.a.pass": secret }, schema)).toEqual({
      ...object({ a: { ...object({ name: text }), description: "A" }, b: { $ref: "#/$defs/User" } }),
      $defs: { User: object({ pass: text, name: text }, "pass") },
    });
  });

  it("leaves what others refer to", () => {
    const schema = object({ a: text, b: { $ref: "#/properties/a" }, c: { $ref: "#/properties/b" } });
    expect(shown({ "$.a": secret }, schema)).toEqual({
      ...object({ b: { $ref: "#/$defs/shared_2" }, c: { $ref: "#/$defs/shared_1" } }),
      $defs: { shared_1: { $ref: "#/$defs/shared_2" }, shared_2: text },
    });
  });

  it("is hidden in an object that may be null", () => {
    const nullable = (properties: JsonObject) => ({ anyOf: [object(properties), { type: "null" }] });
    const schema = object({ a: nullable({ key: text }), b: nullable({ key: text, name: text }) });
    expect(shown({ "$.a.key": secret, "$.b.key": secret }, schema)).toEqual(
      object({ b: nullable({ name: text }) }),
    );
  });

  it("is required by no branch", () => {
    const schema = {
      ...object({ isbn: text, title: text }),
      anyOf: [{ required: ["isbn"] }, { required: ["title", "isbn"] }],
      ...(JSON.parse(`{"then":{"required":["isbn"]}}`) as JsonObject),
    };
    expect(shown({ "$.isbn": secret }, schema)).toEqual({
      ...object({ title: text }),
      anyOf: [{}, { required: ["title"] }],
      ...(JSON.parse(`{"then":{}}`) as JsonObject),
    });
  });

  it("neither is a parent that went with it", () => {
    const schema = {
      ...object({ auth: object({ key: text }), a: text }),
      oneOf: [{ required: ["auth"] }, { required: ["a"] }],
    };
    expect(shown({ "$.auth.key": secret }, schema)).toEqual({
      ...object({ a: text }),
      oneOf: [{}, { required: ["a"] }],
    });
  });

  it("does not lose its way in references that go round in circles", () => {
    const schema = {
      ...object({ node: { $ref: "#/$defs/Node" }, loop: { $ref: "#/$defs/Loop" } }),
      $defs: {
        Node: { ...object({ key: text, next: { $ref: "#/$defs/Node" } }), allOf: [{ $ref: "#/$defs/Node" }] },
        Loop: { $ref: "#/$defs/Loop" },
      },
    };
    const path = `$.node${".next".repeat(60)}.key`;
    expect(shown({ [path]: secret, "$.loop.key": secret }, schema)).toHaveProperty(
      "properties.node.properties.key",
    );
  });

  it("is hidden however deep the schema goes elsewhere", () => {
    const deep = JSON.parse(`${`{"not":`.repeat(100_000)}{}${"}".repeat(100_000)}`) as unknown;
    const { properties } = shown({ "$.key": secret }, object({ key: text, deep }));
    expect(Object.keys(properties as object)).toEqual(["deep"]);
  });

  it("may be called __proto__", () => {
    const properties = JSON.parse(`{"__proto__":{"type":"string"},"a":{"type":"string"}}`) as JsonObject;
    expect(JSON.stringify(shown({ "$['__proto__']": secret }, { properties }))).toBe(
      `{"properties":{"a":{"type":"string"}}}`,
    );
  });
});

describe("a value that is fixed", () => {
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
  ])("in %j is the only one that can be chosen", (schema, value, expected) => {
    expect(shown({ "$.a": fixed(value) }, object({ a: schema }, "a"))).toEqual(object({ a: expected }, "a"));
  });

  it("deep inside", () => {
    const schema = object({ l: { type: "array", items: object({ id: text, n: text }) } });
    expect(shown({ "$.l[*].id": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", items: object({ id: { type: "string", enum: ["x"] }, n: text }) } }),
    );
  });

  it("in one place of a tuple", () => {
    const schema = object({ l: { type: "array", prefixItems: [text, text] } });
    expect(shown({ "$.l[1]": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", prefixItems: [text, { type: "string", enum: ["x"] }] } }),
    );
  });

  it("in one place of a list is told", () => {
    const schema = object({ l: { type: "array", items: text, description: "Names." } });
    expect(shown({ "$.l[1]": fixed("x") }, schema)).toEqual(
      object({ l: { type: "array", items: text, description: "Names. Item 1 is filled in for you." } }),
    );
  });

  it("that is an object or a list is told, and need not be given", () => {
    const schema = object({ a: { type: "object", description: "Options." }, b: { type: "array" } }, "a", "b");
    expect(shown({ "$.a": fixed({ x: 1 }), "$.b": fixed([1]) }, schema)).toEqual(
      object({
        a: { type: "object", description: `Options. Always {"x":1}: ${REPLACED}` },
        b: { type: "array", description: `Always [1]: ${REPLACED}` },
      }),
    );
  });

  it("that is long is told in part", () => {
    const { properties } = shown({ "$.a": fixed(["x".repeat(10_000)]) }, object({ a: {} }));
    expect(JSON.stringify(properties).length).toBeLessThan(600);
  });

  it("shows nothing of what is sensitive inside", () => {
    const schema = object({ user: object({ name: text, pass: text }) });
    const properties = { "$.user": fixed({ name: "n", pass: "s3cr3t" }), "$.user.pass": secret };
    expect(JSON.stringify(shown(properties, schema))).not.toContain("s3cr3t");
  });

  it("is not the only one for others that refer to the same schema", () => {
    const schema = object({ a: text, b: { $ref: "#/properties/a" } });
    expect(shown({ "$.a": fixed("x") }, schema)).toEqual({
      ...object({ a: { type: "string", enum: ["x"] }, b: { $ref: "#/$defs/shared_1" } }),
      $defs: { shared_1: text },
    });
  });

  it("a text without variables is one", () => {
    const words: ArgumentProperty = {
      variant: "textBuilder",
      tokens: [
        { type: "simpleText", rawString: "a" },
        { type: "expression", rawString: "b" },
      ],
      isSensitive: false,
    };
    expect(shown({ "$.a": words }, object({ a: text }))).toEqual(
      object({ a: { type: "string", enum: ["ab"] } }),
    );
  });
});

describe("a value that is not known yet", () => {
  it("from the agent's input is told, and need not be given", () => {
    expect(shown({ "$.a": fromInput }, object({ a: text, b: text }, "a", "b"))).toEqual(
      object(
        {
          a: {
            type: "string",
            description: `Taken from the agent's input when it is there: then, ${REPLACED}`,
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
  ])("of a $variant is told, and need not be given", (property) => {
    expect(shown({ "$.a": property }, object({ a: {} }, "a"))).toEqual(
      object({ a: { description: `Filled in for you: ${REPLACED}` } }),
    );
  });
});
