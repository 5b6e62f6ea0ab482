import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

describe.each(ERAS)("a timeout (%s)", (era) => {
  it.each(["json", "sse"] as const)(
    "applies to a server that trickles bytes (%s)",
    async (responseFormat) => {
      await using server = await startEraServer(era, { responseFormat });
      await using client = createTestClient(server, { timeouts: { requestMs: 150 } });
      await client.ensureSession();
      server.addFault({ type: "trickle", everyMs: 20 }, { method: "tools/call" });
      expect(await rejection(client.callTool(echo()))).toMatchObject({
        kind: "timeout",
        outcomeUnknown: true,
        attempts: 1,
      });
    },
  );

  it("applies to a server that never responds, and sends it a cancellation", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server, { timeouts: { requestMs: 100 } });
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const failure = await rejection(client.callTool(echo()));
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
              await new Promise((resolve) => setTimeout(resolve, 20));
            }
          },
        },
      ],
    });
    await using client = createTestClient(server, { timeouts: { requestMs: 200, totalMs: 600 } });
    let reports = 0;
    const failure = await rejection(client.callTool({ name: "busy" }, { onProgress: () => (reports += 1) }));
    expect(failure.kind).toBe("timeout");
    expect(failure.message).toContain("timeouts.totalMs");
    expect(reports).toBeGreaterThan(5);
  });

  it("of requestMs includes the handshake", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server, { timeouts: { requestMs: 100 } });
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "timeout",
      outcomeUnknown: false,
      attempts: 0,
    });
  });

  it("of totalMs covers all pages of a list", async () => {
    await using server = await startEraServer(era, { pagination: { type: "endless" } });
    await using client = createTestClient(server, { timeouts: { totalMs: 400 } });
    await client.ensureSession();
    server.addFault({ type: "delay", ms: 50 }, { method: "tools/list" });
    expect(await rejection(client.listTools())).toMatchObject({ kind: "timeout" });
    expect(server.received("tools/list").length).toBeLessThan(20);
  });
});

describe("a timeout", () => {
  it("is restarted by progress, also without an onProgress listener", async () => {
    await using server = await startMcpTestServer({
      tools: [
        {
          name: "long",
          run: async (_, { progress }) => {
            for (let n = 1; n <= 8; n += 1) {
              await new Promise((resolve) => setTimeout(resolve, 50));
              await progress(n, 8);
            }
            return "done";
          },
        },
      ],
    });
    await using client = createTestClient(server, { timeouts: { requestMs: 250 } });
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
    await using client = createTestClient(server, { timeouts: { connectMs: 0, requestMs: 0, totalMs: 0 } });
    server.addFault({ type: "delay", ms: 100 }, { times: 3 });
    expect((await client.callTool(echo("no hurry"))).text()).toBe("no hurry");
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
