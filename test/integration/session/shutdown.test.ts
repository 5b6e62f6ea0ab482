import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, gate, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const run = promisify(execFile);

function slowServer() {
  const { opened, open } = gate();
  return {
    open,
    tools: [
      { name: "slow", run: async () => (await opened, "slow") },
      { name: "echo", run: () => "echo" },
    ],
  };
}

describe("close", () => {
  it.each(["json", "sse"] as const)(
    "ends the session on the server and every socket (%s)",
    async (answers) => {
      await using server = await startMcpTestServer({ responseFormat: answers });
      const client = clientOf(server);
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

  it("does nothing the second time, and nothing when nothing was opened", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server);
    await client.close();
    expect(client.state).toBe("idle");
    await client.callTool(echo());
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect(server.received("DELETE")).toHaveLength(1);
  });

  it.each(ERAS)("ends calls in flight with kind closed, wherever they are (%s)", async (era) => {
    const { tools, open } = slowServer();
    await using server = await startEraServer(era, { tools });
    const client = clientOf(server);
    client.on("toolsChanged", () => undefined);
    await client.ensureSession();
    const running = failureOf(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await client.close();
    expect(await running).toMatchObject({ kind: "closed", tool: "slow", attempts: 1 });
    expect(server.received("notifications/cancelled")).toHaveLength(era === "modern" ? 0 : 1);
    await eventually(() => server.openSockets === 0);
    open();
  });

  it("ends a handshake that is running", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server);
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    const waiting = [failureOf(client.callTool(echo())), failureOf(client.ensureSession())];
    await server.waitFor("initialize");
    await client.close();
    expect(await Promise.all(waiting)).toMatchObject([{ kind: "closed" }, { kind: "closed" }]);
    await eventually(() => server.openSockets === 0);
  });

  it("waits for calls in flight up to drainMs", async () => {
    const { tools, open } = slowServer();
    await using server = await startMcpTestServer({ tools });
    const client = clientOf(server, { session: { drainMs: 5_000 } });
    await client.ensureSession();
    const running = client.callTool({ name: "slow" });
    await eventually(() => server.executions.length === 1);
    const closing = client.close();
    open();
    expect((await running).text()).toBe("slow");
    await closing;
    expect(client.state).toBe("closed");
  });

  it("and no longer", async () => {
    const { tools, open } = slowServer();
    await using server = await startMcpTestServer({ tools });
    const client = clientOf(server);
    await client.ensureSession();
    const running = failureOf(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await client.close({ drainMs: 50 });
    expect(await running).toMatchObject({ kind: "closed" });
    open();
  });

  it("is done soon when the server is gone, or does not take the goodbye", async () => {
    await using server = await startMcpTestServer();
    const gone = clientOf(server);
    await gone.callTool(echo());
    await server.stop();
    await gone.close();
    await server.start();
    const hanging = clientOf(server);
    await hanging.callTool(echo());
    server.addFault({ type: "hang" }, { method: "DELETE" });
    await hanging.close();
    await eventually(() => server.openSockets === 0);
  });

  it.each([404, 405])("is content with %i to its goodbye", async (status) => {
    await using server = await startMcpTestServer();
    const client = clientOf(server);
    await client.callTool(echo());
    server.addFault({ type: "status", status }, { method: "DELETE" });
    await client.close();
    expect(client.state).toBe("closed");
  });

  it("leaves the session to the server when asked to", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server, { session: { terminateOnClose: false } });
    await client.callTool(echo());
    await client.close();
    expect(server.received("DELETE")).toHaveLength(0);
    expect(server.openSessions).toHaveLength(1);
  });

  it.each(ERAS)("is not the end: the client can be used again (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    await client.callTool(echo("one"));
    await client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(client.state).toBe("ready");
    expect(server.received(era === "modern" ? "server/discover" : "initialize")).toHaveLength(2);
  });

  it("does not end a call that is made while it runs", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    await client.callTool(echo("one"));
    const closing = client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    await closing;
    expect((await client.callTool(echo("three"))).text()).toBe("three");
    expect(server.received("initialize")).toHaveLength(2);
  });
});

describe("a process", () => {
  it("ends by itself after close, and nothing is written to its output", async () => {
    const script = `
      import { McpClient } from "./src/index.ts";
      import { startMcpTestServer } from "./src/testing/index.ts";
      const server = await startMcpTestServer();
      const client = new McpClient({ name: "script", url: server.url });
      client.on("toolsChanged", () => {});
      await client.callTool({ name: "echo", args: { text: "x" } });
      await client.close();
      await server.close();
    `;
    const tsx = ["--import", "tsx", "--input-type=module", "--eval", script];
    const { stdout, stderr } = await run(process.execPath, tsx, { timeout: 20_000 });
    expect(stdout + stderr).toBe("");
  });
});
