/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { toPortableSchema } from "../../../src/json-schema/portable-schema.js";
import { findProviderViolations } from "../../fixtures/provider-rules.js";

/** Also checks that every provider accepts the schema and that the original is not changed. */
function portable(original: JsonObject): JsonObject {
  const before = JSON.stringify(original);
  const { schema } = toPortableSchema(original);
  expect(findProviderViolations(schema)).toEqual([]);
  expect(JSON.stringify(original)).toBe(before);
  return schema;
}

/** The portable schema of one argument. */
function portableArgument(schema: unknown, more: JsonObject = {}): unknown {
  const { properties } = portable({ type: "object", properties: { a: schema }, ...more });
  return (properties as JsonObject)["a"];
}

function tagged(kind: string, name: string): JsonObject {
  return {
    type: "object",
    properties: { kind: { const: kind }, [name]: { type: "number" } },
    required: ["kind", name],
  };
}

describe("the top level", () => {
  it("an ordinary schema is unchanged", () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string", description: "Where" },
        days: { type: "integer", minimum: 1, default: 3 },
      },
      required: ["city"],
    };
    expect(portable(schema)).toEqual(schema);
  });

  it("an empty schema becomes an object without arguments", () => {
    expect(portable({})).toEqual({ type: "object", properties: {} });
  });

  it("a union becomes one object that describes the possible combinations", () => {
    const schema = {
      oneOf: [
        { type: "object", properties: { manga_id: { type: "string" } }, required: ["manga_id"] },
        { type: "object", properties: { isbn: { type: "string" } }, required: ["isbn"] },
      ],
    };
    expect(portable(schema)).toEqual({
      type: "object",
      description: "Possible combinations: manga_id; or isbn.",
      properties: { manga_id: { type: "string" }, isbn: { type: "string" } },
    });
  });

  it("alternatives of required arguments are described", () => {
    const schema = {
      type: "object",
      description: "Updates an issue.",
      properties: { id: { type: "string" }, title: { type: "string" }, text: { type: "string" } },
      required: ["id"],
      anyOf: [{ required: ["title"] }, { required: ["text"] }],
    };
    expect(portable(schema)).toMatchObject({
      description: "Updates an issue. Possible combinations: title; or text.",
      required: ["id"],
    });
  });

  it("a discriminated union keeps every discriminator and describes its properties", () => {
    expect(portable({ oneOf: [tagged("circle", "radius"), tagged("square", "side")] })).toEqual({
      type: "object",
      description: 'Possible combinations: kind "circle" with radius; or kind "square" with side.',
      properties: {
        kind: { type: "string", enum: ["circle", "square"] },
        radius: { type: "number" },
        side: { type: "number" },
      },
      required: ["kind"],
    });
  });

  it("allOf is merged", () => {
    const schema = {
      allOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { properties: { a: { minLength: 2 }, b: { type: "number" } }, required: ["b"] },
      ],
    };
    expect(portable(schema)).toEqual({
      type: "object",
      properties: { a: { type: "string", minLength: 2 }, b: { type: "number" } },
      required: ["a", "b"],
    });
  });

  it("if/then/else contains all arguments and describes the condition", () => {
    const schema = {
      type: "object",
      properties: { country: { type: "string" } },
      required: ["country"],
      if: { properties: { country: { const: "US" } } },
      then: { properties: { zip: { type: "string" } }, required: ["zip"] },
      else: { properties: { postcode: { type: "string" } } },
    };
    expect(portable(schema)).toMatchObject({
      description: expect.stringContaining('If country is "US", also provide zip.'),
      properties: { country: { type: "string" }, zip: { type: "string" }, postcode: { type: "string" } },
      required: ["country"],
    });
  });

  it("a name that Anthropic rejects is mentioned in the description", () => {
    const original = {
      type: "object",
      properties: { $filter: { type: "string", description: "OData." }, top: { type: "integer" } },
      required: ["$filter"],
    };
    expect(portable(original)).toEqual({
      type: "object",
      description: 'Also requires "$filter" (string): OData.',
      properties: { top: { type: "integer" } },
    });
    expect(toPortableSchema(original).warnings).toEqual([
      expect.stringMatching(/"\$filter".*name that providers reject/),
    ]);
  });
});

describe("references", () => {
  const $defs = { City: { type: "string", minLength: 1 }, "a/b~c d": { type: "boolean" } };

  it.each([
    ["#/$defs/City", { type: "string", minLength: 1 }],
    ["#/$defs/a~1b~0c%20d", { type: "boolean" }],
    ["#/properties/b", { type: "integer" }],
    ["#anchored", { type: "null" }],
  ])("%s is inlined", ($ref, expected) => {
    const schema = {
      type: "object",
      properties: { a: { $ref }, b: { type: "integer" } },
      $defs: { ...$defs, x: { $anchor: "anchored", type: "null" } },
    };
    expect((portable(schema)["properties"] as JsonObject)["a"]).toEqual(expected);
  });

  it("a reference by the schema's own $id is inlined", () => {
    const more = { $id: "https://x.test/s", definitions: $defs };
    expect(portableArgument({ $ref: "https://x.test/s#/definitions/City" }, more)).toEqual({
      type: "string",
      minLength: 1,
    });
  });

  it("siblings of a reference apply, too", () => {
    expect(portableArgument({ $ref: "#/$defs/City", description: "Where", maxLength: 9 }, { $defs })).toEqual(
      {
        type: "string",
        description: "Where",
        minLength: 1,
        maxLength: 9,
      },
    );
  });

  it("siblings of a reference are ignored in draft 7", () => {
    const more = { $schema: "http://json-schema.org/draft-07/schema#", $defs };
    expect(portableArgument({ $ref: "#/$defs/City", maxLength: 9 }, more)).toEqual({
      type: "string",
      minLength: 1,
    });
  });

  it("a recursive reference ends after a few levels", () => {
    const tree = {
      type: "object",
      properties: { name: { type: "string" }, child: { $ref: "#/$defs/Tree" } },
    };
    const text = JSON.stringify(portableArgument({ $ref: "#/$defs/Tree" }, { $defs: { Tree: tree } }));
    expect(text.split('"name"')).toHaveLength(3);
    expect(text).toContain('{"type":"object","description":"Details omitted.","properties":{}}');
  });

  it("a reference to the root ends, too", () => {
    expect(JSON.stringify(portableArgument({ $ref: "#" })).length).toBeLessThan(500);
  });

  it.each([
    ["https://x.test/schema.json", "the remote reference"],
    ["other.json#/a", "the remote reference"],
    ["#/$defs/Nowhere", "which cannot be resolved"],
  ])("%s is omitted with a warning", ($ref, reason) => {
    const original = { type: "object", properties: { a: { $ref, description: "Something" } } };
    expect(portable(original)).toEqual({ type: "object", properties: { a: { description: "Something" } } });
    expect(toPortableSchema(original).warnings).toEqual([expect.stringContaining(reason)]);
  });
});

it.each([
  "definitions",
  "type",
  "properties",
  "required",
  "enum",
  "items",
  "anyOf",
  "__proto__",
  "constructor",
])("a property named %s is an ordinary property", (name) => {
  const properties = JSON.parse(JSON.stringify({ x: { type: "string" } }).replace("x", name)) as JsonObject;
  expect(JSON.stringify(portable({ type: "object", properties, required: [name] }))).toBe(
    JSON.stringify({ type: "object", properties, required: [name] }),
  );
});

it("a nested property named $ref is an ordinary property", () => {
  const argument = { type: "object", properties: { $ref: { type: "string" }, $defs: { type: "number" } } };
  expect(portableArgument(argument)).toEqual(argument);
});

describe("an argument", () => {
  it.each<[string, unknown, unknown]>([
    [
      "anyOf with null",
      { anyOf: [{ type: "string" }, { type: "null" }], description: "D" },
      { anyOf: [{ type: "string", description: "D" }, { type: "null" }] },
    ],
    [
      "an array of types with null",
      { type: ["string", "null"] },
      { anyOf: [{ type: "string" }, { type: "null" }] },
    ],
    ["nullable", { type: "string", nullable: true }, { anyOf: [{ type: "string" }, { type: "null" }] }],
    [
      "a union of scalars",
      { oneOf: [{ type: "string" }, { type: "integer" }] },
      { anyOf: [{ type: "string" }, { type: "integer" }] },
    ],
    [
      "a union of constants",
      { oneOf: [{ const: "a" }, { const: "b" }] },
      { type: "string", enum: ["a", "b"] },
    ],
    ["const", { const: "a" }, { type: "string", enum: ["a"] }],
    ["an enum of numbers", { enum: [1, 2] }, { type: "integer", description: "One of: 1, 2." }],
    [
      "an enum with an empty string",
      { type: "string", enum: ["", "a"] },
      { type: "string", description: 'One of: "", "a".' },
    ],
    [
      "exclusive bounds",
      { type: "number", exclusiveMinimum: 0 },
      { type: "number", description: "More than 0.", minimum: 0 },
    ],
    ["multipleOf", { type: "integer", multipleOf: 5 }, { type: "integer", description: "A multiple of 5." }],
    [
      "a format that Gemini supports",
      { type: "string", format: "date-time" },
      { type: "string", format: "date-time" },
    ],
    [
      "a format that Gemini rejects",
      { type: "string", format: "email" },
      { type: "string", description: "Format: email." },
    ],
    [
      "examples",
      { type: "string", examples: ["x", "y"] },
      { type: "string", description: 'For example: "x", "y".' },
    ],
    [
      "a map",
      { type: "object", additionalProperties: { type: "number" } },
      { type: "object", description: "Any keys; values: number.", properties: {} },
    ],
    ["an array of anything", { type: "array" }, { type: "array", items: {} }],
    [
      "a tuple",
      { type: "array", prefixItems: [{ type: "number" }, { type: "string" }], maxItems: 2 },
      {
        type: "array",
        description: "In this order: number, string.",
        items: { anyOf: [{ type: "string" }, { type: "number" }] },
        maxItems: 2,
      },
    ],
    ["true", true, {}],
    [
      "properties without a type",
      { properties: { b: { type: "string" } } },
      { type: "object", properties: { b: { type: "string" } } },
    ],
    ["items without a type", { items: { type: "string" } }, { type: "array", items: { type: "string" } }],
    [
      "required that is not declared",
      { type: "object", required: ["x"] },
      { type: "object", description: 'Any keys. Required keys: "x".', properties: {} },
    ],
  ])("%s", (_, argument, expected) => {
    expect(portableArgument(argument)).toEqual(expected);
  });

  it("that is never accepted is omitted", () => {
    expect(portable({ type: "object", properties: { a: false, b: true }, required: ["a"] })).toEqual({
      type: "object",
      properties: { b: {} },
    });
  });

  it("that is a discriminated union remains one", () => {
    const circle = {
      type: "object",
      properties: { kind: { const: "circle" }, radius: { type: "number" } },
      required: ["kind", "radius"],
    };
    const dot = { type: "object", properties: { kind: { const: "dot" } }, required: ["kind"] };
    expect(portableArgument({ oneOf: [circle, dot] })).toEqual({
      anyOf: [
        { ...circle, properties: { ...circle.properties, kind: { type: "string", enum: ["circle"] } } },
        { ...dot, properties: { kind: { type: "string", enum: ["dot"] } } },
      ],
    });
  });
});

describe("patterns", () => {
  it.each([
    [String.raw`^https\:\/\/`, String.raw`^https:\/\/`, "https://x"],
    [String.raw`^\d{3}\-\d{4}\@\ \_$`, String.raw`^\d{3}-\d{4}@ _$`, "555-1234@ _"],
    [String.raw`^[a\-z\:\]\-]\-$`, String.raw`^[a\-z:\]\-]-$`, "]-"],
    [String.raw`^\\:[\\\_]$`, String.raw`^\\:[\\_]$`, String.raw`\:_`],
  ])("%s is shown without needless escapes, which other validators reject", async (pattern, shown, text) => {
    expect(() => new RegExp(pattern, "u")).toThrow(SyntaxError);
    expect(new RegExp(shown, "u").test(text)).toBe(true);
    const schema = portable({ type: "object", properties: { a: { type: "string", pattern } } });
    expect(schema["properties"]).toEqual({ a: { type: "string", pattern: shown } });
    const echo: { invoke(args: object): Promise<unknown> } = tool((args) => (args as { a: string }).a, {
      name: "echo",
      schema: schema as { type: "object" },
    });
    expect(await echo.invoke({ a: text })).toBe(text);
    await expect(echo.invoke({ a: "other" })).rejects.toThrow("schema");
  });

  it("of names are shown without needless escapes, and one that is declared twice is omitted with a warning", () => {
    const patternProperties = { "^x\\-": { type: "string" }, "^x-": { type: "number" } };
    const { schema, warnings } = toPortableSchema({ type: "object", patternProperties });
    expect(schema["description"]).toContain('Keys that match "^x-"; values: string.');
    expect(warnings).toEqual(['Omitted the property pattern "^x-", which is declared twice.']);
  });

  it("whose meaning would change without the escape are omitted", () => {
    expect(portableArgument({ type: "string", pattern: String.raw`^a{1\,2}$` })).toEqual({ type: "string" });
  });

  it("a safe pattern is kept", () => {
    expect(portableArgument({ type: "string", pattern: "^a+$" })).toEqual({
      type: "string",
      pattern: "^a+$",
    });
  });

  it.each([
    ["(?i)abc", "does not compile"],
    ["^(a|b)\\1$", "uses a backreference"],
    ["a(?!b)", "uses a lookahead"],
  ])("%s is omitted with a warning", (pattern, problem) => {
    const original = { type: "object", properties: { a: { type: "string", pattern } } };
    expect(portable(original)["properties"]).toEqual({ a: { type: "string" } });
    const { warnings } = toPortableSchema(original);
    expect(warnings).toEqual([expect.stringContaining(problem)]);
    expect(warnings[0]).toContain(JSON.stringify(pattern));
  });
});

describe("texts", () => {
  it("hidden characters are removed from titles and descriptions; values with them are not shown", () => {
    const argument = {
      type: "string",
      title: "T\u200b",
      description: "a\u202eb\u001b[31m\u{e0041}",
      enum: ["x\u200by", "z", "❤️"],
    };
    expect(portableArgument(argument)).toEqual({
      type: "string",
      title: "T",
      description: "ab",
      enum: ["z", "❤️"],
    });
    expect(portableArgument({ type: "string", enum: ["x\u200by"] })).toEqual({ type: "string" });
    expect(portableArgument({ type: "string", pattern: "^x\u200by" })).toEqual({ type: "string" });
  });

  it("values with joiners between letters or in emoji are shown", () => {
    const argument = { type: "string", enum: ["\u0645\u06cc\u200c\u062e", "\u{1f469}\u200d\u{1f4bb}"] };
    expect(portableArgument(argument)).toEqual(argument);
  });

  it("values and names of properties with hidden characters are reported with their places", () => {
    const hidden = "\u{e0041}\u{e0042}";
    const { schema, warnings } = toPortableSchema({
      type: "object",
      properties: {
        mode: { enum: ["on", `off${hidden}`, `out${hidden}`] },
        filter: {
          type: "object",
          properties: { plain: { type: "string" }, [`k${hidden}`]: { type: "string" } },
          required: ["plain", `k${hidden}`],
        },
      },
    });
    expect(JSON.stringify(schema)).not.toMatch(/[\u{e0041}\u{e0042}]/u);
    expect(schema["properties"]).toMatchObject({ mode: { enum: ["on"] }, filter: { required: ["plain"] } });
    expect(warnings.toSorted()).toEqual([
      "Models do not see 1 name with hidden characters at properties.filter.properties.",
      "Models do not see 2 values with hidden characters at properties.mode.enum.",
    ]);
  });

  it("descriptions have at most 16,384 characters, with a warning for longer ones", () => {
    const original = {
      type: "object",
      properties: { a: { type: "string", description: "😀".repeat(10_000) } },
    };
    const { schema, warnings } = toPortableSchema(original);
    const { description } = (schema["properties"] as { a: { description: string } }).a;
    expect(description.length).toBeLessThanOrEqual(16_384);
    expect(encodeURIComponent(description)).toContain("%F0%9F%98%80");
    expect(warnings).toEqual(["Descriptions of arguments with more than 16384 characters were truncated."]);
    original.properties.a.description = "😀".repeat(5_000);
    expect(toPortableSchema(original)).toEqual({ schema: original, warnings: [] });
  });

  it("a default is copied", () => {
    const original = { type: "object", properties: { a: { type: "array", items: {}, default: ["x"] } } };
    const argument = (portable(original)["properties"] as JsonObject)["a"] as { default: string[] };
    argument.default.push("y");
    expect(original.properties.a.default).toEqual(["x"]);
  });
});

describe("size", () => {
  it("5,000 levels are truncated", () => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 5_000; level += 1) deep = { type: "object", properties: { a: deep } };
    const { schema, warnings } = toPortableSchema(deep);
    expect(JSON.stringify(schema).length).toBeLessThan(10_000);
    expect(findProviderViolations(schema)).toEqual([]);
    expect(warnings).toEqual(["Omitted everything nested deeper than 200 levels."]);
  });

  it.each(["allOf", "anyOf", "not", "items"])("5,000 levels of %s are truncated", (keyword) => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 5_000; level += 1)
      deep = { [keyword]: keyword.endsWith("Of") ? [deep, deep] : deep };
    const { schema } = toPortableSchema({ type: "object", properties: { a: deep } });
    expect(JSON.stringify(schema).length).toBeLessThan(50_000);
    expect(findProviderViolations(schema)).toEqual([]);
  });

  it("a chain of 5,000 references is truncated", () => {
    const links = Array.from({ length: 5_000 }, (_, index) => [
      `d${index}`,
      { $ref: `#/$defs/d${index + 1}` },
    ]);
    const $defs = { ...(Object.fromEntries(links) as JsonObject), d5000: { type: "string" } };
    expect(portableArgument({ $ref: "#/$defs/d0" }, { $defs })).toEqual({ description: "Details omitted." });
  });

  it.each(["properties", "anyOf", "allOf"])(
    "2 KB that would expand to gigabytes through %s stay small",
    (keyword) => {
      const subschemas = (next: string): unknown => {
        const nodes = [{ $ref: next }, { type: "object", properties: { x: { $ref: next } } }, { $ref: next }];
        return keyword === "properties" ? { a: nodes[0], b: nodes[1], c: nodes[2] } : nodes;
      };
      const levels = Array.from({ length: 16 }, (_, index) => [
        `d${index}`,
        { type: "object", [keyword]: subschemas(`#/$defs/d${index + 1}`) },
      ]);
      const $defs = { ...(Object.fromEntries(levels) as JsonObject), d16: { type: "object" } };
      const original = {
        type: "object",
        properties: { a: { $ref: "#/$defs/d0" }, z: { type: "number" } },
        $defs,
      };
      expect(JSON.stringify(portable(original)).length).toBeLessThan(50_000);
      expect(portable(original)["properties"]).toMatchObject({ z: { type: "number" } });
      const isComplete = toPortableSchema(original).warnings.length === 0;
      // Each definition is shown once, and later uses refer to it.
      expect(isComplete).toBe(keyword === "properties");
      if (isComplete) expect(JSON.stringify(portable(original))).toContain("The same as for a.a.");
    },
  );

  it("of 10,000 arguments the required ones are kept", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `argument_${index}`);
    const properties = Object.fromEntries(
      names.map((name) => [name, { type: "string", description: "long ".repeat(20) }]),
    );
    const schema = portable({ type: "object", properties, required: ["argument_9999"] });
    expect(JSON.stringify(schema).length).toBeLessThan(50_000);
    expect(schema["required"]).toEqual(["argument_9999"]);
  });
});
