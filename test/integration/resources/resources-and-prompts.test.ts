import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import {
  McpTestServer,
  startMcpTestServer,
  type TestPrompt,
  type TestResource,
} from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  QUICK_RETRY,
  rejection,
  deferred,
  times,
  recordWarnings,
} from "../../fixtures/clients.js";

const page = (uri: string, text = `text of ${uri}`): TestResource => ({ uri, read: () => text });
const README: TestResource = {
  uri: "file:///readme.md",
  name: "readme",
  mimeType: "text/markdown",
  description: "What it is.",
  read: () => "# Read me",
};

const COUNTRIES: Record<string, readonly string[]> = { NO: ["Oslo", "Bergen"], SE: ["Stockholm"] };

const TRAVEL: TestPrompt = {
  name: "travel",
  title: "A journey",
  description: "Plans a journey.",
  arguments: [
    { name: "country", required: true },
    { name: "city", description: "Where to." },
  ],
  get: ({ country, city }) => `Plan a journey to ${String(city)} in ${String(country)}.`,
  complete: ({ name, value }, { country = "" }) =>
    (name === "country" ? Object.keys(COUNTRIES) : (COUNTRIES[country] ?? [])).filter((text) =>
      text.startsWith(value),
    ),
};

describe("the resources of a server", () => {
  it("are collected from all pages, sorted by URI", async () => {
    await using server = await startMcpTestServer({
      resources: ["b:2", "a:1", "c:3", "b:1", "d:4"].map((uri) => page(uri)),
      pagination: { type: "pages", size: 2 },
    });
    await using client = createTestClient(server);
    const uris = (await client.listResources()).map(({ uri }) => uri);
    expect(uris).toEqual(["a:1", "b:1", "b:2", "c:3", "d:4"]);
    expect(server.received("resources/list")).toHaveLength(3);
  });

  it("are returned as the server describes them", async () => {
    const resourceTemplates = [{ uriTemplate: "file:///{path}", name: "files", mimeType: "text/plain" }];
    await using server = await startMcpTestServer({ resources: [README], resourceTemplates });
    await using client = createTestClient(server);
    expect(await client.listResources()).toEqual([
      { uri: "file:///readme.md", name: "readme", mimeType: "text/markdown", description: "What it is." },
    ]);
    expect(await client.listResourceTemplates()).toEqual(resourceTemplates);
  });

  it("are read as text or bytes, also several per URI", async () => {
    await using server = await startMcpTestServer({
      resources: [
        README,
        { uri: "image:dot", mimeType: "image/png", read: () => new Uint8Array([1, 2, 3]) },
        { uri: "dir:all", read: () => [{ uri: "dir:a", text: "A" }, { text: "B" }] },
        { uri: "dir:none", read: () => [] },
      ],
    });
    await using client = createTestClient(server);
    expect(await client.readResource("file:///readme.md")).toEqual([
      { uri: "file:///readme.md", mimeType: "text/markdown", text: "# Read me" },
    ]);
    expect(await client.readResource("image:dot")).toEqual([
      { uri: "image:dot", mimeType: "image/png", blob: "AQID" },
    ]);
    expect(await client.readResource("dir:all")).toEqual([
      { uri: "dir:a", text: "A" },
      { uri: "dir:all", text: "B" },
    ]);
    expect(await client.readResource("dir:none")).toEqual([]);
  });

  it("cause no request unless they are used", async () => {
    await using server = await startMcpTestServer({ resources: [README], prompts: [] });
    await using client = createTestClient(server);
    await client.listTools();
    await client.callTool(echo());
    const methods = server.requests.map(({ method }) => method);
    expect(methods).toEqual(["initialize", "notifications/initialized", "tools/list", "tools/call"]);
  });

  it("are empty without the capability, and nothing is sent", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    expect(await client.listResources()).toEqual([]);
    expect(await client.listResourceTemplates()).toEqual([]);
    expect(await rejection(client.readResource("a:1"))).toMatchObject({
      kind: "not-found",
      code: undefined,
      server: "test",
    });
    expect(server.received("POST")).toHaveLength(2);
  });

  it("have no templates if the method is unknown", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using client = createTestClient(server);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32_601, message: "Method not found" },
    });
    const headers = { "content-type": "application/json" };
    server.addFault({ type: "status", status: 404, headers, body }, { method: "resources/templates/list" });
    expect(await client.listResourceTemplates()).toEqual([]);
    expect(await client.listResources()).toHaveLength(1);
  });

  it("that do not exist fail with not-found, and do not open the circuit", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using client = createTestClient(server, { retry: {}, circuitBreaker: { failureThreshold: 2 } });
    for (const n of [1, 2, 3])
      expect(await rejection(client.readResource(`file:///gone-${n}`))).toMatchObject({
        kind: "not-found",
        code: -32_002,
        attempts: 1,
      });
    expect(await client.readResource(README.uri)).toHaveLength(1);
  });

  it("are read again after a failure, as reading is idempotent", async () => {
    await using server = await startMcpTestServer({ resources: [README], responseFormat: "json" });
    await using client = createTestClient(server, { retry: { baseDelayMs: 1 } });
    server.addFault({ type: "disconnect", when: "during" }, { method: "resources/read", times: 1 });
    expect(await client.readResource(README.uri)).toHaveLength(1);
    expect(server.received("resources/read")).toHaveLength(2);
  });

  it("require a URI string", async () => {
    await using client = new McpClient({ name: "test", server: new McpTestServer() });
    for (const invalid of [undefined, 7, "", {}])
      expect(await rejection(client.readResource(invalid as never))).toMatchObject({
        kind: "invalid-config",
      });
    expect(client.state).toBe("idle");
  });
});

describe("hostile resource responses", () => {
  it("exclude only malformed resources, with a warning", async () => {
    await using server = await startMcpTestServer({ resources: [] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const list = (resources: readonly unknown[]) => {
      server.addFault({ type: "result", result: { resources } }, { method: "resources/list", times: 1 });
      return client.listResources();
    };
    const unusable = [null, [], { name: "no uri" }, { name: "empty", uri: "" }, { name: "number", uri: 7 }];
    expect(await list(unusable)).toEqual([]);
    const resources = [
      { name: "sly", uri: "file:///a\u202etxt.exe" },
      { uri: "a:1", name: "first" },
      { uri: "a:1", name: "second" },
      {
        uri: "b:1",
        name: 7,
        title: ["no"],
        description: {},
        mimeType: 1,
        size: -1,
        icons: "x",
        annotations: [],
      },
    ];
    expect(await list(resources)).toEqual([
      { uri: "a:1", name: "first" },
      { uri: "b:1", name: "b:1" },
    ]);
    expect(warnings).toEqual([
      expect.stringContaining("not an object"),
      expect.stringContaining("not an object"),
      expect.stringContaining('"no uri" has no uri'),
      expect.stringContaining('"empty" has no uri'),
      expect.stringContaining('"number" has no uri'),
      expect.stringContaining('"sly" has hidden characters'),
      expect.stringContaining('"a:1" is listed twice'),
    ]);
  });

  it("are stripped of hidden characters, and truncated", async () => {
    const description = `see\u200b\u001b[31m this\u{e0041} ${"x".repeat(10_000)}`;
    const resources = [{ ...README, name: "read\u202eme", title: "a\u0007b", description }];
    await using server = await startMcpTestServer({ resources });
    await using client = createTestClient(server);
    const [resource] = await client.listResources();
    expect(resource).toMatchObject({ name: "readme", title: "ab" });
    expect(resource?.description).toMatch(/^see this x+…$/);
    expect(resource?.description).toHaveLength(4_096);
  });

  it("have no hidden characters in the media type and the URI of a content", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using mcp = await createMcpTools({ docs: { url: server.url } });
    const respond = (content: object) =>
      server.addFault(
        { type: "result", result: { contents: [{ text: "a", ...content }] } },
        { method: "resources/read", times: 1 },
      );
    respond({ mimeType: "text/\u200bplain\u202e" });
    const [document] = await mcp.getResources({ server: "docs", uris: [README.uri] });
    expect(document?.metadata.mimeType).toBe("text/plain");
    respond({ uri: "file:///other\u200b.md" });
    const failure = await rejection(mcp.getResources({ server: "docs", uris: [README.uri] }));
    expect(failure).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("hidden characters in its URI"),
    });
  });

  it.each([
    ["endless cursors", { type: "endless" }, "too-large", "limits.pages"],
    ["a repeated cursor", { type: "repeated-cursor" }, "invalid-response", "repeated"],
  ] as const)("fail with %s", async (_, listing, kind, message) => {
    await using server = await startMcpTestServer({ resources: [README], prompts: [], pagination: listing });
    await using client = createTestClient(server, { limits: { pages: 3 } });
    for (const list of [
      () => client.listResources(),
      () => client.listResourceTemplates(),
      () => client.listPrompts(),
    ]) {
      const failure = await rejection(list());
      expect(failure.kind).toBe(kind);
      expect(failure.message).toContain(message);
    }
  });

  it.each([
    ["a value that is not an array", { resources: "none" }],
    ["an empty object", {}],
    ["a cursor that is not a string", { resources: [], nextCursor: 7 }],
  ])("are an invalid response with %s", async (_, result) => {
    await using server = await startMcpTestServer({ resources: [] });
    await using client = createTestClient(server, QUICK_RETRY);
    server.addFault({ type: "status", status: 503 }, { method: "resources/list", times: 1 });
    server.addFault({ type: "result", result }, { method: "resources/list" });
    const failure = await rejection(client.listResources());
    expect(failure).toMatchObject({ kind: "invalid-response", server: "test", attempts: 2 });
  });

  it("fail above the limit, without a partial list", async () => {
    await using server = await startMcpTestServer({ resources: times(11, (n) => page(`a:${n}`)) });
    await using client = createTestClient(server, { limits: { resources: 10 } });
    expect(await rejection(client.listResources())).toMatchObject({
      kind: "too-large",
      message: expect.stringContaining("limits.resources"),
    });
  });

  it.each([
    ["no contents", {}],
    ["contents that are not an array", { contents: { text: "a" } }],
    ["a content that is not an object", { contents: ["a"] }],
    ["an empty content", { contents: [{ uri: "a:1" }] }],
  ])("with %s are an invalid response", async (_, result) => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using client = createTestClient(server);
    server.addFault({ type: "result", result }, { method: "resources/read" });
    const failure = await rejection(client.readResource(README.uri));
    expect(failure).toMatchObject({ kind: "invalid-response", attempts: 1 });
  });

  it("above the size limit are too large, and not read", async () => {
    const big = { uri: "big:1", read: () => new Uint8Array(200_000) };
    await using server = await startMcpTestServer({ resources: [README, big] });
    await using client = createTestClient(server, { limits: { responseBytes: 100_000 } });
    expect(await rejection(client.readResource("big:1"))).toMatchObject({ kind: "too-large" });
    expect(await client.readResource(README.uri)).toHaveLength(1);
  });
});

describe("reading a resource", () => {
  it("is cancelled by the caller's signal, and the server is notified", async () => {
    const { promise: cancelled, resolve: onCancel } = deferred();
    const slow: TestResource = {
      uri: "slow:1",
      read: ({ signal }) => {
        signal.addEventListener("abort", onCancel);
        return cancelled;
      },
    };
    await using server = await startMcpTestServer({ resources: [slow, README] });
    await using client = createTestClient(server);
    const controller = new AbortController();
    const reading = client.readResource("slow:1", { signal: controller.signal });
    await server.waitFor("resources/read");
    controller.abort("enough");
    await expect(reading).rejects.toBe("enough");
    await cancelled;
    expect(await client.readResource(README.uri)).toHaveLength(1);
  });

  it("respects timeoutMs", async () => {
    await using server = await startMcpTestServer({ resources: [README] });
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "resources/read" });
    expect(await rejection(client.readResource(README.uri, { timeoutMs: 50 }))).toMatchObject({
      kind: "timeout",
    });
  });

  it("uses the identity and session of the caller", async () => {
    const diary: TestResource = {
      uri: "diary:mine",
      read: ({ headers }) => `diary of ${String(headers["authorization"])}`,
    };
    await using server = await startMcpTestServer({ resources: [diary] });
    const getUser = ({ configurable, purpose }: CallContext) =>
      purpose === "discovery" ? "catalog" : String(configurable["user"]);
    await using client = createTestClient(server, { identity: getUser, auth: (context) => getUser(context) });
    const as = (user: string) => ({ context: { configurable: { user } } });
    const read = async (user: string) => (await client.readResource("diary:mine", as(user)))[0]?.text;
    expect(await Promise.all(["ann", "bob", "ann"].map(read))).toEqual([
      "diary of Bearer ann",
      "diary of Bearer bob",
      "diary of Bearer ann",
    ]);
    expect(await client.listResources(as("ann"))).toHaveLength(1);
    const lists = server.received("resources/list").map(({ headers }) => headers["authorization"]);
    expect(lists).toEqual(["Bearer catalog"]);
    expect(
      client
        .sessions()
        .map(({ identity }) => identity)
        .toSorted(),
    ).toEqual(["ann", "bob", "catalog"]);
  });

  it("survives the loss of a session with one new handshake", async () => {
    await using server = await startMcpTestServer({ resources: times(4, (n) => page(`a:${n}`)) });
    await using client = createTestClient(server);
    await client.listResources();
    await server.restart();
    const read = await Promise.all(times(4, (n) => client.readResource(`a:${n}`)));
    expect(read.flat().map(({ text }) => text)).toEqual(times(4, (n) => `text of a:${n}`));
    expect(server.received("initialize")).toHaveLength(2);
  });
});

describe("the prompts of a server", () => {
  it("are collected from all pages, sorted by name, with their arguments", async () => {
    const other = { name: "arrive", get: () => "…" };
    await using server = await startMcpTestServer({
      prompts: [TRAVEL, other],
      pagination: { type: "pages", size: 1 },
    });
    await using client = createTestClient(server);
    expect(await client.listPrompts()).toEqual([
      { name: "arrive", arguments: [] },
      {
        name: "travel",
        title: "A journey",
        description: "Plans a journey.",
        arguments: [
          { name: "country", required: true },
          { name: "city", description: "Where to.", required: false },
        ],
      },
    ]);
  });

  it("are returned with their arguments applied", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = createTestClient(server);
    const prompt = await client.getPrompt({ name: "travel", args: { country: "NO", city: "Oslo" } });
    expect(prompt).toEqual({
      messages: [{ role: "user", content: [{ type: "text", text: "Plan a journey to Oslo in NO." }] }],
    });
  });

  it("are empty without the capability, and nothing is sent", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    expect(await client.listPrompts()).toEqual([]);
    expect(await rejection(client.getPrompt({ name: "travel" }))).toMatchObject({ kind: "not-found" });
    expect(server.received("POST")).toHaveLength(2);
  });

  it("exclude those with hidden characters in a name, with a warning", async () => {
    await using server = await startMcpTestServer({ prompts: [] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const prompts = [
      { name: "sly\u200b" },
      { name: "odd", arguments: [{ name: "x" }, { name: "a\u202eb" }] },
      { name: "fine", arguments: [{ name: "\u2600\ufe0f" }] },
    ];
    server.addFault({ type: "result", result: { prompts } }, { method: "prompts/list" });
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["fine"]);
    expect(warnings).toEqual([
      expect.stringContaining('"sly" has hidden characters in its name'),
      expect.stringContaining('"odd" has hidden characters in its name or in that of an argument'),
    ]);
  });

  it("exclude only malformed ones, with a warning", async () => {
    await using server = await startMcpTestServer({ prompts: [] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const prompts = [
      7,
      { title: "nameless" },
      { name: "odd", arguments: "none" },
      {
        name: "fine",
        description: "a\u200bb",
        arguments: [null, { name: "x", title: "t\u202e" }, { title: "y" }],
      },
      { name: "fine" },
    ];
    server.addFault({ type: "result", result: { prompts } }, { method: "prompts/list" });
    expect(await client.listPrompts()).toEqual([
      { name: "fine", description: "ab", arguments: [{ name: "x", title: "t", required: false }] },
    ]);
    expect(warnings).toEqual([
      expect.stringContaining("not an object"),
      expect.stringContaining("no name"),
      expect.stringContaining('"odd" has arguments'),
      expect.stringContaining('"fine" is listed twice'),
    ]);
  });

  it.each([
    ["no messages", {}, "array of messages"],
    ["an unknown role", { messages: [{ role: "system", content: { type: "text", text: "x" } }] }, "role"],
    ["a message without content", { messages: [{ role: "user" }] }, "no content"],
    ["a message that is null", { messages: [null] }, "role"],
  ])("are an invalid response with %s", async (_, result, reason) => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = createTestClient(server);
    server.addFault({ type: "result", result }, { method: "prompts/get" });
    const failure = await rejection(client.getPrompt({ name: "travel" }));
    expect(failure.kind).toBe("invalid-response");
    expect(failure.message).toContain(reason);
  });

  it("require a name and string arguments", async () => {
    await using client = new McpClient({ name: "test", server: new McpTestServer() });
    for (const invalid of [
      undefined,
      {},
      { name: 7 },
      { name: "a", args: { n: 7 } },
      { name: "a", args: ["b"] },
    ])
      expect(await rejection(client.getPrompt(invalid as never))).toMatchObject({ kind: "invalid-config" });
    expect(client.state).toBe("idle");
  });
});

describe("completion", () => {
  it("uses the typed value and earlier arguments", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = createTestClient(server);
    const city = { prompt: "travel", argument: "city" };
    expect(await client.complete({ prompt: "travel", argument: "country", value: "" })).toEqual({
      values: ["NO", "SE"],
      total: 2,
      hasMore: false,
    });
    expect(await client.complete({ ...city, value: "O", context: { country: "NO" } })).toMatchObject({
      values: ["Oslo"],
    });
    expect(await client.complete({ ...city, value: "O", context: { country: "SE" } })).toMatchObject({
      values: [],
    });
  });

  it("is empty without the capability", async () => {
    await using server = await startMcpTestServer({ resources: [] });
    await using client = createTestClient(server);
    const call = { resourceTemplate: "file:///{path}", argument: "path", value: "" };
    expect(await client.complete(call)).toEqual({ values: [], hasMore: false });
  });

  it("rejects invalid arguments", async () => {
    await using client = new McpClient({ name: "test", server: new McpTestServer() });
    const argument = { argument: "a", value: "" };
    for (const invalid of [
      undefined,
      argument,
      { ...argument, prompt: "a", resourceTemplate: "b" },
      { prompt: "a" },
    ])
      expect(await rejection(client.complete(invalid as never))).toMatchObject({ kind: "invalid-config" });
  });

  it("leaves out values with hidden characters, with a warning", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const values = [
      "Oslo",
      "Os\u200blo",
      "\u202eolsO",
      "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ];
    server.addFault(
      { type: "result", result: { completion: { values } } },
      { method: "completion/complete" },
    );
    const { values: shown } = await client.complete({ prompt: "travel", argument: "city", value: "" });
    // The joiner belongs to the spelling of the last one.
    expect(shown).toEqual([values[0], values[3]]);
    expect(warnings).toEqual([
      'Server "test": completions of "city" with hidden characters are left out (2).',
    ]);
  });

  it("ignores values that are not strings, and requires an array", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = createTestClient(server);
    const call = { prompt: "travel", argument: "country", value: "" };
    const completion = { values: ["NO", 7, null], hasMore: true, total: "many" };
    server.addFault({ type: "result", result: { completion } }, { method: "completion/complete", times: 1 });
    expect(await client.complete(call)).toEqual({ values: ["NO"], hasMore: true });
    server.addFault({ type: "result", result: {} }, { method: "completion/complete", times: 1 });
    expect(await rejection(client.complete(call))).toMatchObject({ kind: "invalid-response" });
  });
});
