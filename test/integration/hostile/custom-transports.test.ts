import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import {
  type JsonObject,
  type JsonRpcMessage,
  McpClient,
  type MessageTransport,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";

const GREETING = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: { name: "custom", version: "1" },
};

/** A transport of the user's own that greets and answers, but for what is replaced. */
function transportOf(
  faults: Partial<MessageTransport> = {},
  answer?: (message: JsonRpcMessage, transport: MessageTransport) => void,
) {
  const transport: MessageTransport = {
    sessionId: undefined,
    start: async () => undefined,
    close: async () => transport.onclose?.(),
    send: async (message) => {
      if (message.id === undefined) return;
      if (message.method === "initialize")
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: GREETING });
      else if (answer === undefined)
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result: { content: [] } });
      else answer(message, transport);
    },
    ...faults,
  };
  return transport;
}

function customClient(open: () => MessageTransport, options: object = {}): McpClient {
  return new McpClient({ name: "custom", openTransport: open, ...ONCE, ...options });
}

describe("a transport of the user's own", () => {
  it("may answer within send", async () => {
    await using client = customClient(() => transportOf());
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
  ])("may %s when it sends: every call fails, nothing is kept for it", async (_, broken) => {
    let isBroken = false;
    const open = () => {
      const transport = transportOf();
      const { send } = transport;
      transport.send = (message) => (isBroken ? broken() : send(message));
      return transport;
    };
    await using client = customClient(open);
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
  ])("whose %s is kind %s", async (_, faults, kind) => {
    await using client = customClient(() => transportOf(faults), { timeouts: { connectMs: 50 } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind, outcomeUnknown: false });
  });

  const result = { content: [{ type: "text", text: "fine" }] };

  it.each([
    ["the id as a text", { jsonrpc: "2.0", id: "1", result }],
    ["a field too many", { jsonrpc: "2.0", id: 1, result, extra: true }],
    ["fields that are null", { jsonrpc: "2.0", id: 1, method: null, error: null, result }],
    ["an odd _meta", { jsonrpc: "2.0", id: 1, result: { ...result, _meta: "none" } }],
  ])("may answer with %s", async (_, answer) => {
    await using client = customClient(() =>
      transportOf({}, (__, transport) => transport.onmessage?.(answer as unknown as JsonRpcMessage)),
    );
    expect((await client.callTool(echo())).text()).toBe("fine");
  });

  it.each([
    ["an error that is a text", { error: "out of paper" }, "server-error", "out of paper"],
    ["an error that is null", { error: null }, "server-error", "null"],
    ["a result that is a list", { result: [] }, "invalid-response", "not an object"],
    ["neither result nor error", {}, "invalid-response", "not an object"],
  ])("that answers with %s ends the call", async (_, answer, kind, text) => {
    await using client = customClient(() =>
      transportOf({}, ({ id }, transport) =>
        transport.onmessage?.({ jsonrpc: "2.0", id, ...answer } as unknown as JsonRpcMessage),
      ),
    );
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind, message: expect.stringContaining(text) });
  });

  it("keeps what a server says of its error, in the cause", async () => {
    const error = { code: -32_000, message: "out of paper", data: { tray: 2 } };
    await using client = customClient(() =>
      transportOf({}, ({ id }, transport) => transport.onmessage?.({ jsonrpc: "2.0", id, error })),
    );
    const { cause } = (await failureOf(client.callTool(echo()))) as Error;
    expect(cause).toMatchObject({ name: "ServerError", ...error });
  });

  it("may tell progress and the answer in one breath, and what nobody asked for harms nothing", async () => {
    const progress: unknown[] = [];
    const strays = [null, 5, { jsonrpc: "2.0", id: 99, result }, { jsonrpc: "2.0", method: 7 }];
    await using client = customClient(() =>
      transportOf({}, ({ id, params }, transport) => {
        for (const stray of strays) transport.onmessage?.(stray as JsonRpcMessage);
        const { progressToken } = (params?.["_meta"] ?? {}) as JsonObject;
        const told = { progressToken, progress: 1, total: "all", message: 3 };
        transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/progress", params: told });
        transport.onmessage?.({ jsonrpc: "2.0", id, result });
      }),
    );
    const onProgress = (told: unknown) => void progress.push(told);
    expect((await client.callTool(echo(), { onProgress })).text()).toBe("fine");
    expect(progress).toEqual([{ progress: 1, total: undefined, message: undefined }]);
  });

  it("that ends during the handshake is kind connection-lost, and the call was not sent", async () => {
    const open = () => {
      const transport = transportOf({ send: async () => transport.onclose?.() });
      return transport;
    };
    await using client = customClient(open);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: false,
      attempts: 0,
    });
  });

  it("may bring an error of nobody's before the greeting, and is closed like any other", async () => {
    let closed = 0;
    const open = () => {
      const transport = transportOf({ close: async () => void (closed += 1) });
      const { send } = transport;
      transport.send = async (message) => {
        const error = { code: -32601, message: "what?" };
        const stray = { jsonrpc: "2.0", id: null, error } as unknown as JsonRpcMessage;
        if (message.method === "initialize") transport.onmessage?.(stray);
        await send(message);
      };
      return transport;
    };
    const client = customClient(open);
    await client.callTool(echo());
    await client.close();
    expect(closed).toBe(1);
  });

  it("that refuses the greeting and ends is opened anew for another", async () => {
    let opened = 0;
    const open = () => {
      opened += 1;
      const transport = transportOf();
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
    await using client = customClient(open, { timeouts: { connectMs: 2_000 } });
    expect((await client.callTool(echo())).content).toEqual([]);
    expect(opened).toBe(2);
  });

  it("whose error answer is followed by its end keeps the answer", async () => {
    const open = () =>
      transportOf({}, (message, transport) => {
        transport.onmessage?.({
          jsonrpc: "2.0",
          id: message.id,
          error: { code: -32602, message: "bad city" },
        });
        transport.onclose?.();
      });
    await using client = customClient(open);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", code: -32602 });
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
  ])("whose close %s keeps nobody waiting, and its failure is nobody's", async (_, close) => {
    const failing = customClient(() =>
      transportOf({ close, start: async () => Promise.reject(new Error("no")) }),
    );
    expect(await failureOf(failing.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    const client = customClient(() => transportOf({ close }));
    await client.callTool(echo());
    await client.close();
    expect(client.state).toBe("closed");
  });

  it("without sessions is not recovered, whatever classify says", async () => {
    let runs = 0;
    const open = () =>
      transportOf({}, (message, transport) => {
        runs += 1;
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "who?" } });
      });
    await using client = customClient(open, { classify: () => "session-lost" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "session-lost" });
    expect(runs).toBe(1);
  });
});

/** An address that takes no connection: its process is stopped, and the queue of its listener full. */
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
  it("ends connections that are still being made", async () => {
    const connections = () =>
      process.getActiveResourcesInfo().filter((name) => name.endsWith("ConnectWrap")).length;
    const blackhole = await startBlackhole();
    const before = connections();
    const client = new McpClient({ name: "slow", url: blackhole.url });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => connections() > before);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    await eventually(() => connections() === before);
    blackhole.close();
  });

  it("in the middle of a handshake leaves no session on the server", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "delay", ms: 100 }, { method: "notifications/initialized" });
    const client = clientOf(server);
    const call = failureOf(client.callTool(echo()));
    await server.waitFor("notifications/initialized");
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSessions.length === 0);
  });

  it("does not wait for a log level that a new session does not take", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server, { timeouts: { connectMs: 60_000 } });
    await client.setLogLevel("info");
    server.dropSessions();
    server.addFault({ type: "hang" }, { method: "logging/setLevel" });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.received("logging/setLevel").length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
  });

  it("said again with no time to drain hurries the first", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server);
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const call = failureOf(client.callTool(echo()));
    await server.waitFor("tools/call");
    const patient = client.close({ drainMs: 60_000 });
    await client.close({ drainMs: 0 });
    await patient;
    expect(await call).toMatchObject({ kind: "closed" });
  });
});

describe("a caller that waits for a session", () => {
  it("waits no longer than it says", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    server.addFault({ type: "hang" }, { method: "initialize" });
    expect(await failureOf(client.ensureSession({ timeoutMs: 50 }))).toMatchObject({ kind: "timeout" });
  });

  it("that comes between a lost session and the next one gets the next one", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
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

describe("a server whose address is found out later", () => {
  it("is looked up on the first call, once, with its own settings", async () => {
    await using server = await startMcpTestServer();
    let lookups = 0;
    await using client = new McpClient({
      name: "later",
      resolve: async () => {
        lookups += 1;
        return { url: server.url, timeouts: { requestMs: 60 } };
      },
    });
    expect(lookups).toBe(0);
    await Promise.all([client.callTool(echo()), client.callTool(echo())]);
    expect(lookups).toBe(1);
    server.addFault({ type: "hang" }, { method: "tools/call" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "timeout" });
  });

  it("that cannot be found is not-sent, and the next call looks again", async () => {
    await using server = await startMcpTestServer();
    let isFound = false;
    await using client = new McpClient({
      name: "later",
      resolve: async () => (isFound ? { url: server.url } : Promise.reject(new Error("directory is down"))),
    });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain("directory is down");
    isFound = true;
    expect((await client.callTool(echo("x"))).text()).toBe("x");
  });

  it.each([undefined, { url: "nowhere" }, { resolve: () => ({ url: "http://x.test" }) }])(
    "and turns out as %j is kind definition",
    async (found) => {
      await using client = new McpClient({ name: "later", resolve: () => found as never });
      expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-config" });
    },
  );

  it("does not keep a client from closing", async () => {
    const client = new McpClient({ name: "later", resolve: () => new Promise(() => undefined) });
    const call = failureOf(client.callTool(echo()));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
  });
});

describe("headers for one call", () => {
  it("reach that request and no other, and replace nothing that the protocol owns", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { headers: { "x-user": "shared" } });
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
