import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { times } from "../../fixtures/clients.js";

describe("toolsets of two tenants", () => {
  it("share no session, no stored list and no credentials, also on one server and one store", async () => {
    await using server = await startMcpTestServer();
    await using store = memoryStore();
    const open = (tenant: string) => {
      const headers = { authorization: `Bearer ${tenant}` };
      return createMcpTools({ crm: { url: server.url, headers } }, { cache: { store } });
    };
    await using first = await open("first");
    await using second = await open("second");
    // Each has listed the tools with its own credentials, and has its own entry.
    expect(server.received("tools/list").map(({ headers }) => headers.authorization)).toEqual([
      "Bearer first",
      "Bearer second",
    ]);
    expect(await store.list("tools/")).toHaveLength(2);
    await Promise.all(times(10, async (n) => (n % 2 === 0 ? first : second).callTool({ name: "echo" })));
    const pairs = server.received("tools/call").map(({ headers }) => {
      return `${String(headers["mcp-session-id"])} ${headers.authorization}`;
    });
    expect(pairs).toHaveLength(10);
    expect(new Set(pairs).size).toBe(2);
    expect(new Set(pairs.map((pair) => pair.split(" ")[0])).size).toBe(2);
    await first.close();
    expect((await second.callTool({ name: "echo", args: { text: "open" } })).text()).toBe("open");
  });
});
