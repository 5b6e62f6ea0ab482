import { describe, expect, it } from "vitest";
import { createMcpTools, McpClient } from "../../src/index.js";
import type { TestTool } from "../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, gate, ONCE, times } from "../support/clients.js";
import { ERAS, startEraServer } from "../support/era-server.js";

/** Runs until its caller goes away. */
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

describe.each(ERAS)("a %s server", (era) => {
  it("is listed and called, a hundred times at once", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["srv__echo"]);
    const results = await Promise.all(times(100, async (n) => mcp.tools[0]?.invoke({ text: `n${n}` })));
    expect(results).toEqual(times(100, (n) => `n${n}`));
    expect(mcp.clients.srv.protocolVersion).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
  });

  it("is told when a caller cancels, and goes on with the others", async () => {
    const stopped = gate();
    const { opened, open } = gate();
    const sibling: TestTool = { name: "sibling", run: async () => (await opened, "fine") };
    await using server = await startEraServer(era, { tools: [patientTool(stopped.open), sibling] });
    await using client = clientOf(server);
    await client.ensureSession();
    const controller = new AbortController();
    const other = client.callTool({ name: "sibling" });
    const call = failureOf(client.callTool({ name: "patient" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await stopped.opened;
    open();
    expect((await other).text()).toBe("fine");
    // Without sessions, closing the response is all there is to say.
    const said = server.received("notifications/cancelled").length;
    expect(said).toBe(era === "modern" ? 0 : 1);
  });

  it("that is slow is given up in time, and no answer of it is taken for another's", async () => {
    await using server = await startEraServer(era, {
      tools: [patientTool(), { name: "quick", run: () => "q" }],
    });
    await using client = clientOf(server);
    await client.ensureSession();
    const failure = await failureOf(client.callTool({ name: "patient" }, { timeoutMs: 50 }));
    expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true });
    expect((await client.callTool({ name: "quick" })).text()).toBe("q");
  });

  it("may be restarted between calls", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server);
    await client.callTool(echo());
    await server.restart();
    const results = await Promise.all(times(20, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `n${n}`));
  });

  it("that dies during a call fails it at once, and is never called twice for it", async () => {
    await using server = await startEraServer(era, { tools: [patientTool()] });
    await using client = clientOf(server, { retry: { max: 2 } });
    await client.ensureSession();
    const call = failureOf(client.callTool({ name: "patient" }));
    await eventually(() => server.executions.length === 1);
    await server.stop();
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    expect(server.executions).toHaveLength(1);
  });

  it("that declines and says when to come back is called again", async () => {
    await using server = await startEraServer(era);
    await using client = clientOf(server, { retry: { max: 2, baseMs: 1 } });
    const declined = { type: "status", status: 429, headers: { "retry-after": "0" } } as const;
    server.addFault(declined, { on: "tools/call", times: 2 });
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("tools/call")).toHaveLength(3);
  });

  it("has its calls ended when the client is closed, and nothing left open", async () => {
    const stopped = gate();
    await using server = await startEraServer(era, { tools: [patientTool(stopped.open)] });
    const client = clientOf(server);
    client.on("toolsChanged", () => undefined);
    const call = failureOf(client.callTool({ name: "patient" }));
    await eventually(() => server.executions.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSockets === 0);
  });

  it("never mixes up two tenants", async () => {
    const whoami: TestTool = { name: "whoami", run: (_, { headers }) => String(headers["authorization"]) };
    await using server = await startEraServer(era, { tools: [whoami] });
    await using client = new McpClient({
      name: "shared",
      ...ONCE,
      url: server.url,
      identity: ({ configurable }) => String(configurable["user"]),
      headers: ({ configurable }) => ({ authorization: `Bearer ${String(configurable["user"])}` }),
    });
    const users = times(20, (n) => (n % 2 === 0 ? "ann" : "bob"));
    const results = await Promise.all(
      users.map((user) => client.callTool({ name: "whoami" }, { context: { configurable: { user } } })),
    );
    expect(results.map((result) => result.text())).toEqual(users.map((user) => `Bearer ${user}`));
    expect(client.sessions().map(({ identity }) => identity)).toEqual(expect.arrayContaining(["ann", "bob"]));
  });

  it("tells of its progress, which gives it more time", async () => {
    const { opened, open } = gate();
    const copy: TestTool = {
      name: "copy",
      run: async (_, { progress }) => {
        for (const done of [1, 2, 3]) await progress(done, 3);
        await opened;
        return "copied";
      },
    };
    await using server = await startEraServer(era, { tools: [copy] });
    await using client = clientOf(server);
    const heard: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => {
      heard.push(progress);
      if (progress === 3) open();
    };
    expect((await client.callTool({ name: "copy" }, { onProgress })).text()).toBe("copied");
    expect(heard).toEqual([1, 2, 3]);
  });

  it("says that its tools have changed, also after it was restarted", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    mcp.on("toolsChanged", () => undefined);
    const names = () => mcp.tools.map(({ name }) => name);
    const listed = async (name: string) => {
      server.tools = [{ name, run: () => "new" }];
      await eventually(async () => {
        await server.notifyToolsChanged();
        return names().includes(`srv__${name}`);
      });
    };
    await listed("first");
    await server.restart();
    await mcp.callTool({ name: "first" }).catch(() => undefined);
    await listed("second");
    expect(names()).toEqual(["srv__second"]);
  });
});
