import { describe, expect, it } from "vitest";
import { quoteServer, toReadable } from "../../../src/errors/sanitize-text.js";

describe("toReadable removes", () => {
  it.each([
    ["terminal colours", "\u001b[1;31mred\u001b[0m", "red"],
    ["a bare escape", "a\u001bb", "ab"],
    ["control characters", "a\u0000b\u0008c\u007fd\u0085e", "abcde"],
    ["a carriage return", "real\rfake", "realfake"],
    ["zero-width characters", "pay\u200bpal\u200d\ufeff", "paypal"],
    ["a soft hyphen", "pass\u00adword", "password"],
    ["bidirectional overrides", "\u202egnp.exe\u202c", "gnp.exe"],
    ["bidirectional isolates", "\u2066a\u2069", "a"],
    ["tag characters", "hi\u{e0041}\u{e0042}\u{e007f}", "hi"],
  ])("%s", (_, text, shown) => {
    expect(toReadable(text)).toBe(shown);
  });

  it("the Arabic letter mark, which is bidirectional, too", () => {
    expect(toReadable("a\u061cb")).toBe("ab");
  });

  it("a terminal title, with its text", () => {
    expect(toReadable("\u001b]0;owned\u0007done")).toBe("done");
  });
});

describe("toReadable keeps", () => {
  it.each(["", "two\nlines\tand a tab", "Grüße, 世界 😀 שלום مرحبا", "[31m without its escape"])(
    "%j",
    (text) => {
      expect(toReadable(text)).toBe(text);
    },
  );
});

describe("quoteServer", () => {
  it("makes one line of many", () => {
    expect(quoteServer("  first\n\n  second\tthird  ")).toBe("first second third");
  });

  it("shows nothing that cannot be read", () => {
    expect(quoteServer("\u001b[31mno\u202e")).toBe("no");
  });

  it("keeps 300 characters whole", () => {
    expect(quoteServer("x".repeat(300))).toBe("x".repeat(300));
  });

  it("cuts what is longer, and shows that it did", () => {
    expect(quoteServer("x".repeat(301))).toBe(`${"x".repeat(300)}…`);
  });

  it("cuts no character in two", () => {
    expect(quoteServer(`${"x".repeat(299)}😀😀`)).not.toMatch(/\p{Surrogate}/u);
  });
});
