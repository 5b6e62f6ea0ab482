import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent, McpClient, parseServers } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, failureOf, ONCE } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { Exits } from "../../fixtures/exits.js";

const CANARY = "canary7f3a91secret";
/** Known by no header: only by its place among the arguments. */
const SENSITIVE = `"sensitive"-${CANARY.slice(0, 9)}-4711`;
const echoed = `your token ${CANARY} and Bearer ${CANARY} are no good`;
const rpcBody = JSON.stringify({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32000, message: echoed, data: { token: CANARY } },
});
const json = { "content-type": "application/json" };
type Args = Readonly<Record<string, unknown>>;

describe("secrets of a definition", () => {
  it.each(ERAS)("are in nothing that leaves, whatever a server does with them (%s)", async (era) => {
    await using server = await startEraServer(era, { responseFormat: "json" });
    const exits = await Exits.open();
    const url = `${server.url.replace("http://", `http://user:${CANARY}@`)}?key=${CANARY}`;
    const definition = { url, headers: { authorization: `Bearer ${CANARY}`, "x-api-key": CANARY } };
    await using client = new McpClient(
      { name: "canary", ...ONCE, ...definition, classify: () => undefined },
      { logger: exits.logger },
    );
    exits.listen(client);
    await client.ensureSession();
    const faults = [
      { type: "status", status: 401, body: echoed },
      { type: "status", status: 500, body: rpcBody },
      { type: "status", status: 400, body: rpcBody },
      { type: "status", status: 307, headers: { location: `http://127.0.0.1:1/?key=${CANARY}` } },
      { type: "status", status: 200, headers: json, body: rpcBody },
      { type: "status", status: 200, headers: json, body: `{"text":"${CANARY}` },
      { type: "status", status: 200, headers: { "content-type": `text/${CANARY}` }, body: CANARY },
      { type: "disconnect", when: "before" },
    ] as const;
    for (const fault of faults) {
      server.addFault(fault, { method: "tools/call", times: 1 });
      exits.take("errors", await failureOf(client.callTool(echo())));
    }
    // What a tool gives back is the caller's; what is recorded of it is not.
    await client.callTool(echo(`your token is ${CANARY}`));
    server.addFault(
      { type: "result", result: { tools: [{ name: `bad ${CANARY}` }] } },
      { method: "tools/list", times: 1 },
    );
    await client.listTools();
    server.addFault({ type: "status", status: 404, body: echoed }, { times: 9 });
    exits.take("errors", await failureOf(client.callTool(echo())));
    await server.stop();
    exits.take("errors", await failureOf(client.callTool(echo())));
    exits.take("metrics", client.metrics());
    await client.close();
    expect(await exits.expectWithout(CANARY)).toEqual([
      "channels of the process",
      "errors",
      "events of a client",
      "log",
      "metrics",
      "spans and histograms",
    ]);
  });

  it("are in nothing that a toolset keeps or tells: tokens of callers, sensitive and hidden arguments", async () => {
    const inputSchema = {
      type: "object",
      properties: { key: { type: "string" }, user: { type: "string" } },
    };
    const run = (args: Args) => `You said ${String(args["key"])}: ${JSON.stringify(args)}`;
    const tool = { name: "pay", description: "Pays.", inputSchema, run };
    await using server = await startMcpTestServer({ tools: [tool] });
    const exits = await Exits.open();
    const store = exits.store();
    const resource = {
      $resourceType: "mcp",
      name: "bank",
      availableTools: [
        {
          name: "pay",
          inputSchema,
          argumentProperties: { "$['key']": { variant: "static", value: SENSITIVE, isSensitive: true } },
        },
      ],
    };
    const mcp = await createMcpToolsFromAgent(
      { resources: [resource] },
      {
        servers: {
          bank: {
            url: server.url,
            headers: () => ({ authorization: `Bearer ${CANARY}` }),
            identity: () => "ann",
            session: { store },
            tools: { pay: { args: { user: `user-${CANARY}` } } },
          },
        },
        cache: { store, staleAfterMs: 0 },
        pin: "warn",
        logger: exits.logger,
      },
    );
    exits.listen(mcp.clients["bank"] as McpClient);
    await mcp.tools[0]?.invoke({});
    expect(server.executions).toEqual([
      expect.objectContaining({ args: { key: SENSITIVE, user: `user-${CANARY}` } }),
    ]);
    server.tools = [{ ...tool, description: "Pays more." }];
    exits.take("drift", await mcp.detectDrift());
    const refusal = { code: -32602, message: `${CANARY} may not use ${SENSITIVE}` };
    const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: refusal });
    server.addFault({ type: "status", status: 400, body }, { method: "tools/call", times: 1 });
    exits.take("errors", await mcp.tryCallTool({ name: "pay" }));
    exits.take("status", [
      mcp.status(),
      mcp.metrics(),
      mcp.tools.map(({ metadata, mcp: facts }) => [metadata, facts]),
    ]);
    await mcp.close();
    expect(await exits.expectWithout(CANARY, "4711")).toEqual([
      "channels of the process",
      "drift",
      "errors",
      "events of a client",
      "keys of a store",
      "log",
      "spans and histograms",
      "status",
      "values of a store",
    ]);
  });

  it.each([
    [{ url: `ftp://user:${CANARY}@host/?q=${CANARY}` }],
    [{ url: `not a url ${CANARY}`, timeouts: { connectMs: "soon" } }],
    [{ url: "http://host", headers: { authorization: `line\nbreak ${CANARY}` } }],
    [{ url: "http://host", headers: { [`bad name`]: CANARY } }],
  ])("are not shown when the definition is wrong", (definition) => {
    const attempts = [
      () => new McpClient({ name: "canary", ...definition } as never),
      () => parseServers({ canary: definition }),
      () => parseServers(JSON.stringify({ canary: definition }).slice(0, -3)),
    ];
    for (const attempt of attempts) {
      const error = (() => {
        try {
          return attempt();
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toMatchObject({ kind: "invalid-config" });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY);
    }
  });
});
