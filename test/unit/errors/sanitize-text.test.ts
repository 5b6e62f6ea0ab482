import { describe, expect, it } from "vitest";
import { excerpt, stripHiddenCharacters } from "../../../src/errors/sanitize-text.js";

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
