import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { toCachedList } from "../../../src/catalog/cached-tool-list.js";
import { parseStoredList, toStoredList } from "../../../src/catalog/stored-list.js";
import type { McpToolInfo } from "../../../src/config/tool-info.js";
import { findHostile } from "../../../src/stores/storable-json.js";

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

const unreadable = (name: string) => new Error(`unreadable: ${name}`);
const parse = (value: unknown) => parseStoredList(value, { now: NOW, unreadable });
const stored = () => toStoredList(toCachedList([rich, plain], 1_000, { ttlMs: 7 }));

/** The tools of a list that somebody has planted, checksum and all. */
function planted(names: string, ...tools: readonly string[]): readonly McpToolInfo[] | undefined {
  const lines = [names, ...tools].join("\n");
  return parse(`${JSON.stringify({ listedAt: 1, checksum: crc32(lines) })}\n${lines}`)?.tools;
}

describe("a stored list", () => {
  it("comes back as it was, however it is looked at", () => {
    expect(parse(stored())).toEqual({ tools: [rich, plain], listedAt: 1_000, notes: { ttlMs: 7 } });
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

  it("can be stored again", () => {
    const list = parse(stored());
    expect(list && toStoredList(list)).toBe(stored());
  });

  it.each([
    ["before it is read", (tool: McpToolInfo) => tool],
    ["after", (tool: McpToolInfo) => (tool.inputSchema === undefined ? tool : tool)],
  ])("has tools that nobody can change, %s", (_when, look) => {
    const change: ((tool: McpToolInfo) => unknown)[] = [
      (tool) => Object.assign(tool, { name: "evil" }),
      (tool) => Object.assign(tool, { more: 1 }),
      (tool) => Object.defineProperty(tool, "more", { value: 1 }),
      (tool) => Object.setPrototypeOf(tool, { more: 1 }),
      (tool) => Reflect.deleteProperty(tool, "name") || Object.assign(tool, { name: "evil" }),
      (tool) => Object.assign(tool.inputSchema, { more: 1 }),
    ];
    for (const attempt of change) {
      const tool = look(parse(stored())?.tools[1] ?? plain);
      expect(() => attempt(tool)).toThrow(TypeError);
      expect(tool).toStrictEqual(plain);
      expect(Object.isFrozen(tool)).toBe(true);
    }
  });

  it("is not there when any of it is missing, or is not as it was written", () => {
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
    ["no text", 1],
    ["what an older version wrote", { listedAt: 1, tools: [{ name: "a", inputSchema: {} }] }],
    ["no lines", ""],
    ["no tools", toStoredList(toCachedList([], 1))],
    ["one tool twice", toStoredList(toCachedList([plain, plain], 1))],
    ["a moment that is none", stored().replace("1000", '"1000"')],
    ["a moment long before any", stored().replace("1000", "-1e999")],
    ["a moment ahead of us", stored().replace("1000", "65001")],
  ])("that is %s is not there", (_what, value) => {
    expect(parse(value)).toBeUndefined();
  });

  it("from a clock that is a little ahead is of now", () => {
    expect(parse(stored().replace("1000", "65000"))?.listedAt).toBe(NOW);
  });

  it.each([
    ["broken JSON", '{"name":"evil","inputSchema":{}'],
    ["no tool", '"evil"'],
    ["a schema of something else", '{"name":"evil","inputSchema":{"type":"string"}}'],
    ["no schema", '{"name":"evil"}'],
    ["another tool", '{"name":"good","inputSchema":{}}'],
    ["a key that changes prototypes", '{"name":"evil","inputSchema":{"__proto__":{}}}'],
    ["too many levels", `{"name":"evil","inputSchema":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`],
  ])("with %s in it, which somebody has planted, has a name and gives nothing else", (_what, line) => {
    const [tool] = planted('["evil"]', line) ?? [];
    expect(tool?.name).toBe("evil");
    for (const _ of [1, 2]) {
      expect(() => tool?.inputSchema).toThrow("unreadable: evil");
      expect(() => tool?.description).toThrow("unreadable: evil");
      expect(() => ({ ...tool })).toThrow("unreadable: evil");
      expect(() => JSON.stringify(tool)).toThrow("unreadable: evil");
      expect(() => findHostile(tool)).toThrow("unreadable: evil");
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
  ])("whose names are %s gives no tool by another name", (names) => {
    for (const tool of planted(names, '{"name":"plain","inputSchema":{}}') ?? [])
      expect(() => tool.inputSchema).toThrow("unreadable");
    expect(planted(names)).toBeUndefined();
  });

  it("is not written when it would not come back", () => {
    const deep = JSON.parse(`{"a":${"[".repeat(600)}${"]".repeat(600)}}`) as object;
    const list = toCachedList([{ name: "deep", inputSchema: { ...deep } }], 1);
    expect(() => toStoredList(list)).toThrow("nested more than 500 levels deep");
  });
});
