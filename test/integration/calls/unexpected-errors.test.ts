import { describe, expect, it } from "vitest";
import { createMcpToolsForServer, McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, rejection } from "../../fixtures/clients.js";

const pay = { name: "pay", run: () => "paid" };

function fail(): never {
  throw new TypeError("text.slice is not a function");
}

/** A client whose calls fail with an error of its own after the server has responded. */
class FailingClient extends McpClient {
  override async callTool(): Promise<never> {
    await super.callTool({ name: "pay" });
    return fail();
  }
}

describe("an error that was not expected", () => {
  it("after a request was sent says that the server may have run it", async () => {
    await using server = await startMcpTestServer({ tools: [pay] });
    await using client = createTestClient(server, { retry: { maxRetries: 2 } }, { random: fail });
    await client.ensureSession();
    server.addFault({ type: "status", status: 503 }, { method: "tools/call", times: 1 });
    const error = await rejection(client.callTool({ name: "pay" }, { idempotent: true }));
    expect(error).toMatchObject({
      kind: "invalid-response",
      server: "test",
      tool: "pay",
      attempts: 1,
      outcomeUnknown: true,
    });
    expect(error.message).toContain("text.slice is not a function");
    expect(server.received("tools/call")).toHaveLength(1);
  });

  it("after a tool call was sent is not reported to the model as a denial", async () => {
    await using server = await startMcpTestServer({ tools: [pay] });
    await using client = new FailingClient({ name: "bank", url: server.url });
    const [tool] = createMcpToolsForServer(
      {
        name: "bank",
        slug: "bank",
        availableTools: [{ name: "pay", description: "Pays.", inputSchema: { type: "object" } }],
      },
      { client },
    );
    const call = { type: "tool_call", id: "1", name: tool?.name, args: {} };
    const message: unknown = await tool?.invoke(call);
    const { content } = message as { readonly content: string };
    expect(server.received("tools/call")).toHaveLength(1);
    expect(content).toContain("The tool may have run: check before you call it again.");
    expect(content).not.toContain("denied");
    expect(await rejection(tool?.run({}) ?? Promise.resolve())).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
    });
  });
});
