import { describe, expect, it } from "vitest";
import { cutToWidth, padToWidth, widthOf, wrapToWidth } from "../../../src/cli/terminal/text-width.js";

describe("the width of a text", () => {
  it.each([
    ["plain", 5],
    ["", 0],
    ["天気予報", 8],
    ["한국어", 6],
    ["👍", 2],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["é", 1],
    ["a\u200bb", 2],
    ["✓ ok", 4],
    ["ｆｕｌｌ", 8],
  ])("%j is %i columns", (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  it("is kept by cutting, and what is missing is told", () => {
    expect(cutToWidth("forecast", 8)).toBe("forecast");
    expect(cutToWidth("forecast", 5)).toBe("fore…");
    expect(cutToWidth("天気予報", 5)).toBe("天気…");
    expect(cutToWidth("天気予報", 6)).toBe("天気…");
    expect(widthOf(cutToWidth("天a気b予c報", 6))).toBeLessThanOrEqual(6);
  });

  it("is reached by padding", () => {
    expect(padToWidth("天", 4)).toBe("天  ");
    expect(padToWidth("long", 2)).toBe("long");
  });

  it("is kept by breaking lines between words, and inside of long ones", () => {
    expect(wrapToWidth("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapToWidth("abcdefgh ij", 3)).toEqual(["abc", "def", "gh", "ij"]);
    expect(wrapToWidth("天気予報", 4)).toEqual(["天気", "予報"]);
    expect(wrapToWidth("a\nb", 10)).toEqual(["a", "b"]);
    expect(wrapToWidth("as long as it likes", Number.POSITIVE_INFINITY)).toEqual(["as long as it likes"]);
  });
});
