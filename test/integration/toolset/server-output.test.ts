import { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createMcpTools, type McpToolset, type ServerDefinition } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { rejection } from "../../fixtures/clients.js";

const IMAGE = { type: "image", data: "aGVsbG8=", mimeType: "image/png" };
const AUDIO = { type: "audio", data: "aGVsbG8=", mimeType: "audio/wav" };

const TOOLS: readonly TestTool[] = [
  { name: "long", run: () => "x".repeat(500) },
  { name: "media", run: () => ({ content: [{ type: "text", text: "see" }, IMAGE, AUDIO] }) },
  {
    name: "data",
    run: () => ({ content: [{ type: "text", text: "in words" }], structuredContent: { n: 1 } }),
  },
  {
    name: "fail",
    run: () => {
      throw new Error("broken");
    },
  },
];

async function invoke(mcp: McpToolset, name: string, args: object = {}): Promise<ToolMessage> {
  const tool = mcp.tools.find((candidate) => candidate.name === name);
  const message: unknown = await tool?.invoke({ type: "tool_call", id: "1", name, args });
  if (!ToolMessage.isInstance(message)) throw new Error(`no message from ${name}`);
  return message;
}

const blockTypes = ({ contentBlocks }: ToolMessage) => contentBlocks.map(({ type }) => type);

describe('structuredContent: "prefer"', () => {
  it("shows the text of an error, and the content instead of an empty object", async () => {
    const text = (words: string) => [{ type: "text", text: words }];
    const tools: readonly TestTool[] = [
      {
        name: "refused",
        run: () => ({ content: text("no such city"), structuredContent: { code: 7 }, isError: true }),
      },
      { name: "empty", run: () => ({ content: text("done"), structuredContent: {} }) },
    ];
    await using server = await startMcpTestServer({ tools });
    await using mcp = await createMcpTools({ a: { url: server.url } }, { structuredContent: "prefer" });
    const refused = await invoke(mcp, "a__refused");
    expect(refused).toMatchObject({ status: "error", content: expect.stringContaining("no such city") });
    expect(refused.artifact).toMatchObject({ structuredContent: { code: 7 } });
    expect((await invoke(mcp, "a__empty")).content).toBe("done");
  });
});

describe("the output options of a server", () => {
  it("take precedence over those of the toolset, which apply to the other servers", async () => {
    await using server = await startMcpTestServer({ tools: TOOLS });
    const { url } = server;
    await using mcp = await createMcpTools(
      {
        own: {
          url,
          structuredContent: "prefer",
          outputHandling: { image: "content" },
          onToolError: ({ kind }) => `own: ${kind}`,
          limits: { contentChars: 50 },
        },
        other: { url },
      },
      {
        structuredContent: "artifact",
        outputHandling: { image: "artifact", audio: "artifact" },
        onToolError: ({ kind }) => `all: ${kind}`,
        limits: { contentChars: 200 },
      },
    );
    expect((await invoke(mcp, "own__data")).content).toBe('{"n":1}');
    expect((await invoke(mcp, "other__data")).content).toBe("in words");
    // Types that the server does not name follow the toolset.
    expect(blockTypes(await invoke(mcp, "own__media"))).toEqual(["text", "image"]);
    expect(blockTypes(await invoke(mcp, "other__media"))).toEqual(["text"]);
    expect((await invoke(mcp, "own__fail")).content).toBe("own: tool-error");
    expect((await invoke(mcp, "other__fail")).content).toBe("all: tool-error");
    const [own, other] = [await invoke(mcp, "own__long"), await invoke(mcp, "other__long")];
    expect(own.text.match(/x/g)?.length).toBeLessThanOrEqual(50);
    expect(other.text.match(/x/g)?.length).toBeGreaterThan(100);
    expect(other.text.match(/x/g)?.length).toBeLessThanOrEqual(200);
  });

  it("onToolError: one server throws, the others return", async () => {
    await using server = await startMcpTestServer({ tools: TOOLS });
    await using mcp = await createMcpTools({
      strict: { url: server.url, onToolError: "throw" },
      lenient: { url: server.url },
    });
    expect(await rejection(invoke(mcp, "strict__fail"))).toMatchObject({ kind: "tool-error" });
    expect(await invoke(mcp, "lenient__fail")).toMatchObject({ status: "error" });
  });

  it("may come from a definition that is resolved later, and apply to resource tools", async () => {
    const uri = "file:///long.txt";
    const resources = [{ uri, name: "long", read: () => "x".repeat(500) }];
    await using server = await startMcpTestServer({ tools: TOOLS, resources });
    const resolve = () => ({ url: server.url, limits: { contentChars: 50 } });
    await using mcp = await createMcpTools({ late: { resolve } }, { resourceTools: true });
    expect((await invoke(mcp, "late__long")).text.match(/x/g)?.length).toBeLessThanOrEqual(50);
    const read = await invoke(mcp, "late__read_resource", { uri });
    expect(read.text.match(/x/g)?.length).toBeLessThanOrEqual(55);
  });

  it.each<[key: string, definition: object]>([
    ["structuredContent", { structuredContent: "always" }],
    ["outputHandling", { outputHandling: "artifact" }],
    ["onToolError", { onToolError: "ignore" }],
    ["limits.contentChars", { limits: { contentChars: 0 } }],
  ])("%s is validated", async (path, options) => {
    const definition = { url: "http://localhost:1/mcp", ...options } as ServerDefinition;
    expect(await rejection(createMcpTools({ a: definition }))).toMatchObject({
      kind: "invalid-config",
      issues: [{ path: `a.${path}` }],
    });
  });
});
