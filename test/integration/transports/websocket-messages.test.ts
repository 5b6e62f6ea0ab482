import type { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import type { WebSocket } from "ws";
import { describe, expect, it } from "vitest";
import { createTestClient, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { isToolCall, type RawMessage, sendText, startRawWebSocket } from "../../fixtures/websocket-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { BufferMonitor } from "../../fixtures/buffer-monitor.js";

function toResponse(id: number | undefined, text: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
}

describe("a message over a WebSocket", () => {
  it.each([
    ["is text but not JSON", "hello", "it is not valid JSON"],
    ["is binary but not JSON", Buffer.from([0, 1, 2, 255]), "it is not valid JSON"],
    ["is JSON but not JSON-RPC", '{"hello":1}', "it is not JSON-RPC 2.0"],
    ["is empty", "", "it is not valid JSON"],
    ["responds to an unknown request", toResponse(999, "late"), "it is a late response"],
    ["is an empty array", "[]", undefined],
  ])("that %s is logged and otherwise ignored", async (_, data, reason) => {
    await using host = await startRawWebSocket((message, socket) => {
      if (isToolCall(message)) socket.send(data);
      return false;
    });
    const logger = new RecordingLogger();
    await using client = createTestClient(host, {}, { logger });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(logger.messages.join("\n")).toContain(reason ?? "");
    expect(host.upgrades).toHaveLength(1);
  });

  it.each([
    [
      "in a binary frame",
      (socket: WebSocket, text: string) => socket.send(Buffer.from(text), { binary: true }),
    ],
    [
      "in fragments",
      (socket: WebSocket, text: string) => {
        for (const piece of text) socket.send(piece, { fin: false });
        socket.send("", { fin: true });
      },
    ],
    ["in an array", (socket: WebSocket, text: string) => socket.send(`[${text}]`)],
    ["after a byte order mark", (socket: WebSocket, text: string) => socket.send(`\uFEFF${text}`)],
    [
      "with its id as a string",
      (socket: WebSocket, text: string) => socket.send(text.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
  ])("may be a response %s", async (_, send) => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      send(socket, toResponse(message.id, "grüße"));
      return;
    });
    await using client = createTestClient(host);
    expect((await client.callTool(echo())).text()).toBe("grüße");
  });

  it("that is a response without a result fails only its own call", async () => {
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      if (waiting.push(message) < 2) return;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: waiting[0]?.id, result: 5 }));
      sendText(socket, waiting[1]?.id, "mine");
      return;
    });
    await using client = createTestClient(host);
    const [bad, good] = await Promise.allSettled([client.callTool(echo()), client.callTool(echo())]);
    expect(bad).toMatchObject({ reason: { kind: "invalid-response", outcomeUnknown: true } });
    expect(good).toMatchObject({ status: "fulfilled" });
    expect(host.upgrades).toHaveLength(1);
  });

  it("that is an error without an id fails the only pending call, but none of several", async () => {
    const error = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32700, message: "Parse error" },
    });
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      waiting.push(message);
      if (waiting.length !== 2) socket.send(error);
      for (const { id } of waiting.length === 3 ? waiting : []) sendText(socket, id, "ok");
      return;
    });
    await using client = createTestClient(host);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", code: -32700 });
    const results = await Promise.all(times(2, () => client.callTool(echo())));
    expect(results.map((result) => result.text())).toEqual(["ok", "ok"]);
  });

  it("that is a truncated response fails its call at once", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      socket.send(toResponse(message.id, "x".repeat(100)).slice(0, 60));
      return;
    });
    await using client = createTestClient(host);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
  });

  it("that violates the WebSocket protocol closes the connection, and the next call opens another", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message) || host.upgrades.length > 1) return false;
      // A text frame of one byte that is not valid UTF-8.
      rawSocketOf(socket).write(Buffer.from([0x81, 0x01, 0xff]));
      return;
    });
    await using client = createTestClient(host);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("WS_ERR_INVALID_UTF8"),
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("a message over limits.responseBytes", () => {
  const limits = { responseBytes: 50_000 };

  it("is too-large, and the next call opens another connection", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      sendText(socket, message.id, "x".repeat(host.upgrades.length > 1 ? 40_000 : 60_000));
      return;
    });
    await using client = createTestClient(host, { limits });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
      message: expect.stringContaining("more than 50000 bytes"),
    });
    expect((await client.callTool(echo())).text()).toHaveLength(40_000);
  });

  it("fails all calls on its connection: it was not read, so it is unknown whose response it was", async () => {
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      if (waiting.push(message) === 3) sendText(socket, message.id, "x".repeat(60_000));
      return;
    });
    await using client = createTestClient(host, { limits });
    const failures = await Promise.all(times(3, () => rejection(client.callTool(echo()))));
    expect(failures.map(({ kind }) => kind)).toEqual(times(3, () => "too-large"));
    expect(failures[0]?.message).toContain("for all 3 pending requests");
  });

  it.each([
    ["one frame", [0x81]],
    ["many frames", [0x01, 0x00]],
  ])("of 200 MB in %s is not read to its end", async (_, opcodes) => {
    const size = 200_000_000;
    let written = 0;
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message) || host.upgrades.length > 1) return false;
      const raw = rawSocketOf(socket);
      const piece = Buffer.alloc(64 * 1024, "x");
      const write = () => {
        while (written < size && raw.writable) {
          const [first, ...next] = opcodes;
          const opcode = written === 0 ? first : next[0];
          const isHead = written === 0 || next.length > 0;
          const length = next.length === 0 ? size : piece.length;
          written += piece.length;
          if (!raw.write(isHead ? Buffer.concat([toFrameHeader(opcode ?? 0, length), piece]) : piece)) {
            raw.once("drain", write);
            return;
          }
        }
      };
      write();
      return;
    });
    await using client = createTestClient(host, { limits: { responseBytes: 4_000_000 } });
    await client.ensureSession();
    using monitor = new BufferMonitor();
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
    await eventually(() => host.openConnections === 0);
    // Includes the buffers of both sockets and of the kernel.
    expect(written).toBeLessThan(40_000_000);
    expect(monitor.peakBytes).toBeLessThan(40_000_000);
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

/** The underlying socket of a server's WebSocket, for bytes that `ws` would never send. */
function rawSocketOf(socket: WebSocket): Socket {
  return Reflect.get(socket, "_socket") as Socket;
}

function toFrameHeader(opcode: number, length: number): Buffer {
  const header = Buffer.alloc(10);
  header[0] = opcode;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** A server in a worker thread, which keeps running while the main thread is blocked. */
const WORKER_SOURCE = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { WebSocketServer } = require(workerData.ws);
  const flag = new Int32Array(workerData.shared);
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "t", version: "1" } };
  let calls = 0;
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id, method } = JSON.parse(data);
      if (method === "tools/call") parentPort.postMessage({ calls: (calls += 1) });
      const response = method === "initialize" ? result : { content: [{ type: "text", text: "ok" }] };
      if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: response }));
    });
  });
  server.on("listening", () => parentPort.postMessage({ port: server.address().port }));
  parentPort.on("message", () => {
    for (const socket of server.clients) {
      socket._socket.once("close", () => {
        Atomics.store(flag, 0, 1);
        Atomics.notify(flag, 0);
      });
      socket._socket.destroy();
    }
  });
`;

describe("a call after the event loop was blocked", () => {
  it("is not written to a connection that the server has closed meanwhile", async () => {
    const shared = new SharedArrayBuffer(4);
    const ws = import.meta.resolve("ws").replace("file://", "").replace("wrapper.mjs", "index.js");
    const worker = new Worker(WORKER_SOURCE, { eval: true, workerData: { shared, ws } });
    const messages: { port?: number; calls?: number }[] = [];
    worker.on("message", (message: { port?: number }) => messages.push(message));
    try {
      await eventually(() => messages[0]?.port !== undefined);
      await using client = createTestClient(`ws://127.0.0.1:${messages[0]?.port}/`);
      await client.callTool(echo());
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage("cut");
      // Blocks this thread until the server has destroyed the connection.
      Atomics.wait(new Int32Array(shared), 0, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      expect((await client.callTool(echo())).text()).toBe("ok");
      await eventually(() => messages.at(-1)?.calls === 2);
    } finally {
      await worker.terminate();
    }
  });
});
