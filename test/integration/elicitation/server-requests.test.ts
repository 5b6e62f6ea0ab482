import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  McpClient,
  McpRuntimeError,
  type ServerDefinition,
  type ServerRequestContext,
} from "../../../src/index.js";
import { BOOKING, createAskingServer } from "../../fixtures/eliciting-server.js";
import { eventually, failureOf, gate, ONCE, times } from "../../fixtures/clients.js";
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

function clientOf({ url }: { readonly url: string }, handlers: Handlers = HANDLERS): McpClient {
  return new McpClient({ name: "asking", url, ...ONCE, ...handlers });
}

async function ask(client: McpClient, tool: string, params: object = {}): Promise<unknown> {
  const result = await client.callTool({ name: tool, args: { params } });
  return result.isError ? result.text() : result.json();
}

async function warningsOf(client: McpClient, work: () => Promise<unknown>): Promise<string> {
  const warnings: string[] = [];
  const stop = client.on("warning", ({ message }) => warnings.push(message));
  await work();
  stop();
  return warnings.join("\n");
}

function announced({ heard }: SdkServer): unknown {
  const greeting = heard.find(({ body }) => body["method"] === "initialize");
  return (greeting?.body["params"] as { capabilities: unknown } | undefined)?.capabilities;
}

const overHttp = (belongs: boolean, answers: "json" | "sse") => async () => {
  const server = await startSdkServer(() => createAskingServer({ belongs }), answers);
  return { definition: { url: server.url }, close: () => server[Symbol.asyncDispose]() };
};
const inProcess = async () => ({
  definition: { server: () => createAskingServer() },
  close: async () => undefined,
});

describe.each([
  ["over HTTP, on the stream of the call", overHttp(true, "sse")],
  ["over HTTP, on the server's own stream", overHttp(false, "sse")],
  ["over HTTP, on the server's own stream, with JSON answers", overHttp(false, "json")],
  ["in this process", inProcess],
])("a server that asks %s", (_, open) => {
  it("is answered by the handlers, already during the first call", async () => {
    const { definition, close } = await open();
    await using client = new McpClient({ name: "asking", ...definition, ...HANDLERS } as never);
    expect(await ask(client, "sample")).toMatchObject({
      role: "assistant",
      model: "poet",
      content: { type: "text", text: 'on [{"type":"text","text":"A haiku, please."}]' },
    });
    expect(await ask(client, "form")).toEqual({
      action: "accept",
      content: { name: "Which table?", guests: 2 },
    });
    expect(await ask(client, "url")).toEqual({ action: "accept" });
    expect(await ask(client, "roots")).toEqual({
      roots: [{ uri: "file:///home/ann/project", name: "project" }],
    });
    expect(await ask(client, "ask", { method: "ping" })).toEqual({});
    expect(await ask(client, "ask", { method: "tasks/list" })).toContain("-32601");
    await client.close();
    await close();
  });
});

describe("what a server is told that it may ask", () => {
  it.each([
    ["nothing", {}, {}],
    ["folders", { roots: [] }, { roots: {} }],
    ["a model", { onSamplingRequest: HANDLERS.onSamplingRequest }, { sampling: {} }],
    [
      "a person, by form",
      { onElicitationRequest: { form: HANDLERS.onElicitationRequest.form } },
      { elicitation: { form: {} } },
    ],
    [
      "a person, by address",
      { onElicitationRequest: { url: HANDLERS.onElicitationRequest.url } },
      { elicitation: { url: {} } },
    ],
    [
      "a person, by both",
      { onElicitationRequest: () => ({ action: "decline" }) as const },
      { elicitation: { form: {}, url: {} } },
    ],
  ])("is what has a handler: %s", async (_, handlers: Handlers, capabilities) => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, handlers);
    await client.listTools();
    expect(announced(server)).toEqual(capabilities);
    const isHeard = server.heard.some(({ httpMethod }) => httpMethod === "GET");
    expect(isHeard).toBe(Object.keys(capabilities).length > 0);
  });

  it("and what has none is not answered", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, {
      onElicitationRequest: { form: HANDLERS.onElicitationRequest.form },
    });
    expect(await ask(client, "sample")).toContain("-32601");
    expect(await ask(client, "ask", { method: "roots/list" })).toContain("-32601");
    const page = {
      method: "elicitation/create",
      mode: "url",
      message: "",
      url: "https://a.b",
      elicitationId: "1",
    };
    expect(await ask(client, "ask", page)).toContain("-32602");
  });
});

describe("after a session was lost", () => {
  it.each([true, false])(
    "handlers answer on the new one (request belongs to the call: %s)",
    async (belongs) => {
      await using server = await startSdkServer(() => createAskingServer({ belongs }));
      await using client = clientOf(server);
      await ask(client, "sample");
      await server.restart();
      expect(await ask(client, "form")).toMatchObject({ action: "accept" });
      expect(await ask(client, "roots")).toMatchObject({ roots: [{ name: "project" }] });
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
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, form(answer));
    expect(await ask(client, "form")).toEqual(answer);
  });

  it("shows the handler what is asked, without characters that hide", async () => {
    await using server = await startSdkServer(createAskingServer);
    const seen: unknown[] = [];
    await using client = clientOf(server, {
      onElicitationRequest: (request) => {
        seen.push(request);
        return { action: "cancel" };
      },
    });
    await ask(client, "form", { message: "Which\u202E table?" });
    await ask(client, "url");
    expect(seen).toEqual([
      { mode: "form", ...BOOKING },
      { mode: "url", message: "Log in.", url: "https://example.com/login", elicitationId: "e1" },
    ]);
  });

  it.each([
    [
      "does not fit",
      { action: "accept", content: { name: "Ada", guests: "many-secret" } },
      "guests: expected a number",
    ],
    ["lacks something", { action: "accept", content: {} }, "name is required"],
    [
      "has too much",
      { action: "accept", content: { name: "Ada", pin: "1234-secret" } },
      "pin was not asked for",
    ],
    ["is none", { action: "maybe-secret" }, 'action: expected "accept" or "decline" or "cancel".'],
    ["is nothing", undefined, "cannot be used: expected an object, found nothing."],
    [
      "holds what no form has",
      { action: "accept", content: { name: { first: "Ada-secret" } } },
      "content.name: expected a text or a number or true or false or a list, found an object.",
    ],
  ])("whose answer %s is an error for the server and a warning for us", async (_, answer, problem) => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, form(answer as never));
    const warning = await warningsOf(client, async () => {
      expect(await ask(client, "form")).toBe("MCP error -32603: The client has no answer that can be used.");
    });
    expect(warning).toContain(problem);
    expect(warning).not.toContain("secret");
  });

  it("that is nested, or an address that is no web page, never reaches the handler", async () => {
    await using server = await startSdkServer(createAskingServer);
    let asked = 0;
    await using client = clientOf(server, {
      onElicitationRequest: () => ((asked += 1), { action: "cancel" }),
    });
    const nested = { type: "object", properties: { a: { type: "object", properties: {} } } };
    const create = { method: "elicitation/create", message: "?" };
    expect(await ask(client, "ask", { ...create, requestedSchema: nested })).toBe(
      'MCP error -32602: Invalid params: requestedSchema.properties.a.type: expected "string" or "number" or "integer" or "boolean" or "array"',
    );
    const page = { ...create, mode: "url", elicitationId: "1", url: "javascript:alert(1)" };
    expect(await ask(client, "ask", page)).toContain("-32602");
    expect(asked).toBe(0);
  });
});

describe("a handler that fails", () => {
  it("tells the server nothing of our side, and us what happened", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = new McpClient({
      name: "asking",
      url: server.url,
      headers: { authorization: "Bearer s3cret-token" },
      onSamplingRequest: () => {
        throw Object.assign(new Error("no model at /home/me with s3cret-token"), {
          code: 42,
          data: "inside",
        });
      },
    });
    const warning = await warningsOf(client, async () => {
      expect(await ask(client, "sample")).toBe("MCP error -32603: The client failed to answer.");
    });
    expect(warning).toContain(
      'Server "asking": the handler of sampling/createMessage failed: no model at /home/me',
    );
    expect(warning).not.toContain("s3cret");
    expect(JSON.stringify(server.heard.filter(({ body }) => "error" in body))).not.toContain("inside");
  });

  it("can say no in the protocol's words", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, {
      onSamplingRequest: () => {
        throw new McpRuntimeError("denied", "Not on my watch.");
      },
    });
    expect(await ask(client, "sample")).toBe("MCP error -1: The user rejected the request.");
  });

  it.each([
    [
      "a list where one block belongs",
      { model: "m", content: [{ type: "text", text: "x" }] },
      "content: expected a text or an object, found a list",
    ],
    ["no model", { content: "x" }, "model: expected a text, found nothing"],
    [
      "a tool call",
      { model: "m", content: { type: "tool_use", id: "1", name: "t", input: {} } },
      'content.type: expected "text" or "image" or "audio"',
    ],
    ["nothing", undefined, "expected an object, found nothing"],
  ])("by giving %s to a server that asked for a model", async (_, answer, problem) => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, { onSamplingRequest: () => answer as never });
    const warning = await warningsOf(client, async () => {
      expect(await ask(client, "sample")).toContain("-32603");
    });
    expect(warning).toContain(`onSamplingRequest gave an answer that cannot be used: ${problem}.`);
  });

  it("by giving folders that are none", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server, { roots: () => [{ uri: "https://example.com" }] });
    const warning = await warningsOf(client, async () => {
      expect(await ask(client, "roots")).toContain("-32603");
    });
    expect(warning).toContain("[0].uri: expected an address that starts with file://");
  });

  it("is not asked about tools that it was not announced for", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server);
    const request = { method: "sampling/createMessage", messages: [], maxTokens: 1, tools: [] };
    expect(await ask(client, "ask", request)).toContain("-32602");
  });
});

/** A handler that answers when it is told to, and tells who asks. */
function slowHandler() {
  const { opened, open } = gate();
  const asked: ServerRequestContext[] = [];
  let atOnce = 0;
  let most = 0;
  return {
    asked,
    open,
    most: () => most,
    onSamplingRequest: async (_: unknown, context: ServerRequestContext) => {
      asked.push(context);
      atOnce += 1;
      most = Math.max(most, atOnce);
      await opened;
      atOnce -= 1;
      return { model: "slow", content: "at last" };
    },
  };
}

describe("many requests at once", () => {
  it("are answered eight at a time, all of them", async () => {
    await using server = await startSdkServer(createAskingServer);
    const { onSamplingRequest, asked, open, most } = slowHandler();
    await using client = clientOf(server, { onSamplingRequest, roots: HANDLERS.roots });
    const many = ask(client, "many", { count: 20 });
    await eventually(() => asked.length === 8);
    // Folders are told at once, however busy the handlers are.
    expect(await ask(client, "roots")).toMatchObject({ roots: [{}] });
    expect(asked).toHaveLength(8);
    open();
    expect(await many).toEqual(times(20, () => 1));
    expect(most()).toBe(8);
  });

  it("by a limit of one's own", async () => {
    await using server = await startSdkServer(createAskingServer);
    const { onSamplingRequest, open, asked, most } = slowHandler();
    await using client = clientOf(server, { onSamplingRequest, limits: { serverRequests: 2 } });
    const many = ask(client, "many", { count: 5 });
    await eventually(() => asked.length === 2);
    open();
    expect(await many).toHaveLength(5);
    expect(most()).toBe(2);
  });

  it("beyond all measure are refused", async () => {
    await using server = await startSdkServer(createAskingServer);
    const { onSamplingRequest, open } = slowHandler();
    await using client = clientOf(server, { onSamplingRequest });
    expect(await ask(client, "many", { count: 300 })).toContain("-32603: Too many requests");
    open();
  });
});

describe("a request that nobody waits for any more", () => {
  it("is aborted when the call that it belongs to is cancelled, and is not answered", async () => {
    await using server = await startSdkServer(createAskingServer);
    const { onSamplingRequest, asked, open } = slowHandler();
    await using client = clientOf(server, { onSamplingRequest });
    const controller = new AbortController();
    const call = failureOf(client.callTool({ name: "sample" }, { signal: controller.signal }));
    await eventually(() => asked.length === 1);
    expect(asked[0]?.signal.aborted).toBe(false);
    expect(asked[0]).toMatchObject({ server: "asking" });
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => asked[0]?.signal.aborted === true);
    open();
    expect(await ask(client, "sample")).toMatchObject({ model: "slow" });
    const answers = server.heard.filter(({ body }) => "result" in body || "error" in body);
    expect(answers).toHaveLength(1);
  });

  it("is aborted when that call fails", async () => {
    await using server = await startSdkServer(createAskingServer);
    const { onSamplingRequest, asked, open } = slowHandler();
    await using client = clientOf(server, { onSamplingRequest });
    const call = failureOf(client.callTool({ name: "sample" }));
    await eventually(() => asked.length === 1);
    await server.restart();
    expect(await call).toMatchObject({ kind: "connection-lost" });
    expect(asked[0]?.signal.aborted).toBe(true);
    open();
  });

  it.each([true, false])("is aborted when the server takes it back (over HTTP: %s)", async (isHttp) => {
    const createServer = () => createAskingServer({ belongs: !isHttp });
    await using server = await startSdkServer(createServer);
    const { onSamplingRequest, asked, open } = slowHandler();
    const place = isHttp ? { url: server.url } : { server: createServer };
    await using client = new McpClient({ name: "asking", ...place, ...ONCE, onSamplingRequest } as never);
    const controller = new AbortController();
    // The tool that is cancelled takes back what it asked: its first request, with the id 0.
    const call = failureOf(client.callTool({ name: "sample" }, { signal: controller.signal }));
    await eventually(() => asked.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => asked[0]?.signal.aborted === true);
    open();
    expect(await ask(client, "sample")).toMatchObject({ model: "slow" });
  });

  it.each(["over HTTP", "in this process"])(
    "is aborted on close, which waits for no handler (%s)",
    async (where) => {
      await using server = await startSdkServer(createAskingServer);
      const { onSamplingRequest, asked } = slowHandler();
      const place = where === "over HTTP" ? { url: server.url } : { server: () => createAskingServer() };
      const client = new McpClient({ name: "asking", ...place, onSamplingRequest } as never);
      const call = failureOf(client.callTool({ name: "sample" }));
      await eventually(() => asked.length === 1);
      await client.close();
      expect(await call).toMatchObject({ kind: "closed" });
      expect(asked[0]?.signal.aborted).toBe(true);
      expect(client.state).toBe("closed");
    },
  );

  it("is aborted when the session is gone", async () => {
    const server = createAskingServer();
    const { onSamplingRequest, asked } = slowHandler();
    await using client = new McpClient({ name: "asking", server, ...ONCE, onSamplingRequest });
    const call = failureOf(client.callTool({ name: "sample" }));
    await eventually(() => asked.length === 1);
    await server.close();
    expect(await call).toMatchObject({ kind: "connection-lost" });
    expect(asked[0]?.signal.aborted).toBe(true);
  });
});

describe("two users of one server", () => {
  it("are told apart by who asks", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = new McpClient({
      name: "asking",
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

describe("a server's own stream", () => {
  it("that never answers holds up no call for long", async () => {
    await using server = await startRawServer(({ httpMethod }) => (httpMethod === "GET" ? undefined : false));
    await using client = clientOf(server);
    const result = await client.callTool({ name: "echo" });
    expect(result.text()).toBe("ok");
    expect(server.seen.filter(({ httpMethod }) => httpMethod === "GET")).toHaveLength(1);
  });

  it("that the server does not have is fine", async () => {
    await using server = await startRawServer();
    await using client = clientOf(server);
    expect((await client.callTool({ name: "echo" })).text()).toBe("ok");
  });
});

describe("a server that sends everything twice", () => {
  it("gets one answer to one request", async () => {
    let isAnswered = 0;
    const { opened, open } = gate();
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
        void opened.then(() =>
          response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } })}\n\n`),
        );
        return;
      }
      if (method !== undefined || !("result" in body)) return false;
      isAnswered += 1;
      response.writeHead(202).end();
      open();
      return;
    });
    let asked = 0;
    await using client = clientOf(server, {
      onSamplingRequest: async () => ((asked += 1), { model: "m", content: "x" }),
    });
    await client.callTool({ name: "any" });
    expect([asked, isAnswered]).toEqual([1, 1]);
  });
});

describe("what a server tells unasked", () => {
  it("reaches whoever listens, whatever it is", async () => {
    await using server = await startSdkServer(createAskingServer);
    await using client = clientOf(server);
    const heard: string[] = [];
    client.on("notification", ({ method }) => heard.push(method));
    await client.ensureSession();
    const [session] = server.servers;
    await session?.sendLoggingMessage({ level: "info", data: "hello" });
    await session?.sendToolListChanged();
    await session?.notification({
      method: "notifications/elicitation/complete",
      params: { elicitationId: "e1" },
    });
    await session?.notification({ method: "notifications/of/tomorrow" } as never);
    await eventually(() => heard.length === 4);
    expect(heard).toEqual([
      "notifications/message",
      "notifications/tools/list_changed",
      "notifications/elicitation/complete",
      "notifications/of/tomorrow",
    ]);
  });
});
