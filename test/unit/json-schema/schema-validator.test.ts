/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { ArgumentCheck } from "../../../src/json-schema/schema-validator.js";

function linesOf(schema: JsonObject, args: unknown): string[] {
  return new ArgumentCheck(schema)
    .issuesOf(args)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
}

function lines(argument: unknown, value: unknown): string[] {
  return linesOf({ type: "object", properties: { a: argument } }, { a: value });
}

describe("one problem is one line", () => {
  const weather = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" }, unit: { enum: ["C", "F"] } },
    required: ["city"],
  };

  it("arguments that fit have none", () => {
    expect(linesOf(weather, { city: "Bern", days: 3, unit: "C", more: true })).toEqual([]);
  });

  it("several problems come together", () => {
    expect(linesOf(weather, { days: "three", unit: "K" })).toEqual([
      "city: is missing",
      'days: expected a number, found a string ("three")',
      'unit: expected one of "C", "F", found "K"',
    ]);
  });

  it("a problem deep inside has a readable path", () => {
    const item = { type: "object", properties: { price: { type: "number" }, "a b": { type: "string" } } };
    const schema = {
      type: "object",
      properties: { items: { type: "array", items: { $ref: "#/$defs/item" } } },
      $defs: { item },
    };
    expect(linesOf(schema, { items: [{ price: 1 }, {}, { price: "x", "a b": 1 }] })).toEqual([
      'items[2].price: expected a number, found a string ("x")',
      'items[2]["a b"]: expected a string, found a number (1)',
    ]);
  });

  it.each<[unknown, unknown, string]>([
    [{ type: "integer" }, 1.5, "expected a whole number, found a number (1.5)"],
    [{ type: ["string", "null"] }, [], "expected a string or null, found a list"],
    [{ type: "boolean" }, null, "expected true or false, found null"],
    [{ const: "x" }, "y", 'expected "x", found "y"'],
    [{ minimum: 2 }, 1, "expected at least 2, found 1"],
    [{ exclusiveMaximum: 2 }, 2, "expected less than 2, found 2"],
    [{ multipleOf: 5 }, 7, "expected a multiple of 5, found 7"],
    [{ minLength: 2 }, "😀", "expected at least 2 characters, found 1"],
    [{ maxItems: 1 }, [1, 2], "expected at most 1 items, found 2"],
    [{ uniqueItems: true }, [1, 1], "has an item twice"],
    [{ pattern: "^a$" }, "b", 'expected a string that matches ^a$, found "b"'],
    [false, 1, 'is not allowed; known are "a"'],
    [{ not: { type: "string" } }, "x", "has a value that is not allowed"],
    [{ contains: { type: "number" } }, ["x"], "has no item of the kind that must be in it"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, 1, "expected a string, or null, found a number (1)"],
    [
      { anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] },
      "x",
      "expected at least 3 characters, found 1",
    ],
  ])("%j refuses %j", (argument, value, message) => {
    expect(lines(argument, value)).toEqual([`a: ${message}`]);
  });

  it("an argument that nobody knows", () => {
    const schema = { type: "object", properties: { city: {} }, additionalProperties: false };
    expect(linesOf(schema, { town: "x" })).toEqual(['town: is not allowed; known are "city"']);
  });

  it("an argument that another one needs", () => {
    const schema = { type: "object", dependentRequired: { card: ["cvc"] } };
    expect(linesOf(schema, { card: 1 })).toEqual(["cvc: is missing; it is needed with card"]);
  });

  it("then of if/then/else", () => {
    const schema = { if: { properties: { country: { const: "US" } } }, then: { required: ["zip"] } };
    expect(linesOf(schema, { country: "US" })).toEqual(["zip: is missing"]);
  });

  it.each([undefined, null, "text", 1, ["list"]])("arguments that are no object: %j", (args) => {
    expect(linesOf({}, args)).toEqual([expect.stringMatching(/^expected an object, found /)]);
  });
});

function byName(name: string): JsonObject {
  return { type: "object", properties: { [name]: { type: "string" } }, required: [name] };
}

describe("a union", () => {
  const manga = { oneOf: [byName("manga_id"), byName("isbn")] };

  it("at the top tells which combinations are allowed", () => {
    expect(linesOf(manga, {})).toEqual([
      "expected an object with manga_id, or an object with isbn, found an empty object",
    ]);
  });

  it("tells when too much was given", () => {
    expect(linesOf(manga, { manga_id: "m", isbn: "i" })).toEqual([
      "fits more than one alternative; allowed is exactly one of: an object with manga_id, or an object with isbn",
    ]);
  });

  it("tells the problem of the branch that was meant", () => {
    expect(linesOf(manga, { isbn: 3 })).toEqual(["isbn: expected a string, found a number (3)"]);
  });

  const circle = {
    type: "object",
    properties: { kind: { const: "circle" }, radius: { type: "number" } },
    required: ["kind", "radius"],
  };
  const square = {
    type: "object",
    properties: { kind: { const: "square" }, side: { type: "number" } },
    required: ["kind", "side"],
  };

  it.each([
    [{ kind: "circle" }, "a.radius: is missing"],
    [{ kind: "square", side: "x" }, 'a.side: expected a number, found a string ("x")'],
    [
      { kind: "line" },
      'a: expected an object with kind "circle" and radius, or an object with kind "square" and side, found an object with kind',
    ],
  ])("goes by its tag: %j", (value, line) => {
    expect(lines({ oneOf: [circle, square] }, value)).toEqual([line]);
  });
});

describe("limits", () => {
  it("ten problems are enough", () => {
    expect(
      lines(
        { type: "array", items: { type: "string" } },
        Array.from({ length: 50 }, () => 1),
      ),
    ).toHaveLength(10);
  });

  it("a long value is cut", () => {
    const [line] = lines({ type: "number" }, "x".repeat(5_000));
    expect(line?.length).toBeLessThan(110);
  });
});

describe("what cannot be checked is let through with a warning", () => {
  it.each<[string, unknown, unknown, string]>([
    ["a pattern of Python", { type: "string", pattern: "(?i)x" }, "abc", "does not compile"],
    ["an exploding pattern", { type: "string", pattern: "^(a+)+$" }, `${"a".repeat(50)}!`, "exponential"],
    ["a remote reference", { $ref: "https://x.test/y" }, 1, "remote reference"],
    ["a reference to nowhere", { $ref: "#/$defs/x" }, 1, "leads nowhere"],
    ["a reference to itself", { $ref: "#/properties/a" }, 1, "would take too long"],
    ["a type that is none", { type: "any" }, 1, 'malformed "type"'],
    ["required as a flag", { type: "string", required: true }, "x", 'malformed "required"'],
    [
      "an exclusive bound as a flag",
      { type: "number", minimum: 0, exclusiveMinimum: true },
      0.5,
      'malformed "exclusiveMinimum"',
    ],
  ])("%s", (_, argument, value, reason) => {
    const check = new ArgumentCheck({ type: "object", properties: { a: argument } });
    expect(check.issuesOf({ a: value })).toEqual([]);
    expect(check.warnings).toEqual([expect.stringContaining(reason)]);
  });

  it("and the rest is still checked", () => {
    const schema = { type: "object", properties: { a: { pattern: "(?i)x" }, b: { type: "number" } } };
    expect(linesOf(schema, { a: "q", b: "q" })).toEqual(['b: expected a number, found a string ("q")']);
  });

  it.each<[string, JsonObject]>([
    ["not", { not: { properties: { a: { pattern: "(?i)x" } }, required: ["a"] } }],
    ["if", { if: { properties: { a: { pattern: "(?i)x" } } }, then: false }],
    [
      "oneOf",
      { oneOf: [{ properties: { a: { pattern: "(?i)x" } } }, { properties: { a: { type: "string" } } }] },
    ],
    [
      "not, through a reference",
      { not: { $ref: "#/$defs/x" }, $defs: { x: { properties: { a: { pattern: "(?i)x" } } } } },
    ],
    ["patternProperties", { patternProperties: { "(?i)^A": {} }, additionalProperties: false }],
  ])("never refuses more because something inside %s was left out", (_, schema) => {
    expect(linesOf(schema, { a: "y" })).toEqual([]);
  });

  it("a format is a remark", () => {
    expect(lines({ type: "string", format: "email" }, "no mail")).toEqual([]);
  });
});

describe("schemas that are made to harm", () => {
  it("5,000 levels are checked as far as they are sane", () => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 5_000; level += 1) deep = { type: "object", properties: { a: deep } };
    expect(linesOf(deep, { a: { a: 3 } })).toEqual(["a.a: expected an object, found a number (3)"]);
  });

  it.each(["anyOf", "allOf", "oneOf"])("%s that doubles with every reference is not run", (keyword) => {
    const levels = Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, { [keyword]: [next, next] }];
    });
    const $defs = { ...(Object.fromEntries(levels) as JsonObject), d40: { type: "number" } };
    const check = new ArgumentCheck({ type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs });
    expect(check.issuesOf({ a: "x" })).toEqual([]);
    expect(check.warnings).toEqual([expect.stringContaining("would take too long")]);
  });
});

it.each([
  [
    "http://json-schema.org/draft-04/schema#",
    { minimum: 1, exclusiveMinimum: true },
    1,
    "expected more than 1, found 1",
  ],
  [
    "http://json-schema.org/draft-07/schema#",
    { $ref: "#/definitions/text", type: "number" },
    1,
    "expected a string, found a number (1)",
  ],
  [
    "https://json-schema.org/draft/2019-09/schema",
    { items: [{ type: "string" }], additionalItems: false },
    ["x", 1],
    "is not allowed",
  ],
  [
    "https://json-schema.org/draft/2020-12/schema",
    { prefixItems: [{ type: "string" }], items: false },
    ["x", 1],
    "is not allowed",
  ],
])("the draft is chosen by %s", ($schema, argument, value, message) => {
  const definitions = { text: { type: "string" } };
  expect(linesOf({ $schema, properties: { a: argument }, definitions }, { a: value })).toEqual([
    expect.stringContaining(message),
  ]);
});

it("undefined counts as absent", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    required: ["a"],
  };
  expect(linesOf(schema, { a: undefined, b: undefined })).toEqual(["a: is missing"]);
});

it("the schema is read once, on first use, and never changed", () => {
  let reads = 0;
  const schema = Object.defineProperty<JsonObject>(
    { properties: Object.freeze({ a: Object.freeze({ type: "string" }) }) },
    "type",
    {
      enumerable: true,
      get: () => {
        reads += 1;
        return "object";
      },
    },
  );
  const check = new ArgumentCheck(Object.freeze(schema));
  expect(reads).toBe(0);
  check.issuesOf({ a: 1 });
  const afterFirst = reads;
  check.issuesOf({ a: 2 });
  expect(reads).toBe(afterFirst);
});
