import { describe, expect, it } from "vitest";
import type { FormValue } from "../../../src/index.js";
import { fillForm, FORM } from "../../../src/session/server-requests/form-fields.js";

type Given = Readonly<Record<string, FormValue | undefined>>;

function fill(properties: object, given: Given, required: readonly string[] = []): unknown {
  return fillForm(FORM.parse({ type: "object", properties, required }), given);
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

describe("a form that was accepted", () => {
  it("is filled in with the defaults of its schema", () => {
    const content = { name: "Ada", age: 36, score: 0.5, isMember: false, colour: "red", sizes: ["s"] };
    expect(fill(FIELDS, {})).toEqual({ content });
    expect(fill(FIELDS, { name: undefined, else: undefined })).toEqual({ content });
  });

  it("keeps what was filled in, also what is empty", () => {
    const content = { name: "", age: 0, score: 0, isMember: true, colour: "blue", sizes: [], note: "hi" };
    expect(fill(FIELDS, content)).toEqual({ content });
  });

  it("has what is required, unless there is a default", () => {
    expect(fill(FIELDS, {}, ["name"])).toHaveProperty("content");
    expect(fill(FIELDS, {}, ["note"])).toEqual({ problem: "note is required" });
  });

  it("has nothing that was not asked for, whatever it is called", () => {
    expect(fill(FIELDS, { constructor: "x" })).toEqual({ problem: "constructor was not asked for" });
  });
});

describe("a field takes", () => {
  const choices = { oneOf: [{ const: "a", title: "A" }] };
  const listed = { items: { anyOf: [{ const: "a", title: "A" }] }, minItems: 1, maxItems: 2 };
  it.each<[string, object, FormValue, string | undefined]>([
    ["a text", { type: "string" }, "x", undefined],
    ["a text", { type: "string" }, 1, "a text"],
    ["characters, not halves of them", { type: "string", maxLength: 1 }, "😀", undefined],
    ["a text that is long enough", { type: "string", minLength: 2 }, "x", "2 characters or more"],
    ["a text that is short enough", { type: "string", maxLength: 2 }, "xxx", "2 characters or less"],
    ["an address of mail", { type: "string", format: "email" }, "ada@example.com", undefined],
    ["an address of mail", { type: "string", format: "email" }, "ada", "a text of format email"],
    ["an address", { type: "string", format: "uri" }, "https://example.com", undefined],
    ["an address", { type: "string", format: "uri" }, "example", "a text of format uri"],
    ["a day", { type: "string", format: "date" }, "2026-02-28", undefined],
    ["a day", { type: "string", format: "date" }, "28.2.2026", "a text of format date"],
    ["a moment", { type: "string", format: "date-time" }, "2026-02-28T12:00:00Z", undefined],
    ["a moment", { type: "string", format: "date-time" }, "noon", "a text of format date-time"],
    ["a text of a format that is not known", { type: "string", format: "colour" }, "x", undefined],
    ["one of the choices", { type: "string", enum: ["a"] }, "b", "one of the 1 choices"],
    ["one of the choices with titles", { type: "string", ...choices }, "a", undefined],
    ["one of the choices with titles", { type: "string", ...choices }, "A", "one of the 1 choices"],
    ["a number", { type: "number" }, 1.5, undefined],
    ["a number", { type: "number" }, "1.5", "a number"],
    ["a number that JSON has", { type: "number" }, Number.NaN, "a number that JSON has"],
    ["an integer", { type: "integer" }, 1.5, "an integer"],
    ["a number that is large enough", { type: "number", minimum: 2 }, 1, "2 or more"],
    ["a number that is small enough", { type: "number", maximum: 2 }, 3, "2 or less"],
    ["yes and no", { type: "boolean" }, false, undefined],
    ["yes and no", { type: "boolean" }, "no", "true or false"],
    ["some of the choices", { type: "array", ...listed }, ["a"], undefined],
    ["some of the choices", { type: "array", ...listed }, ["b"], "some of the 1 choices"],
    ["enough of the choices", { type: "array", ...listed }, [], "1 items or more"],
    ["not too many of the choices", { type: "array", ...listed }, ["a", "a", "a"], "2 items or less"],
    ["a list", { type: "array", ...listed }, "a", "a list of texts"],
  ])("%s: %j, %j", (_, field, value, expected) => {
    expect(fill({ field }, { field: value })).toEqual(
      expected === undefined ? { content: { field: value } } : { problem: `field: expected ${expected}` },
    );
  });
});

describe("a form is flat", () => {
  it.each([
    ["an object in it", { type: "object", properties: {} }],
    ["a list of objects", { type: "array", items: { type: "object" }, default: [{}] }],
    ["a field without a type", { title: "?" }],
    ["a default of another type", { type: "string", default: 1 }],
  ])("%s is refused", (_, field) => {
    expect(FORM.safeParse({ type: "object", properties: { field } }).success).toBe(false);
  });

  it("and what people read of it has no characters that hide", () => {
    const field = { type: "string", title: "a\u202Eb", description: "c\u200Bd", enum: ["e\u200Bf"] };
    const { properties } = FORM.parse({ type: "object", properties: { field } });
    expect(properties).toEqual({
      field: { type: "string", title: "ab", description: "cd", enum: ["e\u200Bf"] },
    });
  });
});
