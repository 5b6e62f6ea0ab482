import { describe, expect, it } from "vitest";
import type { FormValue } from "../../../src/index.js";
import { times } from "../../fixtures/clients.js";
import { applyFormDefaults, FORM } from "../../../src/session/server-requests/elicitation-handler.js";

type FormInput = Readonly<Record<string, FormValue | undefined>>;

function fill(properties: object, input: FormInput, required: readonly string[] = []): unknown {
  return applyFormDefaults(FORM.parse({ type: "object", properties, required }), input);
}

const FIELDS = {
  name: { type: "string", default: "Ada" },
  age: { type: "integer", default: 36 },
  score: { type: "number", default: 0.5 },
  isMember: { type: "boolean", default: false },
  colour: { type: "string", enum: ["red", "blue"], default: "red" },
  sizes: { type: "array", items: { type: "string", enum: ["s", "m"] }, default: ["s"] },
  note: { type: "string" },
};

describe("an accepted form", () => {
  it("gets the defaults of its schema", () => {
    const content = { name: "Ada", age: 36, score: 0.5, isMember: false, colour: "red", sizes: ["s"] };
    expect(fill(FIELDS, {})).toEqual({ content });
    expect(fill(FIELDS, { name: undefined, else: undefined })).toEqual({ content });
  });

  it("keeps submitted values, including empty ones", () => {
    const content = { name: "", age: 0, score: 0, isMember: true, colour: "blue", sizes: [], note: "hi" };
    expect(fill(FIELDS, content)).toEqual({ content });
  });

  it("needs all required fields that have no default", () => {
    expect(fill(FIELDS, {}, ["name"])).toHaveProperty("content");
    expect(fill(FIELDS, {}, ["note"])).toEqual({ problem: "note is required" });
  });

  it("must not contain unknown fields", () => {
    expect(fill(FIELDS, { constructor: "x" })).toEqual({ problem: "constructor was not requested" });
  });
});

it.each<[string, object, readonly string[]]>([
  ["10,001 fields", Object.fromEntries(times(10_001, (n) => [`f${n}`, { type: "string" }])), []],
  ["10,001 required fields", {}, times(10_001, () => "name")],
  ["10,000 invalid fields", Object.fromEntries(times(10_000, (n) => [`f${n}`, 0])), []],
  ["10,000 invalid names of fields", Object.fromEntries(times(10_000, (n) => [`f${n}\n`, FIELDS.name])), []],
  ["10,000 invalid required fields", {}, times(10_000, () => "\n")],
])("a form with %s has one problem", (_, properties, required) => {
  const { error } = FORM.safeParse({ type: "object", properties, required });
  expect(error?.issues).toHaveLength(1);
});

describe("a field accepts", () => {
  const choices = { oneOf: [{ const: "a", title: "A" }] };
  const titledChoices = { items: { anyOf: [{ const: "a", title: "A" }] }, minItems: 1, maxItems: 2 };
  it.each<[string, object, FormValue, string | undefined]>([
    ["a string", { type: "string" }, "x", undefined],
    ["a string", { type: "string" }, 1, "a string"],
    ["code points, not UTF-16 units", { type: "string", maxLength: 1 }, "😀", undefined],
    ["a string of the minimum length", { type: "string", minLength: 2 }, "x", "2 characters or more"],
    ["a string of the maximum length", { type: "string", maxLength: 2 }, "xxx", "2 characters or less"],
    ["an email address", { type: "string", format: "email" }, "ada@example.com", undefined],
    ["an email address", { type: "string", format: "email" }, "ada", "a string of format email"],
    ["a URI", { type: "string", format: "uri" }, "https://example.com", undefined],
    ["a URI", { type: "string", format: "uri" }, "example", "a string of format uri"],
    ["a date", { type: "string", format: "date" }, "2026-02-28", undefined],
    ["a date", { type: "string", format: "date" }, "28.2.2026", "a string of format date"],
    ["a date-time", { type: "string", format: "date-time" }, "2026-02-28T12:00:00Z", undefined],
    ["a date-time", { type: "string", format: "date-time" }, "noon", "a string of format date-time"],
    ["a string of an unknown format", { type: "string", format: "colour" }, "x", undefined],
    ["one of the choices", { type: "string", enum: ["a"] }, "b", "one of the 1 choices"],
    ["one of the choices with titles", { type: "string", ...choices }, "a", undefined],
    ["one of the choices with titles", { type: "string", ...choices }, "A", "one of the 1 choices"],
    ["a number", { type: "number" }, 1.5, undefined],
    ["a number", { type: "number" }, "1.5", "a number"],
    ["a finite number", { type: "number" }, Number.NaN, "a finite number"],
    ["an integer", { type: "integer" }, 1.5, "an integer"],
    ["a number above the minimum", { type: "number", minimum: 2 }, 1, "2 or more"],
    ["a number below the maximum", { type: "number", maximum: 2 }, 3, "2 or less"],
    ["a boolean", { type: "boolean" }, false, undefined],
    ["a boolean", { type: "boolean" }, "no", "true or false"],
    ["some of the choices", { type: "array", ...titledChoices }, ["a"], undefined],
    ["some of the choices", { type: "array", ...titledChoices }, ["b"], "some of the 1 choices"],
    ["the minimum number of items", { type: "array", ...titledChoices }, [], "1 items or more"],
    ["the maximum number of items", { type: "array", ...titledChoices }, ["a", "a", "a"], "2 items or less"],
    ["an array", { type: "array", ...titledChoices }, "a", "an array of strings"],
  ])("%s: %j, %j", (_, field, value, expected) => {
    expect(fill({ field }, { field: value })).toEqual(
      expected === undefined ? { content: { field: value } } : { problem: `field: expected ${expected}` },
    );
  });
});

describe("a form schema", () => {
  it.each([
    ["a nested object", { type: "object", properties: {} }],
    ["an array of objects", { type: "array", items: { type: "object" }, default: [{}] }],
    ["a field without a type", { title: "?" }],
    ["a default of another type", { type: "string", default: 1 }],
  ])("rejects %s", (_, field) => {
    expect(FORM.safeParse({ type: "object", properties: { field } }).success).toBe(false);
  });

  it("has no hidden characters in titles and descriptions", () => {
    const field = { type: "string", title: "a\u202Eb", description: "c\u200Bd", enum: ["ef"] };
    const { properties } = FORM.parse({ type: "object", properties: { field } });
    expect(properties).toEqual({ field: { type: "string", title: "ab", description: "cd", enum: ["ef"] } });
  });

  it("has no hidden characters in the titles of choices, in defaults and in what the protocol does not define", () => {
    const properties = {
      one: { type: "string", oneOf: [{ const: "a", title: "N\u202Eo\u001B[2J", "x-note": "n\u200B" }] },
      two: { type: "string", enum: ["a", "b"], enumNames: ["A\u200B", "B"], default: "\u202Ea" },
      many: { type: "array", items: { anyOf: [{ const: "a", title: "A\u2066" }] }, default: ["a\u200B"] },
      other: { type: "boolean", "x-\u200Bhint": { text: ["h\u200B\u001B]52;c;aGk=\u0007"] } },
    };
    expect(FORM.parse({ type: "object", properties }).properties).toEqual({
      one: { type: "string", oneOf: [{ const: "a", title: "No", "x-note": "n" }] },
      two: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"], default: "a" },
      many: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] }, default: ["a"] },
      other: { type: "boolean", "x-hint": { text: ["h"] } },
    });
  });

  it.each<[string, object, string[]?]>([
    ["the name of a field", { "k\u200B": { type: "string" } }],
    ["the name of a required field", {}, ["k\u202E"]],
    ["a choice", { k: { type: "string", enum: ["e\u200Bf"] } }],
    ["a choice with a title", { k: { type: "string", oneOf: [{ const: "a\u{E0041}", title: "A" }] } }],
    ["one of several choices", { k: { type: "array", items: { enum: ["a\u001B[2J"] } } }],
    ["one of several choices with titles", { k: { type: "array", items: { anyOf: [{ const: "a\nb" }] } } }],
  ])("cannot have hidden or control characters in %s", (_, properties, required = []) => {
    expect(FORM.safeParse({ type: "object", properties, required }).success).toBe(false);
  });

  it("may have joiners between letters and in emoji", () => {
    const word = "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645";
    const coder = "\u{1F469}\u{1F3FD}\u200D\u{1F4BB}";
    const field = { type: "string", enum: [word, coder, "b"], default: word };
    expect(FORM.parse({ type: "object", properties: { [word]: field } }).properties).toEqual({
      [word]: field,
    });
  });

  it.each<[string, object]>([
    ["field names", { ab: { type: "string" }, "a\u200Cb": { type: "string" } }],
    ["choices", { k: { type: "array", items: { anyOf: [{ const: "ab" }, { const: "a\u200Db" }] } } }],
  ])("cannot have %s that differ only in joiners", (_, properties) => {
    expect(FORM.safeParse({ type: "object", properties }).success).toBe(false);
  });

  it("may have an emoji as a choice", () => {
    const field = { type: "string", enum: ["\u2764\uFE0F", "\u{1F44D}"], default: "\u2764\uFE0F" };
    expect(FORM.parse({ type: "object", properties: { field } }).properties).toEqual({ field });
  });
});
