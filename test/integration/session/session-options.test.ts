import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, rejection, times } from "../../fixtures/clients.js";

describe("a session resumed by a configured id", () => {
  it("needs no handshake and is not terminated on close", async () => {
    await using server = await startMcpTestServer();
    await using owner = createTestClient(server);
    await owner.ensureSession();
    const id = owner.sessionId ?? "";
    const guest = createTestClient(server, { session: { id, protocolVersion: "2025-06-18" } });
    expect((await guest.callTool(echo("resumed"))).text()).toBe("resumed");
    expect(guest.sessionId).toBe(id);
    expect(guest.serverInfo).toBeUndefined();
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("tools/call")[0]?.headers).toMatchObject({
      "mcp-session-id": id,
      "mcp-protocol-version": "2025-06-18",
    });
    await guest.close();
    expect(server.received("DELETE")).toHaveLength(0);
    expect((await owner.callTool(echo("still there"))).text()).toBe("still there");
  });

  it("is never replaced by another session", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { id: "unknown-session" } });
    const outcomes = await client.callTools(times(3, () => echo()));
    expect(outcomes.map((outcome) => !outcome.ok && outcome.error.kind)).toEqual(
      times(3, () => "session-lost"),
    );
    expect(server.received("initialize")).toHaveLength(0);
  });
});

describe("a server without sessions", () => {
  it.each(["json", "sse"] as const)("needs one handshake and no DELETE (%s)", async (responseFormat) => {
    await using server = await startMcpTestServer({ sessionMode: "stateless", responseFormat });
    const client = createTestClient(server);
    await Promise.all(times(20, () => client.callTool(echo())));
    expect(client.state).toBe("ready");
    expect(client.sessionId).toBeUndefined();
    expect(server.received("initialize")).toHaveLength(1);
    await server.restart();
    expect((await client.callTool(echo("after"))).text()).toBe("after");
    expect(server.received("initialize")).toHaveLength(1);
    await client.close();
    expect(server.received("DELETE")).toHaveLength(0);
  });
});

describe("session.sequential", () => {
  it("sends one request at a time, of any method, also when the session is lost", async () => {
    let [running, maxRunning] = [0, 0];
    await using server = await startMcpTestServer({
      tools: [
        {
          name: "echo",
          run: async ({ text }) => {
            running += 1;
            maxRunning = Math.max(maxRunning, running);
            await new Promise((resolve) => setTimeout(resolve, 5));
            running -= 1;
            return text;
          },
        },
      ],
    });
    await using client = createTestClient(server, { session: { sequential: true } });
    await client.callTool(echo());
    server.dropSessions();
    const calls = times(8, (n) => client.callTool(echo(`n${n}`)));
    const results = await Promise.all([...calls, client.listTools().then(() => undefined), client.ping()]);
    expect(results.slice(0, 8).map((result) => result?.text())).toEqual(times(8, (n) => `n${n}`));
    expect(maxRunning).toBe(1);
    // Only the first call fails on the lost session; the waiting ones get the new session.
    expect(server.received("tools/call")).toHaveLength(1 + 8 + 1);
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("lets a waiting call be aborted", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { sequential: true } });
    await client.ensureSession();
    const removeFault = server.addFault({ type: "hang" }, { method: "tools/call", times: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const running = rejection(client.callTool(echo("first"), { signal: first.signal }));
    const waiting = rejection(client.callTool(echo("second"), { signal: second.signal }));
    const third = client.callTool(echo("third"));
    await server.waitFor("tools/call");
    second.abort("second");
    expect(await waiting).toBe("second");
    first.abort("first");
    expect(await running).toBe("first");
    expect((await third).text()).toBe("third");
    removeFault();
  });
});
