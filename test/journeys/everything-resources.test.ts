import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpTools, McpClient, type ServerDefinition } from "../../src/index.js";
import { eventually, failureOf } from "../support/clients.js";
import { EverythingServer } from "../support/everything-server.js";
import { EVERYTHING } from "../support/stdio-servers.js";

const TEXT = "demo://resource/dynamic/text/7";

/** It tells of all that was subscribed to, at once and every five seconds. */
async function tellUpdates(client: McpClient): Promise<void> {
  await client.callTool({ name: "toggle-subscriber-updates" });
}

describe("server-everything", () => {
  let server: EverythingServer;
  beforeAll(async () => {
    server = await EverythingServer.start();
  });
  afterAll(() => server.kill());

  describe.each([
    ["over HTTP", (): ServerDefinition => ({ url: server.url })],
    ["as a program", (): ServerDefinition => EVERYTHING],
  ])("%s", (_, definition) => {
    it("lists, reads, completes, fills in prompts and tells of updates", async () => {
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

      expect(await failureOf(client.readResource("demo://nothing"))).toMatchObject({ kind: "not-found" });

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
      const sales = await client.complete({ ...name, given: { department: "Sales" } });
      const support = await client.complete({ ...name, given: { department: "Support" } });
      expect(sales.values.length).toBeGreaterThan(0);
      expect(sales.values).not.toEqual(support.values);

      const heard: string[] = [];
      client.on("resourceUpdated", ({ uri }) => heard.push(uri));
      await client.subscribeResource(TEXT);
      await tellUpdates(client);
      await eventually(() => heard.length > 0);
      expect(heard[0]).toBe(TEXT);
      expect(client.instructions).toContain("Everything");
    });
  });

  it("tells of updates after it was killed and started again", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const heard: string[] = [];
    client.on("resourceUpdated", ({ uri }) => heard.push(uri));
    await client.subscribeResource(TEXT);
    await server.kill();
    await server.start();
    await client.listTools();
    heard.length = 0;
    await tellUpdates(client);
    await eventually(() => heard.length > 0);
    expect(heard[0]).toBe(TEXT);
  });

  it("gives LangChain documents, messages and instructions", async () => {
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
