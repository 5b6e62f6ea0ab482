import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { type TestTool } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, gate, times } from "../../fixtures/clients.js";
import { ERAS, EraServer, startEraServer } from "../../fixtures/era-server.js";

/** A tool that runs until its caller goes away. */
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

describe.each(ERAS)("a caller that cancels (%s)", (era) => {
  it("while 20 share the handshake rejects at once with its own reason; the others go on", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    server.addFault({ type: "delay", ms: 200 }, { method: "initialize" });
    const impatient = new AbortController();
    const reason = new Error("changed my mind");
    const others = times(19, (n) => client.callTool(echo(`n${n}`)));
    const aborted = failureOf(client.callTool(echo("never"), { signal: impatient.signal }));
    await server.waitFor("initialize");
    impatient.abort(reason);
    expect(await aborted).toBe(reason);
    expect(client.state).toBe("connecting");
    expect((await Promise.all(others)).map((result) => result.text())).toEqual(times(19, (n) => `n${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("notifications/cancelled")).toHaveLength(0);
    expect(server.executions).toHaveLength(19);
  });

  it.each(["json", "sse"] as const)(
    "ends the tool on a server that answers as %s, and disturbs no sibling",
    async (answers) => {
      const stopped = gate();
      const { opened, open } = gate();
      await using server = await startEraServer(era, {
        responseFormat: answers,
        tools: [patientTool(stopped.open), { name: "sibling", run: async () => (await opened, "fine") }],
      });
      await using client = clientOf(server);
      await client.ensureSession();
      const controller = new AbortController();
      const sibling = client.callTool({ name: "sibling" });
      const call = failureOf(client.callTool({ name: "patient" }, { signal: controller.signal }));
      await eventually(() => server.executions.length === 2);
      controller.abort();
      expect(await call).toMatchObject({ name: "AbortError" });
      await stopped.opened;
      open();
      expect((await sibling).text()).toBe("fine");
      const asked = server.received("tools/call").find(({ tool }) => tool === "patient");
      const params = { requestId: (asked?.body as { id: number } | undefined)?.id };
      // Without sessions, closing the response is all there is to say.
      const told =
        era === "modern" ? [] : [expect.objectContaining({ params: expect.objectContaining(params) })];
      await eventually(() => server.received("notifications/cancelled").length === told.length);
      expect(server.received("notifications/cancelled").map(({ body }) => body)).toEqual(told);
    },
  );

  it("in memory ends the tool as well", async () => {
    const stopped = gate();
    const server = new EraServer(era, { tools: [patientTool(stopped.open)] });
    await using client = new McpClient({ name: "linked", server });
    await client.ensureSession();
    const controller = new AbortController();
    const call = failureOf(client.callTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await stopped.opened;
  });

  it("before the call sends nothing at all", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    const reason = new Error("too late");
    expect(await failureOf(client.callTool(echo(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await failureOf(client.listTools({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await failureOf(client.ensureSession({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.socketsOpened).toBe(0);
    expect(client.state).toBe("idle");
  });

  it("after the call sends nothing more", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    const controller = new AbortController();
    await client.callTool(echo(), { signal: controller.signal });
    controller.abort();
    await client.ping();
    expect(server.received("notifications/cancelled")).toHaveLength(0);
  });

  it("by a signal that ran out of time gets kind timeout", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = clientOf(server);
    const failure = await failureOf(
      client.callTool({ name: "patient" }, { signal: AbortSignal.timeout(50) }),
    );
    expect(failure).toMatchObject({ kind: "timeout", server: "test", name: "McpRuntimeError" });
    expect(failure.cause).toMatchObject({ name: "TimeoutError" });
  });

  it("is the only one that makes tryCallTool throw", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = clientOf(server);
    const controller = new AbortController();
    const outcome = failureOf(client.tryCallTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("stop");
    expect(await outcome).toBe("stop");
  });

  it("is counted as cancelled", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    const kinds: unknown[] = [];
    client.on("requestEnded", ({ kind }) => kinds.push(kind));
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const controller = new AbortController();
    const call = failureOf(client.callTool(echo(), { signal: controller.signal }));
    await server.waitFor("tools/call");
    controller.abort();
    await call;
    expect(kinds).toEqual(["cancelled"]);
  });
});
