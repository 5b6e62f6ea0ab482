// Behavior that the test suite of mcp-use checks, as far as no other test of this package does.
import { describe, expect, it } from "vitest";
import { createTestClient } from "../../fixtures/clients.js";
import { sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { startToolset } from "../../fixtures/toolsets.js";

describe("a list of tools", () => {
  it.each(["next", ""])("is read to its end although every page has the cursor %j", async (nextCursor) => {
    let page = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      page += 1;
      const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" } }];
      return sendJson(response, id, { tools, ...(page < 3 ? { nextCursor } : {}) });
    });
    await using client = createTestClient(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["tool-1", "tool-2", "tool-3"]);
  });
});

describe("a result without content", () => {
  it.each<[string, object]>([
    ["no blocks", { content: [] }],
    ["a blank text", { content: [{ type: "text", text: " \n" }] }],
  ])("is not a blank message for the model: %s", async (_, result) => {
    await using toolset = await startToolset({ tools: [{ name: "get", run: () => result }] });
    expect((await toolset.call({})).content).toBe("[no content to show]");
  });
});
