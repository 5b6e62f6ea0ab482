import { describe, expect, it } from "vitest";
import {
  truncateToWidth,
  padToWidth,
  textWidth,
  wrapIndented,
  wrapToWidth,
} from "../../../src/cli/text-format.js";

describe("textWidth", () => {
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
  ])("%j is %i columns wide", (text, columns) => {
    expect(textWidth(text)).toBe(columns);
  });
});

describe("truncateToWidth", () => {
  it("cuts a text to a width and marks the cut with an ellipsis", () => {
    expect(truncateToWidth("forecast", 8)).toBe("forecast");
    expect(truncateToWidth("forecast", 5)).toBe("fore…");
    expect(truncateToWidth("天気予報", 5)).toBe("天気…");
    expect(truncateToWidth("天気予報", 6)).toBe("天気…");
    expect(textWidth(truncateToWidth("天a気b予c報", 6))).toBeLessThanOrEqual(6);
  });
});

describe("padToWidth", () => {
  it("pads a text to a width and never shortens it", () => {
    expect(padToWidth("天", 4)).toBe("天  ");
    expect(padToWidth("long", 2)).toBe("long");
  });
});

describe("wrapToWidth", () => {
  it("breaks lines between words, and inside words that are longer than a line", () => {
    expect(wrapToWidth("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapToWidth("abcdefgh ij", 3)).toEqual(["abc", "def", "gh", "ij"]);
    expect(wrapToWidth("天気予報", 4)).toEqual(["天気", "予報"]);
    expect(wrapToWidth("a\nb", 10)).toEqual(["a", "b"]);
    expect(wrapToWidth("no line is too long", Number.POSITIVE_INFINITY)).toEqual(["no line is too long"]);
  });
});

describe("wrapIndented", () => {
  it("starts with a prefix and indents the other lines", () => {
    expect(wrapIndented("one two three", 9, 2, "- ")).toEqual(["- one two", "  three"]);
    expect(wrapIndented("one two", 5, 2)).toEqual(["  one", "  two"]);
  });
});
