import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toValidatedResult } from "../../../../src/client/tool-result.js";
import { toToolContent } from "../../../../src/tools/content/tool-content.js";
import { CONTENT_DEFAULTS, convert } from "./convert.js";

const IMAGE = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
const RAIN = { type: "text", text: "It rains." };
const structuredContent = { degrees: 12, sky: ["rain"] };
const JSON_TEXT = '{"degrees":12,"sky":["rain"]}';
const MODES = ["fallback", "prefer", "append", "artifact"] as const;

describe("structuredContent", () => {
  it.each([
    ["fallback", "It rains."],
    ["prefer", JSON_TEXT],
    [
      "append",
      [
        { type: "text", text: "It rains." },
        { type: "text", text: JSON_TEXT },
      ],
    ],
    ["artifact", "It rains."],
  ] as const)("with text, %s", async (mode, expected) => {
    const { content } = await convert(
      { content: [RAIN], structuredContent },
      {
        structuredContent: mode,
      },
    );
    expect(content).toEqual(expected);
  });

  it.each([
    ["fallback", JSON_TEXT],
    ["prefer", JSON_TEXT],
    ["append", JSON_TEXT],
    ["artifact", ""],
  ] as const)("without other content, %s", async (mode, expected) => {
    const { content } = await convert({ content: [], structuredContent }, { structuredContent: mode });
    expect(content).toBe(expected);
  });

  it.each([
    ["fallback", ["image"]],
    ["prefer", ["text", "image"]],
    ["append", ["image", "text"]],
    ["artifact", ["image"]],
  ] as const)("with an image, %s", async (mode, types) => {
    const { content } = await convert({ content: [IMAGE], structuredContent }, { structuredContent: mode });
    expect(content).toMatchObject(types.map((type) => ({ type })));
  });

  it("an empty text counts as no content", async () => {
    const { content } = await convert({ content: [{ type: "text", text: "" }], structuredContent });
    expect(content).toBe(JSON_TEXT);
  });

  it("is not appended when a text is the same JSON in another order and with whitespace", async () => {
    const text = '{\n  "sky": ["rain"],\n  "degrees": 12\n}';
    const { content } = await convert(
      { content: [{ type: "text", text }], structuredContent },
      { structuredContent: "append" },
    );
    expect(content).toBe(text);
  });

  it("is appended when a text is different JSON", async () => {
    const { content } = await convert(
      { content: [{ type: "text", text: '{"degrees":12}' }], structuredContent },
      { structuredContent: "append" },
    );
    expect(content).toEqual([
      { type: "text", text: '{"degrees":12}' },
      { type: "text", text: JSON_TEXT },
    ]);
  });

  it("replaces text blocks, but not embedded resources and links", async () => {
    const result = {
      content: [
        RAIN,
        { type: "resource", resource: { text: "a log" } },
        { type: "resource_link", uri: "file:///b" },
      ],
      structuredContent,
    };
    expect((await convert(result, { structuredContent: "prefer" })).content).toEqual([
      { type: "text", text: JSON_TEXT },
      { type: "text", text: "a log" },
      { type: "text", text: "Resource: file:///b" },
    ]);
  });

  it.each(MODES)("of an error never hides its text, %s", async (mode) => {
    const result = { content: [{ type: "text", text: "no such city" }], structuredContent, isError: true };
    const { content } = await convert(result, { structuredContent: mode });
    expect(JSON.stringify(content)).toContain("no such city");
    const withoutText = await convert({ ...result, content: [] }, { structuredContent: mode });
    expect(withoutText.content).toBe(mode === "artifact" ? "" : JSON_TEXT);
  });

  it.each(MODES)("is not shown instead of the content if it is empty, %s", async (mode) => {
    for (const empty of [{}, []]) {
      const result = { content: [RAIN], structuredContent: empty };
      expect((await convert(result, { structuredContent: mode })).content).toBe("It rains.");
    }
  });

  it.each(MODES)("null counts as absent, %s", async (mode) => {
    const result = { content: [RAIN], structuredContent: null };
    expect((await convert(result, { structuredContent: mode })).content).toBe("It rains.");
  });

  it.each(MODES)("is always in the artifact, %s", async (mode) => {
    const { artifact } = await convert({ content: [RAIN], structuredContent }, { structuredContent: mode });
    expect(artifact.structuredContent).toEqual(structuredContent);
  });

  it("with types that an output schema has coerced can be shown", async () => {
    const schema = z.object({ id: z.coerce.bigint(), at: z.coerce.date() });
    const wire = { structuredContent: { id: "9007199254740993", at: "2026-01-02T03:04:05Z" } };
    const result = await toValidatedResult(wire, { server: "files", tool: "read" }, schema);
    expect(toToolContent(result, CONTENT_DEFAULTS).content).toBe(
      '{"id":"9007199254740993","at":"2026-01-02T03:04:05.000Z"}',
    );
  });
});
