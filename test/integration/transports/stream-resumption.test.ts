import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, deferred } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { startRawServer } from "../../fixtures/raw-server.js";

describe("an interrupted stream", () => {
  it("is resumed if the server assigns event ids: one execution, one POST, and the response by GET", async () => {
    await using server = await startMcpTestServer({ resumable: true });
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("resumed"))).text()).toBe("resumed");
    expect(server.executions).toHaveLength(1);
    expect(server.received("tools/call")).toHaveLength(1);
    const [resumption] = server.received("GET");
    expect(resumption?.headers["last-event-id"]).toMatch(/^event-\d+$/);
  });

  it("fails within a second when the server does not restart", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      resumable: true,
      tools: [{ name: "slow", run: async () => (await promise, "late") }],
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await server.stop();
    expect(await call).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      attempts: 1,
      // Not ECONNREFUSED, with which the resumption failed.
      message: expect.stringContaining("closed the connection before it responded (UND_ERR_SOCKET)"),
    });
    resolve();
  });

  it("fails when the server has restarted and does not know the stream", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      resumable: true,
      tools: [{ name: "slow", run: async () => (await promise, "late") }],
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await server.restart();
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(server.received("tools/call")).toHaveLength(1);
    resolve();
  });

  it("fails at once without event ids", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
    expect(server.received("GET")).toHaveLength(0);
  });
});

function stream(response: ServerResponse, text: string) {
  return response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
}

/** A server that ends its streams and sends a `retry` time. `gets` has the resumptions with their times. */
async function startPollingServer(clock: Clock) {
  const gets: { readonly lastEventId: unknown; readonly at: number }[] = [];
  const server = await startRawServer(({ httpMethod, method, id, request, response }) => {
    if (httpMethod === "GET") {
      gets.push({ lastEventId: request.headers["last-event-id"], at: clock.now() });
      if (gets.length < 5) return void stream(response, `id: e${gets.length + 1}\ndata:\n\n`);
      const message = { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "polled" }] } };
      return void stream(response, `id: last\ndata: ${JSON.stringify(message)}\n\n`);
    }
    if (method !== "tools/call" || id !== 1) return false;
    return void stream(response, "id: e1\nretry: 120\ndata:\n\n");
  });
  return Object.assign(server, { gets });
}

describe("a stream that the server ends", () => {
  it("is resumed after the retry time until the response arrives", async () => {
    const clock = new FakeClock();
    await using server = await startPollingServer(clock);
    await using client = createTestClient(server, {}, { clock });
    expect((await clock.advanceUntilSettled(client.callTool(echo()), 600)).text()).toBe("polled");
    expect(server.gets).toEqual([
      { lastEventId: "e1", at: 120 },
      { lastEventId: "e2", at: 240 },
      { lastEventId: "e3", at: 360 },
      { lastEventId: "e4", at: 480 },
      { lastEventId: "e5", at: 600 },
    ]);
  });

  it("is not resumed after the call was cancelled", async () => {
    const clock = new FakeClock();
    await using server = await startPollingServer(clock);
    await using client = createTestClient(server, {}, { clock });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await clock.advanceUntilSettled(
      eventually(() => server.gets.length === 2),
      240,
    );
    controller.abort("enough");
    expect(await call).toBe("enough");
    clock.advance(10_000);
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.gets).toHaveLength(2);
  });

  it("after an event above the limit and without the empty line is reopened once", async () => {
    const clock = new FakeClock();
    let gets = 0;
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod !== "GET") return false;
      gets += 1;
      return void stream(response, `data:"${"a".repeat(1_023)}"`);
    });
    await using client = createTestClient(server, { limits: { responseBytes: 1_024 } }, { clock });
    await client.ensureSession();
    client.on("notification", () => undefined);
    for (const [index, delayMs] of [1_000, 2_000, 4_000].entries()) {
      await eventually(() => gets === index + 1 && clock.hasTimerIn(delayMs));
      clock.advance(delayMs);
    }
  });
});
