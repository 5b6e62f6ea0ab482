import type { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import type { WebSocket } from "ws";
import { describe, expect, it } from "vitest";
import { McpClient, type McpClientOptions } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { isCall, type RawMessage, sendText, startRawWebSocket } from "../../fixtures/websocket-server.js";

function clientOf(url: string, definition: object = {}, options: McpClientOptions = {}): McpClient {
  return new McpClient({ name: "socket", ...ONCE, url, ...definition }, options);
}

function answerOf(id: number | undefined, text: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
}

/** Whatever a client says, where somebody may look for it. */
function listeningLogger() {
  const heard: string[] = [];
  const note = (message: string) => heard.push(message);
  return { heard, logger: { debug: note, info: note, warn: note, error: note } };
}

describe("what comes over a WebSocket", () => {
  it.each([
    ["a text that is no JSON", "hello", "it is no JSON"],
    ["bytes that are no JSON", Buffer.from([0, 1, 2, 255]), "it is no JSON"],
    ["JSON that is no JSON-RPC", '{"hello":1}', "it is not JSON-RPC 2.0"],
    ["nothing", "", "it is no JSON"],
    ["an answer that nobody waits for", answerOf(999, "late"), "it is a late answer"],
    ["an empty list", "[]", undefined],
  ])("%s is told, and does no harm", async (_, garbage, told) => {
    await using host = await startRawWebSocket((message, socket) => {
      if (isCall(message)) socket.send(garbage);
      return false;
    });
    const { heard, logger } = listeningLogger();
    await using client = clientOf(host.url, {}, { logger });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(heard.join("\n")).toContain(told ?? "");
    expect(host.upgrades).toHaveLength(1);
  });

  it.each([
    ["in bytes", (socket: WebSocket, text: string) => socket.send(Buffer.from(text), { binary: true })],
    [
      "in pieces",
      (socket: WebSocket, text: string) => {
        for (const piece of text) socket.send(piece, { fin: false });
        socket.send("", { fin: true });
      },
    ],
    ["in a list", (socket: WebSocket, text: string) => socket.send(`[${text}]`)],
    ["after a mark of its byte order", (socket: WebSocket, text: string) => socket.send(`\uFEFF${text}`)],
    [
      "with its id as a text",
      (socket: WebSocket, text: string) => socket.send(text.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
  ])("an answer %s is an answer", async (_, send) => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      send(socket, answerOf(message.id, "grüße"));
      return;
    });
    await using client = clientOf(host.url);
    expect((await client.callTool(echo())).text()).toBe("grüße");
  });

  it("an answer without a result fails its call, and no other", async () => {
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      if (waiting.push(message) < 2) return;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: waiting[0]?.id, result: 5 }));
      sendText(socket, waiting[1]?.id, "mine");
      return;
    });
    await using client = clientOf(host.url);
    const [bad, good] = await Promise.allSettled([client.callTool(echo()), client.callTool(echo())]);
    expect(bad).toMatchObject({ reason: { kind: "invalid-response", outcomeUnknown: true } });
    expect(good).toMatchObject({ status: "fulfilled" });
    expect(host.upgrades).toHaveLength(1);
  });

  it("an error about no request is the answer of the only one that waits, and of none of several", async () => {
    const error = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "what?" } });
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      waiting.push(message);
      if (waiting.length !== 2) socket.send(error);
      for (const { id } of waiting.length === 3 ? waiting : []) sendText(socket, id, "ok");
      return;
    });
    await using client = clientOf(host.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", code: -32700 });
    const results = await Promise.all(times(2, () => client.callTool(echo())));
    expect(results.map((result) => result.text())).toEqual(["ok", "ok"]);
  });

  it("an answer that breaks off fails its call at once", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      socket.send(answerOf(message.id, "x".repeat(100)).slice(0, 60));
      return;
    });
    await using client = clientOf(host.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
  });

  it("that breaks the protocol ends the connection, and the next call opens another", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message) || host.upgrades.length > 1) return false;
      // A text frame of one byte that is no UTF-8.
      rawSocketOf(socket).write(Buffer.from([0x81, 0x01, 0xff]));
      return;
    });
    await using client = clientOf(host.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("WS_ERR_INVALID_UTF8"),
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("a message beyond limits.responseBytes", () => {
  const limits = { responseBytes: 50_000 };

  it("is too-large, and the next call opens another connection", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      sendText(socket, message.id, "x".repeat(host.upgrades.length > 1 ? 40_000 : 60_000));
      return;
    });
    await using client = clientOf(host.url, { limits });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
      message: expect.stringContaining("more than 50000 bytes"),
    });
    expect((await client.callTool(echo())).text()).toHaveLength(40_000);
  });

  it("ends all calls on its connection: it was not read, so nobody knows whose answer it was", async () => {
    const waiting: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      if (waiting.push(message) === 3) sendText(socket, message.id, "x".repeat(60_000));
      return;
    });
    await using client = clientOf(host.url, { limits });
    const failures = await Promise.all(times(3, () => failureOf(client.callTool(echo()))));
    expect(failures.map(({ kind }) => kind)).toEqual(times(3, () => "too-large"));
    expect(failures[0]?.message).toContain("for all 3 requests on it");
  });

  it.each([
    ["one frame", [0x81]],
    ["many frames", [0x01, 0x00]],
  ])("of 200 MB in %s is not read to its end", async (_, opcodes) => {
    const size = 200_000_000;
    let written = 0;
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message) || host.upgrades.length > 1) return false;
      const raw = rawSocketOf(socket);
      const piece = Buffer.alloc(64 * 1024, "x");
      const write = () => {
        while (written < size && raw.writable) {
          const [first, ...next] = opcodes;
          const opcode = written === 0 ? first : next[0];
          const isHead = written === 0 || next.length > 0;
          const length = next.length === 0 ? size : piece.length;
          written += piece.length;
          if (!raw.write(isHead ? Buffer.concat([headOf(opcode ?? 0, length), piece]) : piece)) {
            raw.once("drain", write);
            return;
          }
        }
      };
      write();
      return;
    });
    await using client = clientOf(host.url, { limits: { responseBytes: 4_000_000 } });
    await client.ensureSession();
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
    clearInterval(watch);
    await eventually(() => host.openConnections === 0);
    // What the sockets of both sides and the kernel hold comes on top of the limit.
    expect(written).toBeLessThan(40_000_000);
    expect(most).toBeLessThan(40_000_000);
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

/** What is below a WebSocket of the server: for what `ws` would never send. */
function rawSocketOf(socket: WebSocket): Socket {
  return Reflect.get(socket, "_socket") as Socket;
}

function headOf(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(10);
  head[0] = opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** A server in a thread of its own, which goes on while ours stands still. */
const THREAD = `
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
      const answer = method === "initialize" ? result : { content: [{ type: "text", text: "ok" }] };
      if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: answer }));
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

describe("a call after a time in which nothing could be heard", () => {
  it("is not written to a connection that the server has closed meanwhile", async () => {
    const shared = new SharedArrayBuffer(4);
    const ws = import.meta.resolve("ws").replace("file://", "").replace("wrapper.mjs", "index.js");
    const worker = new Worker(THREAD, { eval: true, workerData: { shared, ws } });
    const messages: { port?: number; calls?: number }[] = [];
    worker.on("message", (message: { port?: number }) => messages.push(message));
    try {
      await eventually(() => messages[0]?.port !== undefined);
      await using client = clientOf(`ws://127.0.0.1:${messages[0]?.port}/`);
      await client.callTool(echo());
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage("cut");
      // Nothing is read here until the connection is gone over there.
      Atomics.wait(new Int32Array(shared), 0, 0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      expect((await client.callTool(echo())).text()).toBe("ok");
      await eventually(() => messages.at(-1)?.calls === 2);
    } finally {
      await worker.terminate();
    }
  });
});
