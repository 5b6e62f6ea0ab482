import { describe, expect, it } from "vitest";
import {
  type JsonObject,
  type JsonRpcMessage,
  McpClient,
  type MessageTransport,
} from "../../../src/index.js";
import { clientOf, echo, eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { sendJson, startRawServer } from "../../fixtures/raw-server.js";

const VERSION = "2026-07-28";
const PINNED = { protocol: VERSION, ...ONCE } as const;
const NAME = "io.modelcontextprotocol/serverInfo";
const IS = { name: "odd", version: "1" };
const FACTS = {
  resultType: "complete",
  supportedVersions: [VERSION],
  capabilities: { tools: {} },
  _meta: { [NAME]: IS },
};

/** What a server says to `server/discover`, in place of an answer that has a result. */
type Answer = (message: JsonRpcMessage, transport: MessageTransport) => void;

/** A transport of the user's own, with a server behind it that says what is told to each greeting. */
function lineOf(answer: Answer, said: JsonRpcMessage[] = []): MessageTransport {
  const transport: MessageTransport = {
    start: async () => undefined,
    close: async () => transport.onclose?.(),
    send: async (message) => {
      said.push(message);
      if (message.method === "server/discover") answer(message, transport);
      else if (message.method === "initialize")
        transport.onmessage?.(refusal(message.id, -32_601, "Method not found"));
      else if (message.method === "tools/call")
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
    },
  };
  return transport;
}

function refusal(id: JsonRpcMessage["id"], code: number, message: string, data?: unknown): JsonRpcMessage {
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}

function withResult(result: unknown, around: object = {}): Answer {
  return ({ id }, transport) =>
    transport.onmessage?.({ jsonrpc: "2.0", id, result, ...around } as JsonRpcMessage);
}

function clientOver(answer: Answer, said: JsonRpcMessage[] = [], options: object = {}): McpClient {
  return new McpClient({ name: "odd", ...PINNED, openTransport: () => lineOf(answer, said), ...options });
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("what a server without sessions says of itself", () => {
  it("is asked for once, by who asks, what it can do, and in which version", async () => {
    const said: JsonRpcMessage[] = [];
    const onElicitationRequest = () => ({ action: "decline" }) as const;
    await using client = clientOver(withResult(FACTS), said, { onElicitationRequest });
    await client.callTool(echo());
    expect(said.map(({ method }) => method)).toEqual(["server/discover", "tools/call"]);
    expect(said[0]?.params).toEqual({
      _meta: {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { name: "langchain-mcp-runtime", version: "0.1.0" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} } },
      },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["no type of result", { resultType: undefined }, {}],
    ["another type of result", { resultType: 7 }, {}],
    ["a capability nobody knows", { capabilities: { own: { a: 1 } } }, { capabilities: { own: { a: 1 } } }],
    ["a capability that is a flag", { capabilities: { tools: true } }, { capabilities: { tools: true } }],
    ["an odd extension", { capabilities: { extensions: { "io.x": true } } }, {}],
    ["an odd experiment", { capabilities: { experimental: { a: 1 } } }, {}],
    ["no capability, as null", { capabilities: { prompts: null } }, {}],
    ["instructions that are null", { instructions: null }, { instructions: undefined }],
    ["instructions that are no text", { instructions: 7 }, { instructions: undefined }],
    ["no name", { _meta: undefined }, { serverInfo: undefined }],
    ["a _meta that is none", { _meta: "none" }, { serverInfo: undefined }],
    ["an odd progressToken", { _meta: { [NAME]: IS, progressToken: {} } }, { serverInfo: IS }],
    ["a name without a version", { _meta: { [NAME]: { name: "odd" } } }, { serverInfo: undefined }],
    ["odd icons", { _meta: { [NAME]: { ...IS, icons: "none" } } }, { serverInfo: IS }],
    ["an odd time to live", { ttlMs: "long", cacheScope: 7 }, {}],
    ["versions that nobody knows", { supportedVersions: ["2031-01-01", VERSION, "draft"] }, {}],
  ])("may have %s", async (_, part, expected) => {
    await using client = clientOver(withResult({ ...FACTS, ...part }));
    expect((await client.callTool(echo())).content).toEqual([]);
    expect(client.protocolVersion).toBe(VERSION);
    expect(client).toMatchObject(expected);
  });

  it.each([
    ["the id as a text", (id: unknown) => ({ id: String(id) })],
    ["a field too many", () => ({ extra: true })],
    ["fields that are null", () => ({ method: null, error: null })],
    ["no word on JSON-RPC", () => ({ jsonrpc: undefined })],
  ])("may come with %s", async (_, around) => {
    await using client = clientOver((message, transport) =>
      withResult(FACTS, around(message.id))(message, transport),
    );
    await client.callTool(echo());
    expect(client.serverInfo).toEqual(IS);
  });

  it.each<[string, unknown, string]>([
    ["nonsense", { weather: "fine" }, "it answers server/discover with something else"],
    ["no capabilities", { ...FACTS, capabilities: undefined }, "with something else"],
    ["versions that are no texts", { ...FACTS, supportedVersions: [VERSION, 7] }, "something else"],
    ["a list", [], "its result is not an object"],
    ["others", { ...FACTS, supportedVersions: ["2031-01-01"] }, "speaks MCP 2031-01-01;"],
    ["no version", { ...FACTS, supportedVersions: [] }, "speaks MCP of no version;"],
  ])("may be %s: then it is not spoken to, and the error says why", async (_, result, text) => {
    const said: JsonRpcMessage[] = [];
    await using client = clientOver(withResult(result), said);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", outcomeUnknown: false, server: "odd" });
    expect(failure.message).toContain(text);
    expect(failure.message).toContain(`protocol: "${VERSION}"`);
    expect(said.map(({ method }) => method)).toEqual(["server/discover"]);
  });

  it("may come together with a word nobody asked for, and a question, which gets no answer", async () => {
    const said: JsonRpcMessage[] = [];
    await using client = clientOver((message, transport) => {
      const params = { level: "info", data: "hello" };
      transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/message", params });
      transport.onmessage?.({ jsonrpc: "2.0", id: 7, method: "roots/list" });
      transport.onmessage?.({ jsonrpc: "2.0", id: 99, result: {} });
      withResult(FACTS)(message, transport);
    }, said);
    await client.callTool(echo());
    expect(said.map(({ method }) => method)).toEqual(["server/discover", "tools/call"]);
  });
});

describe("a server without sessions that refuses to say what it is", () => {
  it.each([-32_000, -32_601, -32_602, -32_020])("with %i is quoted", async (code) => {
    await using client = clientOver(({ id }, transport) =>
      transport.onmessage?.(refusal(id, code, "not for you", { why: 1 })),
    );
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", code, outcomeUnknown: false });
    expect(failure.message).toContain(`Server "odd" answered with error ${code}: not for you`);
    expect(failure.cause).toMatchObject({ name: "ServerError", data: { why: 1 } });
  });

  it.each([
    ["names ours", { supported: [VERSION], requested: VERSION }],
    ["names others", { supported: ["2031-01-01"], requested: VERSION }],
    ["names none", undefined],
  ])("in this version is asked once more when it %s", async (_, data) => {
    const said: JsonRpcMessage[] = [];
    const answer: Answer = (message, transport) =>
      said.length === 1
        ? transport.onmessage?.(refusal(message.id, -32_022, "Unsupported protocol version", data))
        : withResult(FACTS)(message, transport);
    await using client = clientOver(answer, said);
    await client.callTool(echo());
    const methods = said.map(({ method }) => method);
    expect(methods).toEqual(["server/discover", "server/discover", "tools/call"]);
  });

  it("in this version, twice, is believed", async () => {
    const said: JsonRpcMessage[] = [];
    await using client = clientOver(
      ({ id }, transport) =>
        transport.onmessage?.(refusal(id, -32_022, "no such version", { supported: [VERSION] })),
      said,
    );
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", code: -32_022 });
    expect(failure.message).toContain("answered with error -32022: no such version");
    expect(said).toHaveLength(2);
  });

  it("in this version over HTTP is asked once more", async () => {
    let asked = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "server/discover") return false;
      asked += 1;
      if (asked > 1) return sendJson(response, id, FACTS);
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify(refusal(id, -32_022, "Unsupported", { supported: [VERSION] })));
    });
    await using client = clientOf(server as never, PINNED);
    await client.callTool(echo());
    expect(server.seen.map(({ method }) => method)).toEqual([
      "server/discover",
      "server/discover",
      "tools/call",
    ]);
  });
});

describe("asking a server without sessions what it is", () => {
  it.each([
    ["is refused with 500", { type: "status", status: 500 }, "server-error", { status: 500 }],
    ["is refused with 401", { type: "status", status: 401 }, "unauthorized", { status: 401 }],
    ["is refused with 429", { type: "status", status: 429 }, "rate-limited", { status: 429 }],
    ["hangs beyond connectMs", { type: "hang" }, "timeout", {}],
    ["is cut off", { type: "disconnect", when: "before" }, "connection-lost", {}],
    ["is answered with a page", { type: "html" }, "unsupported-protocol", {}],
  ] as const)("may fail, for it %s; the next call asks afresh", async (_, fault, kind, details) => {
    await using server = await startEraServer("modern");
    await using client = clientOf(server, { ...PINNED, timeouts: { connectMs: 300 } });
    await client.callTool(echo());
    await client.close();
    const before = timers();
    const mend = server.addFault(fault, { method: "server/discover" });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind, outcomeUnknown: false, attempts: 0, ...details });
    expect(timers()).toBeLessThanOrEqual(before + 1);
    mend();
    expect((await client.callTool(echo("afresh"))).text()).toBe("afresh");
  });

  it.each([
    ["before it answers", () => undefined],
    ["with its answer", withResult(FACTS)],
  ])("is of no use if the line ends %s", async (_, answer) => {
    await using client = clientOver((message, transport) => {
      answer(message, transport);
      transport.onclose?.();
    });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: false });
    expect(failure.message).toContain("ended the connection during the handshake");
  });

  it("may be given up: nothing is left of it", async () => {
    const before = timers();
    let isClosed = false;
    const said: JsonRpcMessage[] = [];
    const openTransport = () => {
      const line = lineOf(() => undefined, said);
      const { close } = line;
      line.close = () => {
        isClosed = true;
        return close();
      };
      return line;
    };
    const client = new McpClient({ name: "odd", ...PINNED, openTransport, timeouts: { connectMs: 0 } });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => said.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    expect(isClosed).toBe(true);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it("over the line on which it refused the handshake needs no other", async () => {
    const said: JsonRpcMessage[] = [];
    let opened = 0;
    const openTransport = () => {
      opened += 1;
      return lineOf(withResult(FACTS), said);
    };
    await using client = new McpClient({ name: "odd", ...ONCE, openTransport });
    await client.callTool(echo());
    expect(said.map(({ method }) => method)).toEqual(["initialize", "server/discover", "tools/call"]);
    expect(opened).toBe(1);
  });

  it("over a transport that cannot send fails as the transport does", async () => {
    const openTransport = () => ({
      ...lineOf(() => undefined),
      send: async () => Promise.reject(new Error("pipe broken")),
    });
    await using client = new McpClient({ name: "odd", ...PINNED, openTransport });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: false });
    expect(failure.message).toContain("pipe broken");
  });
});
