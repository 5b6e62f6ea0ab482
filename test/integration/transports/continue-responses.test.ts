import type { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTestClient, echo, eventually, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { type RawRequest, sendText, startRawServer } from "../../fixtures/raw-server.js";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

describe("an unsolicited 100 Continue is ignored", () => {
  it("before every response, and the connection is kept", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeContinue();
      return false;
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const { socketsOpened } = server;
    for (const _ of [1, 2, 3]) expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.requests.filter(({ method }) => method === "tools/call")).toHaveLength(3);
    expect(server.socketsOpened).toBe(socketsOpened);
  });

  it.each<[name: string, chunks: readonly string[]]>([
    ["twice in a row", [CONTINUE + CONTINUE]],
    ["with headers", ["HTTP/1.1 100 Continue\r\nvia: 1.1 proxy\r\nx-a: b\r\n\r\n"]],
    ["without a reason", ["HTTP/1.1 100\r\n\r\n"]],
    ["byte by byte", Array.from(CONTINUE)],
    [
      "after other interim responses",
      [`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${CONTINUE}`, CONTINUE],
    ],
    ["followed by other interim responses", [`${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`]],
  ])("%s", async (_, chunks) => {
    const respond = async ({ id, request, response }: RawRequest) => {
      for (const chunk of chunks) await write(request.socket, chunk);
      sendText(response, id, "done");
    };
    await using server = await startRawServer((raw) => (raw.method === "tools/call" ? respond(raw) : false));
    await using client = createTestClient(server);
    expect((await client.callTool(echo())).text()).toBe("done");
    expect((await client.callTool(echo())).text()).toBe("done");
  });

  it("without end: the call ends with its timeout, and calls to other servers continue", async () => {
    const batch = CONTINUE.repeat(200);
    let sent = 0;
    const flood = async ({ request: { socket } }: RawRequest) => {
      while (!socket.destroyed) {
        await write(socket, batch);
        sent += 1;
      }
    };
    await using server = await startRawServer((raw) => (raw.method === "tools/call" ? flood(raw) : false));
    await using other = await startRawServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { requestMs: 1_000 } }, { clock });
    await using otherClient = createTestClient(other);
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => sent > 100);
    expect((await otherClient.callTool(echo())).text()).toBe("ok");
    clock.advance(1_000);
    expect(await call).toMatchObject({ kind: "timeout", outcomeUnknown: true });
    await eventually(() => server.sockets.size <= 1);
  });

  it("and a body that looks like one is not changed", async () => {
    const text = `${CONTINUE}not a header`;
    const respond = async ({ id, response }: RawRequest) => {
      const body = `: \n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })}\n\n`;
      const length = Buffer.byteLength(CONTINUE) + Buffer.byteLength(body);
      response.writeHead(200, { "content-type": "text/event-stream", "content-length": length });
      response.flushHeaders();
      await setImmediate();
      // A chunk of its own, which begins with the same bytes as a response.
      await write(response, CONTINUE);
      response.end(body);
    };
    await using server = await startRawServer((raw) => (raw.method === "tools/call" ? respond(raw) : false));
    await using client = createTestClient(server);
    expect((await client.callTool(echo())).text()).toBe(text);
  });
});

/** Writes a chunk that the client receives on its own. */
async function write(target: Writable, chunk: string): Promise<void> {
  await new Promise((resolve) => {
    target.write(chunk, resolve);
  });
  await setImmediate();
}
