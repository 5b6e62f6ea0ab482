import { describe, expect, it } from "vitest";
import type { McpClient } from "../../../src/index.js";
import type { McpTestServerOptions } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf } from "../../fixtures/clients.js";
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

function hearUpdates(client: McpClient): string[] {
  const heard: string[] = [];
  client.on("resourceUpdated", ({ uri }) => heard.push(uri));
  return heard;
}

/** Tells of an update until it is heard. */
async function untilHeard(server: EraServer, uri: string, heard: string[]): Promise<void> {
  const before = heard.length;
  await eventually(async () => {
    await server.notifyResourceUpdated(uri);
    return heard.includes(uri, before);
  });
}

describe.each(ERAS)("the resources and prompts of a %s server", (era) => {
  it("are listed, read, completed and filled in", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = clientOf(server);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["a:1", "b:1", "c:1"]);
    expect(await client.listResourceTemplates()).toEqual([{ uriTemplate: "a:{n}", name: "all of a" }]);
    expect(await client.readResource("b:1")).toEqual([
      { uri: "b:1", mimeType: "text/plain", text: "text of b:1" },
    ]);
    expect(await failureOf(client.readResource("z:1"))).toMatchObject({ kind: "not-found", attempts: 1 });
    expect(await client.listPrompts()).toEqual([
      { name: "greet", arguments: [{ name: "whom", required: true }] },
    ]);
    const { messages } = await client.getPrompt({ name: "greet", args: { whom: "Ann" } });
    expect(messages).toEqual([{ role: "user", content: [{ type: "text", text: "Say hello to Ann." }] }]);
    const completion = await client.complete({ prompt: "greet", argument: "whom", value: "A" });
    expect(completion).toEqual({ values: ["Ann"], total: 1, hasMore: false });
  });

  it("tell of changes and updates, until somebody has heard enough", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = clientOf(server);
    const heard = hearUpdates(client);
    const changed: string[] = [];
    client.on("resourcesChanged", () => changed.push("resources"));
    client.on("promptsChanged", () => changed.push("prompts"));
    await client.subscribeResource("a:1");
    await client.subscribeResource("b:1");
    await untilHeard(server, "a:1", heard);
    await untilHeard(server, "b:1", heard);
    await client.unsubscribeResource("a:1");
    // What was told before comes before it.
    await untilHeard(server, "b:1", heard);
    heard.length = 0;
    await server.notifyResourceUpdated("a:1");
    await untilHeard(server, "b:1", heard);
    expect(heard).not.toContain("a:1");
    await eventually(async () => {
      await server.notifyResourcesChanged();
      await server.notifyPromptsChanged();
      return new Set(changed).size === 2;
    });
  });

  it("may be others after a restart of the server: that is told although nobody calls", async () => {
    const clock = new FakeClock();
    await using server = await startEraServer(era, LIBRARY);
    await using client = clientOf(
      server,
      { timeouts: { connectMs: 0, requestMs: 0, totalMs: 0 } },
      { clock },
    );
    const heard = hearUpdates(client);
    await client.subscribeResource("a:1");
    await server.restart();
    await eventually(() => {
      clock.advance(500);
      return heard.length > 0;
    });
    await untilHeard(server, "a:1", heard);
  });

  it("tell of updates after a restart of the server", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = clientOf(server);
    const heard = hearUpdates(client);
    await client.subscribeResource("a:1");
    await untilHeard(server, "a:1", heard);
    await server.restart();
    await client.callTool(echo());
    await untilHeard(server, "a:1", heard);
  });
});

describe.each([
  ["legacy", "resources/subscribe"],
  ["modern", "subscriptions/listen"],
] as const)("a subscription that a %s server does not answer", (era, method) => {
  it("was sent, and nobody knows what became of it", async () => {
    await using server = await startEraServer(era, LIBRARY);
    await using client = clientOf(server, { retry: false });
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method });
    const failure = await failureOf(client.subscribeResource("a:1", { timeoutMs: 200 }));
    expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true, attempts: 1 });
    expect(failure.message).toContain("It may still be running there.");
    expect(server.received(method)).toHaveLength(1);
  });
});

describe("a subscription", () => {
  it("outlives a server that is replaced by one of another revision", async () => {
    await using server = await startEraServer("legacy", LIBRARY);
    await using client = clientOf(server);
    const heard = hearUpdates(client);
    await client.subscribeResource("a:1");
    for (const era of ["modern", "legacy"] as const) {
      server.era = era;
      server.dropSessions();
      await server.restart();
      await client.callTool(echo());
      await untilHeard(server, "a:1", heard);
    }
  });
});
