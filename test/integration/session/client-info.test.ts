import { describe, expect, it } from "vitest";
import { type ClientInfo, createMcpTools, createMcpToolsFromAgent, McpClient } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { EraServer, ERAS, type ServedEra } from "../../fixtures/era-server.js";
import { echo, rejection } from "../../fixtures/clients.js";

const INFO: ClientInfo = { name: "acme-agent", version: "3.1.4", title: "Acme Agent" };
const META_KEY = "io.modelcontextprotocol/clientInfo";

interface ReceivedParams {
  readonly params?: { readonly clientInfo?: unknown; readonly _meta?: Readonly<Record<string, unknown>> };
}

async function startServer(era: ServedEra): Promise<EraServer> {
  const server = new EraServer(era);
  await server.start();
  return server;
}

/** Every client info that a server received, without repetitions. */
function receivedInfos(server: EraServer): unknown[] {
  const infos = server.requests.flatMap(({ body }) => {
    const { clientInfo, _meta } = (body as ReceivedParams | undefined)?.params ?? {};
    return [clientInfo, _meta?.[META_KEY]].filter((info) => info !== undefined);
  });
  return [...new Set(infos.map((info) => JSON.stringify(info)))].map((info) => JSON.parse(info) as unknown);
}

describe.each(ERAS)("the clientInfo of a %s session", (era) => {
  it("is that of McpClient", async () => {
    await using server = await startServer(era);
    await using client = new McpClient({ name: "test", url: server.url }, { clientInfo: INFO });
    await client.callTool(echo());
    expect(receivedInfos(server)).toEqual([INFO]);
  });

  it("is that of a toolset and of a manager, for every server", async () => {
    await using server = await startServer(era);
    const { title: _, ...clientInfo } = INFO;
    await using toolset = await createMcpTools({ a: { url: server.url } }, { clientInfo });
    await using manager = new McpServerManager({ b: { url: server.url } }, { clientInfo });
    await manager.connect();
    const agent = { resources: [{ $resourceType: "mcp", name: "c", dynamicTools: "all" }] };
    await using agentTools = await createMcpToolsFromAgent(agent, {
      servers: { c: { url: server.url } },
      clientInfo,
    });
    expect([toolset.tools.length, manager.connected, agentTools.tools.length]).toEqual([1, ["b"], 1]);
    expect(receivedInfos(server)).toEqual([clientInfo]);
  });

  it("is that of this package by default", async () => {
    await using server = await startServer(era);
    await using client = new McpClient({ name: "test", url: server.url });
    await client.callTool(echo());
    expect(receivedInfos(server)).toEqual([{ name: "langchain-mcp-runtime", version: expect.any(String) }]);
  });
});

it("a clientInfo needs a name and a version", async () => {
  const failure = await rejection(createMcpTools({}, { clientInfo: { name: "", title: "A" } as ClientInfo }));
  expect(failure.issues).toEqual([
    { path: "clientInfo.name", message: 'expected a non-empty string, got ""' },
    { path: "clientInfo.version", message: "expected a string, got undefined" },
  ]);
});
