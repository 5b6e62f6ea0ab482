import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeRecord,
  encodeRecord,
  findUnsafeJson,
  InvalidEntryError,
} from "../../../src/stores/stored-record.js";

describe("a stored record", () => {
  it("decodes to the same JSON value", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 6 }), (key, value) => {
        fc.pre(findUnsafeJson(value) === undefined);
        const text = encodeRecord({ key, expiresAt: undefined }, value);
        expect(decodeRecord(text, key, 0)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("has a string verbatim, unless some backend would change it", () => {
    const encodeBody = (value: string) =>
      encodeRecord({ key: "k", expiresAt: undefined }, value).split("\n").slice(1).join("\n");
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
        const text = encodeRecord({ key: "k", expiresAt: undefined }, value);
        const read = Buffer.from(text).toString();
        expect(decodeRecord(read, "k", 0)).toBe(value);
      }),
    );
  });

  it("is a value or an invalid entry, whatever the text is", () => {
    const header = encodeRecord({ key: "k", expiresAt: 5 }, 1).replace(/1$/, "");
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, hasHeader) => {
        const decode = () => decodeRecord(hasHeader ? header + text : text, "k", 0);
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
