import { describe, expect, it } from "vitest";
import { findParameterHeaders, ToolHeaders, toParameterHeaders } from "../../../src/session/tool-headers.js";

const text = (header: unknown) => ({ type: "string", "x-mcp-header": header });

describe("the headers of the last list", () => {
  const tool = (name: string) => ({ name, inputSchema: { properties: { a: text("A") } } });
  const args = { a: "north" };

  it("are known until another one has been read to its end", () => {
    const headers = new ToolHeaders("srv", () => undefined);
    headers.update({ tools: [tool("first")], nextCursor: "2" }, { isFirst: true });
    headers.update({ tools: [tool("second")] }, { isFirst: false });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      headers.update({ tools: [tool("first")], nextCursor: "2" }, { isFirst: true });
      expect(headers.headersFor({ name: "second", arguments: args })).toEqual({ "mcp-param-a": "north" });
    }
    for (let list = 0; list < 2; list += 1) headers.update({ tools: [tool("first")] }, { isFirst: true });
    expect(headers.headersFor({ name: "second", arguments: args })).toBeUndefined();
    expect(headers.headersFor({ name: "first", arguments: args })).toEqual({ "mcp-param-a": "north" });
  });
});

describe("the headers that a tool requires", () => {
  it("are found at any depth of its parameters", () => {
    const result = findParameterHeaders({
      type: "object",
      properties: {
        region: text("Region"),
        // A parameter with this name is not an annotation.
        "x-mcp-header": { type: "string" },
        deep: { type: "object", properties: { er: { type: "object", properties: { n: text("N") } } } },
      },
    });
    if ("problem" in result) throw new Error(result.problem);
    const args = { region: "north", "x-mcp-header": "no", deep: { er: { n: "7" } } };
    expect(toParameterHeaders(result.headers, args)).toEqual({
      "mcp-param-region": "north",
      "mcp-param-n": "7",
    });
  });

  it("are omitted for missing arguments and encoded for values that are not valid in headers", () => {
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
    ["an invalid name", { properties: { a: text("two words") } }],
    ["a name that is not a string", { properties: { a: text(7) } }],
    [
      "a number, which has several representations",
      { properties: { a: { type: "number", "x-mcp-header": "A" } } },
    ],
    ["an object", { properties: { a: { type: "object", "x-mcp-header": "A" } } }],
    ["the same header twice", { properties: { a: text("A"), b: text("a") } }],
    ["array items", { properties: { a: { type: "array", items: text("A") } } }],
    ["one of several branches", { anyOf: [{ properties: { a: text("A") } }] }],
    ["a shared definition", { $defs: { a: text("A") } }],
    ["the whole schema", { type: "object", "x-mcp-header": "A" }],
  ])("make a tool invalid for %s", (_, schema) => {
    expect(findParameterHeaders(schema)).toHaveProperty("problem");
  });

  it("are found in a schema that is nested deeper than the stack; a value that is not a schema has none", () => {
    let deep: object = text("Deep");
    for (let depth = 0; depth < 20_000; depth += 1) deep = { items: deep };
    expect(findParameterHeaders(7)).toEqual({ headers: [] });
    expect(findParameterHeaders(deep)).toHaveProperty("problem");
  });
});

describe("a schema with 90,000 parameters", () => {
  it("takes no longer if they are nested 240 levels deep", () => {
    const parameters = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`p${index}`, {}]));
    const toSchema = (properties: object): object => ({ type: "object", properties });
    let nested = parameters as object;
    for (let level = 0; level < 240; level += 1) nested = { a: toSchema(nested) };
    const measureMs = (schema: object) => {
      const start = process.cpuUsage();
      expect(findParameterHeaders(schema)).toEqual({ headers: [] });
      return process.cpuUsage(start).user / 1_000;
    };
    const minMs = (schema: object) => Math.min(...[1, 2, 3].map(() => measureMs(schema)));
    expect(minMs(toSchema(nested))).toBeLessThan(2 * minMs(toSchema(parameters)) + 20);
  });
});

describe("the headers of a list of tools", () => {
  const page = (...names: string[]) => ({
    tools: names.map((name) => ({ name, inputSchema: { type: "object", properties: { a: text("A") } } })),
  });
  const headersOf = (headers: ToolHeaders, name: string) =>
    headers.headersFor({ name, arguments: { a: "1" } });

  it("are kept for all pages, and for the previous list while the next one is read", () => {
    const headers = new ToolHeaders("test", () => undefined);
    headers.update(page("a"), { isFirst: true });
    headers.update(page("b"), { isFirst: false });
    headers.update(page("c"), { isFirst: true });
    for (const name of ["a", "b", "c"]) expect(headersOf(headers, name)).toEqual({ "mcp-param-a": "1" });
  });

  it("are not those of earlier lists: a server can list other tools each time", () => {
    const headers = new ToolHeaders("test", () => undefined);
    for (const name of ["a", "b", "c"]) headers.update(page(name), { isFirst: true });
    expect(headersOf(headers, "a")).toBeUndefined();
  });

  it("of a tool that requires none any more are not sent", () => {
    const headers = new ToolHeaders("test", () => undefined);
    headers.update(page("a"), { isFirst: true });
    headers.update({ tools: [{ name: "a", inputSchema: { type: "object" } }] }, { isFirst: true });
    expect(headersOf(headers, "a")).toBeUndefined();
  });
});
