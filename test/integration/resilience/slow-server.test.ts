import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

describe.each(ERAS)("a timeout (%s)", (era) => {
  it.each(["json", "sse"] as const)(
    "applies to a server that trickles bytes (%s)",
    async (responseFormat) => {
      await using server = await startEraServer(era, { responseFormat });
      const clock = new FakeClock();
      await using client = createTestClient(server, { timeouts: { requestMs: 150 } }, { clock });
      await client.ensureSession();
      server.addFault({ type: "trickle", everyMs: 5 }, { method: "tools/call" });
      const call = rejection(client.callTool(echo()));
      await server.waitFor("tools/call");
      clock.advance(149);
      await client.ping();
      clock.advance(1);
      expect(await call).toMatchObject({
        kind: "timeout",
        outcomeUnknown: true,
        attempts: 1,
      });
    },
  );

  it("applies to a server that never responds, and sends it a cancellation", async () => {
    await using server = await startEraServer(era);
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { requestMs: 100 } }, { clock });
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const call = rejection(client.callTool(echo()));
    await server.waitFor("tools/call");
    clock.advance(100);
    const failure = await call;
    expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true, tool: "echo" });
    expect(failure.message).toContain("timeouts.requestMs");
    // Without sessions, closing the response is the cancellation.
    if (era === "legacy") await server.waitFor("notifications/cancelled");
  });

  it("of totalMs applies to a server that reports progress forever", async () => {
    await using server = await startEraServer(era, {
      tools: [
        {
          name: "busy",
          run: async (_, { signal, progress }) => {
            for (let n = 1; !signal.aborted; n += 1) {
              await progress(n);
              await new Promise((resolve) => setTimeout(resolve, 1));
            }
          },
        },
      ],
    });
    const clock = new FakeClock();
    const timeouts = { requestMs: 200, totalMs: 600 };
    await using client = createTestClient(server, { timeouts }, { clock });
    let reports = 0;
    const onProgress = () => {
      reports += 1;
      clock.advance(100);
    };
    const failure = await rejection(client.callTool({ name: "busy" }, { onProgress }));
    expect(failure.kind).toBe("timeout");
    expect(failure.message).toContain("timeouts.totalMs");
    expect(reports).toBe(6);
  });

  it("of requestMs includes the handshake", async () => {
    await using server = await startEraServer(era);
    const clock = new FakeClock();
    const client = createTestClient(server, { timeouts: { requestMs: 100 } }, { clock });
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    const call = rejection(client.callTool(echo()));
    await server.waitFor("initialize");
    clock.advance(100);
    expect(await call).toMatchObject({ kind: "timeout", outcomeUnknown: false, attempts: 0 });
    await clock.advanceUntilSettled(client.close(), 1_000);
  });

  it("of totalMs covers all pages of a list", async () => {
    await using server = await startEraServer(era, { pagination: { type: "endless" } });
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { totalMs: 400 } }, { clock });
    await client.ensureSession();
    server.addFault({ type: "delay", ms: 10 }, { method: "tools/list" });
    const listing = rejection(client.listTools());
    for (let pages = 1; pages <= 8; pages += 1) {
      await eventually(() => server.received("tools/list").length >= pages);
      clock.advance(50);
    }
    expect(await listing).toMatchObject({ kind: "timeout" });
    expect(server.received("tools/list").length).toBeLessThan(20);
  });
});

describe("a timeout", () => {
  it("is restarted by progress, also without an onProgress listener", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer({
      tools: [
        {
          name: "long",
          run: async (_, { progress }) => {
            for (let n = 1; n <= 8; n += 1) {
              clock.advance(200);
              await progress(n, 8);
              await eventually(() => clock.hasTimerIn(250));
            }
            return "done";
          },
        },
      ],
    });
    await using client = createTestClient(server, { timeouts: { requestMs: 250 } }, { clock });
    expect((await client.callTool({ name: "long" })).text()).toBe("done");
  });

  it("can be set for one call", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), { timeoutMs: 50 }))).toMatchObject({ kind: "timeout" });
  });

  it("of 0 is disabled", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const timeouts = { connectMs: 0, requestMs: 0, totalMs: 0 };
    await using client = createTestClient(server, { timeouts }, { clock });
    server.addFault({ type: "delay", ms: 20 }, { method: "initialize" });
    server.addFault({ type: "delay", ms: 20 }, { method: "tools/call" });
    const call = client.callTool(echo("no hurry"));
    for (const method of ["initialize", "tools/call"]) {
      await server.waitFor(method);
      clock.advance(1_000_000);
    }
    expect((await call).text()).toBe("no hurry");
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])(
    "of %s is rejected before anything is sent",
    async (timeoutMs) => {
      await using server = await startMcpTestServer();
      await using client = createTestClient(server);
      expect(await rejection(client.callTool(echo(), { timeoutMs }))).toMatchObject({
        kind: "invalid-config",
      });
      expect(server.requests).toHaveLength(0);
    },
  );
});
