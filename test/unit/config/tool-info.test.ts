import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseToolInfo } from "../../../src/config/server-features.js";

const plain = { name: "forecast", inputSchema: { type: "object" } };

describe("a valid tool", () => {
  it("requires a name and a schema, and gets no other properties", () => {
    expect(parseToolInfo(plain)).toStrictEqual({ item: plain });
  });

  it("keeps all known properties", () => {
    const { _meta, ...fields } = {
      ...plain,
      title: "Forecast",
      description: "Tomorrow's weather.",
      outputSchema: { type: "object", properties: {} },
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://x.test/i.png" }],
      _meta: { version: 2 },
    };
    expect(parseToolInfo({ ...fields, _meta })).toStrictEqual({ item: { ...fields, meta: { version: 2 } } });
  });

  it("keeps its name unchanged", () => {
    expect(parseToolInfo({ ...plain, name: " wéird name! " })).toMatchObject({
      item: { name: " wéird name! " },
    });
  });

  it("may have a schema without a type", () => {
    expect(parseToolInfo({ ...plain, inputSchema: {} })).toStrictEqual({
      item: { name: "forecast", inputSchema: {} },
    });
  });

  it("uses the title of the annotations when it has none", () => {
    const annotations = { title: "From annotations" };
    expect(parseToolInfo({ ...plain, annotations })).toMatchObject({ item: { title: "From annotations" } });
  });

  it("prefers its own title", () => {
    const annotations = { title: "From annotations" };
    expect(parseToolInfo({ ...plain, title: "Own", annotations })).toMatchObject({ item: { title: "Own" } });
  });

  it.each([
    ["title", 7],
    ["description", null],
    ["outputSchema", { type: "string" }],
    ["outputSchema", []],
    ["annotations", "readOnly"],
    ["icons", "icon.png"],
    ["_meta", 7],
    ["other", "thing"],
  ])("%s of %j is invalid and dropped", (key, value) => {
    expect(parseToolInfo({ ...plain, [key]: value })).toStrictEqual({ item: plain });
  });

  it("keeps valid icons", () => {
    const icons = [{ src: "a" }, "b", null, { src: "c" }];
    expect(parseToolInfo({ ...plain, icons })).toMatchObject({
      item: { icons: [{ src: "a" }, { src: "c" }] },
    });
  });
});

describe("an invalid tool is a problem", () => {
  it.each([
    [null, "not an object"],
    ["forecast", "not an object"],
    [[], "not an object"],
    [{ inputSchema: { type: "object" } }, "no name"],
    [{ name: 7, inputSchema: { type: "object" } }, "no name"],
    [{ name: "forecast" }, "no inputSchema"],
    [{ name: "forecast", inputSchema: null }, "no inputSchema"],
    [{ name: "forecast", inputSchema: true }, "no inputSchema"],
    [{ name: "forecast", inputSchema: { type: "array" } }, "no inputSchema"],
  ])("%j: %s", (value, words) => {
    expect(parseToolInfo(value)).toStrictEqual({ problem: expect.stringContaining(words) });
  });
});

describe("parseToolInfo", () => {
  it("never throws and never changes the input", () => {
    const tool = fc.record(
      { name: fc.anything(), inputSchema: fc.anything(), annotations: fc.anything(), icons: fc.anything() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(tool, fc.anything()), (value) => {
        const before = fc.stringify(value);
        expect(Object.keys(parseToolInfo(value))).toHaveLength(1);
        expect(fc.stringify(value)).toBe(before);
      }),
    );
  });
});
