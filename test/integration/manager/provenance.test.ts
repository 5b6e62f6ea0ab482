import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsFromAgent,
  loadMcpServers,
  type AgentToolsOptions,
  type ServerDefinition,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { ConfigFolders } from "../../fixtures/config-folders.js";

function agent(own: object = {}) {
  const availableTools = [{ name: "echo", inputSchema: { type: "object" } }];
  return { resources: [{ $resourceType: "mcp", name: "far", slug: "far", availableTools, ...own }] };
}

async function readProvenance(own: object, options: AgentToolsOptions) {
  await using mcp = await createMcpToolsFromAgent(agent(own) as never, options);
  const { provenance } = mcp.status()["far"] ?? {};
  expect(mcp.tools[0]?.metadata?.["provenance"]).toEqual(provenance);
  expect(mcp.clients["far"]?.provenance).toEqual(provenance);
  return provenance;
}

describe("the provenance of a server, in its status and in the metadata of its tools", () => {
  it("is the config file that defines it", async () => {
    await using server = await startMcpTestServer();
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { ofProject: { url: server.url } } });
    folders.write("given.json", { mcpServers: { given: { url: server.url, headers: { "x-a": "1" } } } });
    const files = [join(folders.path, "given.json")];
    const { servers, sources } = await loadMcpServers(folders.options({ files }));
    const [given, project] = sources.map(({ file }) => ({ source: "file", file }));
    const copy = { ...servers["given"], lazy: true } as ServerDefinition;
    await using mcp = await createMcpTools({ ...servers, here: { url: server.url }, copy });
    expect(mcp.status()).toMatchObject({
      ofProject: { provenance: project },
      given: { provenance: given },
      here: { provenance: { source: "code" } },
      copy: { provenance: { source: "code" } },
    });
    expect(mcp.tools.map(({ metadata }) => metadata?.["provenance"] as unknown)).toEqual([
      given,
      project,
      { source: "code" },
    ]);
  });

  it("is the agent definition, your code or a lookup for the servers of an agent", async () => {
    const url = "http://127.0.0.1:9/mcp";
    const platform = { url: "https://uipath.example/org/tenant", token: "t" };
    expect(await readProvenance({ server: { url } }, { allowInlineServers: "remote" })).toEqual({
      source: "agent",
    });
    expect(await readProvenance({}, { servers: { far: { url } } })).toEqual({ source: "code" });
    expect(await readProvenance({}, { servers: () => ({ url }) })).toEqual({ source: "lookup" });
    expect(await readProvenance({}, { servers: uipathServers(platform) })).toEqual({
      source: "lookup",
      provider: "uipath",
    });
  });
});
