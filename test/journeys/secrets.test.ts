import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { McpClient, parseServers } from "../../src/index.js";
import { startMcpTestServer } from "../../src/testing/index.js";
import { echo, failureOf, ONCE } from "../support/clients.js";

const CANARY = "canary7f3a91secret";
const echoed = `your token ${CANARY} and Bearer ${CANARY} are no good`;
const rpcBody = JSON.stringify({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32000, message: echoed, data: { token: CANARY } },
});
const json = { "content-type": "application/json" };

describe("secrets of a definition", () => {
  it("are in nothing that leaves: errors, causes, events, logs", async () => {
    await using server = await startMcpTestServer({ answers: "json" });
    const left: unknown[] = [];
    const logger = {
      debug: left.push.bind(left),
      info: left.push.bind(left),
      warn: left.push.bind(left),
      error: left.push.bind(left),
    };
    const url = `${server.url.replace("http://", `http://user:${CANARY}@`)}?key=${CANARY}`;
    const definition = { url, headers: { authorization: `Bearer ${CANARY}`, "x-api-key": CANARY } };
    await using client = new McpClient(
      { name: "canary", ...ONCE, ...definition, classify: () => undefined },
      { logger },
    );
    for (const event of [
      "requestEnded",
      "sessionOpened",
      "sessionLost",
      "warning",
      "notification",
    ] as const) {
      client.on(event, (data) => left.push(data));
    }
    await client.ensureSession();
    const faults = [
      { type: "status", status: 401, body: echoed },
      { type: "status", status: 500, body: rpcBody },
      { type: "status", status: 400, body: rpcBody },
      { type: "status", status: 307, headers: { location: `http://127.0.0.1:1/?key=${CANARY}` } },
      { type: "status", status: 200, headers: json, body: rpcBody },
      { type: "status", status: 200, headers: json, body: `{"text":"${CANARY}` },
      { type: "status", status: 200, headers: { "content-type": `text/${CANARY}` }, body: CANARY },
      { type: "cut", when: "before" },
    ] as const;
    for (const fault of faults) {
      server.addFault(fault, { on: "tools/call", times: 1 });
      left.push(await failureOf(client.callTool(echo())));
    }
    server.addFault(
      { type: "result", result: { tools: [{ name: `bad ${CANARY}` }] } },
      { on: "tools/list", times: 1 },
    );
    await client.listTools();
    server.addFault({ type: "status", status: 404, body: echoed }, { times: 9 });
    left.push(await failureOf(client.callTool(echo())));
    await server.stop();
    left.push(await failureOf(client.callTool(echo())));

    expect(left.length).toBeGreaterThan(faults.length);
    for (const thing of left) {
      expect(inspect(thing, { depth: 9, showHidden: true })).not.toContain(CANARY);
      expect(JSON.stringify(thing) ?? "").not.toContain(CANARY);
    }
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
      expect(error).toMatchObject({ kind: "definition" });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY);
    }
  });
});
