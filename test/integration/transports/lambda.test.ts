import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMcpTools, McpClient, type McpClientOptions } from "../../../src/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, failureOf, gate, ONCE } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  ANSWERED,
  AWS_ENVIRONMENT,
  type Invocation,
  LambdaEndpoint,
  refuse,
} from "../../fixtures/lambda-endpoint.js";

beforeEach(() => {
  for (const [name, value] of Object.entries(AWS_ENVIRONMENT)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const GREETING = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "function", version: "1" },
};

/** A function of a few lines: it greets, and calls are handled. */
function functionOf(handle: (invocation: Invocation) => unknown) {
  return (invocation: Invocation) => {
    const { id, method } = invocation.message;
    if (method === "initialize") return { jsonrpc: "2.0", id, result: GREETING };
    return method === "tools/call" ? handle(invocation) : null;
  };
}

function answer({ message }: Invocation, text = "ok") {
  return { jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text }] } };
}

function clientOf(
  endpoint: LambdaEndpoint,
  definition: object = {},
  options: McpClientOptions = {},
): McpClient {
  const address = { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url };
  return new McpClient({ name: "function", ...address, ...ONCE, ...definition }, options);
}

describe("a server in a Lambda function", () => {
  it("gets each message as it is, signed, in an invocation of its own", async () => {
    await using endpoint = await LambdaEndpoint.start(functionOf((invocation) => answer(invocation)));
    const functionName = "arn:aws:lambda:eu-north-1:123456789012:function:tools";
    await using client = clientOf(endpoint, { functionName, qualifier: "$LATEST" });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(client).toMatchObject({ state: "ready", sessionId: undefined });
    expect(endpoint.invocations.map(({ message }) => message.method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
    const [call] = endpoint.received("tools/call");
    expect(call).toMatchObject({ functionName, qualifier: "$LATEST" });
    expect(call?.message).toMatchObject({
      jsonrpc: "2.0",
      params: { name: "echo", arguments: { text: "hello" } },
    });
    expect(call?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-north-1\/lambda\//,
    );
    expect(call?.headers["amz-sdk-request"]).toBe("attempt=1; max=1");
  });

  it("gives tools like any other", async () => {
    const server = new McpTestServer({
      tools: [{ name: "add", run: ({ a, b }) => String(Number(a) + Number(b)) }],
    });
    await using endpoint = await LambdaEndpoint.serve(server);
    await using mcp = await createMcpTools({
      sums: { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url },
    });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["sums__add"]);
    expect(await mcp.tools[0]?.invoke({ a: 2, b: 3 })).toBe("5");
  });

  it.each([
    ["for API Gateway", (body: string) => ({ statusCode: 200, headers: {}, body })],
    [
      "for API Gateway, in base64",
      (body: string) => ({
        statusCode: 200,
        body: Buffer.from(body).toString("base64"),
        isBase64Encoded: true,
      }),
    ],
    [
      "for API Gateway, not as a text",
      (body: string) => ({ statusCode: 200, body: JSON.parse(body) as unknown }),
    ],
    ["as a text", (body: string) => body],
    ["in a list", (body: string) => [JSON.parse(body) as unknown]],
    [
      "after a notification",
      (body: string) => [{ jsonrpc: "2.0", method: "notifications/message" }, JSON.parse(body) as unknown],
    ],
  ])("may answer %s", async (_, wrap) => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) => wrap(JSON.stringify(answer(invocation, "grüße")))),
    );
    await using client = clientOf(endpoint);
    expect((await client.callTool(echo())).text()).toBe("grüße");
  });

  it("may fail on notifications, or never end one: only calls count", async () => {
    const clock = new FakeClock();
    const hanging: Invocation[] = [];
    await using endpoint = await LambdaEndpoint.start((invocation) => {
      if (invocation.message.method !== "notifications/initialized")
        return functionOf((call) => answer(call))(invocation);
      if (endpoint.received("initialize").length === 1) throw new Error("unknown method");
      hanging.push(invocation);
      return ANSWERED;
    });
    await using first = clientOf(endpoint);
    expect((await first.callTool(echo())).text()).toBe("ok");
    await using second = clientOf(endpoint, {}, { clock });
    const call = second.callTool(echo());
    await eventually(() => hanging.length === 1);
    clock.advance(5_000);
    expect((await call).text()).toBe("ok");
  });
});

describe("a Lambda function that fails", () => {
  it("is a server error with its outcome open, and is not run again", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf(() => {
        throw Object.assign(new Error("Task timed out after 3.00 seconds"), { name: "Sandbox.Timedout" });
      }),
    );
    await using client = clientOf(endpoint, { retry: {} });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind: "server-error",
      outcomeUnknown: true,
      attempts: 1,
      message:
        'Function "tools" of server "function" failed while it ran (Sandbox.Timedout): Task timed out after 3.00 seconds',
    });
    expect(inspect(failure)).not.toContain("/var/task");
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("is run again where that does no harm", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) => {
        if (endpoint.received("tools/call").length === 1) throw new Error("cold");
        return answer(invocation);
      }),
    );
    await using client = clientOf(endpoint, { retry: { baseDelayMs: 1 } });
    expect((await client.callTool(echo(), { idempotent: true })).text()).toBe("ok");
    expect(endpoint.received("tools/call")).toHaveLength(2);
  });

  it.each([
    [401, "no", {}, "unauthorized"],
    [404, "no", {}, "invalid-request"],
    [429, "no", { "Retry-After": "3" }, "rate-limited"],
    [503, "no", { "Retry-After": "3" }, "rate-limited"],
    [502, undefined, {}, "unavailable"],
    [500, { message: "Internal" }, {}, "server-error"],
  ])("with status %i for API Gateway", async (statusCode, body, headers, kind) => {
    await using endpoint = await LambdaEndpoint.start(functionOf(() => ({ statusCode, body, headers })));
    await using client = clientOf(endpoint);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind, status: statusCode });
    expect(failure.retryAt !== undefined).toBe(kind === "rate-limited");
  });

  it.each([
    ["nothing", null, "it is not JSON-RPC 2.0"],
    ["a text that is no JSON", "hello", "it is broken JSON"],
    ["an answer for API Gateway without a body", { statusCode: 200 }, "it is not JSON-RPC 2.0"],
    [
      "another request's answer",
      { jsonrpc: "2.0", id: 999, result: {} },
      "it answers another request (id 999)",
    ],
    ["an empty list", [], "it has everything but the answer"],
  ])("with %s is malformed", async (_, returned, why) => {
    await using endpoint = await LambdaEndpoint.start(functionOf(() => returned));
    await using client = clientOf(endpoint);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
      message: expect.stringContaining(why),
    });
  });

  it("with no byte at all is malformed", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf(({ response }) => {
        response.writeHead(200).end();
        return ANSWERED;
      }),
    );
    await using client = clientOf(endpoint);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("it is empty"),
    });
  });
});

describe("AWS", () => {
  it("throttles: the call did not run, and is made again when AWS said", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) =>
        endpoint.received("tools/call").length === 1
          ? refuse(invocation, 429, "TooManyRequestsException", { "retry-after": "0" })
          : answer(invocation),
      ),
    );
    await using client = clientOf(endpoint, { retry: { baseDelayMs: 1 } });
    const retried: unknown[] = [];
    client.on("requestRetried", ({ kind }) => retried.push(kind));
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(retried).toEqual(["rate-limited"]);
    expect(endpoint.received("tools/call")).toHaveLength(2);
  });

  it.each([
    [400, "InvalidRequestContentException", "invalid-request", "InvalidRequestContentException, said AWS."],
    [403, "AccessDeniedException", "unauthorized", "lambda:InvokeFunction"],
    [403, "ExpiredTokenException", "unauthorized", "Check the AWS credentials"],
    [404, "ResourceNotFoundException", "invalid-request", "Are functionName, qualifier and region right?"],
    [413, "RequestTooLargeException", "invalid-request", "RequestTooLargeException"],
    [429, "TooManyRequestsException", "rate-limited", "TooManyRequestsException, said AWS."],
    [500, "ServiceException", "server-error", "ServiceException, said AWS."],
    [502, "EC2ThrottledException", "unavailable", "EC2ThrottledException"],
    [503, "ServiceUnavailableException", "unavailable", "HTTP 503"],
  ])("says %i %s, once: its client repeats nothing by itself", async (status, type, kind, said) => {
    vi.stubEnv("AWS_MAX_ATTEMPTS", "5");
    vi.stubEnv("AWS_RETRY_MODE", "adaptive");
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) => refuse(invocation, status, type)),
    );
    await using client = clientOf(endpoint);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind,
      status,
      attempts: 1,
      outcomeUnknown: status >= 500,
      message: expect.stringContaining(said),
    });
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("or somebody in between answers with a page", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf(({ response }) => {
        response.writeHead(502, { "content-type": "text/html" }).end("<html>Bad Gateway</html>");
        return ANSWERED;
      }),
    );
    await using client = clientOf(endpoint);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unavailable", status: 502, outcomeUnknown: true });
    expect(failure.message).toBe('AWS answered HTTP 502 for function "tools" of server "function".');
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("quotes a token of ours, which is not passed on", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) =>
        refuse(invocation, 403, `InvalidSignatureException for ${AWS_ENVIRONMENT.AWS_SESSION_TOKEN}`),
      ),
    );
    await using client = clientOf(endpoint);
    const failure = await failureOf(client.callTool(echo()));
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(AWS_ENVIRONMENT.AWS_SESSION_TOKEN);
  });

  it("breaks the connection: the function may have run, and is not run again", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf(({ response }) => {
        response.socket?.destroy();
        return ANSWERED;
      }),
    );
    await using client = clientOf(endpoint, { retry: {} });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      attempts: 1,
    });
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("cannot be reached: nothing was sent", async () => {
    const endpoint = await LambdaEndpoint.start(() => null);
    await endpoint.stop();
    await using client = clientOf(endpoint);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
      message: expect.stringContaining("refused the connection at http://127.0.0.1"),
    });
  });
});

describe("an invocation", () => {
  it("that takes too long is given up, and its connection ended", async () => {
    const { opened, open } = gate();
    await using endpoint = await LambdaEndpoint.start(
      functionOf(async (call) => (await opened, answer(call))),
    );
    await using client = clientOf(endpoint, { timeouts: { requestMs: 100 } });
    await client.ensureSession();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "timeout",
      outcomeUnknown: true,
      message: expect.stringContaining("It may still be running there."),
    });
    await eventually(() => endpoint.received("tools/call")[0]?.response.closed === true);
    open();
  });

  it("that is cancelled ends at once, and starts no other one to say so", async () => {
    const { opened, open } = gate();
    await using endpoint = await LambdaEndpoint.start(
      functionOf(async (call) => (await opened, answer(call))),
    );
    await using client = clientOf(endpoint);
    await client.ensureSession();
    const controller = new AbortController();
    const cancelled = failureOf(client.callTool(echo(), { signal: controller.signal }));
    const sibling = client.callTool(echo());
    await eventually(() => endpoint.received("tools/call").length === 2);
    controller.abort("enough");
    expect(await cancelled).toBe("enough");
    await eventually(() => endpoint.received("tools/call").some(({ response }) => response.closed));
    open();
    expect((await sibling).text()).toBe("ok");
    expect(endpoint.received("notifications/cancelled")).toEqual([]);
  });

  it("that is cancelled while it waits for a connection is never made", async () => {
    const { opened, open } = gate();
    await using endpoint = await LambdaEndpoint.start(
      functionOf(async (call) => (await opened, answer(call))),
    );
    await using client = clientOf(endpoint, { limits: { sockets: 1 } });
    await client.ensureSession();
    const first = client.callTool(echo());
    await eventually(() => endpoint.received("tools/call").length === 1);
    const outcome = client.tryCallTool(echo(), { timeoutMs: 100 });
    expect(await outcome).toMatchObject({
      error: { kind: "timeout", outcomeUnknown: false, message: expect.stringContaining("was not sent") },
    });
    open();
    expect((await first).text()).toBe("ok");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(endpoint.received("tools/call")).toHaveLength(2);
  });

  it("ends with its client, which leaves no connection", async () => {
    await using endpoint = await LambdaEndpoint.start(functionOf(() => ANSWERED));
    const client = clientOf(endpoint);
    await client.ensureSession();
    const call = failureOf(client.callTool(echo()));
    await eventually(() => endpoint.received("tools/call").length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    await eventually(() => endpoint.openSockets === 0);
  });

  it("whose answer is beyond limits.responseBytes is too-large", async () => {
    await using endpoint = await LambdaEndpoint.start(
      functionOf((invocation) =>
        answer(invocation, "x".repeat(endpoint.received("tools/call").length === 1 ? 60_000 : 40_000)),
      ),
    );
    await using client = clientOf(endpoint, { limits: { responseBytes: 50_000 } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toHaveLength(40_000);
  });

  it.each([
    ["said so before", { "content-length": "200000000" }],
    ["does not say so", {}],
  ])("whose answer has 200 MB and %s is not read to its end", async (_, headers) => {
    const size = 200_000_000;
    let written = 0;
    await using endpoint = await LambdaEndpoint.start(
      functionOf(({ response }) => {
        const piece = Buffer.alloc(64 * 1024, "x");
        response.writeHead(200, { "content-type": "application/json", ...headers });
        const write = () => {
          while (written < size && response.writable) {
            written += piece.length;
            if (response.write(piece)) continue;
            response.once("drain", write);
            return;
          }
        };
        write();
        return ANSWERED;
      }),
    );
    await using client = clientOf(endpoint, { limits: { responseBytes: 4_000_000 } });
    await client.ensureSession();
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
    clearInterval(watch);
    await eventually(() => endpoint.openSockets <= 1);
    // What the sockets of both sides and the kernel hold comes on top of the limit.
    expect(written).toBeLessThan(40_000_000);
    expect(most).toBeLessThan(40_000_000);
  });
});

describe("what the AWS SDK needs to know", () => {
  const nowhere = {
    AWS_CONFIG_FILE: "/nonexistent/config",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/credentials",
  };

  it("a region that nobody gave is asked for", async () => {
    for (const [name, path] of Object.entries(nowhere)) vi.stubEnv(name, path);
    await using client = new McpClient({ name: "function", functionName: "tools" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "invalid-config",
      server: "function",
      message: expect.stringContaining("Give region in its definition, or set AWS_REGION"),
    });
  });

  it("comes from the environment", async () => {
    await using endpoint = await LambdaEndpoint.start(functionOf((invocation) => answer(invocation)));
    vi.stubEnv("AWS_REGION", "eu-west-1");
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", endpoint.url);
    await using client = new McpClient({ name: "function", functionName: "tools" });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(endpoint.invocations[0]?.headers.authorization).toContain("/eu-west-1/lambda/");
  });

  it("credentials that nobody gave are missed before anything is sent", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
      vi.stubEnv(name, "");
    for (const [name, path] of Object.entries(nowhere)) vi.stubEnv(name, path);
    await using endpoint = await LambdaEndpoint.start(() => null);
    await using client = clientOf(endpoint);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "unauthorized",
      outcomeUnknown: false,
      message: expect.stringContaining('There are no AWS credentials for server "function"'),
    });
    expect(endpoint.invocations).toEqual([]);
  });
});
