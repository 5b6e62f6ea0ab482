import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { describe, expect, it } from "vitest";
import type { DescriptionOptions, McpTool } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { emitUntil } from "../../fixtures/clients.js";
import { findProviderViolations } from "../../fixtures/provider-rules.js";
import { createInProcessToolset, startToolset } from "../../fixtures/toolsets.js";

const SENTENCE = "Reads a file and returns its lines. ";
const long = SENTENCE.repeat(60).trim();

const read: TestTool = {
  name: "read",
  description: long,
  inputSchema: {
    type: "object",
    properties: { path: { type: "string", description: "The file." }, lines: { type: "integer" } },
    required: ["path"],
  },
  run: ({ path }) => String(path),
};

function toWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Everything that a model reads about a tool. */
function toShownWords(tool: McpTool): string[] {
  return toWords(JSON.stringify(convertToOpenAITool(tool)).replaceAll(/\\n|[{}[\]":,]/g, " "));
}

function getDescription(tool: McpTool, argument: string): unknown {
  const { properties } = tool.schema as { properties: Record<string, { description?: string }> };
  return properties[argument]?.description;
}

describe("a description of more than 1,024 characters", () => {
  it("ends with a sentence, and the rest is in the description of the first parameter", async () => {
    await using fixture = await startToolset({ tools: [read] });
    const { tool, logger } = fixture;
    expect(tool.description.length).toBeLessThanOrEqual(1_024);
    expect(tool.description).toMatch(/^(Reads a file and returns its lines\.\s?){28}$/);
    expect(getDescription(tool, "path")).toBe(
      `The file.\n\nThe description of the tool continues: ${SENTENCE.repeat(32).trim()}`,
    );
    expect(toShownWords(tool).filter((word) => word === "lines.")).toHaveLength(60);
    expect(findProviderViolations(tool.schema)).toEqual([]);
    expect(logger.warnings).toEqual([]);
    expect((await fixture.call({ path: "a.txt" })).text).toBe("a.txt");
  });

  it("without parameters is truncated with a warning when the schema is first read", async () => {
    const { inputSchema: _, ...tool } = read;
    await using fixture = await createInProcessToolset({ tools: [tool] });
    expect(fixture.tool.description).toMatch(/returns its lines\.$/);
    expect(fixture.tool.schema).toMatchObject({ type: "object", properties: {} });
    expect(fixture.logger.warnings).toEqual([
      expect.stringContaining(
        'tool "read": The description has 2159 characters, of which models see the first',
      ),
    ]);
  });

  it("moves into the first branch if the first parameter is a union, which has no description of its own", async () => {
    const path = { anyOf: [{ type: "string" }, { type: "integer" }] };
    const inputSchema = { type: "object", properties: { path } } as const;
    await using fixture = await createInProcessToolset({ tools: [{ ...read, inputSchema }] });
    expect(findProviderViolations(fixture.tool.schema)).toEqual([]);
    expect(fixture.tool.schema).toMatchObject({
      properties: {
        path: { anyOf: [{ type: "string", description: expect.stringContaining("continues: Reads") }, {}] },
      },
    });
  });

  it("is the same for a description of a rule, and for arguments that are injected", async () => {
    await using fixture = await createInProcessToolset({
      tools: [{ ...read, description: "Short." }],
      rules: { read: { description: long, args: { path: "b.txt" } } },
    });
    expect(fixture.tool.description.length).toBeLessThanOrEqual(1_024);
    expect(getDescription(fixture.tool, "path")).toBeUndefined();
    expect(getDescription(fixture.tool, "lines")).toContain("continues: Reads a file");
  });

  it("that has no end is truncated after 16,384 more characters, with a warning", async () => {
    await using fixture = await createInProcessToolset({
      tools: [{ ...read, description: SENTENCE.repeat(1_000) }],
    });
    expect(String(getDescription(fixture.tool, "path")).length).toBeLessThan(16_500);
    expect(fixture.logger.warnings).toEqual([expect.stringContaining("the rest is too long")]);
  });

  it("with an original schema is truncated with a warning", async () => {
    await using fixture = await createInProcessToolset({ tools: [read], options: { schema: "as-is" } });
    expect(fixture.tool.schema).toEqual(read.inputSchema);
    expect(fixture.tool.description.length).toBeLessThanOrEqual(1_024);
    expect(fixture.logger.warnings).toHaveLength(1);
  });

  it("that changes after the limit makes a new tool", async () => {
    await using fixture = await startToolset({ tools: [read] });
    const { server, mcp, tool } = fixture;
    mcp.on("toolsChanged", () => undefined);
    await server.waitForListener();
    server.tools = [{ ...read, description: `${long} And more.` }];
    await emitUntil(
      () => server.notifyToolsChanged(),
      () => mcp.tools[0] !== tool,
    );
    expect(getDescription(mcp.tools[0] as McpTool, "path")).toMatch(/And more\.$/);
  });
});

describe("the option descriptions", () => {
  async function describeWith(options: DescriptionOptions, ofServer?: DescriptionOptions): Promise<McpTool> {
    await using fixture = await createInProcessToolset({
      tools: [read],
      options: { descriptions: options },
      ...(ofServer === undefined ? {} : { definition: { descriptions: ofServer } }),
    });
    void fixture.tool.schema;
    expect(fixture.logger.warnings).toEqual([]);
    return fixture.tool;
  }

  it("raises the limit, or omits the rest", async () => {
    expect((await describeWith({ maxChars: 5_000 })).description).toBe(long);
    const truncated = await describeWith({ overflow: "truncate" });
    expect(truncated.description.length).toBeLessThanOrEqual(1_024);
    expect(getDescription(truncated, "path")).toBe("The file.");
  });

  it("of a server takes precedence, field by field", async () => {
    const tool = await describeWith({ maxChars: 5_000, overflow: "truncate" }, { maxChars: 100 });
    expect(tool.description).toBe(SENTENCE.repeat(2).trim());
    expect(getDescription(tool, "path")).toBe("The file.");
  });

  it("suggests the name of a misspelled key", async () => {
    await expect(describeWith({ maxLength: 3 } as DescriptionOptions)).rejects.toThrow(
      /descriptions: unknown key "maxLength".*valid keys: maxChars, overflow/,
    );
    await expect(describeWith({ maxChars: 0 })).rejects.toMatchObject({
      issues: [{ path: "descriptions.maxChars" }],
    });
    await expect(
      describeWith({}, { overflow: "cut" } as unknown as DescriptionOptions),
    ).rejects.toMatchObject({
      issues: [{ path: expect.stringContaining("descriptions.overflow") }],
    });
  });
});
