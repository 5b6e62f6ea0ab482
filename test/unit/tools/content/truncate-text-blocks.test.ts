import { describe, expect, it } from "vitest";
import { contentOf, convert } from "./convert.js";

const text = (value: string): { type: string; text: string } => ({ type: "text", text: value });

describe("truncation", () => {
  it("a truncated text ends with the number of omitted characters", async () => {
    const content = await contentOf([text("x".repeat(112_345))]);
    expect(content).toBe(`${"x".repeat(100_000)}\n[… 12,345 of 112,345 characters omitted]`);
  });

  it("a text of exactly the maximum length is not truncated", async () => {
    expect(await contentOf([text("12345")], { contentChars: 5 })).toBe("12345");
  });

  it("a direct invoke is not truncated", async () => {
    const content = await contentOf([text("x".repeat(112_345))], { truncate: false });
    expect(content).toBe("x".repeat(112_345));
  });

  it.each([
    [1, "a\n[… 3 of 4 characters omitted]"],
    [2, "a\n[… 3 of 4 characters omitted]"],
    [3, "a😀\n[… 1 of 4 characters omitted]"],
  ])("a limit of %i does not split an emoji", async (contentChars, expected) => {
    expect(await contentOf([text("a😀b")], { contentChars })).toBe(expected);
  });

  it("an emoji longer than the limit leaves only the marker", async () => {
    expect(await contentOf([text("😀")], { contentChars: 1 })).toBe("[… 2 of 2 characters omitted]");
  });

  it("text blocks are counted together, and later ones are dropped", async () => {
    const content = await contentOf([text("abc"), text("defg"), text("hi")], { contentChars: 5 });
    expect(content).toEqual([text("abc"), text("de\n[… 4 of 9 characters omitted]")]);
  });

  it("a limit between two blocks replaces the second with the marker", async () => {
    const content = await contentOf([text("abc"), text("def")], { contentChars: 3 });
    expect(content).toEqual([text("abc"), text("[… 3 of 6 characters omitted]")]);
  });

  it("images are neither counted nor moved", async () => {
    const image = { type: "image", mimeType: "image/png", data: "A".repeat(400) };
    const content = await contentOf([text("abcdef"), image, text("ghi")], { contentChars: 3 });
    expect(content).toEqual([text("abc\n[… 6 of 9 characters omitted]"), image]);
  });

  it("embedded text and structured content count as text", async () => {
    const result = {
      content: [{ type: "resource", resource: { text: "abcd" } }],
      structuredContent: { a: 1 },
    };
    const { content } = await convert(result, { contentChars: 5, structuredContent: "append" });
    expect(content).toEqual([text("abcd"), text("{\n[… 6 of 11 characters omitted]")]);
  });

  it("the artifact is never truncated", async () => {
    const { artifact } = await convert({ content: [text("abcdef")] }, { contentChars: 1 });
    expect(artifact.content).toEqual([text("abcdef")]);
  });
});
