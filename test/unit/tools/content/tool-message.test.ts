import { ToolMessage, type ContentBlock } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { LangChainBlock } from "../../../../src/tools/content/langchain-block.js";
import { convert } from "./convert.js";

const result = {
  content: [
    { type: "text", text: "Here it is." },
    { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
    {
      type: "resource",
      resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: "JVBERg==" },
    },
    { type: "resource_link", uri: "file:///b.txt", name: "b.txt" },
  ],
  structuredContent: { pages: 1 },
};
const blocks = [
  { type: "text", text: "Here it is." },
  { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
  { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
  {
    type: "file",
    mimeType: "application/pdf",
    data: "JVBERg==",
    metadata: { uri: "file:///a.pdf", filename: "a.pdf" },
  },
  { type: "text", text: 'Resource "b.txt": file:///b.txt' },
];

describe("a ToolMessage", () => {
  it("has the content unchanged", async () => {
    const { content, artifact } = await convert(result);
    const message = new ToolMessage({ content, artifact, tool_call_id: "call-1" });
    expect(message.content).toEqual(blocks);
    expect(message.artifact).toEqual(artifact);
  });

  it("returns the same standard content blocks", async () => {
    const { content } = await convert(result);
    expect(new ToolMessage({ content, tool_call_id: "call-1" }).contentBlocks).toEqual(blocks);
  });

  it("returns the text", async () => {
    const { content } = await convert({ content: [{ type: "text", text: "12 degrees" }] });
    expect(new ToolMessage({ content, tool_call_id: "call-1" }).text).toBe("12 degrees");
  });

  it("of a LangChain tool has content and artifact", async () => {
    const { content, artifact } = await convert(result);
    const read = tool(() => [content, artifact], {
      name: "read",
      description: "Reads a file",
      schema: { type: "object", properties: {} },
      responseFormat: "content_and_artifact",
    });
    const message: unknown = await read.invoke({ type: "tool_call", id: "call-1", name: "read", args: {} });
    expect(message).toBeInstanceOf(ToolMessage);
    expect(message).toMatchObject({ content: blocks, artifact, status: "success" });
  });

  it("accepts LangChainBlock as a type", () => {
    expectTypeOf<LangChainBlock>().toExtend<ContentBlock.Standard>();
  });
});
