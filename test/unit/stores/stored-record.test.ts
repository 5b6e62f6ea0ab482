import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRecord, encodeRecord } from "../../../src/stores/stored-record.js";
import { findHostile } from "../../../src/stores/storable-json.js";

describe("an entry as it is kept", () => {
  it("comes back, whatever JSON it holds", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 6 }), (key, value) => {
        fc.pre(findHostile(value) === undefined);
        const text = encodeRecord({ key, expiresAt: undefined }, value);
        expect(decodeRecord(text, key, 0)).toEqual({
          state: "live",
          value: JSON.parse(JSON.stringify(value)),
        });
      }),
    );
  });

  it("has a text as it is, unless not every place would give it back", () => {
    const bodyOf = (value: string) =>
      encodeRecord({ key: "k", expiresAt: undefined }, value).split("\n").slice(1).join("\n");
    expect(['a\n"b"\nä😀', "a\tb", "\u0000", "\uD83D"].map(bodyOf)).toEqual([
      'a\n"b"\nä😀',
      String.raw`"a\tb"`,
      String.raw`"\u0000"`,
      String.raw`"\ud83d"`,
    ]);
  });

  it("comes back, whatever text it is", () => {
    fc.assert(
      fc.property(fc.uint16Array(), (units) => {
        const value = String.fromCharCode(...units);
        const text = encodeRecord({ key: "k", expiresAt: undefined }, value);
        const read = Buffer.from(text).toString();
        expect(decodeRecord(read, "k", 0)).toEqual({ state: "live", value });
      }),
    );
  });

  it("never throws, whatever text is found in its place", () => {
    const header = encodeRecord({ key: "k", expiresAt: 5 }, 1).replace(/1$/, "");
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, isHalfSound) => {
        const { state } = decodeRecord(isHalfSound ? header + text : text, "k", 0);
        expect(["live", "unsound"]).toContain(state);
      }),
    );
  });
});
