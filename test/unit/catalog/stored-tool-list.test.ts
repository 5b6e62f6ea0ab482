import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { toCachedToolList, parseStoredList, toStoredList } from "../../../src/catalog/stored-tool-list.js";
import type { McpToolInfo } from "../../../src/config/tool-info.js";
import { findUnsafeJson } from "../../../src/stores/storable-json.js";

const NOW = 5_000;

const plain: McpToolInfo = { name: "plain", inputSchema: { type: "object" } };
const rich: McpToolInfo = {
  name: 'a "name"\nof two lines',
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  title: "Rich",
  description: "Says 'hello',\r\n\u0000 and \uD83D.",
  outputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
  icons: [{ src: "data:," }],
  meta: { "x.test/y": [1, null] },
};

const createError = (name: string) => new Error(`corrupt: ${name}`);
const parse = (value: unknown) => parseStoredList(value, { now: NOW, createError });
const stored = () => toStoredList(toCachedToolList([rich, plain], 1_000, { ttlMs: 7 }));

/** The tools of a forged list with a valid checksum. */
function parseForged(names: string, ...tools: readonly string[]): readonly McpToolInfo[] | undefined {
  const body = [names, ...tools].join("\n");
  return parse(`${JSON.stringify({ listedAt: 1, checksum: crc32(body) })}\n${body}`)?.tools;
}

describe("a stored list", () => {
  it("is restored unchanged, however it is accessed", () => {
    expect(parse(stored())).toEqual({ tools: [rich, plain], listedAt: 1_000, metadata: { ttlMs: 7 } });
    const copies: ((tool: McpToolInfo) => unknown)[] = [
      (tool) => ({ ...tool }),
      (tool) => Object.fromEntries(Object.entries(tool)),
      (tool) => JSON.parse(JSON.stringify(tool)),
      (tool) => structuredClone({ ...tool }),
    ];
    for (const copy of copies) {
      const [first, second] = parse(stored())?.tools.map(copy) ?? [];
      expect(first).toStrictEqual(rich);
      expect(second).toStrictEqual(plain);
    }
    expect(parse(stored())?.tools.map((tool) => "title" in tool)).toEqual([true, false]);
  });

  it("can be serialized again", () => {
    const list = parse(stored());
    expect(list && toStoredList(list)).toBe(stored());
  });

  it.each([
    ["before it is loaded", (tool: McpToolInfo) => tool],
    ["after it is loaded", (tool: McpToolInfo) => (tool.inputSchema === undefined ? tool : tool)],
  ])("has read-only tools %s", (_when, access) => {
    const change: ((tool: McpToolInfo) => unknown)[] = [
      (tool) => Object.assign(tool, { name: "evil" }),
      (tool) => Object.assign(tool, { more: 1 }),
      (tool) => Object.defineProperty(tool, "more", { value: 1 }),
      (tool) => Object.setPrototypeOf(tool, { more: 1 }),
      (tool) => Reflect.deleteProperty(tool, "name") || Object.assign(tool, { name: "evil" }),
      (tool) => Object.assign(tool.inputSchema, { more: 1 }),
    ];
    for (const attempt of change) {
      const tool = access(parse(stored())?.tools[1] ?? plain);
      expect(() => attempt(tool)).toThrow(TypeError);
      expect(tool).toStrictEqual(plain);
      expect(Object.isFrozen(tool)).toBe(true);
    }
  });

  it("is rejected when it is truncated or modified", () => {
    const text = stored();
    const end = text.indexOf("\n");
    for (let at = 0; at < text.length; at += 1) {
      expect(parse(text.slice(0, at))).toBeUndefined();
      if (at <= end) continue;
      const flipped = String.fromCodePoint((text.codePointAt(at) ?? 0) ^ 1);
      expect(parse(text.slice(0, at) + flipped + text.slice(at + 1))).toBeUndefined();
    }
  });

  it.each([
    ["not a string", 1],
    ["in the format of an older version", { listedAt: 1, tools: [{ name: "a", inputSchema: {} }] }],
    ["empty", ""],
    ["without tools", toStoredList(toCachedToolList([], 1))],
    ["with a duplicate tool", toStoredList(toCachedToolList([plain, plain], 1))],
    ["with a timestamp that is not a number", stored().replace("1000", '"1000"')],
    ["with an infinite timestamp", stored().replace("1000", "-1e999")],
    ["with a timestamp in the future", stored().replace("1000", "65001")],
  ])("%s is rejected", (_case, value) => {
    expect(parse(value)).toBeUndefined();
  });

  it("from a clock that is slightly ahead gets the current time", () => {
    expect(parse(stored().replace("1000", "65000"))?.listedAt).toBe(NOW);
  });

  it.each([
    ["broken JSON", '{"name":"evil","inputSchema":{}'],
    ["a value that is not a tool", '"evil"'],
    ["a schema that is not an object schema", '{"name":"evil","inputSchema":{"type":"string"}}'],
    ["a tool without a schema", '{"name":"evil"}'],
    ["another tool", '{"name":"good","inputSchema":{}}'],
    ["a __proto__ key", '{"name":"evil","inputSchema":{"__proto__":{}}}'],
    ["too many nesting levels", `{"name":"evil","inputSchema":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`],
  ])("forged with %s: only the tool name is accessible", (_case, line) => {
    const [tool] = parseForged('["evil"]', line) ?? [];
    expect(tool?.name).toBe("evil");
    for (const _ of [1, 2]) {
      expect(() => tool?.inputSchema).toThrow("corrupt: evil");
      expect(() => tool?.description).toThrow("corrupt: evil");
      expect(() => ({ ...tool })).toThrow("corrupt: evil");
      expect(() => JSON.stringify(tool)).toThrow("corrupt: evil");
      expect(() => findUnsafeJson(tool)).toThrow("corrupt: evil");
    }
  });

  it.each([
    "",
    "[]",
    "[1]",
    "{}",
    "garbage",
    String.raw`["\x"]`,
    String.raw`{"a":"\\"}`,
    String.raw`[1,"\\"]`,
  ])("with the names %s gives no tool with another name", (names) => {
    for (const tool of parseForged(names, '{"name":"plain","inputSchema":{}}') ?? [])
      expect(() => tool.inputSchema).toThrow("corrupt");
    expect(parseForged(names)).toBeUndefined();
  });

  it("is not written if it could not be parsed again", () => {
    const deep = JSON.parse(`{"a":${"[".repeat(600)}${"]".repeat(600)}}`) as object;
    const list = toCachedToolList([{ name: "deep", inputSchema: { ...deep } }], 1);
    expect(() => toStoredList(list)).toThrow("500 levels");
  });
});
