import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import {
  type JsonObject,
  type JsonRpcMessage,
  lastGoodResult,
  McpClient,
  type MessageTransport,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { INITIALIZE_RESULT } from "../../fixtures/raw-server.js";

/** A custom transport that initializes and responds, except for what is overridden. */
function createTransport(
  overrides: Partial<MessageTransport> = {},
  respond?: (message: JsonRpcMessage, transport: MessageTransport) => void,
): MessageTransport {
  return createCustomTransport(
    (message, transport) => {
      if (message.id === undefined) return;
      if (message.method === "initialize")
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: INITIALIZE_RESULT });
      else if (respond === undefined)
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
      else respond(message, transport);
    },
    { sessionId: undefined, ...overrides },
  );
}

describe("a custom transport", () => {
  it("can deliver values that JSON cannot represent, in lists, results and requests", async () => {
    const responses: JsonRpcMessage[] = [];
    const results: Record<string, (message: JsonRpcMessage) => JsonObject> = {
      initialize: () => ({ ...INITIALIZE_RESULT, capabilities: { tools: {} } }),
      "tools/list": ({ params }) => ({
        tools: [],
        size: 1n,
        ...(params?.["cursor"] === undefined ? { nextCursor: "2" } : {}),
      }),
      "tools/call": () => ({ content: [], structuredContent: { size: 1n } }),
    };
    const transport = createCustomTransport((message, { onmessage }) => {
      const result = results[message.method ?? ""]?.(message);
      if (result !== undefined) onmessage?.({ jsonrpc: "2.0", id: message.id as never, result });
      else if (message.method === undefined) responses.push(message);
    });
    const fallback = lastGoodResult({ maxAgeMs: 60_000 });
    await using client = createCustomClient(() => transport, { roots: [], fallback });
    expect(await client.listTools()).toEqual([]);
    const { structuredContent } = await client.callTool(echo(), { idempotent: true });
    expect(structuredContent).toEqual({ size: 1n });
    transport.onmessage?.({ jsonrpc: "2.0", id: 7, method: "roots/list", params: { size: 1n } });
    await eventually(() => responses.length > 0);
    expect(responses).toEqual([{ jsonrpc: "2.0", id: 7, result: { roots: [] } }]);
  });

  it("can respond within send", async () => {
    await using client = createCustomClient(() => createTransport());
    expect((await client.callTool(echo())).content).toEqual([]);
  });

  it.each([
    ["reject", async () => Promise.reject(new Error("pipe broken"))],
    [
      "throw",
      () => {
        throw new Error("pipe broken");
      },
    ],
  ])("can %s in send: every call fails and leaves no timer", async (_, failingSend) => {
    let isBroken = false;
    const open = () => {
      const transport = createTransport();
      const { send } = transport;
      transport.send = (message) => (isBroken ? failingSend() : send(message));
      return transport;
    };
    await using client = createCustomClient(open);
    await client.callTool(echo());
    isBroken = true;
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const outcomes = await client.callTools(times(50, () => echo()));
    expect(outcomes.map((outcome) => !outcome.ok && outcome.error.kind)).toEqual(
      times(50, () => "connection-lost"),
    );
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBeLessThanOrEqual(
      before + 2,
    );
  });

  it.each([
    ["start rejects", { start: async () => Promise.reject(new Error("no cable")) }, "not-sent"],
    ["start hangs", { start: () => new Promise<void>(() => undefined) }, "timeout"],
  ])("whose %s fails with kind %s", async (_, faults, kind) => {
    await using client = createCustomClient(() => createTransport(faults), { timeouts: { connectMs: 50 } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind, outcomeUnknown: false });
  });

  const result = { content: [{ type: "text", text: "fine" }] };

  it.each([
    ["the id as a string", { jsonrpc: "2.0", id: "1", result }],
    ["an additional field", { jsonrpc: "2.0", id: 1, result, extra: true }],
    ["fields that are null", { jsonrpc: "2.0", id: 1, method: null, error: null, result }],
    ["an odd _meta", { jsonrpc: "2.0", id: 1, result: { ...result, _meta: "none" } }],
  ])("can respond with %s", async (_, response) => {
    await using client = createCustomClient(() =>
      createTransport({}, (__, transport) => transport.onmessage?.(response as unknown as JsonRpcMessage)),
    );
    expect((await client.callTool(echo())).text()).toBe("fine");
  });

  it.each([
    ["an error that is a string", { error: "out of paper" }, "server-error", "out of paper"],
    ["an error that is null", { error: null }, "server-error", "null"],
    ["a result that is an array", { result: [] }, "invalid-response", "not an object"],
    ["neither result nor error", {}, "invalid-response", "not an object"],
  ])("that responds with %s ends the call", async (_, response, kind, text) => {
    await using client = createCustomClient(() =>
      createTransport({}, ({ id }, transport) =>
        transport.onmessage?.({ jsonrpc: "2.0", id, ...response } as unknown as JsonRpcMessage),
      ),
    );
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind, message: expect.stringContaining(text) });
  });

  it("keeps the server's error in the cause", async () => {
    const error = { code: -32_000, message: "out of paper", data: { tray: 2 } };
    await using client = createCustomClient(() =>
      createTransport({}, ({ id }, transport) => transport.onmessage?.({ jsonrpc: "2.0", id, error })),
    );
    const { cause } = (await rejection(client.callTool(echo()))) as Error;
    expect(cause).toMatchObject({ name: "RpcServerError", ...error });
  });

  it("can send progress and the response at once, and unrelated messages are ignored", async () => {
    const progress: unknown[] = [];
    const unrelated = [null, 5, { jsonrpc: "2.0", id: 99, result }, { jsonrpc: "2.0", method: 7 }];
    await using client = createCustomClient(() =>
      createTransport({}, ({ id, params }, transport) => {
        for (const message of unrelated) transport.onmessage?.(message as JsonRpcMessage);
        const { progressToken } = (params?.["_meta"] ?? {}) as JsonObject;
        const notification = { progressToken, progress: 1, total: "all", message: 3 };
        transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/progress", params: notification });
        transport.onmessage?.({ jsonrpc: "2.0", id, result });
      }),
    );
    const onProgress = (event: unknown) => void progress.push(event);
    expect((await client.callTool(echo(), { onProgress })).text()).toBe("fine");
    expect(progress).toEqual([{ progress: 1, total: undefined, message: undefined }]);
  });

  it("that closes during the handshake is connection-lost, and the call was not sent", async () => {
    const open = () => {
      const transport = createTransport({ send: async () => transport.onclose?.() });
      return transport;
    };
    await using client = createCustomClient(open);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: false,
      attempts: 0,
    });
  });

  it("that sends an error without an id before the initialize result works and is closed", async () => {
    let closed = 0;
    const open = () => {
      const transport = createTransport({ close: async () => void (closed += 1) });
      const { send } = transport;
      transport.send = async (message) => {
        const error = { code: -32601, message: "what?" };
        const unrelatedError = { jsonrpc: "2.0", id: null, error } as unknown as JsonRpcMessage;
        if (message.method === "initialize") transport.onmessage?.(unrelatedError);
        await send(message);
      };
      return transport;
    };
    const client = createCustomClient(open);
    await client.callTool(echo());
    await client.close();
    expect(closed).toBe(1);
  });

  it("that rejects initialize and closes is opened again for the other era", async () => {
    let opened = 0;
    const open = () => {
      opened += 1;
      const transport = createTransport();
      transport.send = async ({ method, id }) => {
        const discovered = { supportedVersions: ["2026-07-28"], capabilities: {}, content: [] };
        const error = { code: -32601, message: "what?" };
        if (method === "initialize") {
          transport.onmessage?.({ jsonrpc: "2.0", id, error });
          transport.onclose?.();
        } else if (opened > 1) {
          transport.onmessage?.({ jsonrpc: "2.0", id, result: discovered });
        }
      };
      return transport;
    };
    await using client = createCustomClient(open, { timeouts: { connectMs: 2_000 } });
    expect((await client.callTool(echo())).content).toEqual([]);
    expect(opened).toBe(2);
  });

  it("that closes after an error response keeps the response", async () => {
    const open = () =>
      createTransport({}, (message, transport) => {
        transport.onmessage?.({
          jsonrpc: "2.0",
          id: message.id,
          error: { code: -32602, message: "bad city" },
        });
        transport.onclose?.();
      });
    await using client = createCustomClient(open);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", code: -32602 });
  });

  it.each([
    ["hangs", () => new Promise<void>(() => undefined)],
    ["rejects", async () => Promise.reject(new Error("cannot close"))],
    [
      "throws",
      () => {
        throw new Error("cannot close");
      },
    ],
  ])("whose close %s does not block the client or fail it", async (_, close) => {
    const clock = new FakeClock();
    const start = async () => Promise.reject(new Error("no"));
    const failing = createCustomClient(() => createTransport({ close, start }), {}, { clock });
    const failure = await clock.advanceUntilSettled(rejection(failing.callTool(echo())), 1_000);
    expect(failure).toMatchObject({ kind: "not-sent" });
    const client = createCustomClient(() => createTransport({ close }), {}, { clock });
    await client.callTool(echo());
    await clock.advanceUntilSettled(client.close(), 1_000);
    expect(client.state).toBe("closed");
  });

  it("without sessions is not recovered, even if classify returns session-lost", async () => {
    let runs = 0;
    const open = () =>
      createTransport({}, (message, transport) => {
        runs += 1;
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "who?" } });
      });
    await using client = createCustomClient(open, { classify: () => "session-lost" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "session-lost" });
    expect(runs).toBe(1);
  });
});

/** An address that accepts no connection: its process is stopped and the backlog of its listener is full. */
async function startBlackhole(): Promise<{ readonly url: string; readonly close: () => void }> {
  const script =
    "const s = require('net').createServer().listen(0, '127.0.0.1', 1, () => console.log(s.address().port))";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGSTOP");
  const port = Number(String(line));
  const fillers = times(8, () => connect(port, "127.0.0.1").on("error", () => undefined));
  await eventually(() => fillers.some(({ connecting }) => !connecting));
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () => {
      for (const filler of fillers) filler.destroy();
      child.kill("SIGKILL");
    },
  };
}

describe("closing", () => {
  it("ends connections that are still being established", async () => {
    const connections = () =>
      process.getActiveResourcesInfo().filter((name) => name.endsWith("ConnectWrap")).length;
    const blackhole = await startBlackhole();
    const before = connections();
    const client = new McpClient({ name: "slow", url: blackhole.url });
    const call = rejection(client.callTool(echo()));
    await eventually(() => connections() > before);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    await eventually(() => connections() === before);
    blackhole.close();
  });

  it("during a handshake leaves no session on the server", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "delay", ms: 100 }, { method: "notifications/initialized" });
    const client = createTestClient(server);
    const call = rejection(client.callTool(echo()));
    await server.waitFor("notifications/initialized");
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSessions.length === 0);
  });

  it("does not wait for a log level request that hangs in a new session", async () => {
    await using server = await startMcpTestServer();
    const client = createTestClient(server, { timeouts: { connectMs: 60_000 } });
    await client.setLogLevel("info");
    server.dropSessions();
    server.addFault({ type: "hang" }, { method: "logging/setLevel" });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.received("logging/setLevel").length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
  });

  it("again with drainMs 0 shortens the first close", async () => {
    await using server = await startMcpTestServer();
    const client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const call = rejection(client.callTool(echo()));
    await server.waitFor("tools/call");
    const firstClose = client.close({ drainMs: 60_000 });
    await client.close({ drainMs: 0 });
    await firstClose;
    expect(await call).toMatchObject({ kind: "closed" });
  });
});

describe("a caller that waits for a session", () => {
  it("waits no longer than its timeout", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const client = createTestClient(server, {}, { clock });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const waiting = rejection(client.ensureSession({ timeoutMs: 50 }));
    await server.waitFor("initialize");
    clock.advance(50);
    expect(await waiting).toMatchObject({ kind: "timeout" });
    await clock.advanceUntilSettled(client.close(), 1_000);
  });

  it("that starts between a lost session and the next one gets the next one", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.callTool(echo());
    for (let round = 0; round < 20; round += 1) {
      server.dropSessions();
      const calls = [client.callTool(echo("a"))];
      for (let turn = 0; turn < round; turn += 1) await Promise.resolve();
      calls.push(client.callTool(echo("b")));
      expect((await Promise.all(calls)).map((result) => result.text())).toEqual(["a", "b"]);
    }
  });
});

describe("a dynamic server", () => {
  it("is resolved once, on the first call, with its own settings", async () => {
    await using server = await startMcpTestServer();
    let resolutions = 0;
    const resolve = async () => {
      resolutions += 1;
      return { url: server.url, timeouts: { requestMs: 60 } };
    };
    const clock = new FakeClock();
    await using client = new McpClient({ name: "dynamic", resolve }, { clock });
    expect(resolutions).toBe(0);
    await Promise.all([client.callTool(echo()), client.callTool(echo())]);
    expect(resolutions).toBe(1);
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.received("tools/call").length === 3);
    clock.advance(60);
    expect(await call).toMatchObject({ kind: "timeout" });
  });

  it("that cannot be resolved is not-sent, and the next call resolves it again", async () => {
    await using server = await startMcpTestServer();
    let isAvailable = false;
    await using client = new McpClient({
      name: "dynamic",
      retry: false,
      resolve: async () =>
        isAvailable ? { url: server.url } : Promise.reject(new Error("directory is down")),
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      cause: { message: "directory is down" },
    });
    isAvailable = true;
    expect((await client.callTool(echo("x"))).text()).toBe("x");
  });

  it.each([undefined, { url: "nowhere" }, { resolve: () => ({ url: "http://x.test" }) }])(
    "that resolves to %j is invalid-config",
    async (definition) => {
      await using client = new McpClient({ name: "dynamic", resolve: () => definition as never });
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-config" });
    },
  );

  it("does not block close while it is being resolved", async () => {
    const client = new McpClient({ name: "dynamic", resolve: () => new Promise(() => undefined) });
    const call = rejection(client.callTool(echo()));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
  });
});

describe("headers for one call", () => {
  it("are sent with that request only, and do not replace protocol headers", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { headers: { "x-user": "shared" } });
    await client.ensureSession();
    await Promise.all([
      client.callTool(echo("a"), { headers: { "X-User": "alice", "mcp-session-id": "mine" } }),
      client.callTool(echo("b")),
    ]);
    const users = server
      .received("tools/call")
      .map(({ headers, body }) => [JSON.stringify(body).includes('"a"'), headers["x-user"]]);
    expect(Object.fromEntries(users)).toEqual({ true: "alice", false: "shared" });
    expect(server.received("initialize")[0]?.headers["x-user"]).toBe("shared");
    expect(
      server.received("tools/call").every(({ headers }) => headers["mcp-session-id"] === client.sessionId),
    ).toBe(true);
  });
});
