import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, times } from "../../fixtures/clients.js";

describe("a server that speaks unasked", () => {
  it("is not listened to when nobody wants to hear it", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    client.on("requestEnded", () => undefined);
    await client.callTool(echo());
    expect(server.received("GET")).toHaveLength(0);
  });

  it("is heard by a listener that was there before the session, and by one that came later", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    const heard: string[] = [];
    client.on("toolsChanged", ({ server: name }) => heard.push(`early ${name}`));
    await client.ensureSession();
    client.on("notification", ({ method }) => heard.push(`late ${method}`));
    await server.waitFor("GET");
    await eventually(async () => {
      await server.notifyToolsChanged();
      return heard.length >= 2;
    });
    expect(new Set(heard)).toEqual(new Set(["early test", "late notifications/tools/list_changed"]));
    expect(server.received("GET")).toHaveLength(1);
  });

  it("is heard again after the session was lost, and gets the log level again", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    let heard = 0;
    client.on("toolsChanged", () => (heard += 1));
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
    const before = heard;
    await eventually(async () => {
      await server.notifyToolsChanged();
      return heard > before;
    });
  });

  it("may not have such a stream: 405 is fine", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    client.on("toolsChanged", () => undefined);
    server.addFault({ type: "status", status: 405 }, { method: "GET" });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
    await server.waitFor("GET");
    expect((await client.callTool(echo("still fine"))).text()).toBe("still fine");
    expect(server.received("GET")).toHaveLength(1);
  });

  it("never starves the calls", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { limits: { sockets: 1 } });
    client.on("toolsChanged", () => undefined);
    const results = await Promise.all(times(5, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(5, (n) => `n${n}`));
    await server.waitFor("GET");
    expect((await client.callTool(echo("after"))).text()).toBe("after");
  });

  it("a listener that throws harms nobody", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    client.on("requestEnded", () => {
      throw new Error("bad listener");
    });
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
  });
});
