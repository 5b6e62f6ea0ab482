/**
 * Tools whose schemas and results are made to be expensive, and a plain tool to compare them with. The input schema of
 * each has `bytes` as JSON, and so have its output schema and result together. The arguments of a call are defaults of
 * the input schema, because a server chooses those.
 *
 * @param {number} bytes
 * @returns {Record<string, { inputSchema: object, outputSchema?: object, args: object, result?: object }>}
 */
export function createHostileTools(bytes) {
  const tools = {
    plain: plainTool(bytes),
    ...createPatterns(bytes / 2),
    ...createUnions(bytes / 2),
    ...createReferences(bytes / 2),
    ...createValues(bytes / 2),
    ...createListings(bytes),
  };
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, pad(tool, bytes)]));
}

function createPatterns(bytes) {
  return {
    pattern: sharedCase({ type: "string", pattern: "^a*a*a*a*a*a*a*a*b$" }, "a".repeat(bytes)),
    "nested quantifiers": sharedCase({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(bytes)}!`),
    "state explosion": sharedCase({ type: "string", pattern: "[ab]*a[ab]{900}c" }, randomText("ab", bytes)),
    "many patterns": inputCase(
      record((2 * bytes) / 2_400, (index) => [
        `p${index}`,
        { type: "string", pattern: `^${"(a|b)*".repeat(330)}${index}$`, default: "ab".repeat(100) },
      ]),
    ),
    "Unicode patterns": inputCase(
      record((2 * bytes) / 2_400, (index) => [
        `p${index}`,
        { type: "string", pattern: `^${"\\p{L}".repeat(330)}${index}$`, default: "ab".repeat(100) },
      ]),
    ),
    "pattern on many strings": sharedCase(
      { type: "array", items: { type: "string", pattern: "[ab]*a[ab]{200}c" } },
      list(bytes / 220, (index) => randomText("ab", 200 + (index % 7))),
    ),
    patternProperties: sharedCase(
      {
        type: "object",
        patternProperties: record(700, (index) => [`${index}$`, { type: "string" }]),
        additionalProperties: false,
      },
      record(bytes / 20, (index) => [`name${index}`, "x"]),
    ),
  };
}

function createUnions(bytes) {
  return {
    "anyOf of constants": sharedCase(
      { type: "array", items: { anyOf: list(bytes / 60, (index) => ({ const: `constant ${index}` })) } },
      list(bytes / 30, () => "no constant"),
    ),
    "oneOf of objects": sharedCase(
      {
        type: "array",
        items: {
          oneOf: list(bytes / 250, (index) => ({
            type: "object",
            properties: { kind: { const: index }, value: { type: "string" } },
            required: ["kind"],
          })),
        },
      },
      list(bytes / 60, (index) => ({ kind: index, value: "x" })),
    ),
    "allOf of bounds": sharedCase(
      { allOf: list(bytes / 60, (index) => ({ multipleOf: 1e-9 * (index + 1), minimum: -index })) },
      0,
    ),
    "nested unions": sharedCase(
      nest(12, { type: "string" }, (inner) => ({
        anyOf: [
          { type: "object", properties: { a: inner }, required: ["a"] },
          { type: "array", items: inner },
        ],
      })),
      nest(12, 1, (inner) => ({ a: inner })),
    ),
    propertyNames: sharedCase(
      { type: "object", propertyNames: { anyOf: list(bytes / 40, (index) => ({ maxLength: index % 3 })) } },
      record(bytes / 40, (index) => [`name${index}`, 1]),
    ),
    contains: sharedCase(
      {
        allOf: list(2_000, (index) => ({ contains: { const: -index - 1 }, minContains: 0, maxContains: 1 })),
      },
      list(bytes / 10, (index) => index),
    ),
    "unevaluated properties": sharedCase(
      {
        type: "object",
        anyOf: list(bytes / 100, () => ({ properties: { a: true }, additionalProperties: true })),
        unevaluatedProperties: false,
      },
      record(bytes / 40, (index) => [`name${index}`, 1]),
    ),
  };
}

function createReferences(bytes) {
  const next = (index) => ({ $ref: `#/$defs/d${index + 1}` });
  return {
    "references that double": sharedCase({ $ref: "#/$defs/d0" }, "x", {
      ...record(40, (index) => [`d${index}`, { anyOf: [next(index), next(index)] }]),
      d40: { type: "number" },
    }),
    "anchor references": sharedCase(
      { type: "array", items: { allOf: list(3_000, (index) => ({ $ref: `#a${index}` })) } },
      list(100, () => "x"),
      nest(
        60,
        record(3_000, (index) => [`a${index}`, { $anchor: `a${index}`, type: "string" }]),
        (inner) => ({
          nested: { properties: inner },
        }),
      ),
    ),
    "chain of references": sharedCase({ $ref: "#/$defs/d0" }, "x", {
      ...record(bytes / 40, (index) => [`d${index}`, next(index)]),
    }),
    "circular references": sharedCase(
      { $ref: "#/$defs/d0" },
      "x",
      record(5_000, (index) => [
        `d${index}`,
        { allOf: [{ $ref: `#/$defs/d${(index + 1) % 5_000}` }, { $ref: "#/$defs/d0" }] },
      ]),
    ),
    "references to one large schema": inputCase(
      record(5_000, (index) => [`p${index}`, { $ref: "#/$defs/large" }]),
      {
        large: {
          type: "string",
          description: "word ".repeat(bytes / 10),
          enum: ["x", "y".repeat(bytes / 2)],
        },
      },
    ),
    "long pointers": inputCase(
      record(5_000, (index) => [`p${index}`, { $ref: "#/$defs/nested/l0" }]),
      nest(
        100,
        {
          ...record(19, (index) => [`l${index}`, { $ref: `#/$defs${"/nested".repeat(100)}/l${index + 1}` }]),
          l19: { type: "string" },
        },
        (inner) => ({ l0: { $ref: `#/$defs${"/nested".repeat(100)}/l0` }, nested: inner }),
      ),
    ),
  };
}

function createValues(bytes) {
  return {
    uniqueItems: sharedCase(
      { type: "array", uniqueItems: true },
      list(bytes / 40, (index) => ({ id: index, name: "an item" })),
    ),
    "uniqueItems on every level": sharedCase(
      { $ref: "#/$defs/level" },
      nest(
        400,
        list(bytes / 10, (index) => [index]),
        (inner) => [inner, 1],
      ),
      { level: { type: ["array", "integer"], uniqueItems: true, items: { $ref: "#/$defs/level" } } },
    ),
    "large enum of objects": sharedCase(
      { type: "array", items: { enum: list(bytes / 60, (index) => ({ id: index, values: [1, 2, 3] })) } },
      list(bytes / 60, (index) => ({ values: [1, 2, 3], id: -index })),
    ),
    "large constants": sharedCase(
      { allOf: list(1_000, () => ({ const: list(bytes / 4_000, (index) => index) })) },
      list(bytes / 4, (index) => index % 10),
    ),
    "many declared properties": sharedCase(
      { type: "array", items: { properties: record(bytes / 40, (index) => [`property${index}`, true]) } },
      list(bytes / 10, () => ({})),
    ),
    "repeated required names": sharedCase(
      { type: "array", items: { required: list(bytes / 10, () => "a") } },
      list(bytes / 20, () => ({ a: 1 })),
    ),
    "long strings": sharedCase(
      { allOf: list(bytes / 100, (index) => ({ minLength: index + 1, maxLength: 10_000_000 })) },
      "é".repeat(bytes / 4),
    ),
    "errors with large values": sharedCase(
      { allOf: list(bytes / 60, (index) => ({ type: "string", const: index })) },
      list(bytes / 10, (index) => index),
    ),
  };
}

function createListings(bytes) {
  return {
    "nested properties": inputCase(
      nest(240, { leaf: { type: "string" } }, (inner) => ({ a: { type: "object", properties: inner } })),
    ),
    "nested properties and siblings": inputCase(
      nest(150, { leaf: { type: "string" } }, (inner) => ({
        a: { type: "object", properties: inner },
        ...record(bytes / 6_000, (index) => [`p${index}`, { type: "string" }]),
      })),
    ),
    "notes and titles": inputCase({
      a: { allOf: list(bytes / 60, (index) => ({ multipleOf: index + 1, title: `title ${index}` })) },
    }),
    "alternatives with properties": inputCase({
      a: {
        allOf: list(60, (group) => ({
          anyOf: list(4, (branch) => ({
            type: "object",
            properties: record(bytes / 10_000, (index) => [
              `p${group}_${branch}_${index}`,
              { type: "string" },
            ]),
          })),
        })),
      },
    }),
    "names that providers reject": inputCase(
      record(bytes / 40, (index) => [`name ${index} ✗`, { type: "string" }]),
    ),
    "many empty properties": inputCase(record(bytes / 14, (index) => [`p${index}`, {}])),
    "top-level union of empty schemas": topCase({ anyOf: list(bytes / 3 - 100, () => ({})) }),
    "top-level allOf of empty schemas": topCase({ allOf: list(bytes / 3 - 100, () => ({})) }),
    dependentRequired: topCase({ dependentRequired: record(bytes / 14, (index) => [`p${index}`, []]) }),
    dependentSchemas: topCase({ dependentSchemas: record(bytes / 14, (index) => [`p${index}`, {}]) }),
    "empty properties on many levels": inputCase(
      nest(240, {}, (inner) => ({
        a: { properties: inner },
        ...record(bytes / 2_900, (index) => [`p${index}`, {}]),
      })),
    ),
    "many defaults": inputCase(record(bytes / 28, (index) => [`p${index}`, { default: {} }])),
    "enum of empty objects": inputCase({ a: { enum: list(bytes / 3 - 100, () => ({})) } }, undefined, {
      a: 1,
    }),
    "empty optional argument": inputCase(
      { a: { $ref: "#/$defs/d0" } },
      {
        ...record(11, (index) => [
          `d${index}`,
          { anyOf: list(60, () => ({ $ref: `#/$defs/d${index + 1}` })) },
        ]),
        d11: { type: "string" },
      },
      { a: null },
    ),
  };
}

function plainTool(bytes) {
  const properties = record(bytes / 160, (index) => [
    `argument_${index}`,
    {
      type: "string",
      description: "Describes what the argument is for, in a sentence of usual length.",
      maxLength: 200,
      default: "a value",
    },
  ]);
  const items = list(bytes / 50, (index) => ({ id: index, name: "an item of an array" }));
  const item = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } } };
  return {
    inputSchema: { type: "object", properties },
    outputSchema: { type: "object", properties: { value: { type: "array", items: item } } },
    args: {},
    result: { value: items },
  };
}

/** The same schema for the arguments, with a default, and for the result. */
function sharedCase(schema, value, $defs) {
  const create = (property) => ({ type: "object", properties: { value: property }, ...($defs && { $defs }) });
  return {
    inputSchema: create({ allOf: [schema], default: value }),
    outputSchema: create(schema),
    args: {},
    result: { value },
  };
}

function inputCase(properties, $defs, args = {}) {
  return { inputSchema: { type: "object", properties, ...($defs && { $defs }) }, args };
}

function topCase(keywords) {
  return { inputSchema: { type: "object", properties: { a: {} }, ...keywords }, args: { a: 1 } };
}

/** Fills a tool up to the same size with text that is not read. */
function pad({ inputSchema, outputSchema, args, result }, bytes) {
  const sizeOf = (value) => (value === undefined ? 0 : JSON.stringify(value).length);
  const fill = (size) => " ".repeat(Math.max(0, bytes - size));
  return {
    inputSchema: { ...inputSchema, $comment: fill(sizeOf(inputSchema)) },
    ...(outputSchema && {
      outputSchema: { ...outputSchema, $comment: fill(sizeOf(outputSchema) + sizeOf(result)) },
      result,
    }),
    args,
  };
}

function list(length, create) {
  return Array.from({ length }, (_, index) => create(index));
}

function record(length, create) {
  return Object.fromEntries(list(length, create));
}

function nest(depth, innermost, wrap) {
  return list(depth, () => undefined).reduce(wrap, innermost);
}

/** The same text in every run. */
function randomText(characters, length) {
  let seed = 1;
  return list(length, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return characters[(seed >> 16) % characters.length];
  }).join("");
}
