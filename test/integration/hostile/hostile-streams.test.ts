import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { createTestClient, deferred, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { INITIALIZE_RESULT, openStream, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const CHANGED = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
const LIST = { tools: [{ name: "echo", inputSchema: { type: "object" } }] };

/** A server that announces changes of its tools on its event stream. */
function startStreamingServer(serve: (response: ServerResponse, count: number) => void) {
  let count = 0;
  return startRawServer(({ httpMethod, method, id, response }) => {
    if (method === "initialize")
      return sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { tools: { listChanged: true } } });
    if (method === "tools/list") return sendJson(response, id, LIST);
    if (httpMethod !== "GET") return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    return serve(response, (count += 1));
  });
}

function getsOf({ requests }: Awaited<ReturnType<typeof startRawServer>>) {
  return requests.filter(({ httpMethod }) => httpMethod === "GET");
}

const UNUSABLE_IDS = [
  ["has characters that a header cannot have", "✓"],
  ["is longer than headers may be", "x".repeat(20_000)],
] as const;

describe("an event id that", () => {
  it.each(UNUSABLE_IDS)("%s is not sent: the stream is opened again without it", async (_, eventId) => {
    await using server = await startStreamingServer((response, count) => {
      response.write(`${count === 1 ? `id: ${eventId}\n` : ""}data: ${JSON.stringify(CHANGED)}\n\n`);
      if (count === 1) response.end();
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    let changes = 0;
    client.on("toolsChanged", () => void (changes += 1));
    await client.ensureSession();
    await eventually(() => changes === 1);
    await eventually(() => {
      clock.advance(1_000);
      return changes === 2;
    });
    expect(getsOf(server).map(({ request }) => request.headers["last-event-id"])).toEqual([
      undefined,
      undefined,
    ]);
  });

  it.each(UNUSABLE_IDS)("%s does not resume a call", async (_, eventId) => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end(`id: ${eventId}\ndata: ${JSON.stringify(CHANGED)}\n\n`);
    });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(getsOf(server)).toEqual([]);
  });
});

describe("the event stream of a server", () => {
  it.each(["", "retry: 0\n\n", "retry: 1\n\n", "retry: 99999999999999999999\n\n"])(
    "that ends at once, with %j, is opened again with growing delays",
    async (text) => {
      await using server = await startStreamingServer((response) => void response.end(text));
      const clock = new FakeClock();
      await using client = createTestClient(server, {}, { clock });
      client.on("toolsChanged", () => undefined);
      for (const _ of times(30, String)) {
        await client.ping();
        clock.advance(1_000);
      }
      expect(getsOf(server).length).toBeLessThanOrEqual(6);
    },
  );

  it("with an event that is too large is closed, and opened again once", async () => {
    const ended = deferred();
    await using server = await startStreamingServer((response, count) => {
      if (count > 1) return;
      response.once("close", ended.resolve);
      response.write(`data: ${"x".repeat(100_000)}`);
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, { limits: { responseBytes: 10_000 } }, { clock });
    client.on("toolsChanged", () => undefined);
    await client.ensureSession();
    await ended.promise;
    await client.ping();
    clock.advance(1_000);
    await eventually(() => getsOf(server).length === 2);
    clock.advance(60_000);
    await client.ping();
    expect(getsOf(server)).toHaveLength(2);
  });

  it("with 20,000 changes causes a few listings", async () => {
    await using server = await startStreamingServer((response) => {
      response.write(`data: ${JSON.stringify(CHANGED)}\n\n`.repeat(20_000));
    });
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const lists = () => server.requests.filter(({ method }) => method === "tools/list").length;
    await eventually(() => lists() >= 2);
    expect((await mcp.callTool({ name: "echo" })).text()).toBe("ok");
    expect(lists()).toBeLessThan(10);
  });
});

describe("messages that cannot be read", () => {
  it("are reported up to 100 times a session", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      const write = openStream(response);
      response.write("data: garbage\n\n".repeat(2_000));
      write({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } });
      return void response.end();
    });
    const logger = new RecordingLogger();
    await using client = createTestClient(server, {}, { logger });
    for (const _ of [1, 2]) expect((await client.callTool(echo())).text()).toBe("ok");
    expect(logger.messages.filter((message) => message.includes("not valid JSON"))).toHaveLength(100);
  });
});

describe("a response that arrives byte by byte", () => {
  /** Without copying, 30 MB are held for 500 bytes. */
  const MAX_HELD_BYTES = 4_000_000;
  const toChunks = (text: string, extension = "") =>
    Array.from(text, (char) => `1${extension}\r\n${char}\r\n`);

  it.each([
    ["application/json", "", ""],
    ["text/event-stream", "data: ", "\r\r"],
  ])("takes no more memory than its bytes (%s)", async (type, start, end) => {
    let heldBytes: number | undefined;
    await using server = await startRawServer(({ method, id, request: { socket }, response }) => {
      if (method !== "tools/call") return false;
      const result = { content: [{ type: "text", text: "x".repeat(500) }] };
      const text = start + JSON.stringify({ jsonrpc: "2.0", id, result });
      response.writeHead(200, { "content-type": type }).flushHeaders();
      const send = async () => {
        collectGarbage();
        const before = process.memoryUsage().arrayBuffers;
        // Most of 30 MB has been read when all is written: there is less space in the buffers of the sockets.
        for (const chunk of toChunks(text.slice(0, -1), `;${"e".repeat(60_000)}`))
          if (!socket.write(chunk)) await once(socket, "drain");
        // What the sockets have just read is not garbage yet.
        for (let turn = 0; turn < 50 && (heldBytes ?? MAX_HELD_BYTES) >= MAX_HELD_BYTES; turn += 1) {
          await new Promise(setImmediate);
          collectGarbage();
          heldBytes = process.memoryUsage().arrayBuffers - before;
        }
        socket.write(toChunks(text.slice(-1) + end).join(""));
        // An event ends with its line, although the stream stays open.
        if (end === "") socket.write("0\r\n\r\n");
      };
      return void send();
    });
    await using client = createTestClient(server);
    expect((await client.callTool(echo())).text()).toHaveLength(500);
    expect(heldBytes).toBeLessThan(MAX_HELD_BYTES);
  });
});

describe("a connection on which", () => {
  it.each(["timeout=0", "timeout=-1", "timeout=99999999999999999999", "timeout=1e3", "max=0", "x"])(
    "responses have the header Keep-Alive: %s is replaced without leaving sockets open",
    async (keepAlive) => {
      await using server = await startRawServer(({ response }) => {
        response.setHeader("keep-alive", keepAlive);
        return false;
      });
      await using client = createTestClient(server);
      for (const _ of times(5, String)) expect((await client.callTool(echo())).text()).toBe("ok");
      await eventually(() => server.sockets.size <= 2);
    },
  );

  it("a response is followed by another one is not used again, and no call gets that response", async () => {
    await using server = await startRawServer(({ method, id, request }) => {
      if (method !== "tools/call") return false;
      const toResponse = (text: string, responseId: unknown) => {
        const body = JSON.stringify({
          jsonrpc: "2.0",
          id: responseId,
          result: { content: [{ type: "text", text }] },
        });
        return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      };
      return void request.socket.write(toResponse("ok", id) + toResponse("forged", Number(id) + 1));
    });
    await using client = createTestClient(server);
    for (const _ of times(5, String)) expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("requests of a server on the stream of a call", () => {
  const TOTAL = 4_000;
  const MAX_HELD_BYTES = 1_500_000;

  it.each(["ping", "roots/list", "unknown"])(
    "leave nothing behind once they are answered (%s, with long ids)",
    async (requestMethod) => {
      let heldBytes: number | undefined;
      let before = 0;
      let sent = 0;
      let answered = 0;
      let respond: (() => void) | undefined;
      let write: ((message: object) => void) | undefined;
      const writeNext = () => {
        sent += 1;
        const id = String(sent).padEnd(1_000, "i");
        write?.({ jsonrpc: "2.0", id, method: requestMethod });
      };
      const measure = () => {
        collectGarbage();
        return process.memoryUsage().heapUsed;
      };
      await using server = await startRawServer(({ method, id, response }, { requests }) => {
        if (method === "tools/call") {
          write = openStream(response);
          respond = () => {
            write?.({ jsonrpc: "2.0", id, result: { content: [] } });
            response.end();
          };
          return times(20, writeNext).at(0);
        }
        if (method !== undefined || id === undefined) return false;
        response.writeHead(202).end();
        requests.length = 0;
        answered += 1;
        if (answered === TOTAL / 8) before = measure();
        if (sent < TOTAL) return writeNext();
        if (answered < TOTAL) return;
        heldBytes = measure() - before;
        return respond?.();
      });
      await using client = createTestClient(server, { roots: [] });
      await client.callTool(echo());
      expect(heldBytes).toBeLessThan(MAX_HELD_BYTES);
    },
  );
});
