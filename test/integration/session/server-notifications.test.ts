import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, times } from "../../fixtures/clients.js";

describe("the server stream", () => {
  it("is not opened without a listener", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    client.on("requestEnded", () => undefined);
    await client.callTool(echo());
    expect(server.received("GET")).toHaveLength(0);
  });

  it("delivers notifications to listeners added before and after the session opened", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const received: string[] = [];
    client.on("toolsChanged", ({ server: name }) => received.push(`early ${name}`));
    await client.ensureSession();
    client.on("notification", ({ method }) => received.push(`late ${method}`));
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyToolsChanged();
      return received.length >= 2;
    });
    expect(new Set(received)).toEqual(new Set(["early test", "late notifications/tools/list_changed"]));
    expect(server.received("GET")).toHaveLength(1);
  });

  it("is reopened and the log level is restored after the session was lost", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    let received = 0;
    client.on("toolsChanged", () => (received += 1));
    await client.setLogLevel("warning");
    await server.waitFor("GET");
    await server.restart();
    await client.callTool(echo());
    const levels = server.received("logging/setLevel");
    expect(levels).toHaveLength(2);
    expect(levels[1]?.headers["mcp-session-id"]).toBe(client.sessionId);
    await eventually(() =>
      server.received("GET").some(({ headers }) => headers["mcp-session-id"] === client.sessionId),
    );
    const before = received;
    await eventually(async () => {
      await server.notifyToolsChanged();
      return received > before;
    });
  });

  it("is optional: 405 is not an error", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    client.on("toolsChanged", () => undefined);
    server.addFault({ type: "status", status: 405 }, { method: "GET" });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
    await server.waitFor("GET");
    expect((await client.callTool(echo("still fine"))).text()).toBe("still fine");
    expect(server.received("GET")).toHaveLength(1);
  });

  it("does not use up the sockets for calls", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { limits: { sockets: 1 } });
    client.on("toolsChanged", () => undefined);
    const results = await Promise.all(times(5, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(5, (n) => `n${n}`));
    await server.waitFor("GET");
    expect((await client.callTool(echo("after"))).text()).toBe("after");
  });

  it("a listener that throws does not fail the call", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    client.on("requestEnded", () => {
      throw new Error("bad listener");
    });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
  });
});
