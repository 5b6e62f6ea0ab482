import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { type TestTool } from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  NO_RETRY,
  rejection,
  deferred,
  times,
} from "../../fixtures/clients.js";
import { ERAS, EraServer, startEraServer } from "../../fixtures/era-server.js";
import { INITIALIZE_RESULT } from "../../fixtures/raw-server.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

/** A tool that runs until its call is cancelled. */
function patientTool(onAborted: () => void = () => undefined): TestTool {
  return {
    name: "patient",
    run: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          onAborted();
          resolve("aborted");
        });
      }),
  };
}

describe.each(ERAS)("an aborted call (%s)", (era) => {
  it("rejects at once with its reason while 20 calls share the handshake; the others continue", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    server.addFault({ type: "delay", ms: 200 }, { method: "initialize" });
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const otherCalls = times(19, (n) => client.callTool(echo(`n${n}`)));
    const aborted = rejection(client.callTool(echo("never"), { signal: controller.signal }));
    await server.waitFor("initialize");
    controller.abort(reason);
    expect(await aborted).toBe(reason);
    expect(client.state).toBe("connecting");
    expect((await Promise.all(otherCalls)).map((result) => result.text())).toEqual(times(19, (n) => `n${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("notifications/cancelled")).toHaveLength(0);
    expect(server.executions).toHaveLength(19);
  });

  it.each(["json", "sse"] as const)(
    "cancels the tool on a server that responds with %s, and does not affect other calls",
    async (responseFormat) => {
      const stopped = deferred();
      const { promise: opened, resolve: open } = deferred();
      await using server = await startEraServer(era, {
        responseFormat,
        tools: [patientTool(stopped.resolve), { name: "sibling", run: async () => (await opened, "fine") }],
      });
      await using client = createTestClient(server);
      await client.ensureSession();
      const controller = new AbortController();
      const sibling = client.callTool({ name: "sibling" });
      const call = rejection(client.callTool({ name: "patient" }, { signal: controller.signal }));
      await eventually(() => server.executions.length === 2);
      controller.abort();
      expect(await call).toMatchObject({ name: "AbortError" });
      await stopped.promise;
      open();
      expect((await sibling).text()).toBe("fine");
      const request = server.received("tools/call").find(({ tool }) => tool === "patient");
      const params = { requestId: (request?.body as { id: number } | undefined)?.id };
      // Without sessions, closing the response is the cancellation.
      const expected =
        era === "modern" ? [] : [expect.objectContaining({ params: expect.objectContaining(params) })];
      await eventually(() => server.received("notifications/cancelled").length === expected.length);
      expect(server.received("notifications/cancelled").map(({ body }) => body)).toEqual(expected);
    },
  );

  it("cancels an in-process tool", async () => {
    const stopped = deferred();
    const server = new EraServer(era, { tools: [patientTool(stopped.resolve)] });
    await using client = new McpClient({ name: "linked", server });
    await client.ensureSession();
    const controller = new AbortController();
    const call = rejection(client.callTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await stopped.promise;
  });

  it("sends nothing if it was aborted before it began", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const reason = new Error("too late");
    expect(await rejection(client.callTool(echo(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await rejection(client.listTools({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await rejection(client.ensureSession({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.socketsOpened).toBe(0);
    expect(client.state).toBe("idle");
  });

  it("sends no cancellation if it was aborted after it ended", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const controller = new AbortController();
    await client.callTool(echo(), { signal: controller.signal });
    controller.abort();
    await client.ping();
    expect(server.received("notifications/cancelled")).toHaveLength(0);
  });

  it("by a timeout signal fails with kind timeout", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = createTestClient(server);
    const failure = await rejection(
      client.callTool({ name: "patient" }, { signal: AbortSignal.timeout(50) }),
    );
    expect(failure).toMatchObject({ kind: "timeout", server: "test", name: "McpRuntimeError" });
    expect(failure.cause).toMatchObject({ name: "TimeoutError" });
  });

  it("makes tryCallTool throw", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = createTestClient(server);
    const controller = new AbortController();
    const outcome = rejection(client.tryCallTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("stop");
    expect(await outcome).toBe("stop");
  });

  it("is counted as cancelled", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const kinds: unknown[] = [];
    client.on("requestEnded", ({ kind }) => kinds.push(kind));
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await server.waitFor("tools/call");
    controller.abort();
    await call;
    expect(kinds).toEqual(["cancelled"]);
  });
});

/** Responds to every call but those of `slow`; to that of `other` after that of `release`. */
const STDIO_SCRIPT = `
  let other;
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
    if (method === "initialize") send(id, ${JSON.stringify(INITIALIZE_RESULT)});
    if (method !== "tools/call" || params.name === "slow") return;
    if (params.name === "other") other = id;
    else send(id, { content: [] });
    if (params.name === "release") send(other, { content: [{ type: "text", text: "fine" }] });
  });`;

/** The same server. */
async function startWebSocketServer() {
  const server = await WebSocketTestServer.start((socket) => {
    let other: unknown;
    const send = (id: unknown, result: object) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    socket.on("message", (data) => {
      const { id, method, params } = JSON.parse(String(data)) as Record<string, Record<string, string>>;
      if (String(method) === "initialize") send(id, INITIALIZE_RESULT);
      const tool = String(method) === "tools/call" ? params?.["name"] : "slow";
      if (tool === "slow") return;
      if (tool === "other") other = id;
      else send(id, { content: [] });
      if (tool === "release") send(other, { content: [{ type: "text", text: "fine" }] });
    });
  });
  return { definition: { url: server.url }, close: () => server[Symbol.asyncDispose]() };
}

const startStdioServer = async () => ({
  definition: { command: process.execPath, args: ["-e", STDIO_SCRIPT] },
  close: async () => undefined,
});

describe.each([
  ["stdio", startStdioServer],
  ["a WebSocket", startWebSocketServer],
] as const)("more notifications at once than may wait for a response (%s)", (_, start) => {
  async function open() {
    const { definition, close } = await start();
    const client = new McpClient({ name: "test", ...definition, ...NO_RETRY, roots: () => [] } as never);
    await client.ensureSession();
    return {
      client,
      other: client.callTool({ name: "other" }),
      [Symbol.asyncDispose]: async () => {
        await client.close();
        await close();
      },
    };
  }

  it("because 1,200 calls share a signal that aborts, do not end the session of another call", async () => {
    await using opened = await open();
    const { client, other } = opened;
    const controller = new AbortController();
    const { signal } = controller;
    const calls = times(1_200, () => rejection(client.callTool({ name: "slow" }, { signal })));
    // Messages arrive in their order: the server has received all of them.
    await client.callTool({ name: "ready" });
    controller.abort("enough");
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["enough"]));
    await client.callTool({ name: "release" });
    expect((await other).text()).toBe("fine");
  });

  it("because the roots have changed 1,200 times, do not end the session of another call", async () => {
    await using opened = await open();
    const { client, other } = opened;
    await Promise.all(times(1_200, () => client.sendRootsListChanged()));
    await client.callTool({ name: "release" });
    expect((await other).text()).toBe("fine");
  });
});
