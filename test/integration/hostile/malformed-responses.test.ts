import { describe, expect, it } from "vitest";
import { type Fault, startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const rpcError = (code: number) =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message: "no" } });
/** The fault, the expected kind, how often the tool ran on the server, and the expected `outcomeUnknown`. */
const rows: readonly (readonly [string, Fault, string, { runs: number; unknown: boolean }])[] = [
  [
    "disconnect before the response",
    { type: "disconnect", when: "before" },
    "connection-lost",
    { runs: 0, unknown: true },
  ],
  [
    "disconnect during the response",
    { type: "disconnect", when: "during" },
    "connection-lost",
    { runs: 1, unknown: true },
  ],
  [
    "a stream or body without the response",
    { type: "no-response" },
    "lost-or-invalid",
    { runs: 1, unknown: true },
  ],
  ["a response with another id", { type: "wrong-id" }, "invalid-response", { runs: 1, unknown: true }],
  ["truncated JSON", { type: "invalid-json" }, "invalid-response", { runs: 1, unknown: true }],
  ["JSON that is not JSON-RPC", { type: "not-json-rpc" }, "invalid-response", { runs: 1, unknown: true }],
  [
    "a result that is not an object",
    { type: "result", result: "text" },
    "invalid-response",
    { runs: 1, unknown: true },
  ],
  ["an HTML page", { type: "html" }, "invalid-response", { runs: 0, unknown: true }],
  [
    "another content type",
    { type: "content-type", value: "text/plain" },
    "invalid-response",
    { runs: 1, unknown: true },
  ],
  [
    "202 instead of a response",
    { type: "status", status: 202 },
    "invalid-response",
    { runs: 0, unknown: true },
  ],
  ["401", { type: "status", status: 401 }, "unauthorized", { runs: 0, unknown: false }],
  ["403", { type: "status", status: 403 }, "unauthorized", { runs: 0, unknown: false }],
  ["409", { type: "status", status: 409 }, "invalid-request", { runs: 0, unknown: false }],
  ["429", { type: "status", status: 429 }, "rate-limited", { runs: 0, unknown: false }],
  ["500", { type: "status", status: 500 }, "server-error", { runs: 0, unknown: true }],
  ["502", { type: "status", status: 502 }, "unavailable", { runs: 0, unknown: true }],
  ["503", { type: "status", status: 503 }, "unavailable", { runs: 0, unknown: true }],
  [
    "503 with Retry-After",
    { type: "status", status: 503, headers: { "retry-after": "7" } },
    "rate-limited",
    { runs: 0, unknown: false },
  ],
  ["504", { type: "status", status: 504 }, "unavailable", { runs: 0, unknown: true }],
  [
    "400 with -32602",
    { type: "status", status: 400, body: rpcError(-32602) },
    "invalid-request",
    { runs: 0, unknown: false },
  ],
];

const VARIANTS = ERAS.flatMap((era) => [
  { era, responseFormat: "json" as const },
  { era, responseFormat: "sse" as const },
]);

describe.each(VARIANTS)("a $era server that responds with $responseFormat", ({ era, responseFormat }) => {
  it.each(rows)(
    "%s fails at once without a retry, and the next call works",
    async (_, fault, expected, { runs, unknown }) => {
      await using server = await startEraServer(era, { responseFormat });
      await using client = createTestClient(server);
      await client.ensureSession();
      server.addFault(fault, { method: "tools/call", times: 1 });
      const kind =
        expected === "lost-or-invalid"
          ? responseFormat === "sse"
            ? "connection-lost"
            : "invalid-response"
          : expected;

      const failure = await rejection(client.callTool(echo()));

      expect(failure).toMatchObject({
        kind,
        outcomeUnknown: unknown,
        attempts: 1,
        server: "test",
        tool: "echo",
      });
      expect(server.executions).toHaveLength(runs);
      expect(server.received("tools/call")).toHaveLength(1);
      expect((await client.callTool(echo("next"))).text()).toBe("next");
      expect(server.received("initialize")).toHaveLength(1);
    },
  );
});

describe.each(["json", "sse"] as const)("a server that responds with %s", (responseFormat) => {
  it("a response over the limit is too-large, and the rest is not read", async () => {
    await using server = await startMcpTestServer({ responseFormat });
    await using client = createTestClient(server, { limits: { responseBytes: 100_000 } });
    await client.ensureSession();
    server.addFault({ type: "oversized", bytes: 5_000_000 }, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "too-large", attempts: 1 });
    server.addFault({ type: "oversized", bytes: 90_000 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo())).text()).toHaveLength(90_000);
  });

  it("a response of 20 MB is received in full", async () => {
    await using server = await startMcpTestServer({ responseFormat });
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "oversized", bytes: 20_000_000 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo())).text()).toHaveLength(20_000_000);
  });

  it("a connection that closes after the response does not affect later calls", async () => {
    await using server = await startMcpTestServer({ responseFormat });
    await using client = createTestClient(server);
    server.addFault({ type: "disconnect", when: "after" }, { method: "tools/call" });
    for (let n = 0; n < 5; n += 1) {
      expect((await client.callTool(echo(`n${n}`))).text()).toBe(`n${n}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

describe.each(ERAS)("a failure has (%s)", (era) => {
  it("retryAt from Retry-After in seconds and as a date", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    await client.ensureSession();
    const before = Date.now();
    server.addFault(
      { type: "status", status: 429, headers: { "retry-after": "120" } },
      { method: "tools/call", times: 1 },
    );
    const bySeconds = await rejection(client.callTool(echo()));
    expect(bySeconds.retryAt?.getTime()).toBeGreaterThanOrEqual(before + 120_000);
    const date = "Wed, 21 Oct 2099 07:28:00 GMT";
    server.addFault(
      { type: "status", status: 503, headers: { "retry-after": date } },
      { method: "tools/call", times: 1 },
    );
    expect((await rejection(client.callTool(echo()))).retryAt?.toUTCString()).toBe(date);
  });

  it("the server's text in one line without control characters", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    await client.ensureSession();
    const body = "first\n\u001b[31msecond\u202e";
    server.addFault({ type: "status", status: 409, body }, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      status: 409,
      message: expect.stringMatching(/: first second\.$/),
    });
  });

  it.each([
    [-32700, "invalid-request"],
    [-32600, "invalid-request"],
    [-32602, "invalid-request"],
    [-32601, "not-found"],
    [-32603, "server-error"],
    [-32000, "server-error"],
  ])("for JSON-RPC error %i, even without the request's id, kind %s", async (code, kind) => {
    await using server = await startEraServer(era, { responseFormat: "json" });
    await using client = createTestClient(server);
    await client.ensureSession();
    const headers = { "content-type": "application/json" };
    server.addFault(
      { type: "status", status: 200, headers, body: rpcError(code) },
      { method: "tools/call", times: 1 },
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind, code, outcomeUnknown: false });
  });
});

describe.each(ERAS)("an unusual response (%s)", (era) => {
  it.each([
    [
      "an additional key in the response",
      { jsonrpc: "2.0", result: { content: [{ type: "text", text: "ok" }] }, extra: 1 },
    ],
    [
      "_meta that is not an object",
      { jsonrpc: "2.0", result: { _meta: "odd", content: [{ type: "text", text: "ok" }] } },
    ],
  ])("with %s is accepted", async (_, response) => {
    await using server = await startEraServer(era, { responseFormat: "json" });
    await using client = createTestClient(server);
    await client.ensureSession();
    const headers = { "content-type": "application/json; charset=utf-8" };
    // The id of the first call: it follows the requests that opened the session.
    const id = era === "modern" ? 2 : 1;
    const remove = server.addFault(
      { type: "status", status: 200, headers, body: JSON.stringify({ ...response, id }) },
      { method: "tools/call" },
    );
    expect((await client.callTool(echo())).text()).toBe("ok");
    remove();
  });
});

describe("the message of a failure", () => {
  it("has the reason that a server gives for rejecting credentials", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const challenge = 'Bearer error="invalid_token", error_description="The access token expired"';
    server.addFault({ type: "status", status: 401, headers: { "www-authenticate": challenge } });
    const { message } = await rejection(client.callTool(echo()));
    expect(message).toMatch(
      /The server gives the reason "The access token expired"\. Check the credentials\.$/,
    );
  });

  it("says that a web page is not an MCP endpoint", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    server.addFault({ type: "html" });
    const { message } = await rejection(client.callTool(echo()));
    expect(message).toContain("a web page; the URL should be that of an MCP endpoint");
  });
});
