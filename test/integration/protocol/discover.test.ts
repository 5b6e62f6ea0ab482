import { describe, expect, it } from "vitest";
import type { JsonObject, JsonRpcMessage, McpClient, MessageTransport } from "../../../src/index.js";
import { createTestClient, echo, eventually, rejection, NO_RETRY } from "../../fixtures/clients.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { sendJson, startRawServer } from "../../fixtures/raw-server.js";

const VERSION = "2026-07-28";
const PINNED = { protocol: VERSION, ...NO_RETRY } as const;
const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";
const SERVER_INFO = { name: "odd", version: "1" };
const RESULT = {
  resultType: "complete",
  supportedVersions: [VERSION],
  capabilities: { tools: {} },
  _meta: { [SERVER_INFO_KEY]: SERVER_INFO },
};

/** Responds to `server/discover`. */
type Respond = (message: JsonRpcMessage, transport: MessageTransport) => void;

/** A custom transport to a server with a configurable response to `server/discover`. */
function createTransport(respond: Respond, sent: JsonRpcMessage[] = []): MessageTransport {
  return createCustomTransport((message, transport) => {
    sent.push(message);
    if (message.method === "server/discover") respond(message, transport);
    else if (message.method === "initialize")
      transport.onmessage?.(errorResponse(message.id, -32_601, "Method not found"));
    else if (message.method === "tools/call")
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
  });
}

function errorResponse(
  id: JsonRpcMessage["id"],
  code: number,
  message: string,
  data?: unknown,
): JsonRpcMessage {
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}

function withResult(result: unknown, extra: object = {}): Respond {
  return ({ id }, transport) =>
    transport.onmessage?.({ jsonrpc: "2.0", id, result, ...extra } as JsonRpcMessage);
}

function createDiscoveringClient(
  respond: Respond,
  sent: JsonRpcMessage[] = [],
  definition: Parameters<typeof createCustomClient>[1] = {},
): McpClient {
  return createCustomClient(() => createTransport(respond, sent), { ...PINNED, ...definition });
}

describe("the server/discover result", () => {
  it("is requested once with client info, capabilities and version", async () => {
    const sent: JsonRpcMessage[] = [];
    const onElicitationRequest = () => ({ action: "decline" }) as const;
    await using client = createDiscoveringClient(withResult(RESULT), sent, {
      onElicitationRequest,
      roots: () => [],
    });
    await client.callTool(echo());
    expect(sent.map(({ method }) => method)).toEqual(["server/discover", "tools/call"]);
    expect(sent[0]?.params).toEqual({
      _meta: {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { name: "langchain-mcp-runtime", version: "0.1.0" },
        "io.modelcontextprotocol/clientCapabilities": {
          elicitation: { form: {}, url: {} },
          roots: {},
          extensions: { "io.modelcontextprotocol/tasks": {} },
        },
      },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["no result type", { resultType: undefined }, {}],
    ["an unknown result type", { resultType: 7 }, {}],
    ["an unknown capability", { capabilities: { own: { a: 1 } } }, { capabilities: { own: { a: 1 } } }],
    ["a capability that is a flag", { capabilities: { tools: true } }, { capabilities: { tools: true } }],
    ["an invalid extension", { capabilities: { extensions: { "io.x": true } } }, {}],
    ["an invalid experimental capability", { capabilities: { experimental: { a: 1 } } }, {}],
    ["a capability that is null", { capabilities: { prompts: null } }, {}],
    ["instructions that are null", { instructions: null }, { instructions: undefined }],
    ["instructions that are not a string", { instructions: 7 }, { instructions: undefined }],
    ["no server info", { _meta: undefined }, { serverInfo: undefined }],
    ["an invalid _meta", { _meta: "none" }, { serverInfo: undefined }],
    [
      "an invalid progressToken",
      { _meta: { [SERVER_INFO_KEY]: SERVER_INFO, progressToken: {} } },
      { serverInfo: SERVER_INFO },
    ],
    [
      "a name without a version",
      { _meta: { [SERVER_INFO_KEY]: { name: "odd" } } },
      { serverInfo: undefined },
    ],
    [
      "invalid icons",
      { _meta: { [SERVER_INFO_KEY]: { ...SERVER_INFO, icons: "none" } } },
      { serverInfo: SERVER_INFO },
    ],
    ["an invalid ttl", { ttlMs: "long", cacheScope: 7 }, {}],
    ["unknown versions", { supportedVersions: ["2031-01-01", VERSION, "draft"] }, {}],
  ])("may have %s", async (_, change, expected) => {
    await using client = createDiscoveringClient(withResult({ ...RESULT, ...change }));
    expect((await client.callTool(echo())).content).toEqual([]);
    expect(client.protocolVersion).toBe(VERSION);
    expect(client).toMatchObject(expected);
  });

  it.each([
    ["the id as a string", (id: unknown) => ({ id: String(id) })],
    ["an unknown field", () => ({ extra: true })],
    ["fields that are null", () => ({ method: null, error: null })],
    ["no jsonrpc field", () => ({ jsonrpc: undefined })],
  ])("may come with %s", async (_, createExtra) => {
    await using client = createDiscoveringClient((message, transport) =>
      withResult(RESULT, createExtra(message.id))(message, transport),
    );
    await client.callTool(echo());
    expect(client.serverInfo).toEqual(SERVER_INFO);
  });

  it.each<[string, unknown, string]>([
    ["an unknown object", { weather: "fine" }, "the server/discover result does not match the protocol"],
    ["no capabilities", { ...RESULT, capabilities: undefined }, "does not match the protocol"],
    [
      "versions that are not strings",
      { ...RESULT, supportedVersions: [VERSION, 7] },
      "does not match the protocol",
    ],
    ["an array", [], "its result is not an object"],
    ["other versions", { ...RESULT, supportedVersions: ["2031-01-01"] }, "supports MCP 2031-01-01;"],
    ["no version", { ...RESULT, supportedVersions: [] }, "supports MCP (no version);"],
  ])("fails the call when it is %s", async (_, result, text) => {
    const sent: JsonRpcMessage[] = [];
    await using client = createDiscoveringClient(withResult(result), sent);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", outcomeUnknown: false, server: "custom" });
    expect(failure.message).toContain(text);
    expect(failure.message).toContain(`protocol: "${VERSION}"`);
    expect(sent.map(({ method }) => method)).toEqual(["server/discover"]);
  });

  it("may come with notifications and with a request, which gets no response", async () => {
    const sent: JsonRpcMessage[] = [];
    await using client = createDiscoveringClient((message, transport) => {
      const params = { level: "info", data: "hello" };
      transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/message", params });
      transport.onmessage?.({ jsonrpc: "2.0", id: 7, method: "roots/list" });
      transport.onmessage?.({ jsonrpc: "2.0", id: 99, result: {} });
      withResult(RESULT)(message, transport);
    }, sent);
    await client.callTool(echo());
    expect(sent.map(({ method }) => method)).toEqual(["server/discover", "tools/call"]);
  });
});

describe("a server that rejects server/discover", () => {
  it.each([-32_000, -32_601, -32_602, -32_020])("with %i is quoted in the error", async (code) => {
    await using client = createDiscoveringClient(({ id }, transport) =>
      transport.onmessage?.(errorResponse(id, code, "not for you", { why: 1 })),
    );
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", code, outcomeUnknown: false });
    expect(failure.message).toContain(`Server "custom" returned error ${code}: not for you`);
    expect(failure.cause).toMatchObject({ name: "RpcServerError", data: { why: 1 } });
  });

  it.each([
    ["our version", { supported: [VERSION], requested: VERSION }],
    ["other versions", { supported: ["2031-01-01"], requested: VERSION }],
    ["no versions", undefined],
  ])("because of the version receives it once more when it names %s", async (_, data) => {
    const sent: JsonRpcMessage[] = [];
    const respond: Respond = (message, transport) =>
      sent.length === 1
        ? transport.onmessage?.(errorResponse(message.id, -32_022, "Unsupported protocol version", data))
        : withResult(RESULT)(message, transport);
    await using client = createDiscoveringClient(respond, sent);
    await client.callTool(echo());
    const methods = sent.map(({ method }) => method);
    expect(methods).toEqual(["server/discover", "server/discover", "tools/call"]);
  });

  it("because of the version twice fails the call", async () => {
    const sent: JsonRpcMessage[] = [];
    await using client = createDiscoveringClient(
      ({ id }, transport) =>
        transport.onmessage?.(errorResponse(id, -32_022, "no such version", { supported: [VERSION] })),
      sent,
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "unsupported-protocol",
      code: -32_022,
      cause: { name: "RpcServerError", message: "no such version" },
    });
    expect(sent).toHaveLength(2);
  });

  it("because of the version over HTTP receives it once more", async () => {
    let requests = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "server/discover") return false;
      requests += 1;
      if (requests > 1) return sendJson(response, id, RESULT);
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify(errorResponse(id, -32_022, "Unsupported", { supported: [VERSION] })));
    });
    await using client = createTestClient(server, PINNED);
    await client.callTool(echo());
    expect(server.requests.map(({ method }) => method)).toEqual([
      "server/discover",
      "server/discover",
      "tools/call",
    ]);
  });
});

describe("server/discover", () => {
  it.each([
    ["500", { type: "status", status: 500 }, "server-error", { status: 500 }],
    ["401", { type: "status", status: 401 }, "unauthorized", { status: 401 }],
    ["429", { type: "status", status: 429 }, "rate-limited", { status: 429 }],
    ["a timeout", { type: "hang" }, "timeout", {}],
    ["a disconnect", { type: "disconnect", when: "before" }, "connection-lost", {}],
    ["an HTML page", { type: "html" }, "unsupported-protocol", {}],
  ] as const)("fails with %s, and the next call sends it again", async (_, fault, kind, details) => {
    await using server = await startEraServer("modern");
    const clock = new FakeClock();
    await using client = createTestClient(server, { ...PINNED, timeouts: { connectMs: 300 } }, { clock });
    await client.callTool(echo());
    await client.close();
    const removeFault = server.addFault(fault, { method: "server/discover" });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.received("server/discover").length === 2);
    if (kind === "timeout") clock.advance(300);
    expect(await call).toMatchObject({ kind, outcomeUnknown: false, attempts: 0, ...details });
    expect(clock.pending).toBe(0);
    removeFault();
    expect((await client.callTool(echo("again"))).text()).toBe("again");
  });

  it.each([
    ["before the response", () => undefined],
    ["right after the response", withResult(RESULT)],
  ])("fails if the transport closes %s", async (_, respond) => {
    await using client = createDiscoveringClient((message, transport) => {
      respond(message, transport);
      transport.onclose?.();
    });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: false });
  });

  it("leaves nothing open when it is cancelled", async () => {
    const clock = new FakeClock();
    let isClosed = false;
    const sent: JsonRpcMessage[] = [];
    const openTransport = () => {
      const transport = createTransport(() => undefined, sent);
      const { close } = transport;
      transport.close = () => {
        isClosed = true;
        return close();
      };
      return transport;
    };
    const client = createCustomClient(openTransport, { ...PINNED, timeouts: { connectMs: 0 } }, { clock });
    const call = rejection(client.callTool(echo()));
    await eventually(() => sent.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    expect(isClosed).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("reuses the transport on which initialize was rejected", async () => {
    const sent: JsonRpcMessage[] = [];
    let opened = 0;
    const openTransport = () => {
      opened += 1;
      return createTransport(withResult(RESULT), sent);
    };
    await using client = createCustomClient(openTransport);
    await client.callTool(echo());
    expect(sent.map(({ method }) => method)).toEqual(["initialize", "server/discover", "tools/call"]);
    expect(opened).toBe(1);
  });

  it("fails with the error of a transport that cannot send", async () => {
    const openTransport = () => ({
      ...createTransport(() => undefined),
      send: async () => Promise.reject(new Error("pipe broken")),
    });
    await using client = createCustomClient(openTransport, PINNED);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: false,
      cause: { message: "pipe broken" },
    });
  });
});
