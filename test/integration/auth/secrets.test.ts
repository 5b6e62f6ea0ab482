import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createMcpToolsFromAgent, McpClient, parseServers } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, rejection, NO_RETRY } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { OutputCapture } from "../../fixtures/output-capture.js";

const CANARY = "canary7f3a91secret";
/** Not in any header: known as a secret only because the argument is sensitive. */
const SENSITIVE = `"sensitive"-${CANARY.slice(0, 9)}-ending`;
const echoed = `your token ${CANARY} and Bearer ${CANARY} are invalid`;
const rpcBody = JSON.stringify({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32000, message: echoed, data: { token: CANARY } },
});
const json = { "content-type": "application/json" };
type Args = Readonly<Record<string, unknown>>;

describe("secrets of a definition", () => {
  it.each(ERAS)(
    "are never part of errors, logs, events, metrics or traces, even when the server returns them (%s)",
    async (era) => {
      await using server = await startEraServer(era, { responseFormat: "json" });
      const capture = await OutputCapture.open();
      const url = `${server.url.replace("http://", `http://user:${CANARY}@`)}?key=${CANARY}`;
      const definition = { url, headers: { authorization: `Bearer ${CANARY}`, "x-api-key": CANARY } };
      await using client = new McpClient(
        { name: "canary", ...NO_RETRY, ...definition, classify: () => undefined },
        { logger: capture.logger },
      );
      capture.captureEvents(client);
      await client.ensureSession();
      const faults = [
        { type: "status", status: 401, body: echoed },
        {
          type: "status",
          status: 401,
          headers: { "www-authenticate": `Bearer error_description="${CANARY} expired"` },
        },
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
        capture.record("errors", await rejection(client.callTool(echo())));
      }
      // A tool result belongs to the caller and is not redacted, but records of it are.
      await client.callTool(echo(`your token is ${CANARY}`));
      server.addFault(
        { type: "result", result: { tools: [{ name: `bad ${CANARY}` }] } },
        { method: "tools/list", times: 1 },
      );
      await client.listTools();
      server.addFault({ type: "status", status: 404, body: echoed }, { times: 9 });
      capture.record("errors", await rejection(client.callTool(echo())));
      await server.stop();
      capture.record("errors", await rejection(client.callTool(echo())));
      capture.record("metrics", client.metrics());
      await client.close();
      expect(await capture.expectNoSecrets(CANARY)).toEqual([
        "client events",
        "diagnostics channels",
        "errors",
        "log",
        "metrics",
        "spans and histograms",
      ]);
    },
  );

  it("are never part of what a toolset stores or reports: caller tokens, sensitive and injected arguments", async () => {
    const inputSchema = {
      type: "object",
      properties: { key: { type: "string" }, user: { type: "string" } },
    };
    const run = (args: Args) => `You said ${String(args["key"])}: ${JSON.stringify(args)}`;
    const tool = { name: "pay", description: "Pays.", inputSchema, run };
    await using server = await startMcpTestServer({ tools: [tool] });
    const capture = await OutputCapture.open();
    const store = capture.store();
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
        logger: capture.logger,
      },
    );
    capture.captureEvents(mcp.clients["bank"] as McpClient);
    await mcp.tools[0]?.invoke({});
    expect(server.executions).toEqual([
      expect.objectContaining({ args: { key: SENSITIVE, user: `user-${CANARY}` } }),
    ]);
    server.tools = [{ ...tool, description: "Pays more." }];
    capture.record("drift", await mcp.detectDrift());
    const error = { code: -32602, message: `${CANARY} may not use ${SENSITIVE}` };
    const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
    server.addFault({ type: "status", status: 400, body }, { method: "tools/call", times: 1 });
    capture.record("errors", await mcp.tryCallTool({ name: "pay" }));
    capture.record("status", [
      mcp.status(),
      mcp.metrics(),
      mcp.tools.map(({ metadata, mcp: facts }) => [metadata, facts]),
    ]);
    await mcp.close();
    expect(await capture.expectNoSecrets(CANARY, "-ending")).toEqual([
      "client events",
      "diagnostics channels",
      "drift",
      "errors",
      "log",
      "spans and histograms",
      "status",
      "store keys",
      "store values",
    ]);
  });

  it.each([
    [{ url: `ftp://user:${CANARY}@host/?q=${CANARY}` }],
    [{ url: `not a url ${CANARY}`, timeouts: { connectMs: "soon" } }],
    [{ url: "http://host", headers: { authorization: `line\nbreak ${CANARY}` } }],
    [{ url: "http://host", headers: { [`bad name`]: CANARY } }],
  ])("are not part of the error when the definition is invalid", (definition) => {
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
