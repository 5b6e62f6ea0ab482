import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsFromAgent,
  McpClient,
  type ServerDefinition,
} from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { parseServer } from "../../../src/config/parse-server.js";

/** A definition that counts how often its URL is read. */
function createCountedDefinition() {
  let reads = 0;
  const definition: ServerDefinition = {
    lazy: true,
    get url() {
      reads += 1;
      return "http://127.0.0.1:9/mcp";
    },
  };
  return { definition, reads: () => reads };
}

const expectedReads = (() => {
  const { definition, reads } = createCountedDefinition();
  parseServer("weather", definition);
  return reads();
})();

describe("a server definition is parsed once by", () => {
  it("createMcpTools", async () => {
    const { definition, reads } = createCountedDefinition();
    await using _ = await createMcpTools({ weather: definition });
    expect(reads()).toBe(expectedReads);
  });

  it("createMcpToolsFromAgent", async () => {
    const { definition, reads } = createCountedDefinition();
    const agent = {
      resources: [{ $resourceType: "mcp", name: "Weather", slug: "weather", availableTools: [] }],
    };
    await using mcp = await createMcpToolsFromAgent(agent, { servers: { weather: definition } });
    expect(reads()).toBe(expectedReads);
    expect(Object.keys(mcp.clients)).toEqual(["Weather"]);
  });

  it("a manager that adds it", async () => {
    const { definition, reads } = createCountedDefinition();
    await using manager = new McpServerManager();
    await manager.add("weather", definition);
    expect(reads()).toBe(expectedReads);
  });
});

it("an object that looks like a parsed config is parsed", () => {
  const config = { ...parseServer("weather", { url: "http://127.0.0.1:9/mcp" }) };
  expect(() => new McpClient(config as never)).toThrow(expect.objectContaining({ kind: "invalid-config" }));
});
