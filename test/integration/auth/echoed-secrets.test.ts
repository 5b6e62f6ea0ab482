import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  type CallContext,
  createMcpTools,
  createMcpToolsFromAgent,
  McpClient,
  type McpRuntimeError,
} from "../../../src/index.js";
import { stripHiddenCharacters } from "../../../src/errors/sanitize-text.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { createTestClient, deferred, echo, NO_RETRY, rejection, times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { INITIALIZE_RESULT, openStream, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { startToolset } from "../../fixtures/toolsets.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const SECRET = "canary-7f3a91-secret";

function printAll(error: McpRuntimeError): string {
  return inspect(error, { depth: 9, showHidden: true });
}

/** A server that responds to calls with this error message. */
function startFailingServer(message: (headers: Record<string, unknown>) => string) {
  return startRawServer(({ method, id, request, response }) => {
    if (method !== "tools/call") return false;
    response.writeHead(200, { "content-type": "application/json" });
    const error = {
      code: -32_000,
      message: message(request.headers),
      data: { message: message(request.headers) },
    };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    return undefined;
  });
}

describe("a long error text", () => {
  it("of a known secret takes no longer than one of other characters, and shows no part of the secret", async () => {
    const text = "k3y-7f".repeat(1_500_000);
    const other = "x".repeat(text.length);
    let current = text;
    await using server = await startFailingServer(() => current);
    await using client = createTestClient(server, { headers: { "x-api-key": "k3y-7f" } });
    await client.ensureSession();
    const measure = async (message: string) => {
      current = message;
      const startedAt = performance.now();
      const failure = await rejection(client.callTool(echo()));
      return { failure, ms: performance.now() - startedAt };
    };
    const pairs = [];
    for (let round = 0; round < 3; round += 1)
      pairs.push([await measure(text), await measure(other)] as const);
    const ratio = Math.min(...pairs.map(([first, second]) => first.ms / second.ms));
    expect(ratio).toBeLessThan(3);
    for (const [{ failure }] of pairs) {
      expect(failure.message.length).toBeLessThan(500);
      expect(printAll(failure)).not.toMatch(/k3y|7f/);
    }
  });
});

function setStackTraceLimit(limit: number): Disposable {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = limit;
  return { [Symbol.dispose]: () => void (Error.stackTraceLimit = stackTraceLimit) };
}

/** A call with the argument `wait` fails once it is released, with the token of the call. */
function startWaitingServer(type: "http" | "sse", released: Promise<void>, onStarted: () => void) {
  const run = async (
    { wait }: Readonly<Record<string, unknown>>,
    { headers }: { readonly headers: object },
  ) => {
    if (wait !== true) return "ok";
    onStarted();
    await released;
    throw new Error(`${String(Reflect.get(headers, "x-user-token"))} is invalid`);
  };
  const tools = [{ name: "get", run }];
  return type === "sse" ? SseServer.start({ tools }) : startMcpTestServer({ tools });
}

/** Like `startWaitingServer`, but the response arrives on another request than that of the call. */
function startResumingServer(_: unknown, released: Promise<void>, onStarted: () => void) {
  let message: object | undefined;
  return startRawServer(({ id, body, request, response }) => {
    const send = (text: string) =>
      void response.writeHead(200, { "content-type": "text/event-stream" }).end(`${text}\n\n`);
    if (request.headers["last-event-id"] === "e1") {
      onStarted();
      return void released.then(() => send(`data: ${JSON.stringify(message)}`));
    }
    if (!JSON.stringify(body).includes('"wait":true')) return false;
    const text = `${String(request.headers["x-user-token"])} is invalid`;
    message = { jsonrpc: "2.0", id, result: { isError: true, content: [{ type: "text", text }] } };
    return send("id: e1\nretry: 1\ndata:");
  });
}

describe("is redacted when the server echoes it:", () => {
  it("a header of one call", async () => {
    await using server = await startFailingServer(
      (headers) => `${String(headers["x-user-token"])} is invalid`,
    );
    const logger = new RecordingLogger();
    await using client = createTestClient(server, {}, { logger });
    const headers = { "x-user-token": `Token ${SECRET}` };
    const failure = await rejection(client.callTool(echo(), { headers }));
    expect(failure.message).toContain("[redacted] is invalid");
    expect(printAll(failure)).not.toContain(SECRET);
  });

  it.each(["\u200b", "\u001b[0m"])("a header whose characters %j separates", async (hidden) => {
    const split = Array.from(SECRET).join(hidden);
    await using server = await startFailingServer(() => `${split} is invalid`);
    const headers = { "x-user-token": `Token ${SECRET}` };
    await using client = createTestClient(server, { headers });
    const results: unknown[] = [];
    client.on("requestEnded", ({ result }) => results.push(result()));
    const failure = await rejection(client.callTool(echo()));
    expect(failure.message).toContain("[redacted] is invalid");
    const printed = [printAll(failure), inspect(results, { depth: 9 })].join("\n");
    const visible = printed.replaceAll("\u200b", "").replaceAll("\\x1B[0m", "").replaceAll("\u001b[0m", "");
    expect(visible).not.toContain(SECRET);
  });

  it.each([
    ["http", startWaitingServer],
    ["http, on a resumed stream", startResumingServer],
    ["http, in a record that is read later", startWaitingServer],
    ["sse", startWaitingServer],
  ])(
    "a token of a call in flight, however many other tokens were used meanwhile (%s)",
    async (variant, start) => {
      const type = variant === "sse" ? "sse" : "http";
      const { promise: released, resolve: release } = deferred();
      const { promise: started, resolve: onStarted } = deferred();
      await using server = await start(type, released, onStarted);
      let current = `first-${SECRET}`;
      await using client = createTestClient(server.url, {
        type,
        identity: () => "ann",
        // The streams of a session hold the token that opened them, so the call has another one.
        headers: ({ purpose }: CallContext) => {
          const token = purpose === "call" ? current : `session-${SECRET}`;
          // More than the number of secrets that are kept after their use.
          const others = times(100, (n) => [`x-${n}`, `${token}-${n}`]);
          return { "x-user-token": token, ...Object.fromEntries(others) };
        },
      } as never);
      let readRecord = (): unknown => undefined;
      client.on("requestEnded", ({ kind, result }) => {
        if (kind === "tool-error") readRecord = result;
      });
      // The stack of an error holds what it was created in, such as a request that was interrupted.
      using _ = setStackTraceLimit(0);
      const inFlight = client.callTool({ name: "get", args: { wait: true } });
      await started;
      if (variant.endsWith("read later")) {
        release();
        await inFlight;
      }
      for (let round = 0; round < 45; round += 1) {
        current = `other-${round}-${SECRET}`;
        await client.callTool({ name: "get" });
        // Leases that are no longer referenced end with a collection, and the next tokens evict their secrets.
        if (round % 20 === 0) collectGarbage();
      }
      release();
      expect((await inFlight).isError).toBe(true);
      expect(JSON.stringify(readRecord())).toContain("is invalid");
      expect(JSON.stringify(readRecord())).not.toContain("first-");
    },
  );

  describe.each(["\u200b", "\u001b[0m", "\ufeff"])(
    "a header, with %j between its characters, by a tool",
    (hidden) => {
      const split = `bad token ${SECRET.slice(0, 6)}${hidden}${SECRET.slice(6)}`;
      const definition = { headers: { authorization: `Bearer ${SECRET}` }, ...NO_RETRY };
      const failing: TestTool = {
        name: "pay",
        run: () => ({ isError: true, content: [{ type: "text", text: split }] }),
      };

      it("in an error result", async () => {
        await using fixture = await startToolset({ tools: [failing], definition });
        const failure = await rejection(fixture.tool.invoke({}));
        expect(failure.message).toMatch(/bad token \[redacted\]$/);
        expect(printAll(failure)).not.toContain(SECRET);
        const { artifact } = await fixture.call({});
        expect(artifact).toMatchObject({ error: { message: failure.message } });
      });

      it("in the error result of a tool that the server does not list anymore", async () => {
        await using fixture = await startToolset({ tools: [failing], definition, options: { live: false } });
        const content = [{ type: "text", text: split }];
        fixture.server.addFault(
          { type: "result", result: { isError: true, content } },
          { method: "tools/call" },
        );
        fixture.server.addFault({ type: "result", result: { tools: [] } }, { method: "tools/list" });
        const failure = await rejection(fixture.tool.invoke({}));
        expect(failure).toMatchObject({ kind: "not-found" });
        expect(failure.message).toContain("The server responded: bad token [redacted]");
      });

      it.each([true, false])("in the result that another call needs (client: %s)", async (usesClient) => {
        await using fixture = await startToolset({ tools: [failing], definition });
        const caller = usesClient ? fixture.mcp.clients["srv"] : fixture.mcp;
        const call = () => ({ name: "pay" });
        const outcomes = await caller?.callTools([
          { id: "a", name: "pay" },
          { id: "b", dependsOn: ["a"], call },
        ]);
        expect(outcomes?.[1]).toMatchObject({
          error: { message: expect.stringMatching(/failed: bad token \[redacted\]$/) },
        });
      });

      it("in a notification, and in the URI of a resource", async () => {
        const params = { data: split, [split]: { nested: [split] } };
        const uri = `a://b/${split.replaceAll(" ", "/")}`;
        await using server = await startRawServer(({ method, id, response }) => {
          if (method !== "tools/call") return false;
          const send = openStream(response);
          send({ jsonrpc: "2.0", method: "notifications/message", params });
          send({ jsonrpc: "2.0", method: `notifications/${split}`, params });
          send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
          send({ jsonrpc: "2.0", id, result: { content: [] } });
          response.end();
          return undefined;
        });
        await using mcp = await createMcpToolsFromAgent(
          { resources: [{ $resourceType: "mcp", name: "raw", availableTools: [TOOL] }] },
          { servers: { raw: { url: server.url, ...definition } } },
        );
        const events: unknown[] = [];
        const record = (event: unknown) => events.push(event);
        mcp.on("notification", record);
        mcp.clients["raw"]?.on("notification", record);
        mcp.clients["raw"]?.on("resourceUpdated", record);
        await mcp.callTool({ name: "pay" });
        expect(events).toHaveLength(7);
        expect(events[0]).toMatchObject({
          params: {
            data: "bad token [redacted]",
            "bad token [redacted]": { nested: ["bad token [redacted]"] },
          },
        });
        const visible = stripHiddenCharacters(
          inspect(events, { depth: 9 }).replaceAll(/\\x1B|\\uFEFF/gi, "\u001b"),
        );
        expect(visible.replaceAll("[0m", "")).not.toContain(SECRET);
      });
    },
  );

  it("but not in the URI of a resource that the application has subscribed to", async () => {
    const [own, other] = ["crm://acme-corp/leads", "crm://acme-corp/other"];
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "initialize")
        return sendJson(response, id, {
          ...INITIALIZE_RESULT,
          capabilities: { resources: { subscribe: true } },
        });
      if (method !== "tools/call") return false;
      const send = openStream(response);
      for (const uri of [own, other])
        send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
      send({ jsonrpc: "2.0", id, result: { content: [] } });
      response.end();
      return undefined;
    });
    await using client = createTestClient(server, { headers: { "x-tenant": "acme-corp" } });
    const uris: string[] = [];
    client.on("resourceUpdated", ({ uri }) => uris.push(uri));
    await client.subscribeResource(own);
    await client.callTool({ name: "pay" });
    expect(uris).toEqual([own, "crm://[redacted]/other"]);
  });

  it("by its tools, in messages about the toolset", async () => {
    const name = `pay_${SECRET}`;
    const run = () => "ok";
    const schema = { type: "object", properties: { [`${SECRET}\u200b`]: { type: "string" } } };
    await using server = await startMcpTestServer({
      tools: [
        { name, run },
        { name: `${name} x`, run },
        { name: `${name}_x`, run },
        { name: "get", run, inputSchema: schema },
        { name: "bad", run },
        { name: `${SECRET}_list`, run },
      ],
    });
    const logger = new RecordingLogger();
    const headers = { authorization: `Bearer ${SECRET}` };
    const throwFor = (tool: { readonly name: string }) => {
      if (tool.name === "bad") throw new Error(`no rule with ${SECRET}`);
    };
    const definitions = {
      first: { url: server.url, headers, tools: throwFor },
      other: { url: server.url, tools: { nothing: { timeoutMs: 5 } } },
    };
    const rules = { [`${name}z`]: { requireApproval: true }, none: { timeoutMs: 5 } };
    await using mcp = await createMcpTools(definitions as never, { logger, tools: rules });
    const failure = await rejection(mcp.callTool({ name: "none" }));
    expect(failure.message).toContain("first__[redacted]_list");
    const log = logger.messages.join("\n");
    for (const text of [
      'Tool "bad" is excluded because its rule failed: no rule with [redacted]',
      'The rule for "pay_[redacted]z" does not match "pay_[redacted]" of server "first" ("first__pay_[redacted]"), ',
      'Server "other": the rule for "nothing" does not match any of its tools. Tools: "bad", "[redacted]_list", "get", "pay_[redacted]',
      'The rule for "none" does not match a tool of any server.',
    ])
      expect(log).toContain(text);
    expect(`${log}\n${printAll(failure)}`).not.toContain(SECRET);
  });

  it("every secret of a call with thousands of them", async () => {
    const secrets = times(10_000, (n) => `s3cret-${n}-of-call`);
    await using server = await startFailingServer(() => `refused ${secrets[0]} and ${secrets.at(-1)}`);
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo(), { secrets }));
    expect(failure.message).toContain("refused [redacted] and [redacted]");
  });

  it("a sensitive argument, in progress, in logs of an invalid result, and in errors of the tool", async () => {
    const pin = 471_147;
    const long = `long-${SECRET}-${"0123456789".repeat(9)}`;
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "tools/list") {
        sendJson(response, id, { tools: [TOOL] });
        return undefined;
      }
      if (method !== "tools/call") return false;
      const { arguments: args, _meta: meta } = body["params"] as Record<string, Record<string, unknown>>;
      const send = openStream(response);
      const progressToken = meta?.["progressToken"];
      const params = { progressToken, progress: 1, message: `using ${String(args?.["key"])}` };
      if (progressToken !== undefined) send({ jsonrpc: "2.0", method: "notifications/progress", params });
      const { key, pin: number } = args ?? {};
      const text = `got ${String(key)}`;
      const result = {
        content: [{ type: "text", text }],
        structuredContent: { total: key, pin: number, [String(key)]: 1 },
        isError: args?.["fail"] === true,
      };
      send({ jsonrpc: "2.0", id, result });
      response.end();
      return undefined;
    });
    const isSensitive = true;
    const resource = {
      $resourceType: "mcp",
      name: "bank",
      availableTools: [
        {
          ...TOOL,
          argumentProperties: {
            "$['key']": { variant: "static", value: long, isSensitive },
            "$['pin']": { variant: "static", value: pin, isSensitive },
          },
        },
      ],
    };
    const logger = new RecordingLogger();
    const progress: unknown[] = [];
    await using mcp = await createMcpToolsFromAgent(
      { resources: [resource] },
      { servers: { bank: { url: server.url } }, logger, onProgress: (event) => progress.push(event) },
    );
    const events: unknown[] = [];
    mcp.clients["bank"]?.on("requestEnded", ({ result }) => events.push(result()));
    const [tool] = mcp.tools;
    await tool?.invoke({});
    const failure = await rejection(tool?.invoke({ fail: true }) as Promise<unknown>);
    expect(progress).toMatchObject([{ message: "using [redacted]" }, { message: "using [redacted]" }]);
    expect(logger.messages.join("\n")).toContain("does not match the output schema");
    expect(failure.message).toContain("got [redacted]");
    const output = [events, logger.messages, progress, printAll(failure)].map((value) =>
      inspect(value, { depth: 9 }),
    );
    for (const text of output) {
      expect(text).not.toContain("long-canary");
      expect(text).not.toContain(String(pin));
    }
  });

  it.each(["client_secret_post", "client_secret_basic"])(
    "the secret of an OAuth provider (%s)",
    async (method) => {
      await using world = await startProtectedServer();
      world.oauth.metadata = { token_endpoint_auth_methods_supported: [method] };
      world.oauth.tokenError = {
        error: "invalid_client",
        error_description: "the secret hush-Hush-1 is wrong",
      };
      await using client = world.clientWith(world.machine());
      const failure = await rejection(client.callTool(echo()));
      expect(failure).toMatchObject({
        kind: "unauthorized",
        message: expect.stringContaining("the secret [redacted] is wrong"),
      });
      expect(printAll(failure)).not.toContain("hush-Hush-1");
      const isBasic = world.oauth.tokenAuthorizations[0]?.startsWith("Basic ") === true;
      expect(isBasic).toBe(method === "client_secret_basic");
    },
  );

  it("a refresh token, and a token that its provider cannot store", async () => {
    await using world = await startProtectedServer();
    const provider = Object.assign(new MemoryOAuthProvider(), {
      saveTokens: ({ access_token: token }: { readonly access_token: string }) => {
        throw new Error(`cannot store ${token}`);
      },
    });
    await using client = world.clientWith(provider);
    const { authorizationUrl } = await rejection(client.callTool(echo()));
    const failure = await rejection(client.finishAuth(await world.oauth.logIn(authorizationUrl ?? "")));
    expect(failure.message).toContain("cannot store [redacted]");
    expect(printAll(failure)).not.toMatch(/access-Token/);
  });
});

const TOOL = {
  name: "pay",
  description: "Pays.",
  inputSchema: {
    type: "object",
    properties: { key: { type: "string" }, pin: { type: "number" }, fail: { type: "boolean" } },
  },
  outputSchema: { type: "object", properties: { total: { enum: ["paid"] }, pin: { enum: [1] } } },
};

describe("a credential made from a missing value is refused before anything is sent:", () => {
  const missing = [undefined, null, Number.NaN, {}, Promise.resolve("token")].map(String);

  it.each(missing)("static headers: %s", async (text) => {
    const findIssuePaths = (headers: Record<string, string>) =>
      catchConfigError(() => new McpClient({ name: "x", url: "http://127.0.0.1:1/mcp", headers })).issues.map(
        ({ path }) => path,
      );
    expect(findIssuePaths({ authorization: `Bearer ${text}` })).toEqual(["headers.authorization"]);
    expect(findIssuePaths({ "x-api-key": text })).toEqual(["headers.x-api-key"]);
    const basic = Buffer.from(`ann:${text}`).toString("base64");
    expect(findIssuePaths({ authorization: `Basic ${basic}` })).toEqual(["headers.authorization"]);
  });

  it.each(missing)("the user and password of a URL: %s", (text) => {
    for (const user of [`${text}:pw`, `ann:${text}`]) {
      const create = () => new McpClient({ name: "x", url: `http://${user}@127.0.0.1:1/mcp` });
      expect(catchConfigError(create).issues).toMatchObject([{ path: "url" }]);
    }
  });

  it.each(missing)("functions and calls: %s", async (text) => {
    await using server = await startRawServer();
    const identity = () => "ann";
    const definitions = [
      { identity, headers: () => ({ authorization: `Bearer ${text}` }) },
      { identity, headers: async () => ({ "x-key": text }) },
      { identity, auth: () => text },
      {
        auth: Object.assign(new MemoryOAuthProvider(), {
          tokens: () => ({ access_token: text, token_type: "Bearer" }),
        }),
      },
    ];
    for (const definition of definitions) {
      await using client = createTestClient(server, definition as never);
      expect(["invalid-config", "unauthorized"]).toContain((await rejection(client.callTool(echo()))).kind);
    }
    await using client = createTestClient(server);
    const failure = await rejection(
      client.callTool(echo(), { headers: { authorization: `Bearer ${text}` } }),
    );
    expect(failure).toMatchObject({ kind: "invalid-config" });
    expect(server.requests).toEqual([]);
  });

  it.each([
    "Bearer undefined",
    `Bearer ${SECRET}`,
    `bearer  ${SECRET}`,
    `Basic ${SECRET}`,
    `Token ${SECRET}`,
    `Authorization: Bearer ${SECRET}`,
    "undefined undefined",
    "Bearer",
  ])("a token with a scheme or several words: %s", async (token) => {
    await using server = await startRawServer();
    const provider = new MemoryOAuthProvider();
    const tokens = () => ({ access_token: token, token_type: "Bearer" });
    const definitions = [
      { identity: () => "ann", auth: () => token },
      { identity: () => "ann", auth: async () => token },
      { auth: Object.assign(provider, { tokens }) },
    ];
    for (const definition of definitions) {
      await using client = createTestClient(server, definition as never);
      const failure = await rejection(client.callTool(echo()));
      expect(failure.kind).toBe("invalid-config");
      expect(failure.message).toMatch(/The return value of function auth .*\bscheme\b/s);
      expect(printAll(failure)).not.toContain(SECRET);
    }
    expect(server.requests).toEqual([]);
  });

  it.each(["key undefined end", "Bearer undefined, x", "Bearer null; x", `Bearer Bearer ${SECRET}`])(
    "an Authorization header: %s",
    async (authorization) => {
      await using server = await startRawServer();
      const headers = { Authorization: authorization };
      const create = () => createTestClient(server, { headers });
      const { message, issues } = catchConfigError(create);
      expect(issues).toMatchObject([{ path: "headers.Authorization" }]);
      expect(message).not.toContain(SECRET);
      await using client = createTestClient(server, { identity: () => "ann", headers: () => headers });
      expect((await rejection(client.callTool(echo()))).kind).toBe("invalid-config");
      expect(server.requests).toEqual([]);
    },
  );

  it.each([
    ["authorization", 'Bearer "undefined"'],
    ["authorization", "Bearer undefined:undefined"],
    ["authorization", "SharedKey acct:undefined"],
    ["authorization", "AWS4-HMAC-SHA256 Credential=undefined/20260101/us/s3, Signature=abc"],
    ["proxy-authorization", "Bearer null"],
    ["cookie", "session=null"],
    ["cookie", "a=1; session=NaN; b=2"],
    ["x-keys", "undefined,undefined"],
    ["x-api-key", '"null"'],
    ["X-Auth", "bob:undefined"],
    ["x-amz-security-token", "[object Promise]; v=1"],
  ])("a part of another header with credentials: %s: %s", async (name, value) => {
    await using server = await startRawServer();
    const headers = { [name]: value };
    const create = () => createTestClient(server, { headers });
    expect(catchConfigError(create).issues).toMatchObject([{ path: `headers.${name}` }]);
    await using client = createTestClient(server);
    expect((await rejection(client.callTool(echo(), { headers }))).kind).toBe("invalid-config");
    expect(server.requests).toEqual([]);
  });

  it.each([
    "Bearer",
    "an-api-key-alone",
    "Bearer undefined-behavior.null",
    'Digest username="null user", realm="x"',
    "Bearer bearer-of-news",
  ])("other Authorization headers are sent: %s", async (authorization) => {
    await using server = await startRawServer();
    await using client = createTestClient(server, { headers: { authorization } });
    await client.callTool(echo());
    expect(server.requests[0]?.request.headers).toMatchObject({ authorization });
  });

  it("other values that contain these words are sent", async () => {
    await using server = await startRawServer();
    const headers = {
      origin: "null",
      "x-note": "undefined behavior",
      "x-mode": "nullable",
      "x-text": "key undefined end",
      "x-scheme": "Bearer Basic",
      "x-keywords": "null, undefined, NaN",
      "x-author": "Ann: undefined",
      cookie: "lang=nullable; path=/undefined-behavior/null",
      "x-api-key": "a/null/NaN/b+undefined",
    };
    await using client = createTestClient(server, { headers });
    await client.callTool(echo());
    expect(server.requests[0]?.request.headers).toMatchObject(headers);
  });
});
