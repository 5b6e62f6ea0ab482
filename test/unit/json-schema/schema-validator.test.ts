/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { SchemaValidator } from "../../../src/json-schema/schema-validator.js";

function validateArguments(schema: JsonObject, args: unknown): string[] {
  return new SchemaValidator(schema)
    .validate(args)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
}

function validateArgument(argument: unknown, value: unknown): string[] {
  return validateArguments({ type: "object", properties: { a: argument } }, { a: value });
}

describe("an issue describes one problem:", () => {
  const weather = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" }, unit: { enum: ["C", "F"] } },
    required: ["city"],
  };

  it("valid arguments have no issues", () => {
    expect(validateArguments(weather, { city: "Bern", days: 3, unit: "C", more: true })).toEqual([]);
  });

  it("several problems are reported together", () => {
    expect(validateArguments(weather, { days: "three", unit: "K" })).toEqual([
      "city: is missing",
      'days: expected a number, got a string ("three")',
      'unit: expected one of "C", "F", got "K"',
    ]);
  });

  it("a nested problem has a readable path", () => {
    const item = { type: "object", properties: { price: { type: "number" }, "a b": { type: "string" } } };
    const schema = {
      type: "object",
      properties: { items: { type: "array", items: { $ref: "#/$defs/item" } } },
      $defs: { item },
    };
    expect(validateArguments(schema, { items: [{ price: 1 }, {}, { price: "x", "a b": 1 }] })).toEqual([
      'items[2].price: expected a number, got a string ("x")',
      'items[2]["a b"]: expected a string, got a number (1)',
    ]);
  });

  it.each<[unknown, unknown, string]>([
    [{ type: "integer" }, 1.5, "expected a whole number, got a number (1.5)"],
    [{ type: ["string", "null"] }, [], "expected a string or null, got an array"],
    [{ type: "boolean" }, null, "expected true or false, got null"],
    [{ const: "x" }, "y", 'expected "x", got "y"'],
    [{ minimum: 2 }, 1, "expected at least 2, got 1"],
    [{ exclusiveMaximum: 2 }, 2, "expected less than 2, got 2"],
    [{ multipleOf: 5 }, 7, "expected a multiple of 5, got 7"],
    [{ minLength: 2 }, "😀", "expected at least 2 characters, got 1"],
    [{ maxItems: 1 }, [1, 2], "expected at most 1 items, got 2"],
    [{ uniqueItems: true }, [1, 1], "has duplicate items"],
    [{ pattern: "^a$" }, "b", 'expected a string that matches ^a$, got "b"'],
    [false, 1, "is not allowed"],
    [{ not: { type: "string" } }, "x", "has a value that is not allowed"],
    [{ contains: { type: "number" } }, ["x"], "has no item that matches the required schema"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, 1, "expected a string, or null, got a number (1)"],
    [
      { anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] },
      "x",
      "expected at least 3 characters, got 1",
    ],
  ])("%j rejects %j", (argument, value, message) => {
    expect(validateArgument(argument, value)).toEqual([`a: ${message}`]);
  });

  it("an unknown argument", () => {
    const schema = { type: "object", properties: { city: {} }, additionalProperties: false };
    expect(validateArguments(schema, { town: "x" })).toEqual([
      'town: is not allowed; known properties: "city"',
    ]);
  });

  it("an argument that another one requires", () => {
    const schema = { type: "object", dependentRequired: { card: ["cvc"] } };
    expect(validateArguments(schema, { card: 1 })).toEqual(["cvc: is missing; it is required with card"]);
  });

  it("the then branch of if/then/else", () => {
    const schema = { if: { properties: { country: { const: "US" } } }, then: { required: ["zip"] } };
    expect(validateArguments(schema, { country: "US" })).toEqual(["zip: is missing"]);
  });

  it.each([undefined, null, "text", 1, ["list"]])("arguments that are not an object: %j", (args) => {
    expect(validateArguments({}, args)).toEqual([expect.stringMatching(/^expected an object, got /)]);
  });
});

function byName(name: string): JsonObject {
  return { type: "object", properties: { [name]: { type: "string" } }, required: [name] };
}

describe("a union", () => {
  const manga = { oneOf: [byName("manga_id"), byName("isbn")] };

  it("at the top level describes the allowed combinations", () => {
    expect(validateArguments(manga, {})).toEqual([
      "expected an object with manga_id, or an object with isbn, got an empty object",
    ]);
  });

  it("lets the server decide about arguments that match several branches, with one warning", () => {
    const validator = new SchemaValidator(manga);
    expect(validator.validate({ manga_id: "m", isbn: "i" })).toEqual([]);
    expect(validator.takeWarnings()).toEqual([
      'Arguments that the input schema rejects were sent, because the schema that models see does not show the constraint ("oneOf"). The server decides.',
    ]);
    expect(validator.validate({ manga_id: "m", isbn: "j" })).toEqual([]);
    expect(validator.takeWarnings()).toEqual([]);
  });

  it("reports a result that matches several branches", () => {
    const [issue] = new SchemaValidator(manga, "result").validate({ manga_id: "m", isbn: "i" });
    expect(issue?.message).toBe(
      "matches more than one alternative; exactly one must match: an object with manga_id, or an object with isbn",
    );
  });

  it("explains the problem of the intended branch", () => {
    expect(validateArguments(manga, { isbn: 3 })).toEqual(["isbn: expected a string, got a number (3)"]);
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
    [{ kind: "square", side: "x" }, 'a.side: expected a number, got a string ("x")'],
    [
      { kind: "line" },
      'a: expected an object with kind "circle" and radius, or an object with kind "square" and side, got an object with kind',
    ],
  ])("is resolved by its discriminator: %j", (value, line) => {
    expect(validateArgument({ oneOf: [circle, square] }, value)).toEqual([line]);
  });
});

describe("a definition that the portable schema writes only once", () => {
  const item = {
    type: "object",
    description: "Something long that is worth writing once. ".repeat(20),
    additionalProperties: false,
    allOf: [{ properties: { price: { type: "number" }, name: { type: "string" } }, required: ["price"] }],
  };
  const names = Array.from({ length: 30 }, (_, index) => `item${index}`);
  const schema = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { $ref: "#/$defs/item" }])),
    $defs: { item },
  };

  it.each(["item0", "item20"])("is enforced as it is shown: %s", (name) => {
    expect(validateArguments(schema, { [name]: { price: 1, name: "x" } })).toEqual([]);
    expect(validateArguments(schema, { [name]: { price: "1" } })).toEqual([
      `${name}.price: expected a number, got a string ("1")`,
    ]);
    expect(validateArguments(schema, { [name]: { price: 1, color: "red" } })).toEqual([
      `${name}.color: is not allowed`,
    ]);
  });

  it("is not looked up forever when a description refers to itself", () => {
    const a = { type: "object", description: "The same as for a.", properties: { b: { type: "number" } } };
    expect(validateArguments({ type: "object", properties: { a } }, { a: { b: "x" } })).toEqual([
      'a.b: expected a number, got a string ("x")',
    ]);
  });
});

describe("limits", () => {
  it("at most ten issues are reported", () => {
    expect(
      validateArgument(
        { type: "array", items: { type: "string" } },
        Array.from({ length: 50 }, () => 1),
      ),
    ).toHaveLength(10);
  });

  it("a long value is truncated", () => {
    const [line] = validateArgument({ type: "number" }, "x".repeat(5_000));
    expect(line?.length).toBeLessThan(110);
  });
});

describe("what cannot be checked is accepted with a warning", () => {
  it.each<[string, unknown, unknown, string]>([
    ["a Python pattern", { type: "string", pattern: "(?i)x" }, "abc", "does not compile"],
    ["a pattern with a lookbehind", { type: "string", pattern: "(?<=a)b" }, "abc", "uses a lookbehind"],
    [
      "a pattern with a backreference",
      { type: "string", pattern: "^(a|b)\\1$" },
      "ab",
      "uses a backreference",
    ],
    ["a remote reference", { $ref: "https://x.test/y" }, 1, "remote reference"],
    ["a dangling reference", { $ref: "#/$defs/x" }, 1, "cannot be resolved"],
    ["a reference to itself", { $ref: "#/properties/a" }, 1, "the circular reference"],
    ["a reference to something else than a schema", { $ref: "#/properties" }, 1, "cannot be resolved"],
    [
      "a reference into an annotation",
      { $ref: "#/properties/a/default", default: {} },
      1,
      "cannot be resolved",
    ],
    ["an unknown type", { type: "any" }, 1, 'malformed "type"'],
    ["required as a boolean", { type: "string", required: true }, "x", 'malformed "required"'],
    [
      "an exclusive bound as a boolean",
      { type: "number", minimum: 0, exclusiveMinimum: true },
      0.5,
      'malformed "exclusiveMinimum"',
    ],
  ])("%s", (_, argument, value, reason) => {
    const validator = new SchemaValidator({ type: "object", properties: { a: argument } });
    expect(validator.validate({ a: value })).toEqual([]);
    expect(validator.takeWarnings()).toEqual([expect.stringContaining(reason)]);
  });

  it("the rest is still checked", () => {
    const schema = { type: "object", properties: { a: { pattern: "(?i)x" }, b: { type: "number" } } };
    expect(validateArguments(schema, { a: "q", b: "q" })).toEqual([
      'b: expected a number, got a string ("q")',
    ]);
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
  ])("an omission inside %s never rejects more", (_, schema) => {
    expect(validateArguments(schema, { a: "y" })).toEqual([]);
  });

  it("format is not enforced", () => {
    expect(validateArgument({ type: "string", format: "email" }, "no mail")).toEqual([]);
  });
});

describe("malicious schemas", () => {
  it("5,000 nested levels are checked up to the depth limit", () => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 5_000; level += 1) deep = { type: "object", properties: { a: deep } };
    expect(validateArguments(deep, { a: { a: 3 } })).toEqual(["a.a: expected an object, got a number (3)"]);
  });

  it("circular references are not followed, and the rest is checked", () => {
    const schema = {
      properties: { a: { allOf: [{ $ref: "#/$defs/x" }, { type: "string" }] }, b: { type: "number" } },
      $defs: { x: { anyOf: [{ $ref: "#/$defs/y" }] }, y: { if: { $ref: "#/$defs/x" } } },
    };
    expect(validateArguments(schema, { a: 1, b: "x" })).toEqual([
      "a: expected a string, got a number (1)",
      'b: expected a number, got a string ("x")',
    ]);
  });
});

it.each([
  [
    "http://json-schema.org/draft-04/schema#",
    { minimum: 1, exclusiveMinimum: true },
    1,
    "expected more than 1, got 1",
  ],
  [
    "http://json-schema.org/draft-07/schema#",
    { $ref: "#/definitions/text", type: "number" },
    1,
    "expected a string, got a number (1)",
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
])("the draft is selected by %s", ($schema, argument, value, message) => {
  const definitions = { text: { type: "string" } };
  expect(validateArguments({ $schema, properties: { a: argument }, definitions }, { a: value })).toEqual([
    expect.stringContaining(message),
  ]);
});

it("a draft that is not a string is ignored", () => {
  const schema = { $schema: { toString: 1 }, properties: { a: { type: "string" } } };
  expect(validateArguments(schema, { a: 1 })).toEqual(["a: expected a string, got a number (1)"]);
});

it("undefined counts as absent", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    required: ["a"],
  };
  expect(validateArguments(schema, { a: undefined, b: undefined })).toEqual(["a: is missing"]);
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
  const validator = new SchemaValidator(Object.freeze(schema));
  expect(reads).toBe(0);
  validator.validate({ a: 1 });
  const afterFirst = reads;
  validator.validate({ a: 2 });
  expect(reads).toBe(afterFirst);
});
