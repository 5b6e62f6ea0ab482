import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseStoredList, toStoredList } from "../../../src/catalog/tool-list-store.js";
import type { McpToolInfo } from "../../../src/config/server-features.js";

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

const parse = (value: unknown) => parseStoredList(value, NOW, 10_000);
const stored = () => toStoredList({ tools: [rich, plain], listedAt: 1_000, ttlMs: 7 });

/** Parses a forged list with a valid checksum. */
function parseForged(body: string) {
  return parse(`${JSON.stringify({ listedAt: 1, checksum: crc32(body) })}\n${body}`);
}

describe("a stored list", () => {
  it("is restored unchanged", () => {
    const list = parse(stored());
    expect(list).toEqual({ tools: [rich, plain], listedAt: 1_000, ttlMs: 7 });
    expect(list?.tools[0]).toStrictEqual(rich);
    expect(list?.tools[1]).toStrictEqual(plain);
  });

  it("can be serialized again", () => {
    const list = parse(stored());
    expect(list && toStoredList(list)).toBe(stored());
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
    ["without tools", toStoredList({ tools: [], listedAt: 1 })],
    ["with a duplicate tool", toStoredList({ tools: [plain, plain], listedAt: 1 })],
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
    ["broken JSON", '[{"name":"evil","inputSchema":{}'],
    ["no array", '{"name":"evil","inputSchema":{}}'],
    ["a value that is not a tool", '["evil"]'],
    ["a schema that is not an object schema", '[{"name":"evil","inputSchema":{"type":"string"}}]'],
    ["a tool without a schema", '[{"name":"evil"}]'],
    ["one invalid tool of two", '[{"name":"good","inputSchema":{"type":"object"}},{"name":"evil"}]'],
    ["a __proto__ key", '[{"name":"evil","inputSchema":{"type":"object","__proto__":{}}}]'],
    [
      "too many nesting levels",
      `[{"name":"evil","inputSchema":{"type":"object","a":${"[".repeat(600)}${"]".repeat(600)}}}]`,
    ],
  ])("forged with %s is rejected", (_case, body) => {
    expect(parseForged(body)).toBeUndefined();
  });

  it("forged with a valid tool is accepted: a store is trusted no more and no less than its server", () => {
    expect(parseForged('[{"name":"good","inputSchema":{"type":"object"}}]')?.tools).toEqual([
      { name: "good", inputSchema: { type: "object" } },
    ]);
  });

  it("limits the nesting of each tool, not of the list", () => {
    const schema = JSON.parse(`{"type":"object","a":${"[".repeat(498)}${"]".repeat(498)}}`) as Record<
      string,
      unknown
    >;
    const list = { tools: [{ name: "deep", inputSchema: schema }], listedAt: 1 };
    expect(parse(toStoredList(list))?.tools).toEqual(list.tools);
  });

  it("is not written if it could not be parsed again", () => {
    const deep = JSON.parse(`{"a":${"[".repeat(600)}${"]".repeat(600)}}`) as object;
    const list = { tools: [{ name: "deep", inputSchema: { ...deep } }], listedAt: 1 };
    expect(() => toStoredList(list)).toThrow("500 levels");
  });
});
