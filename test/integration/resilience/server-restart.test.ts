import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpTools, McpClient, type ServerDefinition } from "../../../src/index.js";
import { eventually, rejection, times } from "../../fixtures/clients.js";
import { EverythingServer } from "../../fixtures/everything-server.js";
import { EVERYTHING } from "../../fixtures/stdio-servers.js";

function echo(message: string) {
  return { name: "echo", args: { message } };
}

const TEXT = "demo://resource/dynamic/text/7";

/** Makes the server send an update for each subscription, at once and every five seconds. */
async function startUpdates(client: McpClient): Promise<void> {
  await client.callTool({ name: "toggle-subscriber-updates" });
}

describe("server-everything in a separate process", () => {
  let server: EverythingServer;
  beforeAll(async () => {
    server = await EverythingServer.start();
  });
  afterAll(() => server.kill());

  it("calls and lists tools", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    expect((await client.callTool(echo("hi"))).text()).toBe("Echo: hi");
    const names = (await client.listTools()).map(({ name }) => name);
    expect(names).toContain("get-sum");
    expect(names).toEqual(names.toSorted());
    expect(client.serverInfo?.name).toContain("everything");
  });

  it("works after a restart between calls: 50 concurrent calls need one new handshake", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const handshakes: number[] = [];
    client.on("sessionOpened", ({ generation }) => handshakes.push(generation));
    await client.callTool(echo("before"));
    await server.kill();
    await server.start();
    const results = await Promise.all(times(50, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(50, (n) => `Echo: n${n}`));
    expect(handshakes).toEqual([1, 2]);
  });

  it("fails running calls promptly when it is killed, and works after the restart", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    await client.ensureSession();
    let progress = 0;
    const operation = { name: "trigger-long-running-operation", args: { duration: 30, steps: 300 } };
    const running = times(5, () =>
      rejection(client.callTool(operation, { onProgress: () => (progress += 1) })),
    );
    await eventually(() => progress >= 5);
    await server.kill();
    // The operation takes 30 s, this test at most 20 s: waiting for it or for a deadline would fail.
    const failures = await Promise.all(running);
    expect(failures.map(({ kind }) => kind)).toEqual(times(5, () => "connection-lost"));
    expect(failures.map(({ outcomeUnknown, attempts }) => ({ outcomeUnknown, attempts }))).toEqual(
      times(5, () => ({ outcomeUnknown: true, attempts: 1 })),
    );
    expect(await rejection(client.callTool(echo("while it is down")))).toMatchObject({ kind: "not-sent" });
    await server.start();
    expect((await client.callTool(echo("after"))).text()).toBe("Echo: after");
  });

  it("returns structured content and images", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const weather = await client.callTool({ name: "get-structured-content", args: { location: "New York" } });
    expect(weather.json()).toMatchObject({ temperature: expect.any(Number) });
    const image = await client.callTool({ name: "get-tiny-image" });
    expect(image.content.map(({ type }) => type)).toContain("image");
  });

  describe.each([
    ["over HTTP", (): ServerDefinition => ({ url: server.url })],
    ["over stdio", (): ServerDefinition => EVERYTHING],
  ])("%s", (_, definition) => {
    it("supports resources, prompts, completion and resource updates", async () => {
      await using client = new McpClient({ name: "everything", ...definition() });
      const resources = await client.listResources();
      expect(resources).toContainEqual(
        expect.objectContaining({
          uri: "demo://resource/static/document/features.md",
          name: "features.md",
          mimeType: "text/markdown",
        }),
      );
      expect(resources.map(({ uri }) => uri)).toEqual(resources.map(({ uri }) => uri).toSorted());
      const [document] = await client.readResource("demo://resource/static/document/features.md");
      expect(document?.text).toContain("#");
      const templates = (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate);
      expect(templates).toContain("demo://resource/dynamic/text/{resourceId}");
      const [bytes] = await client.readResource("demo://resource/dynamic/blob/7");
      expect(Buffer.from(bytes?.blob ?? "", "base64").toString()).toContain("Resource 7");

      expect(await rejection(client.readResource("demo://nothing"))).toMatchObject({ kind: "not-found" });

      const prompts = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toContain("args-prompt");
      const prompt = await client.getPrompt({ name: "args-prompt", args: { city: "Oslo" } });
      expect(prompt.messages[0]?.content[0]).toMatchObject({ type: "text", text: "What's weather in Oslo?" });
      const variable = {
        resourceTemplate: "demo://resource/dynamic/text/{resourceId}",
        argument: "resourceId",
      };
      expect(await client.complete({ ...variable, value: "7" })).toMatchObject({ values: ["7"] });
      const name = { prompt: "completable-prompt", argument: "name", value: "" };
      const sales = await client.complete({ ...name, context: { department: "Sales" } });
      const support = await client.complete({ ...name, context: { department: "Support" } });
      expect(sales.values.length).toBeGreaterThan(0);
      expect(sales.values).not.toEqual(support.values);

      const updates: string[] = [];
      client.on("resourceUpdated", ({ uri }) => updates.push(uri));
      await client.subscribeResource(TEXT);
      await startUpdates(client);
      await eventually(() => updates.length > 0);
      expect(updates[0]).toBe(TEXT);
      expect(client.instructions).toContain("Everything");
    });
  });

  it("sends resource updates after a restart", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const updates: string[] = [];
    client.on("resourceUpdated", ({ uri }) => updates.push(uri));
    await client.subscribeResource(TEXT);
    await server.kill();
    await server.start();
    await client.listTools();
    updates.length = 0;
    await startUpdates(client);
    await eventually(() => updates.length > 0);
    expect(updates[0]).toBe(TEXT);
  });

  it("provides LangChain documents, messages and instructions", async () => {
    await using mcp = await createMcpTools({ all: { url: server.url } });
    const documents = await mcp.getResources({ server: "all" });
    const features = documents.find(({ metadata }) => metadata.name === "features.md");
    expect(features?.pageContent).toContain("#");
    expect(features?.metadata).toEqual({
      source: "demo://resource/static/document/features.md",
      uri: "demo://resource/static/document/features.md",
      server: "all",
      name: "features.md",
      mimeType: "text/markdown",
    });
    const args = { resourceType: "Text", resourceId: "7" };
    const messages = await mcp.getPrompt({ server: "all", name: "resource-prompt", args });
    expect(messages.map((message) => message.getType())).toEqual(["human", "human"]);
    expect(messages[1]?.text).toContain("Resource 7");
    expect(mcp.instructions().all).toContain("Everything");
  });
});
