import { AssertionError } from "node:assert";
import type { ServerResponse } from "node:http";
import { Agent, errors } from "undici";
import { describe, expect, it } from "vitest";
import { createTestClient, echo, QUICK_RETRY, rejection } from "../../fixtures/clients.js";
import { INITIALIZE_RESULT, startRawServer } from "../../fixtures/raw-server.js";

/** A server that responds to tool calls with these bytes. */
function startByteServer(bytes: string) {
  return startRawServer(({ method, response }) => {
    if (method !== "tools/call") return false;
    response.socket?.write(bytes);
    return;
  });
}

const JSON_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const CHUNKED = "transfer-encoding: chunked\r\n\r\n";

describe("a response that is not valid HTTP", () => {
  it.each([
    ["headers of 20 KB", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, "headers that are larger"],
    [
      "trailers of 100 KB",
      `${JSON_HEAD}${CHUNKED}0\r\nx: ${"a".repeat(100_000)}\r\n\r\n`,
      "headers that are",
    ],
    ["an invalid chunk size", `${JSON_HEAD}${CHUNKED}ZZ\r\n`, "invalid response: Response does not match"],
    ["an endless chunk", `${JSON_HEAD}${CHUNKED}FFFFFFFFFFFFFFFFF\r\n`, "Chunk size overflow"],
    [
      "a broken event stream",
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${CHUNKED}ZZ\r\n`,
      "chunk",
    ],
    ["a negative length", `${JSON_HEAD}content-length: -5\r\n\r\n`, "Invalid character in Content-Length"],
    ["a status that is not a number", "HTTP/1.1 abc OK\r\n\r\n", "Invalid status code"],
    [
      "another protocol after the headers",
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      "sent status 101 (switching protocols), which was not requested",
    ],
    ["101 without a protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "sent status 101"],
    ["another protocol", "220 smtp.example.com\r\n", "Expected HTTP/"],
    ["a header with a null byte", "HTTP/1.1 200 OK\r\nx: a\u0000b\r\n\r\n", "Invalid header value"],
  ])("is reported as such: %s", async (_, bytes, text) => {
    await using server = await startByteServer(bytes);
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(failure.message).toContain(text);
    expect(failure.message).toContain("It may have run the request.");
    expect(failure.message.length).toBeLessThan(400);
  });

  it("is reported as such where an SSE server should send its endpoint", async () => {
    await using server = await startRawServer(
      ({ response }) => void response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(20_000)}\r\n\r\n`),
    );
    await using client = createTestClient(server, { type: "sse" });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response" });
    expect(failure.message).toContain("response headers that are larger than Node accepts");
  });
});

/** Starts a response without keep-alive, and closes or resets its connection. */
function cut(response: ServerResponse, headers: Record<string, string>, end: "FIN" | "RST"): void {
  response.writeHead(200, { ...headers, connection: "close" });
  response.write("data: {", () => endConnection(response, end));
}

function endConnection({ socket }: ServerResponse, end: "FIN" | "RST"): void {
  if (end === "FIN") socket?.end();
  else socket?.resetAndDestroy();
}

describe("a connection without keep-alive that breaks during a response", () => {
  const JSON_TYPE = { "content-type": "application/json" };
  const SSE_TYPE = { "content-type": "text/event-stream" };

  it.each([
    ["JSON with a length", "FIN", { ...JSON_TYPE, "content-length": "100" }],
    ["JSON with a length", "RST", { ...JSON_TYPE, "content-length": "100" }],
    ["JSON in chunks", "FIN", JSON_TYPE],
    ["JSON in chunks", "RST", JSON_TYPE],
    ["events in chunks", "FIN", SSE_TYPE],
    ["events in chunks", "RST", SSE_TYPE],
  ] as const)("is lost, and an idempotent call is retried: %s, %s", async (_, end, headers) => {
    let calls = 0;
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      calls += 1;
      return calls === 3 ? false : cut(response, headers, end);
    });
    await using client = createTestClient(server, QUICK_RETRY);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      attempts: 1,
    });
    expect((await client.callTool(echo(), { idempotent: true })).text()).toBe("ok");
    expect(calls).toBe(3);
  });

  it.each(["FIN", "RST"] as const)("is lost if it is the event stream of an SSE server: %s", async (end) => {
    let events: ServerResponse | undefined;
    await using server = await startRawServer(({ httpMethod, method, id, response }) => {
      if (httpMethod === "GET") {
        events = response.writeHead(200, { ...SSE_TYPE, connection: "close" });
        events.write("event: endpoint\ndata: /mcp\n\n");
        return;
      }
      response.writeHead(202).end();
      if (method === "initialize")
        events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT })}\n\n`);
      if (method === "tools/call" && events !== undefined) endConnection(events, end);
    });
    await using client = createTestClient(server, { type: "sse" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
  });

  it("does not make a server of 2026-07-28 a legacy one", async () => {
    let requests = 0;
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "server/discover") return false;
      requests += 1;
      return cut(response, JSON_TYPE, "FIN");
    });
    await using client = createTestClient(server, { protocol: "2026-07-28" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    expect(requests).toBe(server.requests.length);
  });
});

it("a request that was not sent when its connection received an invalid response is reported as not sent", async () => {
  const agent = new Agent();
  const dispatch: Agent["dispatch"] = (_, handler) => {
    handler.onResponseError?.({} as never, new errors.HTTPParserError("Expected HTTP/"));
    return true;
  };
  await using client = createTestClient("http://127.0.0.1:9/mcp", {
    dispatcher: Object.assign(agent, { dispatch }),
  });
  expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
});

it("an assertion of a custom fetch is not reported as a response of the server", async () => {
  const fetch = () => Promise.reject(new AssertionError({ message: "expected a token" }));
  await using client = createTestClient("http://127.0.0.1:9/mcp", { fetch });
  const failure = await rejection(client.callTool(echo()));
  expect(failure.kind).not.toBe("invalid-response");
  expect(failure.message).not.toContain("status");
});

describe("a redirect", () => {
  it.each(["file:///etc/passwd", "data:text/plain,x", "javascript:alert(1)"])(
    "to another scheme is not followed, and not suggested as a URL: %s",
    async (location) => {
      await using server = await startByteServer(
        `HTTP/1.1 307 X\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`,
      );
      await using client = createTestClient(server);
      expect((await rejection(client.callTool(echo()))).message).toBe(
        'Server "test" returned HTTP 307. Redirects to another scheme than HTTP are not followed.',
      );
    },
  );
});
