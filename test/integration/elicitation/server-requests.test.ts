import { pathToFileURL } from "node:url";
import { RootsListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import {
  McpClient,
  McpRuntimeError,
  type ServerDefinition,
  type ServerRequestContext,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { BOOKING, createElicitingServer } from "../../fixtures/eliciting-server.js";
import {
  createTestClient,
  deferred,
  eventually,
  NO_RETRY,
  recordWarnings,
  rejection,
  times,
} from "../../fixtures/clients.js";
import { openStream, startRawServer } from "../../fixtures/raw-server.js";
import { type SdkServer, startSdkServer } from "../../fixtures/sdk-server.js";

type Handlers = Pick<
  ServerDefinition,
  "roots" | "onSamplingRequest" | "onElicitationRequest" | "limits" | "timeouts"
>;

const HANDLERS = {
  roots: [{ uri: pathToFileURL("/home/ann/project"), name: "project" }],
  onSamplingRequest: ({ messages }) => ({
    model: "poet",
    content: `on ${JSON.stringify(messages[0]?.content)}`,
  }),
  onElicitationRequest: {
    form: ({ message }) => ({ action: "accept", content: { name: message } }),
    url: ({ url }) => ({ action: url.endsWith("/login") ? "accept" : "decline" }),
  },
} satisfies Handlers;

async function callTool(client: McpClient, tool: string, params: object = {}): Promise<unknown> {
  const result = await client.callTool({ name: tool, args: { params } });
  return result.isError ? result.text() : result.json();
}

function getDeclaredCapabilities({ requests: received }: SdkServer): unknown {
  const initialize = received.find(({ body }) => body["method"] === "initialize");
  return (initialize?.body["params"] as { capabilities: unknown } | undefined)?.capabilities;
}

const startOverHttp = (relatedToCall: boolean, answers: "json" | "sse") => async () => {
  const server = await startSdkServer(() => createElicitingServer({ relatedToCall }), answers);
  return { definition: { url: server.url }, close: () => server[Symbol.asyncDispose]() };
};
const startInProcess = async () => ({
  definition: { server: () => createElicitingServer() },
  close: async () => undefined,
});

describe.each([
  ["over HTTP, on the stream of the call", startOverHttp(true, "sse")],
  ["over HTTP, on the server's own stream", startOverHttp(false, "sse")],
  ["over HTTP, on the server's own stream, with JSON responses", startOverHttp(false, "json")],
  ["in this process", startInProcess],
])("a server that sends requests %s", (_, open) => {
  it("gets responses from the handlers, also during the first call", async () => {
    const { definition, close } = await open();
    await using client = new McpClient({ name: "test", ...definition, ...HANDLERS } as never);
    expect(await callTool(client, "sample")).toMatchObject({
      role: "assistant",
      model: "poet",
      content: { type: "text", text: 'on [{"type":"text","text":"A haiku, please."}]' },
    });
    expect(await callTool(client, "form")).toEqual({
      action: "accept",
      content: { name: "Which table?", guests: 2 },
    });
    expect(await callTool(client, "url")).toEqual({ action: "accept" });
    expect(await callTool(client, "roots")).toEqual({
      roots: [{ uri: "file:///home/ann/project", name: "project" }],
    });
    expect(await callTool(client, "request", { method: "ping" })).toEqual({});
    expect(await callTool(client, "request", { method: "tasks/list" })).toContain("-32601");
    await client.close();
    await close();
  });
});

describe("the declared capabilities", () => {
  it.each([
    ["nothing", {}, {}],
    ["roots", { roots: [] }, { roots: {} }],
    ["roots that may change", { roots: () => [] }, { roots: { listChanged: true } }],
    ["sampling", { onSamplingRequest: HANDLERS.onSamplingRequest }, { sampling: {} }],
    [
      "elicitation by form",
      { onElicitationRequest: { form: HANDLERS.onElicitationRequest.form } },
      { elicitation: { form: {} } },
    ],
    [
      "elicitation by URL",
      { onElicitationRequest: { url: HANDLERS.onElicitationRequest.url } },
      { elicitation: { url: {} } },
    ],
    [
      "elicitation by both",
      { onElicitationRequest: () => ({ action: "decline" }) as const },
      { elicitation: { form: {}, url: {} } },
    ],
  ])("match the handlers: %s", async (_, handlers: Handlers, capabilities) => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, handlers);
    await client.listTools();
    expect(getDeclaredCapabilities(server)).toEqual(capabilities);
    const hasStream = server.requests.some(({ httpMethod }) => httpMethod === "GET");
    expect(hasStream).toBe(Object.keys(capabilities).length > 0);
  });

  it("limit the requests: others get an error", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, {
      onElicitationRequest: { form: HANDLERS.onElicitationRequest.form },
    });
    expect(await callTool(client, "sample")).toContain("-32601");
    expect(await callTool(client, "request", { method: "roots/list" })).toContain("-32601");
    const page = {
      method: "elicitation/create",
      mode: "url",
      message: "",
      url: "https://a.b",
      elicitationId: "1",
    };
    expect(await callTool(client, "request", page)).toContain("-32602");
  });
});

describe("roots of a function", () => {
  it("are read again by a server that is notified of a change, on every session", async () => {
    const reread: unknown[] = [];
    await using server = await startSdkServer(() => {
      const created = createElicitingServer({ relatedToCall: false });
      created.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
        reread.push((await created.listRoots()).roots);
      });
      return created;
    });
    let folder = "file:///old";
    await using client = createTestClient(server, {
      roots: () => [{ uri: folder }],
      identity: ({ configurable }) => String(configurable["user"]),
    });
    await client.sendRootsListChanged();
    for (const user of ["ann", "bob"]) await client.ensureSession({ context: { configurable: { user } } });
    folder = "file:///new";
    await client.sendRootsListChanged();
    await eventually(() => reread.length === 2);
    expect(reread).toEqual([[{ uri: "file:///new" }], [{ uri: "file:///new" }]]);
  });

  it("are read again on a session that is being opened while they change, too", async () => {
    const { promise: isReleased, resolve: release } = deferred();
    await using server = await startMcpTestServer({
      intercept: async ({ body }) => {
        if (JSON.stringify(body).includes("notifications/initialized")) await isReleased;
        return false;
      },
    });
    await using client = createTestClient(server, { roots: () => [] });
    const opening = client.ensureSession();
    await server.waitFor("notifications/initialized");
    const notified = client.sendRootsListChanged();
    release();
    await Promise.all([opening, notified]);
    expect(server.received("notifications/roots/list_changed")).toHaveLength(1);
  });

  it("are not waited for on a session that does not open: signal and timeout end the wait", async () => {
    const { promise: isReleased, resolve: release } = deferred();
    await using server = await startMcpTestServer({
      intercept: async ({ body }) => {
        if (JSON.stringify(body).includes("notifications/initialized")) await isReleased;
        return false;
      },
    });
    await using client = createTestClient(server, {
      roots: () => [],
      identity: ({ configurable }) => String(configurable["user"]),
    });
    const contextOf = (user: string) => ({ context: { configurable: { user } } });
    const opening = client.ensureSession(contextOf("ann"));
    await server.waitFor("notifications/initialized");
    const aborter = new AbortController();
    const aborted = rejection(client.sendRootsListChanged({ signal: aborter.signal }));
    aborter.abort(new Error("enough"));
    expect((await aborted).message).toBe("enough");
    expect(await rejection(client.sendRootsListChanged({ timeoutMs: 20 }))).toMatchObject({
      kind: "timeout",
      server: "test",
    });
    await client.sendRootsListChanged(contextOf("bob"));
    expect(await rejection(client.sendRootsListChanged({ timeout: 20 } as object))).toMatchObject({
      kind: "invalid-config",
    });
    release();
    await opening;
  });

  it("are notified on the sessions of one caller with its context", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, {
      roots: () => [],
      identity: ({ configurable }) => String(configurable["user"]),
    });
    const contextOf = (user: string) => ({ context: { configurable: { user } } });
    for (const user of ["ann", "bob"]) await client.ensureSession(contextOf(user));
    await client.sendRootsListChanged(contextOf("ann"));
    expect(server.received("notifications/roots/list_changed")).toHaveLength(1);
    await client.sendRootsListChanged();
    expect(server.received("notifications/roots/list_changed")).toHaveLength(3);
  });

  it("are a condition of the notification: fixed roots cannot change", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, { roots: HANDLERS.roots });
    await client.ensureSession();
    expect(await rejection(client.sendRootsListChanged())).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("set roots to a function") as unknown,
    });
    const methods = server.requests.map(({ body }) => body["method"]);
    expect(methods).not.toContain("notifications/roots/list_changed");
  });
});

describe("after a lost session", () => {
  it.each([true, false])(
    "the handlers work on the new one (request related to the call: %s)",
    async (relatedToCall) => {
      await using server = await startSdkServer(() => createElicitingServer({ relatedToCall }));
      await using client = createTestClient(server, HANDLERS);
      await callTool(client, "sample");
      await server.restart();
      expect(await callTool(client, "form")).toMatchObject({ action: "accept" });
      expect(await callTool(client, "roots")).toMatchObject({ roots: [{ name: "project" }] });
      expect(client.sessions()).toMatchObject([{ generation: 2 }]);
    },
  );
});

describe("a form", () => {
  const form = (answer: object): Handlers => ({ onElicitationRequest: { form: () => answer as never } });

  it.each([
    ["declined", { action: "decline" }],
    ["cancelled", { action: "cancel" }],
  ])("can be %s", async (_, answer) => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, form(answer));
    expect(await callTool(client, "form")).toEqual(answer);
  });

  it("reaches the handler without hidden characters", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const seen: unknown[] = [];
    await using client = createTestClient(server, {
      onElicitationRequest: (request) => {
        seen.push(request);
        return { action: "cancel" };
      },
    });
    await callTool(client, "form", { message: "Which\u202E table?" });
    await callTool(client, "url");
    expect(seen).toEqual([
      { mode: "form", ...BOOKING },
      { mode: "url", message: "Log in.", url: "https://example.com/login", elicitationId: "e1" },
    ]);
  });

  it("has an escaped URL, and neither hidden names nor a hidden id", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const seen: unknown[] = [];
    await using client = createTestClient(server, {
      onElicitationRequest: (request) => {
        seen.push(request);
        return { action: "cancel" };
      },
    });
    await callTool(client, "url", { url: "https://example.com/\u202E\u001B]52;c;aGk=\u0007\n?x" });
    expect(seen).toMatchObject([{ url: "https://example.com/%E2%80%AE%1B]52;c;aGk=%07?x" }]);
    const invalid = "-32602: Invalid params";
    expect(await callTool(client, "url", { elicitationId: "e\u200B" })).toContain(invalid);
    const long = `https://example.com/${"\u202E".repeat(100_000)}`;
    expect(await callTool(client, "url", { url: long })).toContain("more than 262144 characters");
    const properties = { "k\u200B": { type: "string" } };
    const response = await callTool(client, "form", { requestedSchema: { type: "object", properties } });
    expect(response).toContain(invalid);
    const nested = { "k\u202E": { type: "object" } };
    const create = { method: "elicitation/create", message: "?" };
    const other = await callTool(client, "request", {
      ...create,
      requestedSchema: { type: "object", properties: nested },
    });
    expect(other).toContain(invalid);
    expect(other).not.toContain("\u202E");
    expect(seen).toHaveLength(1);
  });

  it.each([
    ["has a wrong type", { action: "accept", content: { name: "Ada", guests: "many-secret" } }, "guests:"],
    ["is incomplete", { action: "accept", content: {} }, "name is required"],
    [
      "has an unknown field",
      { action: "accept", content: { name: "Ada", pin: "1234-secret" } },
      "pin was not requested",
    ],
    ["has an unknown action", { action: "maybe-secret" }, "action:"],
    ["is missing", undefined, "expected an object, got undefined"],
    ["has a nested value", { action: "accept", content: { name: { first: "Ada-secret" } } }, "content.name:"],
  ])("whose result %s is an error for the server and a warning for the user", async (_, answer, problem) => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, form(answer as never));
    const warnings = recordWarnings(client);
    const response = await callTool(client, "form");
    expect(response).toContain("-32603");
    expect(response).not.toContain("secret");
    expect(warnings.join("\n")).toContain(problem);
    expect(warnings.join("\n")).not.toContain("secret");
  });

  it("that is nested or too large, or a URL that is not a web page, never reaches the handler", async () => {
    await using server = await startSdkServer(createElicitingServer);
    let handled = 0;
    await using client = createTestClient(server, {
      onElicitationRequest: () => ((handled += 1), { action: "cancel" }),
    });
    const nested = { type: "object", properties: { a: { type: "object", properties: {} } } };
    const create = { method: "elicitation/create", message: "?" };
    expect(await callTool(client, "request", { ...create, requestedSchema: nested })).toMatch(
      /-32602: .*requestedSchema\.properties\.a\.type:/,
    );
    const flat = { type: "object", properties: { a: { type: "string", title: "x".repeat(300_000) } } };
    expect(await callTool(client, "request", { ...create, requestedSchema: flat })).toMatch(
      /-32602: .*more than 262144 characters/,
    );
    const page = { ...create, mode: "url", elicitationId: "1", url: "javascript:alert(1)" };
    expect(await callTool(client, "request", page)).toContain("-32602");
    expect(handled).toBe(0);
  });
});

describe("a failing handler", () => {
  it("is reported to the user, and the server receives no details", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = new McpClient({
      name: "test",
      url: server.url,
      headers: { authorization: "Bearer s3cret-token" },
      onSamplingRequest: () => {
        throw Object.assign(new Error("no model at /home/me with s3cret-token"), {
          code: 42,
          data: "inside",
        });
      },
    });
    const warnings = recordWarnings(client);
    const response = await callTool(client, "sample");
    expect(response).toContain("-32603");
    expect(response).not.toMatch(/no model|s3cret|42|inside/);
    expect(warnings.join("\n")).toMatch(/sampling\/createMessage.*no model at \/home\/me/);
    expect(warnings.join("\n")).not.toContain("s3cret");
    expect(JSON.stringify(server.requests.filter(({ body }) => "error" in body))).not.toContain("inside");
  });

  it("can reject the request with the code of the protocol", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, {
      onSamplingRequest: () => {
        throw new McpRuntimeError("denied", "Not on my watch.");
      },
    });
    const response = await callTool(client, "sample");
    expect(response).toContain("error -1:");
    expect(response).not.toContain("watch");
  });

  it.each([
    ["an array instead of one block", { model: "m", content: [{ type: "text", text: "x" }] }, "content:"],
    ["no model", { content: "x" }, "model:"],
    [
      "a tool call",
      { model: "m", content: { type: "tool_use", id: "1", name: "t", input: {} } },
      "content.type:",
    ],
    ["undefined", undefined, "expected an object"],
  ])("is one that returns %s for sampling", async (_, answer, problem) => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, { onSamplingRequest: () => answer as never });
    const warnings = recordWarnings(client);
    expect(await callTool(client, "sample")).toContain("-32603");
    expect(warnings.join("\n")).toContain(`onSamplingRequest returned an invalid result: ${problem}`);
  });

  it("is one that returns invalid roots", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, { roots: () => [{ uri: "https://example.com" }] });
    const warnings = recordWarnings(client);
    expect(await callTool(client, "roots")).toContain("-32603");
    expect(warnings.join("\n")).toContain("[0].uri:");
  });

  it("does not run for sampling with tools, which is not declared", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, HANDLERS);
    const request = { method: "sampling/createMessage", messages: [], maxTokens: 1, tools: [] };
    expect(await callTool(client, "request", request)).toContain("-32602");
  });
});

/** A handler that returns after `open()` and records its contexts. */
function createSlowHandler() {
  const { promise, resolve } = deferred();
  const contexts: ServerRequestContext[] = [];
  let running = 0;
  let maxRunning = 0;
  return {
    contexts,
    open: resolve,
    maxRunning: () => maxRunning,
    onSamplingRequest: async (_: unknown, context: ServerRequestContext) => {
      contexts.push(context);
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await promise;
      running -= 1;
      return { model: "slow", content: "at last" };
    },
  };
}

function toSamplingParams(text: string): object {
  return { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 1 };
}

/**
 * A server that sends sampling requests with these ids during a call, and what `write` is given. The call returns after
 * `end()`.
 */
async function startRequestingServer(ids: readonly string[], text = "hello") {
  const responses: object[] = [];
  const { promise, resolve } = deferred();
  const opened = deferred();
  let writeToCall: ((message: unknown) => void) | undefined;
  const server = await startRawServer(({ method, id, body, response }) => {
    if (method === "tools/call") {
      const write = openStream(response);
      writeToCall = write;
      opened.resolve();
      const params = toSamplingParams(text);
      for (const requestId of ids)
        write({ jsonrpc: "2.0", id: requestId, method: "sampling/createMessage", params });
      return promise.then(() => {
        write({ jsonrpc: "2.0", id, result: { content: [] } });
        response.end();
      });
    }
    if (method !== undefined || id === undefined) return false;
    responses.push(body);
    return void response.writeHead(202).end();
  });
  const write = async (message: unknown) => {
    await opened.promise;
    writeToCall?.(message);
  };
  return Object.assign(server, { responses, write, end: resolve });
}

describe("a sampling request with many values", () => {
  const text = { type: "text", text: "" };
  it.each<[string, object]>([
    ["a million invalid messages", { messages: times(1_000_000, () => 0) }],
    [
      "a message with a million invalid parts",
      { messages: [{ role: "user", content: times(1_000_000, () => 0) }] },
    ],
    ["a million invalid stop sequences", { messages: [], stopSequences: times(1_000_000, () => 0) }],
    ["a million invalid hints", { messages: [], modelPreferences: { hints: times(1_000_000, () => 0) } }],
    ["60,000 parts", { messages: times(6, () => ({ role: "user", content: times(10_000, () => text) })) }],
    ["10,001 stop sequences", { messages: [], stopSequences: times(10_001, () => "stop") }],
  ])("is rejected as invalid: %s", async (_, params) => {
    const received: unknown[] = [];
    await using server = await startRequestingServer([]);
    await using client = createTestClient(server, {
      onSamplingRequest: (request) => {
        received.push(request);
        return { model: "poet", content: "rose" };
      },
    });
    const warnings = recordWarnings(client);
    const calling = client.callTool({ name: "any" });
    const method = "sampling/createMessage";
    await server.write({ jsonrpc: "2.0", id: "wide", method, params: { maxTokens: 1, ...params } });
    await eventually(() => server.responses.length === 1);
    expect(server.responses).toMatchObject([{ id: "wide", error: { code: -32_602 } }]);
    expect(JSON.stringify(server.responses).length).toBeLessThan(1_000);
    server.end();
    await calling;
    expect({ received, warnings }).toEqual({ received: [], warnings: [] });
  });

  it("is accepted with 1,000 messages and images", async () => {
    const lengths: number[] = [];
    await using server = await startRequestingServer([]);
    await using client = createTestClient(server, {
      onSamplingRequest: ({ messages }) => {
        lengths.push(messages.length);
        return { model: "poet", content: "rose" };
      },
    });
    const calling = client.callTool({ name: "any" });
    const image = { type: "image", data: "A".repeat(10_000), mimeType: "image/png" };
    const messages = times(1_000, () => ({ role: "user", content: [text, image] }));
    const method = "sampling/createMessage";
    await server.write({ jsonrpc: "2.0", id: "large", method, params: { maxTokens: 1, messages } });
    await eventually(() => server.responses.length === 1);
    expect(server.responses).toMatchObject([{ id: "large", result: { model: "poet" } }]);
    expect(lengths).toEqual([1_000]);
    server.end();
    await calling;
  });
});

describe("concurrent requests", () => {
  it("are handled eight at a time", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const { onSamplingRequest, contexts, open, maxRunning } = createSlowHandler();
    await using client = createTestClient(server, { onSamplingRequest, roots: HANDLERS.roots });
    const many = callTool(client, "many", { count: 20 });
    await eventually(() => contexts.length === 8);
    // Roots are returned at once, even when all slots are in use.
    expect(await callTool(client, "roots")).toMatchObject({ roots: [{}] });
    expect(contexts).toHaveLength(8);
    open();
    expect(await many).toEqual(times(20, () => 1));
    expect(maxRunning()).toBe(8);
  });

  it("are limited by limits.serverRequests", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const { onSamplingRequest, open, contexts, maxRunning } = createSlowHandler();
    await using client = createTestClient(server, { onSamplingRequest, limits: { serverRequests: 2 } });
    const many = callTool(client, "many", { count: 5 });
    await eventually(() => contexts.length === 2);
    open();
    expect(await many).toHaveLength(5);
    expect(maxRunning()).toBe(2);
  });

  it("above the limit are rejected", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const { onSamplingRequest, open } = createSlowHandler();
    await using client = createTestClient(server, { onSamplingRequest });
    expect(await callTool(client, "many", { count: 300 })).toContain("-32603: Too many");
    open();
  });

  it("in one message are parsed one at a time, so that a handler that answers at once does not block", async () => {
    let turn = 0;
    let timer = setImmediate(function count() {
      turn += 1;
      timer = setImmediate(count);
    });
    const turns: number[] = [];
    await using server = await startRequestingServer([]);
    await using client = createTestClient(server, {
      onElicitationRequest: () => {
        turns.push(turn);
        return { action: "decline" };
      },
    });
    const calling = client.callTool({ name: "any" });
    const field = { type: "string", enum: times(1_000, (index) => `é${index}`) };
    const requestedSchema = { type: "object", properties: { field } };
    const params = { mode: "form", message: "Which?", requestedSchema };
    await server.write(
      times(40, (index) => ({ jsonrpc: "2.0", id: `form-${index}`, method: "elicitation/create", params })),
    );
    await eventually(() => server.responses.length === 40);
    clearImmediate(timer);
    expect(new Set(turns).size).toBe(40);
    server.end();
    await calling;
  });

  it("are limited in their size together", async () => {
    const { contexts, onSamplingRequest, open } = createSlowHandler();
    await using server = await startRequestingServer(["first", "second"], "x".repeat(20_000_000));
    await using client = createTestClient(server, { onSamplingRequest });
    const calling = client.callTool({ name: "any" });
    await eventually(() => server.responses.length === 1);
    expect(server.responses).toMatchObject([{ id: "second", error: { code: -32_603 } }]);
    expect(contexts).toHaveLength(1);
    open();
    await eventually(() => server.responses.length === 2);
    server.end();
    await calling;
  });

  it("count until their handlers end, also if the server cancels them", async () => {
    const { contexts, onSamplingRequest, open } = createSlowHandler();
    await using server = await startRequestingServer([]);
    await using client = createTestClient(server, { onSamplingRequest });
    const calling = client.callTool({ name: "any" });
    const params = toSamplingParams("x".repeat(20_000_000));
    await server.write({ jsonrpc: "2.0", id: "first", method: "sampling/createMessage", params });
    await eventually(() => contexts.length === 1);
    await server.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "first" } });
    await eventually(() => contexts[0]?.signal.aborted === true);
    await server.write({ jsonrpc: "2.0", id: "second", method: "sampling/createMessage", params });
    await eventually(() => server.responses.length === 1);
    expect(server.responses).toMatchObject([{ id: "second", error: { code: -32_603 } }]);
    expect(contexts).toHaveLength(1);
    open();
    server.end();
    await calling;
  });

  it("for roots run no more functions at a time, also if the server cancels them", async () => {
    const { promise, resolve } = deferred();
    const contexts: ServerRequestContext[] = [];
    await using server = await startRequestingServer([]);
    await using client = createTestClient(server, {
      roots: async (context) => {
        contexts.push(context);
        await promise;
        return [];
      },
    });
    const calling = client.callTool({ name: "any" });
    for (const id of times(20, (count) => `roots-${count}`)) {
      await server.write({ jsonrpc: "2.0", id, method: "roots/list" });
      await server.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    }
    await server.write({ jsonrpc: "2.0", id: "last", method: "ping" });
    await eventually(() => server.responses.length === 1);
    expect(contexts).toHaveLength(8);
    expect(contexts.every(({ signal }) => signal.aborted)).toBe(true);
    resolve();
    server.end();
    await calling;
  });

  it("with a long id get no response, which would contain it", async () => {
    await using server = await startRequestingServer(["x".repeat(1_025), "short"]);
    await using client = createTestClient(server, {
      onSamplingRequest: () => ({ model: "m", content: "c" }),
    });
    const calling = client.callTool({ name: "any" });
    await eventually(() => server.responses.length === 1);
    server.end();
    await calling;
    expect(server.responses).toMatchObject([{ id: "short", result: { model: "m" } }]);
  });
});

describe("an obsolete request", () => {
  it("is aborted without a response when its call is cancelled", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const { onSamplingRequest, contexts, open } = createSlowHandler();
    await using client = createTestClient(server, { onSamplingRequest });
    const controller = new AbortController();
    const call = rejection(client.callTool({ name: "sample" }, { signal: controller.signal }));
    await eventually(() => contexts.length === 1);
    expect(contexts[0]?.signal.aborted).toBe(false);
    expect(contexts[0]).toMatchObject({ server: "test" });
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => contexts[0]?.signal.aborted === true);
    open();
    expect(await callTool(client, "sample")).toMatchObject({ model: "slow" });
    const answers = server.requests.filter(({ body }) => "result" in body || "error" in body);
    expect(answers).toHaveLength(1);
  });

  it("is aborted when its call is cancelled after many other requests on its stream", async () => {
    const { contexts, onSamplingRequest, open } = createSlowHandler();
    await using server = await startRequestingServer(["running"]);
    await using client = createTestClient(server, { onSamplingRequest });
    const controller = new AbortController();
    const call = rejection(client.callTool({ name: "any" }, { signal: controller.signal }));
    await eventually(() => contexts.length === 1);
    const params = toSamplingParams("hello");
    for (const id of times(300, (count) => `other-${count}`)) {
      await server.write({ jsonrpc: "2.0", id, method: "unknown" });
      await server.write({ jsonrpc: "2.0", id: `${id}-too`, method: "sampling/createMessage", params });
      await server.write({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: `${id}-too` },
      });
    }
    await eventually(() => server.responses.length === 300);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => contexts[0]?.signal.aborted === true);
    open();
    server.end();
  });

  it("is aborted when its call fails", async () => {
    await using server = await startSdkServer(createElicitingServer);
    const { onSamplingRequest, contexts, open } = createSlowHandler();
    await using client = createTestClient(server, { onSamplingRequest });
    const call = rejection(client.callTool({ name: "sample" }));
    await eventually(() => contexts.length === 1);
    await server.restart();
    expect(await call).toMatchObject({ kind: "connection-lost" });
    expect(contexts[0]?.signal.aborted).toBe(true);
    open();
  });

  it.each([true, false])("is aborted when the server cancels it (over HTTP: %s)", async (isHttp) => {
    const createServer = () => createElicitingServer({ relatedToCall: !isHttp });
    await using server = await startSdkServer(createServer);
    const { onSamplingRequest, contexts, open } = createSlowHandler();
    const definition = isHttp ? { url: server.url } : { server: createServer };
    await using client = new McpClient({
      name: "test",
      ...definition,
      ...NO_RETRY,
      onSamplingRequest,
    } as never);
    const controller = new AbortController();
    // The cancelled tool cancels its own request, which is the first one, with id 0.
    const call = rejection(client.callTool({ name: "sample" }, { signal: controller.signal }));
    await eventually(() => contexts.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => contexts[0]?.signal.aborted === true);
    open();
    expect(await callTool(client, "sample")).toMatchObject({ model: "slow" });
  });

  it.each(["over HTTP", "in this process"])(
    "is aborted on close, which waits for no handler (%s)",
    async (where) => {
      await using server = await startSdkServer(createElicitingServer);
      const { onSamplingRequest, contexts } = createSlowHandler();
      const definition =
        where === "over HTTP" ? { url: server.url } : { server: () => createElicitingServer() };
      const client = new McpClient({ name: "test", ...definition, onSamplingRequest } as never);
      const call = rejection(client.callTool({ name: "sample" }));
      await eventually(() => contexts.length === 1);
      await client.close();
      expect(await call).toMatchObject({ kind: "closed" });
      expect(contexts[0]?.signal.aborted).toBe(true);
      expect(client.state).toBe("closed");
    },
  );

  it("is aborted when the session ends", async () => {
    const server = createElicitingServer();
    const { onSamplingRequest, contexts } = createSlowHandler();
    await using client = new McpClient({ name: "test", server, ...NO_RETRY, onSamplingRequest });
    const call = rejection(client.callTool({ name: "sample" }));
    await eventually(() => contexts.length === 1);
    await server.close();
    expect(await call).toMatchObject({ kind: "connection-lost" });
    expect(contexts[0]?.signal.aborted).toBe(true);
  });
});

describe("two users of one server", () => {
  it("are distinguished by the identity in the context", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = new McpClient({
      name: "test",
      url: server.url,
      headers: ({ configurable }) => ({ "x-user": String(configurable["user"]) }),
      identity: ({ configurable }) => String(configurable["user"]),
      onSamplingRequest: (_, { identity }) => ({ model: "m", content: `for ${identity}` }),
    });
    const as = async (user: string) => {
      const context = { configurable: { user } };
      return (await client.callTool({ name: "sample" }, { context })).json();
    };
    expect(await Promise.all([as("alice"), as("bob")])).toMatchObject([
      { content: { text: "for alice" } },
      { content: { text: "for bob" } },
    ]);
  });
});

describe("the server stream", () => {
  it("delays calls only briefly when it never opens", async () => {
    await using server = await startRawServer(({ httpMethod }) => (httpMethod === "GET" ? undefined : false));
    await using client = createTestClient(server, HANDLERS);
    const result = await client.callTool({ name: "echo" });
    expect(result.text()).toBe("ok");
    expect(server.requests.filter(({ httpMethod }) => httpMethod === "GET")).toHaveLength(1);
  });

  it("is optional", async () => {
    await using server = await startRawServer();
    await using client = createTestClient(server, HANDLERS);
    expect((await client.callTool({ name: "echo" })).text()).toBe("ok");
  });
});

describe("a server that sends a request twice", () => {
  it("gets one response", async () => {
    let responses = 0;
    const { promise, resolve } = deferred();
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "tools/call") {
        const write = openStream(response);
        const request = {
          jsonrpc: "2.0",
          id: "q",
          method: "sampling/createMessage",
          params: { messages: [], maxTokens: 1 },
        };
        write(request);
        write(request);
        void promise.then(() =>
          response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } })}\n\n`),
        );
        return;
      }
      if (method !== undefined || !("result" in body)) return false;
      responses += 1;
      response.writeHead(202).end();
      resolve();
      return;
    });
    let handled = 0;
    await using client = createTestClient(server, {
      onSamplingRequest: async () => ((handled += 1), { model: "m", content: "x" }),
    });
    await client.callTool({ name: "any" });
    expect([handled, responses]).toEqual([1, 1]);
  });
});

describe("a notification", () => {
  it("of any method reaches the listeners", async () => {
    await using server = await startSdkServer(createElicitingServer);
    await using client = createTestClient(server, HANDLERS);
    const received: string[] = [];
    client.on("notification", ({ method }) => received.push(method));
    await client.ensureSession();
    const [session] = server.servers;
    await session?.sendLoggingMessage({ level: "info", data: "hello" });
    await session?.sendToolListChanged();
    await session?.notification({
      method: "notifications/elicitation/complete",
      params: { elicitationId: "e1" },
    });
    await session?.notification({ method: "notifications/of/tomorrow" } as never);
    await eventually(() => received.length === 4);
    expect(received).toEqual([
      "notifications/message",
      "notifications/tools/list_changed",
      "notifications/elicitation/complete",
      "notifications/of/tomorrow",
    ]);
  });
});
