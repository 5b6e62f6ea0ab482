import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/json/json.js";
import { toPortableSchema } from "../../../src/json-schema/portable-schema.js";
import { findProviderViolations } from "../../fixtures/provider-rules.js";

/** Each test is about one thing that providers cannot express, or that a conversion could lose. */
function portableArgument(argument: JsonObject): unknown {
  const { schema } = toPortableSchema({ type: "object", properties: { a: argument } });
  expect(findProviderViolations(schema)).toEqual([]);
  return (schema["properties"] as JsonObject)["a"];
}

function describeArgument(argument: JsonObject): unknown {
  return (portableArgument(argument) as JsonObject)["description"];
}

describe("a map", () => {
  it.each<[string, JsonObject, string | undefined]>([
    ["free-form", { type: "object", additionalProperties: true }, "Any keys."],
    ["free-form, by an empty schema", { type: "object", additionalProperties: {} }, "Any keys."],
    ["free-form, by default", { type: "object", description: "Variables" }, "Variables. Any keys."],
    ["closed", { type: "object", properties: {}, additionalProperties: false }, undefined],
    [
      "with constraints on its values",
      { type: "object", additionalProperties: { type: "integer", minimum: 1, maximum: 9 } },
      "Any keys; values: integer from 1 to 9.",
    ],
    [
      "with a pattern, a format and lengths",
      {
        type: "object",
        additionalProperties: {
          anyOf: [
            { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
            { type: "string", format: "uri" },
          ],
        },
      },
      "Any keys; values: string that matches ^[a-z]+$ up to 5 characters or string in the format uri.",
    ],
    [
      "with several kinds of values",
      { type: "object", additionalProperties: { anyOf: [{ enum: [1, -1] }, { const: "text" }] } },
      'Any keys; values: "text" or 1 or -1.',
    ],
    [
      "with described values",
      {
        type: "object",
        description: "Headers.",
        additionalProperties: { type: "string", description: "The value of the header." },
      },
      "Headers. Any keys; values: string (The value of the header).",
    ],
    [
      "of objects",
      {
        type: "object",
        additionalProperties: {
          type: "object",
          properties: {
            field: { type: "string" },
            order: { enum: ["asc", "desc"] },
            tags: { type: "array", items: { type: "string" } },
          },
          required: ["field"],
        },
      },
      'Any keys; values: { field: string; order?: "asc" or "desc"; tags?: array of string }.',
    ],
    [
      "of maps",
      {
        type: "object",
        additionalProperties: { type: "object", additionalProperties: { type: "boolean" } },
      },
      "Any keys; values: { [key]: boolean }.",
    ],
    [
      "by the names of its keys",
      { type: "object", patternProperties: { "^x-": { type: "string" } }, additionalProperties: false },
      'Keys that match "^x-"; values: string.',
    ],
    [
      "beside declared properties",
      { type: "object", properties: { b: { type: "string" } }, additionalProperties: { type: "number" } },
      "Other keys are allowed; values: number.",
    ],
    [
      "in one branch of several",
      {
        anyOf: [
          { type: "object", additionalProperties: { type: "string" } },
          { type: "object", additionalProperties: { type: "number" } },
        ],
      },
      "Any keys; values: string or number.",
    ],
  ])("%s", (_, argument, expected) => {
    expect(describeArgument(argument)).toBe(expected);
  });

  it("of arguments is described only if the schema says so", () => {
    const root = (schema: JsonObject) =>
      toPortableSchema({ type: "object", ...schema }).schema["description"];
    expect(root({})).toBeUndefined();
    expect(root({ properties: {} })).toBeUndefined();
    expect(root({ additionalProperties: { type: "string" } })).toBe("Any keys; values: string.");
  });
});

describe("a union", () => {
  it("keeps an enum beside a pattern", () => {
    const argument = { anyOf: [{ enum: ["small", "large"] }, { type: "string", pattern: "^\\d+px$" }] };
    expect(portableArgument(argument)).toEqual({
      anyOf: [
        { type: "string", enum: ["small", "large"] },
        { type: "string", pattern: "^\\d+px$" },
      ],
    });
  });

  it("keeps an enum beside any other string, and bounds beside others", () => {
    expect(
      portableArgument({
        anyOf: [{ type: "string", enum: ["a"] }, { type: "string" }, { type: "integer", minimum: 5 }],
      }),
    ).toEqual({
      anyOf: [{ type: "string", enum: ["a"] }, { type: "string" }, { type: "integer", minimum: 5 }],
    });
  });

  it("of constants keeps what each of them means", () => {
    expect(
      portableArgument({
        description: "The level.",
        oneOf: [
          { const: "low", description: "Only errors." },
          { const: "high", title: "Everything" },
        ],
      }),
    ).toEqual({
      type: "string",
      description: 'The level. "low": Only errors; "high": Everything',
      enum: ["low", "high"],
    });
  });

  it("keeps its own description and that of each branch, each of them once", () => {
    expect(
      portableArgument({
        description: "The owner",
        oneOf: [
          { type: "string", description: "by name" },
          { type: "object", properties: { id: { type: "integer" } }, description: "By id." },
          { type: "null" },
        ],
      }),
    ).toEqual({
      anyOf: [
        { type: "string", description: "The owner. by name" },
        { type: "object", description: "By id.", properties: { id: { type: "integer" } } },
        { type: "null" },
      ],
    });
  });

  it("that is merged joins the descriptions of its branches", () => {
    const branches = [
      { type: "array", description: "Names", items: { type: "string" } },
      { type: "array", description: "Numbers", items: { type: "integer" } },
    ];
    expect(describeArgument({ anyOf: branches })).toBe("Names Or: Numbers");
  });
});

describe("texts", () => {
  it("a sentence is added after a period", () => {
    expect(describeArgument({ type: "integer", format: "uint32", description: "how many" })).toBe(
      "how many. Format: uint32.",
    );
    expect(describeArgument({ type: "string", format: "email", description: "谁。" })).toBe(
      "谁。 Format: email.",
    );
  });

  it("a reference keeps its own description and that of its target", () => {
    const original = {
      type: "object",
      properties: { a: { $ref: "#/$defs/User", description: "Who receives it" } },
      $defs: { User: { type: "string", description: "A user of the system." } },
    };
    expect(toPortableSchema(original).schema["properties"]).toEqual({
      a: { type: "string", description: "Who receives it. A user of the system." },
    });
  });

  const approval = "Set to true only after the user has explicitly approved this action in the conversation.";

  it("short texts are complete, although the schema is too large", () => {
    const nested = (n: number) => ({
      type: "object",
      properties: { x: { type: "string", description: `${n} `.repeat(3_000) } },
    });
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`argument${n}`, nested(n)]));
    const original = {
      type: "object",
      properties: { ...properties, confirm: { type: "boolean", description: approval } },
    };
    const { schema, warnings } = toPortableSchema(original);
    expect(warnings).toEqual(["The schema is too large to be shown in full: details were omitted."]);
    expect(JSON.stringify(schema).length).toBeLessThan(50_000);
    expect(schema["properties"]).toMatchObject({ confirm: { description: approval } });
  });

  it("a text that has to be truncated ends with a sentence", () => {
    const long = "One two three. ".repeat(1_000);
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`a${n}`, { type: "string", description: long }]),
    );
    const { schema } = toPortableSchema({ type: "object", properties });
    for (const { description } of Object.values(schema["properties"] as Record<string, JsonObject>))
      expect(description ?? "three.").toMatch(/three\.$/);
  });
});

describe("a definition that is used often", () => {
  const fields = Array.from({ length: 12 }, (_, n) => [
    `field${n}`,
    { type: "string", enum: ["asc", "desc"], description: `The direction of the field ${n} in the result.` },
  ]);
  const Sorting = {
    type: "object",
    properties: Object.fromEntries(fields) as JsonObject,
    required: ["field0"],
  };
  function useTimes(count: number) {
    const uses = Array.from({ length: count }, (_, n) => [`sort${n}`, { $ref: "#/$defs/Sorting" }]);
    return { type: "object", properties: Object.fromEntries(uses) as JsonObject, $defs: { Sorting } };
  }

  it("is repeated in full while the schema does not grow by half", () => {
    const { schema, warnings } = toPortableSchema(useTimes(1));
    expect(schema["properties"]).toEqual({ sort0: Sorting });
    expect(warnings).toEqual([]);
  });

  it.each([2, 3, 20])("%i times: no text is lost, and the size does not grow by half", (count) => {
    const original = useTimes(count);
    const { schema, warnings } = toPortableSchema(original);
    expect(findProviderViolations(schema)).toEqual([]);
    expect(warnings).toEqual([]);
    expect(JSON.stringify(schema).length / JSON.stringify(original).length).toBeLessThan(1.5);
    const text = JSON.stringify(schema);
    for (const [, { description }] of fields as [string, { description: string }][])
      expect(text.split(description).length - 1).toBe(1);
    const properties = schema["properties"] as Record<string, JsonObject>;
    expect(Object.keys(properties)).toHaveLength(count);
    expect(properties["sort0"]).toEqual(Sorting);
  });

  it("refers to the place where it is described", () => {
    const { schema } = toPortableSchema(useTimes(20));
    const { sort1 } = schema["properties"] as Record<string, JsonObject>;
    expect(sort1).toEqual({ type: "object", description: "The same as for sort0.", properties: {} });
  });
});
