import { describe, expect, it } from "vitest";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { startRawServer } from "../../fixtures/raw-server.js";

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
    ["two lengths", `${JSON_HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n12345`, "another length"],
    ["a negative length", `${JSON_HEAD}content-length: -5\r\n\r\n`, "Invalid character in Content-Length"],
    ["a status that is not a number", "HTTP/1.1 abc OK\r\n\r\n", "Invalid status code"],
    ["the status 000", "HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n", "invalid status"],
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
