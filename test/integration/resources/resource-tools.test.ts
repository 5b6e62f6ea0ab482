import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  type McpTool,
  type ToolArtifact,
} from "../../../src/index.js";
import { startMcpTestServer, type TestResource } from "../../../src/testing/index.js";
import { createTestClient, eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { invokeTool } from "../../fixtures/toolsets.js";

const README: TestResource = {
  uri: "file:///readme.md",
  name: "readme",
  mimeType: "text/markdown",
  read: () => "# Read me",
};
const DOT: TestResource = { uri: "image:dot", mimeType: "image/png", read: () => new Uint8Array([1, 2, 3]) };
const FILES = { uriTemplate: "file:///{path}", name: "files" };

const namesOf = (tools: readonly McpTool[]) => tools.map(({ name }) => name).toSorted();

const findTool = (tools: readonly McpTool[], name: string) => tools.find((tool) => tool.name === name);

describe("tools for resources", () => {
  it("are added with resourceTools: true, for servers that have resources", async () => {
    await using library = await startMcpTestServer({ resources: [README] });
    await using clock = await startMcpTestServer();
    const servers = { library: { url: library.url }, clock: { url: clock.url } };
    await using without = await createMcpTools(servers);
    expect(namesOf(without.tools)).toEqual(["clock__echo", "library__echo"]);
    await using mcp = await createMcpTools(servers, { resourceTools: true });
    expect(namesOf(mcp.tools)).toEqual([
      "clock__echo",
      "library__echo",
      "library__list_resources",
      "library__read_resource",
    ]);
    expect(library.received("resources/list")).toEqual([]);
  });

  it.each(ERAS)("list and read resources in an agent (%s)", async (era) => {
    const resources = [README, DOT];
    await using server = await startEraServer(era, { resources, resourceTemplates: [FILES] });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    const llm = fakeModel()
      .respondWithTools([{ name: "docs__list_resources", args: {} }])
      .respondWithTools([
        { name: "docs__read_resource", args: { uri: README.uri } },
        { name: "docs__read_resource", args: { uri: DOT.uri } },
      ])
      .respond(new AIMessage("It says: read me."));
    const agent = createReactAgent({ llm, tools: mcp.tools });
    const { messages } = await agent.invoke({ messages: "What does it say?" });
    const [listed, text, image] = messages.filter((message) => message.getType() === "tool");
    expect(JSON.parse(listed?.text ?? "")).toEqual({
      resources: [
        { uri: README.uri, name: "readme", mimeType: "text/markdown" },
        { uri: DOT.uri, name: DOT.uri, mimeType: "image/png" },
      ],
      resourceTemplates: [FILES],
    });
    expect(text?.content).toBe("# Read me");
    expect(image?.content).toEqual([
      {
        type: "image",
        mimeType: "image/png",
        data: "AQID",
        metadata: { uri: DOT.uri, filename: "image:dot" },
      },
    ]);
  });

  it.each(ERAS)("decode text, and describe other files in one line (%s)", async (era) => {
    const blobs = { "file:///a.json": "application/json", "file:///a.tgz": "application/gzip" };
    const blob = Buffer.from('{"a":1}').toString("base64");
    const resources = Object.entries(blobs).map(([uri, mimeType]) => ({
      uri,
      read: () => [{ uri, mimeType, blob }],
    }));
    const embedded = Object.entries(blobs).map(([uri, mimeType]) => ({
      type: "resource" as const,
      resource: { uri, mimeType, blob },
    }));
    const prompts = [
      { name: "files", get: () => ({ messages: embedded.map((content) => ({ role: "user", content })) }) },
    ];
    const tools = [{ name: "embed", run: () => ({ content: embedded }) }];
    await using server = await startEraServer(era, { resources, prompts, tools });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    const read = findTool(mcp.tools, "docs__read_resource");
    const line = "Binary resource (application/gzip, 7 bytes): file:///a.tgz";
    expect((await invokeTool(read, { uri: "file:///a.json" })).content).toBe('{"a":1}');
    const archive = await invokeTool(read, { uri: "file:///a.tgz" });
    expect(archive.content).toBe(line);
    expect(archive.artifact).toMatchObject({ content: [{ resource: { blob } }] });
    const embed = await invokeTool(findTool(mcp.tools, "docs__embed"), {});
    expect(embed.content).toEqual([
      { type: "text", text: '{"a":1}' },
      { type: "text", text: line },
    ]);
    // The test server of 2026-07-28 only has prompts of text.
    if (era === "modern") return;
    const messages = await mcp.getPrompt({ name: "files", server: "docs" });
    expect(messages.map(({ content }) => content)).toEqual(['{"a":1}', line]);
  });

  it.each(ERAS)("prefix each text with its URI if one URI returns several (%s)", async (era) => {
    const read = () => [
      { uri: "dir:a", text: "A" },
      { uri: "dir:b", text: "B" },
    ];
    await using server = await startEraServer(era, { resources: [{ uri: "dir:all", read }] });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    const message = await invokeTool(findTool(mcp.tools, "docs__read_resource"), { uri: "dir:all" });
    expect(message.content).toEqual([
      { type: "text", text: "dir:a:\nA" },
      { type: "text", text: "dir:b:\nB" },
    ]);
  });

  it("truncate long content for models", async () => {
    const long = { uri: "long:1", read: () => "x".repeat(1_000) };
    await using server = await startMcpTestServer({ resources: [long] });
    const options = { resourceTools: true, limits: { contentChars: 100 } };
    await using mcp = await createMcpTools({ docs: { url: server.url } }, options);
    const read = findTool(mcp.tools, "docs__read_resource");
    const message = await invokeTool(read, { uri: "long:1" });
    expect(message.content).toContain("[… 900 of 1,000 characters omitted]");
    const { content } = message.artifact as ToolArtifact;
    expect(content).toEqual([{ type: "text", text: "x".repeat(1_000) }]);
    expect(await read?.invoke({ uri: "long:1" })).toBe("x".repeat(1_000));
  });

  it("report errors to the model, and throw for direct callers", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    const definition = { url: server.url, ...NO_RETRY, limits: { responseBytes: 10_000 } };
    await using mcp = await createMcpTools({ docs: definition }, { resourceTools: true });
    const read = findTool(mcp.tools, "docs__read_resource");
    const unknown = await invokeTool(read, { uri: "file:///gone" });
    expect(unknown).toMatchObject({
      status: "error",
      content: expect.stringContaining("Use a listed URI"),
      artifact: { error: { kind: "invalid-request", code: -32_002, issues: [{ path: "uri" }] } },
    });
    const missing = await invokeTool(read, {});
    expect(missing).toMatchObject({
      status: "error",
      content: expect.stringContaining("uri"),
      artifact: { error: { kind: "invalid-request", attempts: 0, issues: [{ path: "uri" }] } },
    });
    server.resources = [{ uri: "big:1", read: () => "x".repeat(20_000) }];
    const big = await invokeTool(read, { uri: "big:1" });
    expect((big.artifact as ToolArtifact).error).toMatchObject({ kind: "too-large" });
    await server.stop();
    const down = await invokeTool(read, { uri: README.uri });
    expect((down.artifact as ToolArtifact).error).toMatchObject({ kind: "not-sent" });
    expect(await rejection(Promise.resolve(read?.invoke({ uri: README.uri })))).toMatchObject({
      kind: "not-sent",
    });
  });

  it("follow tool rules by their names", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    const logger = new RecordingLogger();
    const tools = { list_resources: false, read_resource: { requireApproval: true } } as const;
    await using mcp = await createMcpTools(
      { docs: { url: server.url, tools } },
      { resourceTools: true, logger },
    );
    expect(namesOf(mcp.tools)).toEqual(["docs__echo", "docs__read_resource"]);
    const denied = await invokeTool(findTool(mcp.tools, "docs__read_resource"), { uri: README.uri });
    expect(denied.status).toBe("error");
    expect(server.received("resources/read")).toEqual([]);
    expect(logger.messages).toEqual([]);
  });

  it("do not replace a server tool with the same name", async () => {
    const own = { name: "read_resource", run: () => "server tool" };
    await using server = await startMcpTestServer({ tools: [own], resources: [README] });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    expect(namesOf(mcp.tools)).toEqual(["docs__list_resources", "docs__read_resource"]);
    expect(await findTool(mcp.tools, "docs__read_resource")?.invoke({})).toBe("server tool");
  });

  it('are offered with pin: "block", because no server has defined them', async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    const options = { resourceTools: true, pin: "block" } as const;
    await using mcp = await createMcpTools({ docs: { url: server.url } }, options);
    expect(namesOf(mcp.tools)).toEqual(["docs__echo", "docs__list_resources", "docs__read_resource"]);
    expect(await findTool(mcp.tools, "docs__read_resource")?.invoke({ uri: README.uri })).toBe("# Read me");
  });

  it("survive a restart of the server", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    const read = findTool(mcp.tools, "docs__read_resource");
    await server.restart();
    await mcp.refresh();
    expect(findTool(mcp.tools, "docs__read_resource")).toBe(read);
    expect(await read?.invoke({ uri: README.uri })).toBe("# Read me");
  });

  it("of a lazy server are added when it connects", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    const echo = { name: "echo", inputSchema: { type: "object" } };
    const agent = { resources: [{ $resourceType: "mcp", name: "docs", availableTools: [echo] }] };
    const options = { servers: { docs: { url: server.url } }, resourceTools: true };
    await using mcp = await createMcpToolsFromAgent(agent, options);
    expect(namesOf(mcp.tools)).toEqual(["echo"]);
    expect(server.requests).toEqual([]);
    await mcp.callTool({ name: "echo", args: { text: "hi" } });
    await eventually(() => mcp.tools.length === 3);
    expect(namesOf(mcp.tools)).toEqual(["echo", "list_resources", "read_resource"]);
  });

  it("of createMcpToolsForServer are added immediately", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using client = createTestClient(server);
    const tools = createMcpToolsForServer(
      { name: "docs", availableTools: [] },
      { client, resourceTools: true },
    );
    expect(namesOf(tools)).toEqual(["list_resources", "read_resource"]);
    expect(server.requests).toEqual([]);
    expect(await findTool(tools, "read_resource")?.invoke({ uri: README.uri })).toBe("# Read me");
  });

  it("fail with kind closed after their toolset is closed", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    const mcp = await createMcpTools({ docs: { url: server.url } }, { resourceTools: true });
    const read = findTool(mcp.tools, "docs__read_resource");
    await mcp.close();
    expect(await rejection(invokeTool(read, { uri: README.uri }))).toMatchObject({ kind: "closed" });
    expect(await rejection(mcp.getResources({ server: "docs" }))).toMatchObject({ kind: "closed" });
  });
});

describe("a toolset's resources and prompts", () => {
  it("are documents and messages for the caller's identity", async () => {
    const mine: TestResource = { uri: "diary:1", read: ({ headers }) => String(headers["authorization"]) };
    const greet = { name: "greet", get: ({ name = "" }) => `Say hello to ${name}.` };
    await using server = await startMcpTestServer({
      resources: [mine],
      prompts: [greet],
      instructions: "Be\u200b kind.",
    });
    const getUser = ({ configurable }: { configurable: Record<string, unknown> }) =>
      String(configurable["user"] ?? "all");
    const docs = { url: server.url, identity: getUser, auth: getUser };
    await using mcp = await createMcpTools({ docs });
    const config = { configurable: { user: "ann" } };
    const documents = await mcp.getResources({ server: "docs", uris: ["diary:1"] }, { config });
    expect(documents.map(({ pageContent, metadata }) => ({ pageContent, metadata }))).toEqual([
      {
        pageContent: "Bearer ann",
        metadata: { source: "diary:1", uri: "diary:1", server: "docs", name: "diary:1" },
      },
    ]);
    const [message] = await mcp.getPrompt(
      { server: "docs", name: "greet", args: { name: "Bob" } },
      { config },
    );
    expect([message?.getType(), message?.content]).toEqual(["human", "Say hello to Bob."]);
    expect(mcp.instructions()).toEqual({ docs: "Be kind." });
  });

  it("are named as in the server's list, also when selected by URI", async () => {
    await using server = await startMcpTestServer({
      resources: [README, { uri: "note:1", read: () => "Note." }],
    });
    await using mcp = await createMcpTools({ docs: { url: server.url } });
    const all = await mcp.getResources({ server: "docs" });
    const uris = [README.uri, "note:1"];
    expect(await mcp.getResources({ server: "docs", uris })).toEqual(all);
    expect(all.map(({ metadata }) => metadata.name)).toEqual(["readme", "note:1"]);
    server.addFault({ type: "status", status: 400 }, { method: "resources/list" });
    const [nameless] = await mcp.getResources({ server: "docs", uris });
    expect(nameless?.metadata).not.toHaveProperty("name");
    expect(nameless?.pageContent).toBe("# Read me");
  });

  it("require a configured server and an array of URIs", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using mcp = await createMcpTools({ docs: { url: server.url } });
    expect(mcp.instructions()).toEqual({});
    const { getResources } = mcp;
    expect(await rejection(getResources({ server: "other" as never }))).toMatchObject({
      kind: "invalid-config",
    });
    expect(await rejection(getResources({ server: "docs", uris: README.uri as never }))).toMatchObject({
      kind: "invalid-config",
    });
    for (const request of [getResources(undefined as never), mcp.getPrompt({ name: "greet" } as never)])
      expect(await rejection(request)).toMatchObject({
        kind: "invalid-config",
        message: expect.stringContaining("server name"),
      });
    expect(await getResources({ server: "docs", uris: [] })).toEqual([]);
    await mcp.servers.disconnect("docs");
    expect(await rejection(getResources({ server: "docs" }))).toMatchObject({ kind: "not-sent" });
  });

  it("fail completely if one resource cannot be read", async () => {
    const resources = [
      README,
      {
        uri: "broken:1",
        read: () => {
          throw new Error("no disk");
        },
      },
    ];
    await using server = await startMcpTestServer({ resources });
    await using mcp = await createMcpTools({ docs: { url: server.url, retry: false } });
    expect(await rejection(mcp.getResources({ server: "docs" }))).toMatchObject({
      kind: "server-error",
      cause: { message: "no disk" },
    });
  });
});
