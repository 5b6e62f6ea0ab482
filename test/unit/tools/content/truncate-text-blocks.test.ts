import { describe, expect, it } from "vitest";
import { contentOf, convert } from "./convert.js";

const text = (words: string): { type: string; text: string } => ({ type: "text", text: words });

describe("cutting", () => {
  it("a long text says how much is missing", async () => {
    const content = await contentOf([text("x".repeat(112_345))]);
    expect(content).toBe(`${"x".repeat(100_000)}\n[… 12,345 of 112,345 characters left out]`);
  });

  it("a text of just the allowed length is whole", async () => {
    expect(await contentOf([text("12345")], { contentChars: 5 })).toBe("12345");
  });

  it("a direct invoke gets it all", async () => {
    const content = await contentOf([text("x".repeat(112_345))], { cut: false });
    expect(content).toBe("x".repeat(112_345));
  });

  it.each([
    [1, "a\n[… 3 of 4 characters left out]"],
    [2, "a\n[… 3 of 4 characters left out]"],
    [3, "a😀\n[… 1 of 4 characters left out]"],
  ])("after %i characters an emoji is whole or gone", async (contentChars, expected) => {
    expect(await contentOf([text("a😀b")], { contentChars })).toBe(expected);
  });

  it("an emoji that does not fit at all leaves the marker alone", async () => {
    expect(await contentOf([text("😀")], { contentChars: 1 })).toBe("[… 2 of 2 characters left out]");
  });

  it("texts are counted together, and those after the cut are gone", async () => {
    const content = await contentOf([text("abc"), text("defg"), text("hi")], { contentChars: 5 });
    expect(content).toEqual([text("abc"), text("de\n[… 4 of 9 characters left out]")]);
  });

  it("a cut between two texts stands in the place of the second", async () => {
    const content = await contentOf([text("abc"), text("def")], { contentChars: 3 });
    expect(content).toEqual([text("abc"), text("[… 3 of 6 characters left out]")]);
  });

  it("images are not counted and stay where they are", async () => {
    const image = { type: "image", mimeType: "image/png", data: "A".repeat(400) };
    const content = await contentOf([text("abcdef"), image, text("ghi")], { contentChars: 3 });
    expect(content).toEqual([text("abc\n[… 6 of 9 characters left out]"), image]);
  });

  it("embedded texts and structured content are counted like any text", async () => {
    const result = {
      content: [{ type: "resource", resource: { text: "abcd" } }],
      structuredContent: { a: 1 },
    };
    const { content } = await convert(result, { contentChars: 5, structuredContent: "append" });
    expect(content).toEqual([text("abcd"), text("{\n[… 6 of 11 characters left out]")]);
  });

  it("the artifact is never cut", async () => {
    const { artifact } = await convert({ content: [text("abcdef")] }, { contentChars: 1 });
    expect(artifact.content).toEqual([text("abcdef")]);
  });
});
