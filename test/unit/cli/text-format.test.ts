import { describe, expect, it } from "vitest";
import {
  escapeText,
  truncateToWidth,
  padToWidth,
  textWidth,
  wrapIndented,
  wrapToWidth,
} from "../../../src/cli/text-format.js";

describe("escapeText", () => {
  it.each([
    ["a line break", "a\nb\r\n\tc", String.raw`a\nb\r\n\tc`],
    ["an escape sequence", "\u001b[2J", String.raw`\u001b[2J`],
    ["a clipboard sequence", "\u001b]52;c;YQ==\u0007", String.raw`\u001b]52;c;YQ==\u0007`],
    ["a C1 control", "\u009b2J\u0085", String.raw`\u009b2J\u0085`],
    ["a deleted character", "\u007f", String.raw`\u007f`],
    ["bidirectional controls", "\u202ea\u2066b\u061c", String.raw`\u202ea\u2066b\u061c`],
    ["line separators", "\u2028\u2029", String.raw`\u2028\u2029`],
    ["zero-width characters", "a\u200bb\u200dc\ufeff\u00ad", String.raw`a\u200bb\u200dc\ufeff\u00ad`],
    ["tags", "\u{e0041}", String.raw`\udb40\udc41`],
    ["variation selectors", "a\ufe0fb\u{e0100}", String.raw`a\ufe0fb\udb40\udd00`],
    ["a repeated selector of an emoji", "❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"],
    ["blank letters", "\u3164\u115f", String.raw`\u3164\u115f`],
    ["half a surrogate pair", "\ud83d", String.raw`\ud83d`],
  ])("shows %s, once", (_, text, escaped) => {
    expect(escapeText(text)).toBe(escaped);
    expect(escapeText(escaped)).toBe(escaped);
  });

  it.each(["plain text", "C:\\Users", "Grüße, 天気予報　한국어", "⚠️ ❤️ 👩‍👩‍👧 👍🏽 1️⃣", "שלום"])(
    "leaves %j as it is",
    (text) => {
      expect(escapeText(text)).toBe(text);
    },
  );

  it("does not change what JSON means", () => {
    const value = { "\u202ekey": "\\\u009b\u{e0041}\u001b\n\\n" };
    const escaped = escapeText(JSON.stringify(value));
    expect(escaped).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(escaped)).toEqual(value);
  });
});

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
    ["a\\u200bb", 8],
    ["a\u200bb", 8],
    ["\u001b[2J", 9],
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
    expect(wrapToWidth("a\nb", 10)).toEqual([String.raw`a\nb`]);
    expect(wrapToWidth("no line is too long", Number.POSITIVE_INFINITY)).toEqual(["no line is too long"]);
  });
});

describe("wrapIndented", () => {
  it("starts with a prefix and indents the other lines", () => {
    expect(wrapIndented("one two three", 9, 2, "- ")).toEqual(["- one two", "  three"]);
    expect(wrapIndented("one two", 5, 2)).toEqual(["  one", "  two"]);
  });

  it("quotes the further lines of a text", () => {
    expect(wrapIndented("one\n→ two three\n", 11, 2, "- ")).toEqual([
      "- one",
      "  │ → two",
      "  │ three",
      "  │ ",
    ]);
  });
});
