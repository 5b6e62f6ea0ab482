import { describe, expect, it } from "vitest";
import { findParameterHeaders, toParameterHeaders } from "../../../src/session/parameter-headers.js";

const text = (header: unknown) => ({ type: "string", "x-mcp-header": header });

describe("the headers that a tool asks for", () => {
  it("are found at any depth of its parameters", () => {
    const found = findParameterHeaders({
      type: "object",
      properties: {
        region: text("Region"),
        // A parameter that is called so asks for nothing.
        "x-mcp-header": { type: "string" },
        deep: { type: "object", properties: { er: { type: "object", properties: { n: text("N") } } } },
      },
    });
    if ("problem" in found) throw new Error(found.problem);
    const args = { region: "north", "x-mcp-header": "no", deep: { er: { n: "7" } } };
    expect(toParameterHeaders(found.headers, args)).toEqual({
      "mcp-param-region": "north",
      "mcp-param-n": "7",
    });
  });

  it("are left out where nothing was given, and encoded where a header cannot hold them", () => {
    const headers = ["a", "b", "c", "d", "e", "f"].map((name) => ({ path: [name], header: name }));
    const args = { a: null, b: false, c: 12, d: "", e: "ü", f: { not: "simple" } };
    expect(toParameterHeaders(headers, args)).toEqual({
      "mcp-param-b": "false",
      "mcp-param-c": "12",
      "mcp-param-d": "=?base64??=",
      "mcp-param-e": "=?base64?w7w=?=",
    });
  });

  it.each([
    ["an empty name", { properties: { a: text("") } }],
    ["a name that is none", { properties: { a: text("two words") } }],
    ["no name at all", { properties: { a: text(7) } }],
    ["a number, which has many spellings", { properties: { a: { type: "number", "x-mcp-header": "A" } } }],
    ["an object", { properties: { a: { type: "object", "x-mcp-header": "A" } } }],
    ["the same header twice", { properties: { a: text("A"), b: text("a") } }],
    ["a place in a list", { properties: { a: { type: "array", items: text("A") } } }],
    ["one of several branches", { anyOf: [{ properties: { a: text("A") } }] }],
    ["a definition that is used elsewhere", { $defs: { a: text("A") } }],
    ["all parameters together", { type: "object", "x-mcp-header": "A" }],
  ])("make a tool unusable: %s", (_, schema) => {
    expect(findParameterHeaders(schema)).toHaveProperty("problem");
  });

  it("are none in a schema that is none, and in one that is nested deeper than the stack", () => {
    let deep: object = text("Deep");
    for (let depth = 0; depth < 20_000; depth += 1) deep = { items: deep };
    expect(findParameterHeaders(7)).toEqual({ headers: [] });
    expect(findParameterHeaders(deep)).toHaveProperty("problem");
  });
});
