import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, NO_RETRY } from "../../fixtures/clients.js";
import { INITIALIZE_RESULT, sendJson, startRawServer } from "../../fixtures/raw-server.js";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const PROTOCOL_KEY = "io.modelcontextprotocol/protocolVersion";

interface Answer {
  readonly status?: number;
  readonly code?: number;
  readonly body?: string;
}

/** Responds with an error: a JSON-RPC error with a code, otherwise any body. */
function reject(response: ServerResponse, id: unknown, { status = 200, code, body = "" }: Answer): void {
  const isRpc = code !== undefined;
  response.writeHead(status, { "content-type": isRpc ? "application/json" : "text/html" });
  response.end(isRpc ? JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "no" } }) : body);
}

interface Behavior {
  /** The response to `initialize` with the envelope in `_meta`; `undefined` accepts it. */
  readonly withEnvelope?: Answer;
  /** The response to a plain `initialize`; `undefined` accepts it. */
  readonly plain?: Answer;
  /** The response to `server/discover`; versions accept it. */
  readonly discover: Answer | readonly string[];
}

const NO_METHOD = { code: -32_601 };
const NOT_FOUND = { status: 404, body: "<p>Not found</p>" };

/** What a server answers first, and the requests until the call, which is the last one. */
const ROWS: readonly [string, Behavior, string, readonly string[]][] = [
  ["legacy only", { discover: NO_METHOD }, LEGACY, ["initialize"]],
  [
    "modern only",
    { withEnvelope: NO_METHOD, plain: NO_METHOD, discover: [MODERN] },
    MODERN,
    ["initialize", "discover"],
  ],
  [
    "modern only, which says that the version is unsupported",
    {
      withEnvelope: { status: 400, code: -32_022 },
      plain: { status: 400, code: -32_022 },
      discover: [MODERN],
    },
    MODERN,
    ["initialize", "discover"],
  ],
  [
    "dual, which prefers the modern era",
    { withEnvelope: { status: 400, code: -32_022 }, discover: [LEGACY, MODERN] },
    MODERN,
    ["initialize", "discover"],
  ],
  ...([-32_022, -32_020, -32_021, -32_602] as const).flatMap(
    (code): [string, Behavior, string, readonly string[]][] => [
      [
        `legacy, rejects the envelope with 400 and ${code} and names its version`,
        { withEnvelope: { status: 400, code }, discover: [LEGACY] },
        LEGACY,
        ["initialize", "discover", "plain"],
      ],
      [
        `legacy, rejects the envelope with 200 and ${code} and does not know server/discover`,
        { withEnvelope: { code }, discover: NO_METHOD },
        LEGACY,
        ["initialize", "discover", "plain"],
      ],
    ],
  ),
  ...([400, 406, 415, 422] as const).map((status): [string, Behavior, string, readonly string[]] => [
    `legacy, rejects the envelope with ${status} and HTML`,
    { withEnvelope: { status, body: "<p>Bad request</p>" }, discover: NOT_FOUND },
    LEGACY,
    ["initialize", "GET", "plain"],
  ]),
  [
    "legacy, rejects the envelope with 400 and -32600",
    { withEnvelope: { status: 400, code: -32_600 }, discover: NOT_FOUND },
    LEGACY,
    ["initialize", "GET", "plain"],
  ],
];

describe("a server that is", () => {
  it.each(ROWS)("%s is used with %s", async (_, behavior, version, requests) => {
    const seen: string[] = [];
    await using server = await startRawServer(({ httpMethod, method, id, body, response }) => {
      if (httpMethod === "GET") {
        seen.push("GET");
        return void response.writeHead(405).end();
      }
      if (method === "initialize") {
        const hasEnvelope = JSON.stringify(body).includes(PROTOCOL_KEY);
        seen.push(hasEnvelope ? "initialize" : "plain");
        const answer = hasEnvelope ? behavior.withEnvelope : behavior.plain;
        return answer === undefined
          ? sendJson(response, id, INITIALIZE_RESULT)
          : reject(response, id, answer);
      }
      if (method === "server/discover") {
        seen.push("discover");
        const { discover } = behavior;
        if (!Array.isArray(discover)) return reject(response, id, discover as Answer);
        return sendJson(response, id, { supportedVersions: discover, capabilities: { tools: {} } });
      }
      if (method === "tools/call") seen.push("call");
      return false;
    });
    await using client = new McpClient({ name: "first", url: server.url, ...NO_RETRY });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(client.protocolVersion).toBe(version);
    expect(seen).toEqual([...requests, "call"]);
    // What was learned is used for the next session.
    seen.length = 0;
    await client.close();
    await client.callTool(echo());
    expect(seen).toEqual([requests.at(-1), "call"]);
  });

  it.each([
    ["404 and HTML", NOT_FOUND, 1],
    ["401", { status: 401 }, 1],
    ["500", { status: 500 }, 1],
  ])("rejecting everything with %s receives no further initialize", async (_, answer, count) => {
    let posts = 0;
    await using server = await startRawServer(({ httpMethod, id, response }) => {
      if (httpMethod === "GET") return void response.writeHead(404).end();
      posts += 1;
      return reject(response, id, answer);
    });
    await using client = new McpClient({ name: "first", url: server.url, ...NO_RETRY });
    expect((await client.tryCallTool(echo())).ok).toBe(false);
    expect(posts).toBe(count);
  });
});
