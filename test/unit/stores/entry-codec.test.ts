import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeEntry,
  encodeEntry,
  findUnsafeJson,
  InvalidEntryError,
} from "../../../src/stores/entry-codec.js";

describe("a stored entry", () => {
  it("decodes to the same JSON value", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 6 }), (key, value) => {
        fc.pre(findUnsafeJson(value) === undefined);
        const text = encodeEntry({ key, expiresAt: undefined }, value);
        expect(decodeEntry(text, key, 0)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("has a string verbatim, unless some backend would change it", () => {
    const encodeBody = (value: string) =>
      encodeEntry({ key: "k", expiresAt: undefined }, value).split("\n").slice(1).join("\n");
    expect(['a\n"b"\nä😀', "a\tb", "\u0000", "\uD83D"].map(encodeBody)).toEqual([
      'a\n"b"\nä😀',
      String.raw`"a\tb"`,
      String.raw`"\u0000"`,
      String.raw`"\ud83d"`,
    ]);
  });

  it("decodes to the same string", () => {
    fc.assert(
      fc.property(fc.uint16Array(), (units) => {
        const value = String.fromCharCode(...units);
        const text = encodeEntry({ key: "k", expiresAt: undefined }, value);
        const read = Buffer.from(text).toString();
        expect(decodeEntry(read, "k", 0)).toBe(value);
      }),
    );
  });

  it("is a value or an invalid entry, whatever the text is", () => {
    const header = encodeEntry({ key: "k", expiresAt: 5 }, 1).replace(/1$/, "");
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, hasHeader) => {
        const decode = () => decodeEntry(hasHeader ? header + text : text, "k", 0);
        expect(toOutcome(decode)).toMatch(/^(?:live|invalid)$/);
      }),
    );
  });
});

/** Throws any error other than `InvalidEntryError`. */
function toOutcome(decode: () => unknown): string {
  try {
    return decode() === undefined ? "expired" : "live";
  } catch (error) {
    if (error instanceof InvalidEntryError) return "invalid";
    throw error;
  }
}
