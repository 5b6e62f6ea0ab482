import { describe, expect, it } from "vitest";
import type { McpClient } from "../../../src/index.js";
import type { McpTestServerOptions } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { ERAS, type EraServer, startEraServer } from "../../fixtures/era-server.js";

const LIBRARY: McpTestServerOptions = {
  resources: ["b:1", "a:1", "c:1"].map((uri) => ({
    uri,
    mimeType: "text/plain",
    read: () => `text of ${uri}`,
  })),
  resourceTemplates: [{ uriTemplate: "a:{n}", name: "all of a" }],
  prompts: [
    {
      name: "greet",
      arguments: [{ name: "whom", required: true }],
      get: ({ whom }) => `Say hello to ${String(whom)}.`,
      complete: ({ value }) => ["Ann", "Bob"].filter((name) => name.startsWith(value)),
    },
  ],
  pagination: { type: "pages", size: 2 },
};

function recordUpdates(client: McpClient): string[] {
  const updates: string[] = [];
  client.on("resourceUpdated", ({ uri }) => updates.push(uri));
  return updates;
}

/** Sends an update until it is received. */
async function notifyUntilReceived(server: EraServer, uri: string, updates: string[]): Promise<void> {
  const before = updates.length;
  await eventually(async () => {
    await server.notifyResourceUpdated(uri);
    return updates.includes(uri, before);
  });
}

describe.each(ERAS)("the resources and prompts of a %s server", (era) => {
  it("are listed, read, completed and returned with arguments", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = createTestClient(server);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["a:1", "b:1", "c:1"]);
    expect(await client.listResourceTemplates()).toEqual([{ uriTemplate: "a:{n}", name: "all of a" }]);
    expect(await client.readResource("b:1")).toEqual([
      { uri: "b:1", mimeType: "text/plain", text: "text of b:1" },
    ]);
    expect(await rejection(client.readResource("z:1"))).toMatchObject({ kind: "not-found", attempts: 1 });
    expect(await client.listPrompts()).toEqual([
      { name: "greet", arguments: [{ name: "whom", required: true }] },
    ]);
    const { messages } = await client.getPrompt({ name: "greet", args: { whom: "Ann" } });
    expect(messages).toEqual([{ role: "user", content: [{ type: "text", text: "Say hello to Ann." }] }]);
    const completion = await client.complete({ prompt: "greet", argument: "whom", value: "A" });
    expect(completion).toEqual({ values: ["Ann"], total: 1, hasMore: false });
  });

  it("emit changes and updates until unsubscribed", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = createTestClient(server);
    const updates = recordUpdates(client);
    const changed: string[] = [];
    client.on("resourcesChanged", () => changed.push("resources"));
    client.on("promptsChanged", () => changed.push("prompts"));
    await client.subscribeResource("a:1");
    await client.subscribeResource("b:1");
    await notifyUntilReceived(server, "a:1", updates);
    await notifyUntilReceived(server, "b:1", updates);
    await client.unsubscribeResource("a:1");
    // Earlier notifications arrive before this one.
    await notifyUntilReceived(server, "b:1", updates);
    updates.length = 0;
    await server.notifyResourceUpdated("a:1");
    await notifyUntilReceived(server, "b:1", updates);
    expect(updates).not.toContain("a:1");
    await eventually(async () => {
      await server.notifyResourcesChanged();
      await server.notifyPromptsChanged();
      return new Set(changed).size === 2;
    });
  });

  it("emit possibly missed updates after a restart without a call", async () => {
    const clock = new FakeClock();
    await using server = await startEraServer(era, LIBRARY);
    await using client = createTestClient(
      server,
      { timeouts: { connectMs: 0, requestMs: 0, totalMs: 0 } },
      { clock },
    );
    const updates = recordUpdates(client);
    await client.subscribeResource("a:1");
    await server.restart();
    await eventually(() => {
      clock.advance(500);
      return updates.length > 0;
    });
    await notifyUntilReceived(server, "a:1", updates);
  });

  it("emit updates after a restart of the server", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = createTestClient(server);
    const updates = recordUpdates(client);
    await client.subscribeResource("a:1");
    await notifyUntilReceived(server, "a:1", updates);
    await server.restart();
    await client.callTool(echo());
    await notifyUntilReceived(server, "a:1", updates);
  });
});

describe.each([
  ["legacy", "resources/subscribe"],
  ["modern", "subscriptions/listen"],
] as const)("a subscription without a response from a %s server", (era, method) => {
  it("times out with an unknown outcome", async () => {
    await using server = await startEraServer(era, LIBRARY);
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method });
    const subscribing = rejection(client.subscribeResource("a:1", { timeoutMs: 200 }));
    await server.waitFor(method);
    clock.advance(200);
    expect(await subscribing).toMatchObject({ kind: "timeout", outcomeUnknown: true, attempts: 1 });
    expect(server.received(method)).toHaveLength(1);
  });
});

describe("a subscription", () => {
  it("survives the replacement of the server by one of another era", async () => {
    await using server = await startEraServer("legacy", LIBRARY);
    await using client = createTestClient(server);
    const updates = recordUpdates(client);
    await client.subscribeResource("a:1");
    for (const era of ["modern", "legacy"] as const) {
      server.era = era;
      server.dropSessions();
      await server.restart();
      await client.callTool(echo());
      await notifyUntilReceived(server, "a:1", updates);
    }
  });
});
