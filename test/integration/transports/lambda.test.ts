import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { text as readBody } from "node:stream/consumers";
import { inspect } from "node:util";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createMcpTools, McpClient, type McpClientOptions } from "../../../src/index.js";
import { HttpListener } from "../../../src/testing/http-listener.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, rejection, deferred, NO_RETRY } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  RESPONDED,
  AWS_ENVIRONMENT,
  stubAwsEnvironment,
  type Invocation,
  LambdaEndpoint,
  respondWithError,
} from "../../fixtures/lambda-endpoint.js";
import { BufferMonitor } from "../../fixtures/buffer-monitor.js";
import { INITIALIZE_RESULT } from "../../fixtures/raw-server.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

beforeEach(stubAwsEnvironment);

/** A minimal function that responds to `initialize` and passes calls to `handle`. */
function createFunction(handle: (invocation: Invocation) => unknown) {
  return (invocation: Invocation) => {
    const { id, method } = invocation.message;
    if (method === "initialize") return { jsonrpc: "2.0", id, result: INITIALIZE_RESULT };
    return method === "tools/call" ? handle(invocation) : null;
  };
}

function respond({ message }: Invocation, text = "ok") {
  return { jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text }] } };
}

function createLambdaClient(
  endpoint: LambdaEndpoint,
  definition: object = {},
  options: McpClientOptions = {},
): McpClient {
  const address = { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url };
  return new McpClient({ name: "function", ...address, ...NO_RETRY, ...definition }, options);
}

describe("a server in a Lambda function", () => {
  it("receives each message unchanged and signed, in a separate invocation", async () => {
    await using endpoint = await LambdaEndpoint.start(createFunction((invocation) => respond(invocation)));
    const functionName = "arn:aws:lambda:eu-north-1:123456789012:function:tools";
    await using client = createLambdaClient(endpoint, { functionName, qualifier: "$LATEST" });
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

  it("provides tools like any other server", async () => {
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
      "for API Gateway, not as a string",
      (body: string) => ({ statusCode: 200, body: JSON.parse(body) as unknown }),
    ],
    ["as a string", (body: string) => body],
    ["in an array", (body: string) => [JSON.parse(body) as unknown]],
    [
      "after a notification",
      (body: string) => [{ jsonrpc: "2.0", method: "notifications/message" }, JSON.parse(body) as unknown],
    ],
  ])("may return its response %s", async (_, wrap) => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) => wrap(JSON.stringify(respond(invocation, "grüße")))),
    );
    await using client = createLambdaClient(endpoint);
    expect((await client.callTool(echo())).text()).toBe("grüße");
  });

  it("may fail on a notification or never complete it without affecting calls", async () => {
    const clock = new FakeClock();
    const hanging: Invocation[] = [];
    await using endpoint = await LambdaEndpoint.start((invocation) => {
      if (invocation.message.method !== "notifications/initialized")
        return createFunction((call) => respond(call))(invocation);
      if (endpoint.received("initialize").length === 1) throw new Error("unknown method");
      hanging.push(invocation);
      return RESPONDED;
    });
    await using first = createLambdaClient(endpoint);
    expect((await first.callTool(echo())).text()).toBe("ok");
    await using second = createLambdaClient(endpoint, {}, { clock });
    const call = second.callTool(echo());
    await eventually(() => hanging.length === 1);
    clock.advance(5_000);
    expect((await call).text()).toBe("ok");
  });
});

describe("a Lambda function that fails", () => {
  it("is a server error with an unknown outcome and is not retried", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction(() => {
        throw Object.assign(new Error("Task timed out after 3.00 seconds"), { name: "Sandbox.Timedout" });
      }),
    );
    await using client = createLambdaClient(endpoint, { retry: {} });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind: "server-error",
      outcomeUnknown: true,
      attempts: 1,
      message:
        'Function "tools" of server "function" failed while running (Sandbox.Timedout): Task timed out after 3.00 seconds',
    });
    expect(inspect(failure)).not.toContain("/var/task");
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("is retried if the call is idempotent", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) => {
        if (endpoint.received("tools/call").length === 1) throw new Error("cold");
        return respond(invocation);
      }),
    );
    await using client = createLambdaClient(endpoint, { retry: { baseDelayMs: 1 } });
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
    await using endpoint = await LambdaEndpoint.start(createFunction(() => ({ statusCode, body, headers })));
    await using client = createLambdaClient(endpoint);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind, status: statusCode });
    expect(failure.retryAt !== undefined).toBe(kind === "rate-limited");
  });

  it.each([
    ["null", null, "it is not JSON-RPC 2.0"],
    ["a string that is not JSON", "hello", "it is not valid JSON"],
    ["an API Gateway response without a body", { statusCode: 200 }, "it is not JSON-RPC 2.0"],
    [
      "the response to another request",
      { jsonrpc: "2.0", id: 999, result: {} },
      "it responds to another request (id 999)",
    ],
    ["an empty array", [], "it does not contain the response"],
  ])("with %s is kind invalid-response", async (_, payload, reason) => {
    await using endpoint = await LambdaEndpoint.start(createFunction(() => payload));
    await using client = createLambdaClient(endpoint);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
      message: expect.stringContaining(reason),
    });
  });

  it("with an empty payload is kind invalid-response", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction(({ response }) => {
        response.writeHead(200).end();
        return RESPONDED;
      }),
    );
    await using client = createLambdaClient(endpoint);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("it is empty"),
    });
  });
});

describe("AWS", () => {
  it("throttles: the call did not run and is retried when AWS allows it", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) =>
        endpoint.received("tools/call").length === 1
          ? respondWithError(invocation, 429, "TooManyRequestsException", { "retry-after": "0" })
          : respond(invocation),
      ),
    );
    await using client = createLambdaClient(endpoint, { retry: { baseDelayMs: 1 } });
    const retried: unknown[] = [];
    client.on("requestRetried", ({ kind }) => retried.push(kind));
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(retried).toEqual(["rate-limited"]);
    expect(endpoint.received("tools/call")).toHaveLength(2);
  });

  it.each([
    [
      400,
      "InvalidRequestContentException",
      "invalid-request",
      "InvalidRequestContentException: error returned by AWS.",
    ],
    [403, "AccessDeniedException", "unauthorized", "lambda:InvokeFunction"],
    [403, "ExpiredTokenException", "unauthorized", "Check the AWS credentials"],
    [404, "ResourceNotFoundException", "invalid-request", "Are functionName, qualifier and region correct?"],
    [413, "RequestTooLargeException", "invalid-request", "RequestTooLargeException"],
    [429, "TooManyRequestsException", "rate-limited", "TooManyRequestsException: error returned by AWS."],
    [500, "ServiceException", "server-error", "ServiceException: error returned by AWS."],
    [502, "EC2ThrottledException", "unavailable", "EC2ThrottledException"],
    [503, "ServiceUnavailableException", "unavailable", "HTTP 503"],
  ])("returns %i %s: the AWS client does not retry", async (status, type, kind, expected) => {
    vi.stubEnv("AWS_MAX_ATTEMPTS", "5");
    vi.stubEnv("AWS_RETRY_MODE", "adaptive");
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) => respondWithError(invocation, status, type)),
    );
    await using client = createLambdaClient(endpoint);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind,
      status,
      attempts: 1,
      outcomeUnknown: status >= 500,
      message: expect.stringContaining(expected),
    });
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it.each([{ message: { a: 1 } }, { message: ["x"], __type: "Odd", name: {}, stack: 5 }, { message: null }])(
    "returns an error whose message is not a string: %j",
    async (body) => {
      await using endpoint = await LambdaEndpoint.start((invocation) => {
        if (invocation.message.method === "tools/list")
          return {
            jsonrpc: "2.0",
            id: invocation.message.id,
            result: { tools: [{ name: "pay", inputSchema: { type: "object" } }] },
          };
        return createFunction(({ response }) => {
          response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify(body));
          return RESPONDED;
        })(invocation);
      });
      await using client = createLambdaClient(endpoint);
      expect(await rejection(client.callTool({ name: "pay" }))).toMatchObject({
        kind: "server-error",
        status: 500,
        outcomeUnknown: true,
      });
      await using mcp = await createMcpTools({
        function: { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url, ...NO_RETRY },
      });
      const toolCall = { type: "tool_call", id: "1", name: "function__pay", args: {} };
      const message: unknown = await mcp.tools[0]?.invoke(toolCall);
      const { content } = message as { readonly content: string };
      expect(content).toContain("may have run");
      expect(content).not.toContain("denied");
    },
  );

  it("or a proxy returns an HTML page", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction(({ response }) => {
        response.writeHead(502, { "content-type": "text/html" }).end("<html>Bad Gateway</html>");
        return RESPONDED;
      }),
    );
    await using client = createLambdaClient(endpoint);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unavailable", status: 502, outcomeUnknown: true });
    expect(failure.message).toBe('AWS returned HTTP 502 for function "tools" of server "function".');
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("quotes our token, which is redacted", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) =>
        respondWithError(
          invocation,
          403,
          `InvalidSignatureException for ${AWS_ENVIRONMENT.AWS_SESSION_TOKEN}`,
        ),
      ),
    );
    await using client = createLambdaClient(endpoint);
    const failure = await rejection(client.callTool(echo()));
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(AWS_ENVIRONMENT.AWS_SESSION_TOKEN);
  });

  it("breaks the connection: the function may have run and is not retried", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction(({ response }) => {
        response.socket?.destroy();
        return RESPONDED;
      }),
    );
    await using client = createLambdaClient(endpoint, { retry: {} });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      attempts: 1,
    });
    expect(endpoint.received("tools/call")).toHaveLength(1);
  });

  it("cannot be reached: nothing was sent", async () => {
    const endpoint = await LambdaEndpoint.start(() => null);
    await endpoint.stop();
    await using client = createLambdaClient(endpoint);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
    });
  });
});

describe("an invocation", () => {
  it("that takes too long is aborted, and its connection closed", async () => {
    const { promise, resolve } = deferred();
    await using endpoint = await LambdaEndpoint.start(
      createFunction(async (call) => (await promise, respond(call))),
    );
    const clock = new FakeClock();
    await using client = createLambdaClient(endpoint, { timeouts: { requestMs: 100 } }, { clock });
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => endpoint.received("tools/call").length === 1);
    clock.advance(100);
    expect(await call).toMatchObject({
      kind: "timeout",
      outcomeUnknown: true,
    });
    await eventually(() => endpoint.received("tools/call")[0]?.response.closed === true);
    resolve();
  });

  it("that is cancelled ends at once, without another invocation for the notification", async () => {
    const { promise, resolve } = deferred();
    await using endpoint = await LambdaEndpoint.start(
      createFunction(async (call) => (await promise, respond(call))),
    );
    await using client = createLambdaClient(endpoint);
    await client.ensureSession();
    const controller = new AbortController();
    const cancelled = rejection(client.callTool(echo(), { signal: controller.signal }));
    const sibling = client.callTool(echo());
    await eventually(() => endpoint.received("tools/call").length === 2);
    controller.abort("enough");
    expect(await cancelled).toBe("enough");
    await eventually(() => endpoint.received("tools/call").some(({ response }) => response.closed));
    resolve();
    expect((await sibling).text()).toBe("ok");
    expect(endpoint.received("notifications/cancelled")).toEqual([]);
  });

  it("that is cancelled while it waits for a connection is never sent", async () => {
    const { promise, resolve } = deferred();
    await using endpoint = await LambdaEndpoint.start(
      createFunction(async (call) => (await promise, respond(call))),
    );
    await using client = createLambdaClient(endpoint, { limits: { sockets: 1 } });
    await client.ensureSession();
    const first = client.callTool(echo());
    await eventually(() => endpoint.received("tools/call").length === 1);
    const outcome = client.tryCallTool(echo(), { timeoutMs: 100 });
    expect(await outcome).toMatchObject({
      error: { kind: "timeout", outcomeUnknown: false },
    });
    resolve();
    expect((await first).text()).toBe("ok");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(endpoint.received("tools/call")).toHaveLength(2);
  });

  it("ends when its client is closed, and no connection stays open", async () => {
    await using endpoint = await LambdaEndpoint.start(createFunction(() => RESPONDED));
    const client = createLambdaClient(endpoint);
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => endpoint.received("tools/call").length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    await eventually(() => endpoint.openSockets === 0);
  });

  it("whose response exceeds limits.responseBytes is too-large", async () => {
    await using endpoint = await LambdaEndpoint.start(
      createFunction((invocation) =>
        respond(invocation, "x".repeat(endpoint.received("tools/call").length === 1 ? 60_000 : 40_000)),
      ),
    );
    await using client = createLambdaClient(endpoint, { limits: { responseBytes: 50_000 } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toHaveLength(40_000);
  });

  it.each([
    ["a content-length", { "content-length": "200000000" }],
    ["no content-length", {}],
  ])("whose response has 200 MB and %s is not read to its end", async (_, headers) => {
    const size = 200_000_000;
    let written = 0;
    await using endpoint = await LambdaEndpoint.start(
      createFunction(({ response }) => {
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
        return RESPONDED;
      }),
    );
    await using client = createLambdaClient(endpoint, { limits: { responseBytes: 4_000_000 } });
    await client.ensureSession();
    using monitor = new BufferMonitor();
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
    await eventually(() => endpoint.openSockets <= 1);
    // Includes the buffers of both sockets and of the kernel.
    expect(written).toBeLessThan(40_000_000);
    expect(monitor.peakBytes).toBeLessThan(40_000_000);
  });
});

describe("the settings of the AWS SDK", () => {
  const missingFiles = {
    AWS_CONFIG_FILE: "/nonexistent/config",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/credentials",
  };

  it("without a region the error explains how to set one", async () => {
    for (const [name, path] of Object.entries(missingFiles)) vi.stubEnv(name, path);
    await using client = new McpClient({ name: "function", functionName: "tools" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-config",
      server: "function",
      message: expect.stringContaining(
        "Set region in its definition, or the environment variable AWS_REGION",
      ),
    });
  });

  it("are read from the environment", async () => {
    await using endpoint = await LambdaEndpoint.start(createFunction((invocation) => respond(invocation)));
    vi.stubEnv("AWS_REGION", "eu-west-1");
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", endpoint.url);
    await using client = new McpClient({ name: "function", functionName: "tools" });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(endpoint.invocations[0]?.headers.authorization).toContain("/eu-west-1/lambda/");
  });

  it("without credentials the call fails before anything is sent", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
      vi.stubEnv(name, "");
    for (const [name, path] of Object.entries(missingFiles)) vi.stubEnv(name, path);
    await using endpoint = await LambdaEndpoint.start(() => null);
    await using client = createLambdaClient(endpoint);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "unauthorized",
      outcomeUnknown: false,
      message: expect.stringContaining('No AWS credentials were found for server "function"'),
    });
    expect(endpoint.invocations).toEqual([]);
  });

  describe("with credentials of a web identity", () => {
    const CREDENTIALS = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>AKIDASSUMED</AccessKeyId><SecretAccessKey>assumed-secret</SecretAccessKey>
        <SessionToken>assumed-session-token</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
      </Credentials></AssumeRoleWithWebIdentityResult>
    </AssumeRoleWithWebIdentityResponse>`;

    async function startTokenService(respondTo: (response: ServerResponse) => void) {
      const requests: string[] = [];
      const listener = new HttpListener(async (request, response) => {
        requests.push(`${request.method} ${new URLSearchParams(await readBody(request)).get("Action")}`);
        respondTo(response);
      });
      await listener.start();
      const folder = new TemporaryFolder({ token: "web-identity-token" });
      for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
        vi.stubEnv(name, "");
      for (const [name, path] of Object.entries(missingFiles)) vi.stubEnv(name, path);
      vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", join(folder.path, "token"));
      vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/caller");
      vi.stubEnv("AWS_ENDPOINT_URL_STS", `http://127.0.0.1:${listener.port}`);
      return {
        requests,
        async [Symbol.asyncDispose]() {
          await listener.stop();
          folder[Symbol.dispose]();
        },
      };
    }

    it("the invocation is sent to the function, not to the token service", async () => {
      await using tokenService = await startTokenService((response) =>
        response.writeHead(200, { "content-type": "text/xml" }).end(CREDENTIALS),
      );
      await using endpoint = await LambdaEndpoint.start(createFunction((invocation) => respond(invocation)));
      await using client = createLambdaClient(endpoint);
      expect((await client.callTool(echo())).text()).toBe("ok");
      expect(tokenService.requests).toEqual(["POST AssumeRoleWithWebIdentity"]);
      expect(endpoint.invocations[0]?.headers).toMatchObject({
        authorization: expect.stringContaining("Credential=AKIDASSUMED/"),
        "x-amz-security-token": "assumed-session-token",
      });
    });

    it("nothing was sent when the token service drops the connection", async () => {
      await using _ = await startTokenService((response) => response.destroy());
      await using endpoint = await LambdaEndpoint.start(() => null);
      await using client = createLambdaClient(endpoint);
      expect(await rejection(client.callTool(echo()))).toMatchObject({
        kind: "not-sent",
        outcomeUnknown: false,
      });
      expect(endpoint.invocations).toEqual([]);
    });
  });
});

it.each<[string, string, string]>([
  ["a body that is 20,000 levels deep", `{"statusCode":500,"body":${deepArray(20_000)}}`, "invalid-response"],
  ["a deep header", `{"statusCode":500,"headers":{"a":${deepArray(20_000)}}}`, "invalid-response"],
  ["a header that is an object", '{"statusCode":429,"headers":{"a":{"toString":1}}}', "rate-limited"],
  ["a status that HTTP does not have", '{"statusCode":-1,"body":""}', "invalid-response"],
])("a result for API Gateway with %s is a failure of the call", async (_, payload, kind) => {
  await using endpoint = await LambdaEndpoint.start(
    createFunction(({ response }) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(payload);
      return RESPONDED;
    }),
  );
  await using client = createLambdaClient(endpoint);
  const failure = await rejection(client.callTool(echo()));
  expect(failure).toMatchObject({ kind, server: "function" });
});

function deepArray(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}
