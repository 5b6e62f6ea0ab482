import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRecord, encodeRecord } from "../../../src/stores/stored-record.js";
import { findHostile } from "../../../src/stores/sound-json.js";

describe("an entry as it is kept", () => {
  it("comes back, whatever JSON it holds", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 6 }), (key, value) => {
        fc.pre(findHostile(value) === undefined);
        const text = encodeRecord({ key, expiresAt: undefined }, JSON.stringify(value));
        expect(decodeRecord(text, key, 0)).toEqual({
          state: "live",
          value: JSON.parse(JSON.stringify(value)),
        });
      }),
    );
  });

  it("never throws, whatever text is found in its place", () => {
    const header = encodeRecord({ key: "k", expiresAt: 5 }, "");
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, isHalfSound) => {
        const { state } = decodeRecord(isHalfSound ? header + text : text, "k", 0);
        expect(["live", "unsound"]).toContain(state);
      }),
    );
  });
});
