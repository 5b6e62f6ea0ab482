import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent } from "../../../src/index.js";
import { rejection, times } from "../../fixtures/clients.js";

const TOOL = { name: "echo", description: "Echoes.", inputSchema: { type: "object" } };
const RESOURCE = { $resourceType: "mcp", name: "a", slug: "a", folderPath: "f", availableTools: [TOOL] };

/** A resource with a tool whose schema has these values. */
function withSchema(values: readonly unknown[]): object {
  const inputSchema = { type: "object", properties: { a: { enum: values } } };
  return { ...RESOURCE, availableTools: [{ ...TOOL, inputSchema }] };
}

describe("an agent definition is rejected with a short message", () => {
  it.each<[string, object[], number]>([
    ["a name of a megabyte", [{ ...RESOURCE, name: "x".repeat(1e6), slug: "y".repeat(1e6) }], 1],
    ["20,000 values that are not resources", times(20_000, () => 5 as never), 20_000],
  ])("if it has %s", async (_, resources, problems) => {
    const servers = { xy: { url: "http://127.0.0.1:1/mcp" } };
    const failure = await rejection(createMcpToolsFromAgent({ resources } as never, { servers }));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.message.length).toBeLessThan(10_000);
    expect(failure.issues).toHaveLength(problems);
  });

  const INVALID = { $resourceType: "mcp", name: 1, slug: 2, folderPath: 3, isEnabled: 4, availableTools: 5 };
  const toProperties = (count: number) => Object.fromEntries(times(count, (index) => [`p${index}`, 5]));
  const INVALID_TOOL = { ...TOOL, argumentProperties: toProperties(1_000) };

  it.each<[string, object[]]>([
    ["resources with several problems each", times(20_000, () => INVALID)],
    ["invalid tools", [{ ...RESOURCE, availableTools: times(30_000, () => 5) }]],
    ["invalid properties", [{ ...RESOURCE, availableTools: times(30, () => INVALID_TOOL) }]],
    ["schemas with invalid values", [withSchema(times(30_000, () => () => 5))]],
    ["tools with the same name", [{ ...RESOURCE, availableTools: times(30_000, () => TOOL) }]],
    ["resources with the same slug", times(30_000, () => RESOURCE)],
  ])("and after a number of problems, if it has thousands of %s", async (_, resources) => {
    const servers = { xy: { url: "http://127.0.0.1:1/mcp" } };
    const failure = await rejection(createMcpToolsFromAgent({ resources } as never, { servers }));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.issues.length).toBeGreaterThan(20_000);
    expect(failure.issues.length).toBeLessThan(20_020);
    expect(failure.issues.at(-1)?.message).toBe("has at least 20000 problems; the rest was not checked");
  });

  it("and after one, if a tool has more argumentProperties than allowed", async () => {
    const tool = { ...TOOL, argumentProperties: toProperties(30_000) };
    const definition = { resources: [{ ...RESOURCE, availableTools: [tool] }] };
    const { issues } = await rejection(createMcpToolsFromAgent(definition as never));
    expect(issues).toEqual([
      {
        path: "resources[0].availableTools[0].argumentProperties",
        message: "has 30000 entries; at most 1000 are allowed",
      },
    ]);
  });
});
