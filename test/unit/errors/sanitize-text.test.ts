import { describe, expect, it } from "vitest";
import { excerpt, hasHiddenCharacters, stripHiddenCharacters } from "../../../src/errors/sanitize-text.js";

describe("stripHiddenCharacters removes", () => {
  it.each([
    ["terminal colors", "\u001b[1;31mred\u001b[0m", "red"],
    ["a bare escape", "a\u001bb", "ab"],
    ["control characters", "a\u0000b\u0008c\u007fd\u0085e", "abcde"],
    ["a carriage return", "real\rfake", "realfake"],
    ["zero-width characters", "pay\u200bpal\u200d\ufeff", "paypal"],
    ["a soft hyphen", "pass\u00adword", "password"],
    ["bidirectional overrides", "\u202egnp.exe\u202c", "gnp.exe"],
    ["bidirectional isolates", "\u2066a\u2069", "a"],
    ["tag characters", "hi\u{e0041}\u{e0042}\u{e007f}", "hi"],
    ["variation selectors", "a\ufe00b\ufe0ec\ufe0f", "abc"],
    ["supplementary variation selectors", "a\u{e0100}\u{e01ef}", "a"],
    ["a variation selector of an emoji", "❤\ufe0f", "❤"],
    ["Mongolian variation selectors and separators", "a\u180b\u180e\u180f", "a"],
    ["Hangul and Khmer fillers", "a\u115f\u1160\u3164\uffa0\u17b4\u17b5b", "ab"],
    ["the combining grapheme joiner", "a\u034fb", "ab"],
    ["interlinear annotations", "a\ufff9b\ufffac\ufffb", "abc"],
    ["shorthand and musical format characters", "a\u{1bca0}\u{1d173}b", "ab"],
    ["reserved ignorable characters", "a\u2065\ufff0\u{e0fff}b", "ab"],
  ])("%s", (_, text, expected) => {
    expect(stripHiddenCharacters(text)).toBe(expected);
  });

  it("the Arabic letter mark", () => {
    expect(stripHiddenCharacters("a\u061cb")).toBe("ab");
  });

  it("a terminal title with its text", () => {
    expect(stripHiddenCharacters("\u001b]0;owned\u0007done")).toBe("done");
  });
});

describe("stripHiddenCharacters keeps", () => {
  it.each(["", "two\nlines\tand a tab", "Grüße, 世界 😀 שלום مرحبا", "[31m without its escape"])(
    "%j",
    (text) => {
      expect(stripHiddenCharacters(text)).toBe(text);
    },
  );
});

describe("hasHiddenCharacters", () => {
  it.each(["files", "🗂\ufe0f files", "1\ufe0f⃣", "two\nlines"])("is false for %j", (text) => {
    expect(hasHiddenCharacters(text)).toBe(false);
  });

  it.each(["a\ufe0f", "🗂\ufe0f\ufe0f", "🗂\ufe0e", "🗂\u{e0100}", "a\u200b"])("is true for %j", (text) => {
    expect(hasHiddenCharacters(text)).toBe(true);
  });
});

describe("excerpt of a long text", () => {
  it("looks at its beginning only", () => {
    expect(excerpt(`start ${" ".repeat(5_000)} end`)).toBe("start …");
  });
});

describe("excerpt", () => {
  it("joins lines", () => {
    expect(excerpt("  first\n\n  second\tthird  ")).toBe("first second third");
  });

  it("removes hidden characters", () => {
    expect(excerpt("\u001b[31mno\u202e")).toBe("no");
  });

  it("keeps 300 characters", () => {
    expect(excerpt("x".repeat(300))).toBe("x".repeat(300));
  });

  it("truncates longer text with an ellipsis", () => {
    expect(excerpt("x".repeat(301))).toBe(`${"x".repeat(299)}…`);
  });

  it("does not split a surrogate pair", () => {
    expect(excerpt(`${"x".repeat(298)}😀😀`)).not.toMatch(/\p{Surrogate}/u);
  });
});
