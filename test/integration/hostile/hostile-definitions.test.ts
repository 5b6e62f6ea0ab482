import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent } from "../../../src/index.js";
import { rejection, times } from "../../fixtures/clients.js";

const TOOL = { name: "echo", description: "Echoes.", inputSchema: { type: "object" } };
const RESOURCE = { $resourceType: "mcp", name: "a", slug: "a", folderPath: "f", availableTools: [TOOL] };

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
});
