import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, emitUntil, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

/** Runs until its call is aborted. */
const untilAborted: TestTool = {
  name: "untilAborted",
  run: (_, { signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve("aborted"));
    }),
};

describe.each(ERAS)("a %s server", (era) => {
  it("is listed and called a hundred times concurrently", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["srv__echo"]);
    const results = await Promise.all(times(100, async (n) => mcp.tools[0]?.invoke({ text: `n${n}` })));
    expect(results).toEqual(times(100, (n) => `n${n}`));
    expect(mcp.clients.srv.protocolVersion).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
  });

  it("may be restarted between calls", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    await client.callTool(echo());
    await server.restart();
    const results = await Promise.all(times(20, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `n${n}`));
  });

  it("that stops during a call fails it at once, and the call is not repeated", async () => {
    await using server = await startEraServer(era, { tools: [untilAborted] });
    await using client = createTestClient(server, { retry: { maxRetries: 2 } });
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "untilAborted" }));
    await eventually(() => server.executions.length === 1);
    await server.stop();
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    expect(server.executions).toHaveLength(1);
  });

  it("that returns 429 with retry-after is called again", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server, { retry: { maxRetries: 2, baseDelayMs: 1 } });
    const rateLimited = { type: "status", status: 429, headers: { "retry-after": "0" } } as const;
    server.addFault(rateLimited, { method: "tools/call", times: 2 });
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("tools/call")).toHaveLength(3);
  });

  it("sends tool list changes, also after a restart", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    mcp.on("toolsChanged", () => undefined);
    const names = () => mcp.tools.map(({ name }) => name);
    const waitForTool = async (name: string) => {
      server.tools = [{ name, run: () => "new" }];
      await emitUntil(
        () => server.notifyToolsChanged(),
        () => names().includes(`srv__${name}`),
      );
    };
    await waitForTool("first");
    await server.restart();
    await mcp.callTool({ name: "first" }).catch(() => undefined);
    await waitForTool("second");
    expect(names()).toEqual(["srv__second"]);
  });
});
