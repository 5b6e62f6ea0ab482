import { describe, expect, it, vi } from "vitest";
import { type JsonObject, toObject } from "../../../src/json/json.js";
import { coerceArguments } from "../../../src/json-schema/coerce-arguments.js";
import { compareSchemas } from "../../../src/json-schema/diff/compare-schemas.js";
import { DefaultsApplier } from "../../../src/json-schema/defaults-applier.js";
import { editSchema } from "../../../src/json-schema/edit-schema.js";
import { toPortableSchema } from "../../../src/json-schema/portable-schema.js";
import { SchemaValidator } from "../../../src/json-schema/schema-validator.js";
import { StepBudget } from "../../../src/json-schema/step-budget.js";

// Steps are counted, not milliseconds: a step takes about 0.1 µs, so 300,000 are about 30 ms.
const MAX_STEPS = 300_000;

function list<T>(length: number, create: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => create(index));
}

function record(length: number, create: (index: number) => [string, unknown]): JsonObject {
  return Object.fromEntries(list(length, create));
}

function nest<T>(depth: number, innermost: T, wrap: (inner: T) => T): T {
  let result = innermost;
  for (let level = 0; level < depth; level += 1) result = wrap(result);
  return result;
}

/** Random enough that every prefix of it leads to another state of an automaton. */
function randomText(length: number): string {
  let seed = 7;
  return list(length, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (seed >> 16) % 2 === 0 ? "a" : "b";
  }).join("");
}

interface Attack {
  readonly schema: JsonObject;
  readonly value: unknown;
  readonly $defs?: JsonObject;
}

function createValidator({ schema, $defs }: Attack, subject?: "arguments" | "result"): SchemaValidator {
  return new SchemaValidator(
    { type: "object", properties: { value: schema }, ...($defs && { $defs }) },
    subject,
  );
}

/** What is evaluated completely: the number of steps grows with the size, not faster. */
const LINEAR_ATTACKS: Readonly<Record<string, (size: number) => Attack & { readonly isValid: boolean }>> = {
  "pattern with several unbounded quantifiers": (size) => ({
    schema: { pattern: "^a*a*a*a*a*a*b$" },
    value: "a".repeat(size * 20),
    isValid: false,
  }),
  "pattern with nested quantifiers": (size) => ({
    schema: { pattern: "^(a+)+$" },
    value: `${"a".repeat(size * 20)}!`,
    isValid: false,
  }),
  "uniqueItems on objects": (size) => ({
    schema: { uniqueItems: true },
    value: list(size, (index) => ({ id: index, name: "an item" })),
    isValid: true,
  }),
  "anyOf of constants": (size) => ({
    schema: { anyOf: list(size, (index) => ({ const: `constant ${index}` })) },
    value: "another text",
    isValid: false,
  }),
  "oneOf of objects": (size) => ({
    schema: {
      oneOf: list(size, (index) => ({ properties: { kind: { const: index } }, required: ["kind"] })),
    },
    value: { kind: size - 1 },
    isValid: true,
  }),
  "references to anchors": (size) => ({
    schema: { allOf: list(size, (index) => ({ $ref: `#a${index}` })) },
    $defs: nest(
      60,
      record(size, (index) => [`a${index}`, { $anchor: `a${index}`, type: "string" }]),
      (inner) => ({
        nested: { properties: inner },
      }),
    ),
    value: "x",
    isValid: true,
  }),
  "enum of objects": (size) => ({
    schema: { items: { enum: list(size, (index) => ({ id: index, values: [1, 2] })) } },
    value: list(size, (index) => ({ values: [1, 2], id: index })),
    isValid: true,
  }),
  "allOf of large constants": (size) => ({
    schema: { allOf: list(100, () => ({ const: list(size, (index) => index) })) },
    value: list(size, (index) => index),
    isValid: true,
  }),
  "many declared properties, and many objects": (size) => ({
    schema: { items: { properties: record(size, (index) => [`property ${index}`, { type: "string" }]) } },
    value: list(size, () => ({})),
    isValid: true,
  }),
  "required names that repeat": (size) => ({
    schema: { items: { required: list(size, () => "a") } },
    value: list(size, () => ({ a: 1 })),
    isValid: true,
  }),
  "deep values": (size) => ({
    schema: { $ref: "#/$defs/level" },
    $defs: { level: { type: ["array", "integer"], uniqueItems: false, items: { $ref: "#/$defs/level" } } },
    value: nest(size / 10, 1, (inner) => [inner] as never),
    isValid: true,
  }),
};

describe("is evaluated in linear time:", () => {
  it.each(Object.entries(LINEAR_ATTACKS))("%s", (_, create) => {
    const [small, large] = [1_500, 3_000].map((size) => {
      const attack = create(size);
      // Arguments are refused only for what fits into the portable schema.
      const validator = createValidator(attack, "result");
      expect(validator.validate({ value: attack.value }).length === 0).toBe(attack.isValid);
      expect(validator.takeWarnings()).toEqual([]);
      return validator.steps.used;
    });
    expect(large).toBeLessThan(MAX_STEPS / 2);
    expect(large).toBeLessThanOrEqual((small ?? 0) * 2.2 + 10);
  });

  it("a chain of 8,000 references", () => {
    const $defs = {
      ...record(8_000, (index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }]),
      d8000: { type: "string" },
    };
    const validator = createValidator({ schema: { $ref: "#/$defs/d0" }, $defs, value: 1 }, "result");
    expect(validator.validate({ value: 1 })).toEqual([
      { path: "value", message: "expected a string, got a number (1)" },
    ]);
    expect(validator.steps.used).toBeLessThan(10);
  });

  it("the explanation of many errors with a large value", () => {
    const attack = {
      schema: { allOf: list(5_000, (index) => ({ type: "string", const: index })) },
      value: list(50_000, (index) => ({ index })),
    };
    const issues = createValidator(attack, "result").validate({ value: attack.value });
    expect(issues).toHaveLength(10);
    expect(issues[1]?.message).toBe(
      'expected 0, got [{"index":0},{"index":1},{"index":2},{"index":3},{"index":4…',
    );
  });
});

/** What would take too long. */
const ENDLESS_ATTACKS: Readonly<Record<string, Attack>> = {
  "pattern whose states do not fit into memory": {
    schema: { pattern: "[ab]*a[ab]{900}c" },
    value: randomText(100_000),
  },
  "pattern on many strings": {
    schema: { items: { not: { pattern: "[ab]*a[ab]{200}c" } } },
    value: list(2_000, (index) => randomText(200 + index).slice(-200)),
  },
  "anyOf of constants, on many items": {
    schema: { items: { anyOf: list(4_900, (index) => ({ const: index })) } },
    value: list(5_000, () => 4_899),
  },
  "oneOf of objects, on many items": {
    schema: { items: { oneOf: list(1_000, (index) => ({ required: [`property ${index}`] })) } },
    value: list(1_000, () => ({ "property 999": 1 })),
  },
  "allOf of bounds, on many items": {
    schema: { items: { allOf: list(5_000, (index) => ({ minimum: -index })) } },
    value: list(5_000, (index) => index),
  },
  "references to anchors, on many items": {
    schema: { items: { allOf: list(3_000, (index) => ({ $ref: `#a${index}` })) } },
    $defs: record(3_000, (index) => [`d${index}`, { $anchor: `a${index}`, type: "string" }]),
    value: list(1_000, () => "x"),
  },
  "references that double": {
    schema: { $ref: "#/$defs/d0" },
    $defs: {
      ...record(40, (index) => [
        `d${index}`,
        { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
      d40: { type: "number" },
    },
    value: "x",
  },
  "unions in unions": {
    schema: nest<JsonObject>(20, { type: "string" }, (inner) => ({
      anyOf: [{ properties: { a: inner } }, { properties: { a: inner }, required: ["a"] }],
    })),
    value: nest<unknown>(20, 1, (inner) => ({ a: inner })),
  },
  patternProperties: {
    schema: {
      patternProperties: record(100, (index) => [`${index}$`, { type: "string" }]),
      additionalProperties: false,
    },
    value: record(20_000, (index) => [`name${index % 100}_${index}`, "x"]),
  },
  propertyNames: {
    schema: { propertyNames: { allOf: list(1_000, (index) => ({ minLength: index % 3 })) } },
    value: record(5_000, (index) => [`name${index}`, 1]),
  },
  contains: {
    schema: { allOf: list(2_000, () => ({ contains: { type: "string" }, minContains: 0 })) },
    value: list(20_000, (index) => index),
  },
  unevaluatedProperties: {
    schema: { anyOf: list(2_000, () => ({ additionalProperties: true })), unevaluatedProperties: false },
    value: record(5_000, (index) => [`name${index}`, 1]),
  },
  unevaluatedItems: {
    schema: { anyOf: list(2_000, () => ({ items: true })), unevaluatedItems: false },
    value: list(20_000, (index) => index),
  },
  "dependent schemas": {
    schema: { items: { dependentSchemas: record(5_000, (index) => [`name${index}`, false]) } },
    value: list(5_000, () => ({ a: 1 })),
  },
  "conditions in conditions": {
    schema: nest<JsonObject>(20, { type: "string" }, (inner) => ({ if: inner, else: inner })),
    value: 1,
  },
  "long strings": {
    schema: { allOf: list(5_000, (index) => ({ minLength: index })) },
    value: "é".repeat(100_000),
  },
  "large objects": {
    schema: { allOf: list(5_000, (index) => ({ minProperties: index })) },
    value: record(10_000, (index) => [`name${index}`, 1]),
  },
  "exact division": {
    schema: { items: { allOf: list(200, (index) => ({ multipleOf: 1e-300 * (index + 1) })) } },
    value: list(1_000, () => 0),
  },
  "uniqueItems on every level": {
    schema: { $ref: "#/$defs/level" },
    $defs: { level: { uniqueItems: true, items: { $ref: "#/$defs/level" } } },
    value: nest<unknown>(
      200,
      list(20_000, (index) => [index]),
      (inner) => [inner],
    ),
  },
  "values that are nested too deeply": {
    schema: { $ref: "#/$defs/level" },
    $defs: { level: { items: { $ref: "#/$defs/level" } } },
    value: nest<unknown>(10_000, 1, (inner) => [inner]),
  },
};

const REFUSAL =
  "cannot be checked: evaluating the server's schema for it takes more than 300000 steps. Try shorter or fewer values.";

describe("arguments are refused and results are passed on unvalidated:", () => {
  it.each(Object.entries(ENDLESS_ATTACKS))("%s", (_, attack) => {
    const input = createValidator(attack);
    expect(input.validate({ value: attack.value })).toEqual([{ path: "", message: REFUSAL }]);
    expect(input.takeWarnings()).toEqual([]);
    const output = createValidator(attack, "result");
    expect(output.validate({ value: attack.value })).toEqual([]);
    expect(output.takeWarnings()).toEqual([
      "The result is not validated: evaluating the server's schema for it takes more than 300000 steps.",
    ]);
    // Once is enough.
    expect(output.validate({ value: attack.value })).toEqual([]);
    expect(output.takeWarnings()).toEqual([]);
  });

  it("later ones within the limit are validated", () => {
    const validator = createValidator({ schema: { pattern: "[ab]*a[ab]{900}c" }, value: "" });
    expect(validator.validate({ value: randomText(100_000) })).toHaveLength(1);
    expect(validator.validate({ value: `a${randomText(900)}c` })).toEqual([]);
  });
});

/** Schemas that once took minutes to list, compare or edit. */
const EXPENSIVE_SCHEMAS: Readonly<Record<string, () => JsonObject>> = {
  "anyOf of constants": () => ({ a: { anyOf: list(10_000, (index) => ({ const: `constant ${index}` })) } }),
  "allOf with notes": () => ({ a: { allOf: list(10_000, (index) => ({ multipleOf: index + 1 })) } }),
  "allOf of unions": () => ({
    a: {
      allOf: list(60, (group) => ({
        anyOf: list(4, (branch) => ({
          properties: record(40, (index) => [`p${group}_${branch}_${index}`, { type: "string" }]),
        })),
      })),
    },
  }),
  "references to a large schema": () => record(5_000, (index) => [`p${index}`, { $ref: "#/$defs/large" }]),
  "references that double": () => ({ a: { $ref: "#/$defs/d0" } }),
  "references to anchors": () => ({ a: { allOf: list(5_000, (index) => ({ $ref: `#a${index}` })) } }),
  "references with long pointers": () => record(5_000, (index) => [`p${index}`, { $ref: "#/$defs/long0" }]),
  "names that providers reject": () => record(10_000, (index) => [`name ${index}`, { type: "string" }]),
  "deep properties": () => nest<JsonObject>(5_000, {}, (inner) => ({ a: { properties: inner }, b: true })),
};

const DEFINITIONS: JsonObject = {
  large: {
    type: "string",
    description: "word ".repeat(100_000),
    enum: list(2_000, (index) => `value ${index} ${"x".repeat(100)}`),
    default: list(5_000, (index) => index),
  },
  ...record(40, (index) => [
    `d${index}`,
    { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
  ]),
  d40: { type: "number" },
  ...record(5_000, (index) => [`a${index}`, { $anchor: `a${index}`, type: "string" }]),
  ...record(19, (index) => [
    `long${index}`,
    { $ref: `#/$defs/nested${"/nested".repeat(300)}/long${index + 1}` },
  ]),
  nested: nest<JsonObject>(
    300,
    record(20, (index) => [`long${index}`, { $ref: `#/$defs/long${index}` }]),
    (inner) => ({ nested: inner }),
  ),
};

describe("what a model can read is decided in a limited number of steps, else all is refused:", () => {
  const text = "word ".repeat(3_000);
  it.each<[name: string, attack: Attack]>([
    [
      "many constants",
      {
        schema: { type: "array", items: { anyOf: list(8_000, (n) => ({ const: `constant ${n}` })) } },
        value: list(10, () => "other"),
      },
    ],
    [
      "many names in a long text",
      {
        schema: { type: "object", description: text, dependentRequired: { a: list(50_000, (n) => `n${n}`) } },
        value: { a: 1 },
      },
    ],
  ])("%s", (_, attack) => {
    expect(createValidator(attack).validate({ value: attack.value })).not.toEqual([]);
  });
});

describe("the conversion of arguments is limited:", () => {
  it("alternatives that all fail, beside a value that takes long to validate", () => {
    const schema = {
      type: "object",
      properties: {
        large: { items: { anyOf: list(4, (index) => ({ const: index })) } },
        value: { anyOf: list(20, (index) => ({ type: "integer", minimum: 100 + index })) },
      },
    };
    const validator = new SchemaValidator(schema);
    const findErrors = validator.findErrors.bind(validator);
    let steps = 0;
    vi.spyOn(validator, "findErrors").mockImplementation((value) => {
      const errors = findErrors(value);
      steps += validator.steps.used;
      return errors;
    });
    const args = { value: "3", large: list(10_000, () => 3) };
    expect(coerceArguments(validator, args).args).toBe(args);
    expect(steps).toBeLessThan(200_000);
  });
});

describe("a listing is limited:", () => {
  it.each(Object.entries(EXPENSIVE_SCHEMAS))("%s", (_, createProperties) => {
    const before = { type: "object", properties: createProperties(), $defs: DEFINITIONS };
    const now = { ...before, properties: { ...createProperties(), added: { type: "string" } } };

    const portableSteps = new StepBudget(250_000);
    const { schema } = toPortableSchema(before, portableSteps);
    expect(JSON.stringify(schema).length).toBeLessThan(50_000);
    // The outline comes on top: 1,500 arguments.
    expect(portableSteps.used).toBeLessThan(250_000 + 200_000);

    const comparisonSteps = new StepBudget(400_000);
    const { severity, parameters } = compareSchemas(before, now, comparisonSteps);
    expect({ severity, added: parameters.filter(({ what }) => what === "added") }).toEqual({
      severity: "additive",
      added: [{ parameter: "added", what: "added" }],
    });
    expect(comparisonSteps.used).toBeLessThan(500_000);

    const editSteps = new StepBudget(200_000);
    const edited = editSchema(before, [{ path: ["a"], edit: { type: "hide" } }], editSteps);
    expect(editSteps.used).toBeLessThan(500_000);
    expect(edited.schema["properties"]).not.toHaveProperty("a");
    expect(new DefaultsApplier(before).apply({ a: null, p1: "" })).toEqual(expect.any(Object));
  });
});

describe("the comparison of two versions of a schema takes no longer than that of plain ones:", () => {
  const names = (count: number) => record(count, (index) => [`n${index}`, {}]);
  const withBranches = (count: number, required: readonly string[]) => ({
    type: "object",
    properties: {
      a: {
        oneOf: list(count, (index) => ({
          allOf: [{ $ref: "#/$defs/d" }, { properties: { kind: { const: index } } }],
        })),
      },
    },
    $defs: { d: { type: "object", required } },
  });
  const plain = (maxLength: number) => ({
    type: "object",
    properties: record(700, (index) => [
      `argument${index}`,
      { type: "string", description: "What it is for, in a sentence of usual length.", maxLength },
    ]),
  });
  const measureMs = ([before, now]: readonly [JsonObject, JsonObject]) => {
    const start = process.cpuUsage();
    compareSchemas(before, now);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1_000;
  };
  measureMs([plain(100), plain(200)]);
  const plainMs = measureMs([plain(100), plain(200)]);

  it.each<[name: string, before: JsonObject, now: JsonObject]>([
    [
      "thousands of keywords that are numbers, and new properties",
      { type: "object", properties: { x: {} }, ...record(6_000, (index) => [`k${index}`, 1]) },
      { type: "object", properties: { x: {}, ...names(3_000) } },
    ],
    [
      "a long list of dependent names, and new properties",
      {
        properties: { x: {} },
        dependentRequired: { x: list(70_000, (index) => `q${index}`) },
      },
      {
        properties: { x: {}, ...names(30_000) },
        dependentRequired: { x: list(70_000, (index) => `q${index}`) },
      },
    ],
    [
      "branches that require thousands of properties",
      { properties: { a: { anyOf: [{ type: "object", required: ["other"] }, { type: "object" }] } } },
      withBranches(400, ["kind", ...list(6_000, (index) => `r${index}`)]),
    ],
  ])("with %s", (_, before, now) => {
    expect(measureMs([before, now])).toBeLessThan(5 * plainMs + 200);
  });
});

describe("a listing of many empty schemas is limited:", () => {
  const empty = list(20_000, () => ({}));
  it.each<[name: string, keywords: JsonObject]>([
    ["anyOf", { anyOf: empty }],
    ["oneOf", { oneOf: empty }],
    ["allOf", { allOf: empty }],
    ["anyOf, within the number of schemas that are read", { anyOf: empty.slice(0, 9_000) }],
    ["dependentSchemas", { dependentSchemas: record(20_000, (index) => [`p${index}`, {}]) }],
    ["patternProperties", { patternProperties: record(20_000, (index) => [`p${index}`, {}]) }],
    ["required names", { required: list(20_000, (index) => `p${index}`) }],
    ["properties", { properties: record(20_000, (index) => [`p${index}`, {}]) }],
    [
      "properties on many levels",
      {
        properties: nest<JsonObject>(100, {}, (inner) => ({
          a: { properties: inner },
          ...record(200, (index) => [`p${index}`, {}]),
        })),
      },
    ],
    ["dependentRequired", { dependentRequired: record(20_000, (index) => [`p${index}`, ["a"]]) }],
    ["a tuple", { properties: { a: { type: "array", prefixItems: empty } } }],
    ["a tuple of an older draft", { properties: { a: { type: "array", items: empty } } }],
  ])("%s", (_, keywords) => {
    const steps = new StepBudget(250_000);
    const original = { type: "object", properties: { a: { type: "integer" } }, ...keywords };
    const { schema } = toPortableSchema(original, steps);
    expect(steps.used).toBeLessThan(250_000 + 200_000);
    expect(Object.keys(toObject(schema["properties"])).length).toBeGreaterThan(0);
    const validator = new SchemaValidator(original);
    validator.validate({ a: 1, p1: 1, b: [1] });
    expect(validator.steps.used).toBeLessThan(MAX_STEPS);
  });

  it.each<[name: string, schema: JsonObject, value: unknown]>([
    [
      "properties of a closed object",
      {
        properties: record(10_001, (index) => [`p${index}`, { type: "string" }]),
        additionalProperties: false,
      },
      { p10000: "x" },
    ],
    [
      "items of a closed tuple",
      { prefixItems: list(10_001, () => ({ type: "integer" })), items: false },
      list(10_001, () => 1),
    ],
    [
      "items of a closed tuple of an older draft",
      { items: list(10_001, () => ({ type: "integer" })), additionalItems: false },
      list(10_001, () => 1),
    ],
    ["alternatives", { anyOf: list(10_001, (index) => ({ const: index })) }, 10_000],
  ])("more %s than are read are accepted, with a warning", (_, schema, value) => {
    const validator = createValidator({ schema, value }, "result");
    expect(validator.validate({ value })).toEqual([]);
    expect(validator.takeWarnings()).toEqual(["Omitted all but the first 10000 schemas in it."]);
  });
});

describe("defaults are limited:", () => {
  it("an empty argument with references that multiply", () => {
    const $defs = {
      ...record(40, (index) => [`d${index}`, { anyOf: list(50, () => ({ $ref: `#/$defs/d${index + 1}` })) }]),
      d40: { type: "string" },
    };
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs };
    expect(new DefaultsApplier(schema).apply({ a: null })).toEqual({});
    expect(new DefaultsApplier(schema).apply({ a: "" })).toEqual({});
  });

  it("a large default in every nested argument is added until the limit", () => {
    const node = {
      type: "object",
      properties: { child: { $ref: "#/$defs/node" }, values: { default: list(50_000, () => 0) } },
    };
    const schema = { type: "object", properties: { root: { $ref: "#/$defs/node" } }, $defs: { node } };
    const args = { root: nest<JsonObject>(20, {}, (child) => ({ child })) };
    const text = JSON.stringify(new DefaultsApplier(schema).apply(args));
    expect(text.split("values")).toHaveLength(4);
  });
});

describe("edits of a schema are limited together:", () => {
  const branch = { type: "object", properties: { b: { type: "number" } } };
  const edits = (count: number) =>
    list(count, (index) => ({ path: ["a", `b${index}`], edit: { type: "hide" } as const }));

  it.each<[string, JsonObject, number]>([
    ["70,000 subschemas", { allOf: list(70_000, () => ({ minimum: 1 })) }, 1],
    ["17,000 subschemas with properties", { anyOf: list(17_000, () => branch) }, 1],
    ["500 paths in 500 subschemas", { anyOf: list(500, () => branch) }, 500],
    [
      "500 paths in 1,000 properties",
      { properties: Object.fromEntries(list(1_000, (index) => [`b${index}`, {}])) },
      500,
    ],
    [
      "500 paths behind an anchor that does not exist",
      { $ref: "#missing", allOf: list(5_000, () => ({})) },
      500,
    ],
  ])("%s", (_, a, count) => {
    const steps = new StepBudget(200_000);
    const schema = { type: "object", properties: { a, c: branch }, required: ["a"] };
    const { warnings, ...edited } = editSchema(schema, edits(count), steps);
    // The last step may be a large one.
    expect(steps.used).toBeLessThan(400_000);
    if (steps.isExceeded) {
      expect(edited.schema).toEqual({ type: "object", properties: { c: branch }, required: [] });
      expect(warnings).toEqual([expect.stringContaining("do not see these parameters at all: a.")]);
    } else expect(edited.schema).toHaveProperty("properties.a");
  });
});
