import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { type TestTool } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { ERAS, EraServer, startEraServer } from "../../fixtures/era-server.js";

/** A tool that runs until its call is cancelled. */
function patientTool(onAborted: () => void = () => undefined): TestTool {
  return {
    name: "patient",
    run: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          onAborted();
          resolve("aborted");
        });
      }),
  };
}

describe.each(ERAS)("an aborted call (%s)", (era) => {
  it("rejects at once with its reason while 20 calls share the handshake; the others continue", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    server.addFault({ type: "delay", ms: 200 }, { method: "initialize" });
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const otherCalls = times(19, (n) => client.callTool(echo(`n${n}`)));
    const aborted = rejection(client.callTool(echo("never"), { signal: controller.signal }));
    await server.waitFor("initialize");
    controller.abort(reason);
    expect(await aborted).toBe(reason);
    expect(client.state).toBe("connecting");
    expect((await Promise.all(otherCalls)).map((result) => result.text())).toEqual(times(19, (n) => `n${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("notifications/cancelled")).toHaveLength(0);
    expect(server.executions).toHaveLength(19);
  });

  it.each(["json", "sse"] as const)(
    "cancels the tool on a server that responds with %s, and does not affect other calls",
    async (responseFormat) => {
      const stopped = deferred();
      const { promise: opened, resolve: open } = deferred();
      await using server = await startEraServer(era, {
        responseFormat,
        tools: [patientTool(stopped.resolve), { name: "sibling", run: async () => (await opened, "fine") }],
      });
      await using client = createTestClient(server);
      await client.ensureSession();
      const controller = new AbortController();
      const sibling = client.callTool({ name: "sibling" });
      const call = rejection(client.callTool({ name: "patient" }, { signal: controller.signal }));
      await eventually(() => server.executions.length === 2);
      controller.abort();
      expect(await call).toMatchObject({ name: "AbortError" });
      await stopped.promise;
      open();
      expect((await sibling).text()).toBe("fine");
      const request = server.received("tools/call").find(({ tool }) => tool === "patient");
      const params = { requestId: (request?.body as { id: number } | undefined)?.id };
      // Without sessions, closing the response is the cancellation.
      const expected =
        era === "modern" ? [] : [expect.objectContaining({ params: expect.objectContaining(params) })];
      await eventually(() => server.received("notifications/cancelled").length === expected.length);
      expect(server.received("notifications/cancelled").map(({ body }) => body)).toEqual(expected);
    },
  );

  it("cancels an in-process tool", async () => {
    const stopped = deferred();
    const server = new EraServer(era, { tools: [patientTool(stopped.resolve)] });
    await using client = new McpClient({ name: "linked", server });
    await client.ensureSession();
    const controller = new AbortController();
    const call = rejection(client.callTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await stopped.promise;
  });

  it("sends nothing if it was aborted before it began", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const reason = new Error("too late");
    expect(await rejection(client.callTool(echo(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await rejection(client.listTools({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await rejection(client.ensureSession({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.socketsOpened).toBe(0);
    expect(client.state).toBe("idle");
  });

  it("sends no cancellation if it was aborted after it ended", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const controller = new AbortController();
    await client.callTool(echo(), { signal: controller.signal });
    controller.abort();
    await client.ping();
    expect(server.received("notifications/cancelled")).toHaveLength(0);
  });

  it("by a timeout signal fails with kind timeout", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = createTestClient(server);
    const failure = await rejection(
      client.callTool({ name: "patient" }, { signal: AbortSignal.timeout(50) }),
    );
    expect(failure).toMatchObject({ kind: "timeout", server: "test", name: "McpRuntimeError" });
    expect(failure.cause).toMatchObject({ name: "TimeoutError" });
  });

  it("makes tryCallTool throw", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = createTestClient(server);
    const controller = new AbortController();
    const outcome = rejection(client.tryCallTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("stop");
    expect(await outcome).toBe("stop");
  });

  it("is counted as cancelled", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    const kinds: unknown[] = [];
    client.on("requestEnded", ({ kind }) => kinds.push(kind));
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await server.waitFor("tools/call");
    controller.abort();
    await call;
    expect(kinds).toEqual(["cancelled"]);
  });
});
