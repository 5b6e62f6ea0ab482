import { ToolMessage } from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentOf, convert } from "./convert.js";

const DEPTH = 100_000;
const deepArray: unknown = JSON.parse("[".repeat(DEPTH) + "]".repeat(DEPTH));

describe("a block of an unknown type", () => {
  it("is shown as its JSON", async () => {
    const block = { type: "chart", points: [1, 2] };
    expect(await contentOf([block])).toBe('{"type":"chart","points":[1,2]}');
  });

  it.each(["__proto__", "constructor", "toString", ""])("of type %j is shown as its JSON", async (type) => {
    expect(await contentOf([{ type }])).toBe(JSON.stringify({ type }));
  });

  it("is shown without its binary data", async () => {
    const block = { type: "video", data: "A".repeat(50_000), mimeType: "video/mp4" };
    expect(await contentOf([block])).toBe(
      '{"type":"video","data":"[50,000 characters omitted]","mimeType":"video/mp4"}',
    );
  });

  it("keeps its binary data in a direct invoke", async () => {
    const block = { type: "video", data: "A".repeat(50_000) };
    expect(await contentOf([block], { truncate: false })).toBe(JSON.stringify(block));
  });
});

describe("a block that is invalid for its type is shown as its JSON", () => {
  it.each([
    [{ type: "text" }],
    [{ type: "text", text: 7 }],
    [{ type: "image" }],
    [{ type: "image", data: "iVBORw0KGgo=" }],
    [{ type: "image", data: "not base64!", mimeType: "image/png" }],
    [{ type: "image", data: "AAAAA", mimeType: "image/png" }],
    [{ type: "image", data: "", mimeType: "image/png" }],
    [{ type: "image", data: "====", mimeType: "image/png" }],
    [{ type: "image", data: ["AAAA"], mimeType: "image/png" }],
    [{ type: "image", data: "AAAA", mimeType: "text/html" }],
    [{ type: "image", data: "AAAA", mimeType: "image/" }],
    [{ type: "image", data: "AAAA", mimeType: "image/png\r\nx: y" }],
    [{ type: "audio", data: "AAAA", mimeType: "image/png" }],
    [{ type: "resource" }],
    [{ type: "resource", resource: null }],
    [{ type: "resource", resource: {} }],
    [{ type: "resource", resource: { blob: "not base64!" } }],
    [{ type: "resource", resource: { uri: 7, text: 8 } }],
    [{ type: "resource_link" }],
    [{ type: "resource_link", uri: " " }],
  ])("%j", async (block) => {
    expect(await contentOf([block])).toBe(JSON.stringify(block));
  });
});

describe("100,000 levels of nesting", () => {
  it("in an unknown block are truncated, and the artifact is serializable", async () => {
    const { content, artifact } = await convert({ content: [{ type: "deep", value: deepArray }] });
    expect(content).toContain('["[nested deeper than 500 levels]"]');
    expect(JSON.stringify(artifact.content)).toContain('["[nested deeper than 500 levels]"]');
  });

  it("in structured content are truncated", async () => {
    const { content } = await convert({ structuredContent: { value: deepArray } });
    expect(content).toContain('["[nested deeper than 500 levels]"]');
  });

  it("in a text do not prevent appending structured content", async () => {
    const text = "[".repeat(DEPTH) + "]".repeat(DEPTH);
    const result = { content: [{ type: "text", text }], structuredContent: { a: 1 } };
    const { content } = await convert(result, { structuredContent: "append", truncate: false });
    expect(content).toEqual([
      { type: "text", text },
      { type: "text", text: '{"a":1}' },
    ]);
  });

  it("in _meta leave a serializable artifact", async () => {
    const { artifact } = await convert({ _meta: { value: deepArray } });
    expect(JSON.stringify(artifact.meta)).toContain("nested deeper");
  });
});

it("an image of 40 MB is accepted", async () => {
  const data = "A".repeat(40_000_000);
  const content = await contentOf([{ type: "image", data, mimeType: "image/png" }]);
  expect(content).toMatchObject([{ type: "image" }]);
});

const value = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
const field = fc.oneof(
  value,
  fc.string(),
  fc.base64String(),
  fc.constantFrom("image/png", "audio/wav", "a/b", "file:///x"),
);
const block = fc.record(
  {
    type: fc.oneof(
      fc.constantFrom("text", "image", "audio", "resource", "resource_link", "__proto__"),
      fc.string(),
    ),
    text: field,
    data: field,
    mimeType: field,
    uri: field,
    name: field,
    description: field,
    resource: fc.oneof(
      value,
      fc.record({ uri: field, text: field, blob: field, mimeType: field }, { requiredKeys: [] }),
    ),
  },
  { requiredKeys: ["type"] },
);
const options = fc.record({
  structuredContent: fc.constantFrom("fallback", "prefer", "append", "artifact"),
  contentChars: fc.nat(50),
  truncate: fc.boolean(),
});

describe("any result of a server", () => {
  it("converts to content that LangChain and providers accept", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block), value, options, async (content, structuredContent, chosen) => {
        const converted = await convert({ content, structuredContent }, chosen);
        const message = new ToolMessage({ content: converted.content, tool_call_id: "1" });
        expect(message.content).toEqual(converted.content);
        if (typeof converted.content === "string") return;
        expect(message.contentBlocks).toEqual(converted.content);
        expect(converted.content.length).toBeGreaterThan(0);
        for (const item of converted.content) {
          if (item.type === "text") expect(item.text.trim()).not.toBe("");
          else {
            expect(["image", "audio", "file"]).toContain(item.type);
            expect(item.mimeType).toMatch(/^[^\s/;]+\/[^\s/;]+$/);
            expect(item.data).toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is never longer than allowed, apart from the marker", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block), value, options, async (content, structuredContent, chosen) => {
        const visible = (await convert({ content, structuredContent }, { ...chosen, truncate: true }))
          .content;
        const texts =
          typeof visible === "string"
            ? [visible]
            : visible.map((item) => (item.type === "text" ? item.text : ""));
        const text = texts.join("").replace(/\n?\[… [\d,]+ of [\d,]+ characters omitted\]$/, "");
        expect(text.length).toBeLessThanOrEqual(chosen.contentChars);
      }),
      { numRuns: 500 },
    );
  });
});
