import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const run = promisify(execFile);

function createSlowTools() {
  const { promise, resolve } = deferred();
  return {
    open: resolve,
    tools: [
      { name: "slow", run: async () => (await promise, "slow") },
      { name: "echo", run: () => "echo" },
    ],
  };
}

describe("close", () => {
  it.each(["json", "sse"] as const)(
    "terminates the session and closes every socket (%s)",
    async (responseFormat) => {
      await using server = await startMcpTestServer({ responseFormat });
      const client = createTestClient(server);
      await Promise.all(times(10, () => client.callTool(echo())));
      expect(server.openSessions).toHaveLength(1);
      await client.close();
      expect(server.openSessions).toEqual([]);
      expect(server.received("DELETE")).toHaveLength(1);
      await eventually(() => server.openSockets === 0);
      expect(client.state).toBe("closed");
      expect(client.isConnected).toBe(false);
      expect(client.sessions()).toEqual([]);
    },
  );

  it("has no effect the second time or before the first call", async () => {
    await using server = await startMcpTestServer();
    const client = createTestClient(server);
    await client.close();
    expect(client.state).toBe("idle");
    await client.callTool(echo());
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect(server.received("DELETE")).toHaveLength(1);
  });

  it.each(ERAS)("rejects calls in flight with kind closed (%s)", async (era) => {
    const { tools, open } = createSlowTools();
    await using server = await startEraServer(era, { tools });
    const client = createTestClient(server);
    client.on("toolsChanged", () => undefined);
    await client.ensureSession();
    const running = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await client.close();
    expect(await running).toMatchObject({ kind: "closed", tool: "slow", attempts: 1 });
    expect(server.received("notifications/cancelled")).toHaveLength(era === "modern" ? 0 : 1);
    await eventually(() => server.openSockets === 0);
    open();
  });

  it("cancels a running handshake", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const client = createTestClient(server, {}, { clock });
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    const waiting = [rejection(client.callTool(echo())), rejection(client.ensureSession())];
    await server.waitFor("initialize");
    await clock.advanceUntilSettled(client.close(), 1_000);
    expect(await Promise.all(waiting)).toMatchObject([{ kind: "closed" }, { kind: "closed" }]);
    await eventually(() => server.openSockets === 0);
  });

  it("waits for calls in flight up to drainMs", async () => {
    const { tools, open } = createSlowTools();
    await using server = await startMcpTestServer({ tools });
    const client = createTestClient(server, { session: { drainMs: 5_000 } });
    await client.ensureSession();
    const running = client.callTool({ name: "slow" });
    await eventually(() => server.executions.length === 1);
    const closing = client.close();
    open();
    expect((await running).text()).toBe("slow");
    await closing;
    expect(client.state).toBe("closed");
  });

  it("aborts calls in flight after drainMs", async () => {
    const { tools, open } = createSlowTools();
    await using server = await startMcpTestServer({ tools });
    const client = createTestClient(server);
    await client.ensureSession();
    const running = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await client.close({ drainMs: 50 });
    expect(await running).toMatchObject({ kind: "closed" });
    open();
  });

  it("takes a bounded time when the server is stopped or DELETE hangs", async () => {
    await using server = await startMcpTestServer();
    const stopped = createTestClient(server);
    await stopped.callTool(echo());
    await server.stop();
    await stopped.close();
    await server.start();
    const clock = new FakeClock();
    const hanging = createTestClient(server, {}, { clock });
    await hanging.callTool(echo());
    server.addFault({ type: "hang" }, { method: "DELETE" });
    await clock.advanceUntilSettled(hanging.close(), 2_000);
    await eventually(() => server.openSockets === 0);
  });

  it.each([404, 405])("accepts status %i for DELETE", async (status) => {
    await using server = await startMcpTestServer();
    const client = createTestClient(server);
    await client.callTool(echo());
    server.addFault({ type: "status", status }, { method: "DELETE" });
    await client.close();
    expect(client.state).toBe("closed");
  });

  it("does not terminate the session with terminateOnClose: false", async () => {
    await using server = await startMcpTestServer();
    const client = createTestClient(server, { session: { terminateOnClose: false } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(0);
    expect(server.openSessions).toHaveLength(1);
  });

  it.each(ERAS)("leaves the client usable (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    await client.callTool(echo("one"));
    await client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(client.state).toBe("ready");
    expect(server.received(era === "modern" ? "server/discover" : "initialize")).toHaveLength(2);
  });

  it("does not abort a call made while closing", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.callTool(echo("one"));
    const closing = client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    await closing;
    expect((await client.callTool(echo("three"))).text()).toBe("three");
    expect(server.received("initialize")).toHaveLength(2);
  });
});

describe("a process", () => {
  it("exits after close without any output", async () => {
    const { execArgv, path } = getChildScript("src/index");
    const script = `
      import { McpClient } from ${JSON.stringify(path)};
      import { startMcpTestServer } from ${JSON.stringify(getChildScript("src/testing/index").path)};
      const server = await startMcpTestServer();
      const client = new McpClient({ name: "script", url: server.url });
      client.on("toolsChanged", () => {});
      await client.callTool({ name: "echo", args: { text: "x" } });
      await client.close();
      await server.close();
    `;
    const args = [...execArgv, "--input-type=module", "--eval", script];
    const { stdout, stderr } = await run(process.execPath, args, { timeout: 20_000 });
    expect(stdout + stderr).toBe("");
  });
});
