import { afterEach, describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, NO_RETRY } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { LambdaEndpoint, RESPONDED, stubAwsEnvironment } from "../../fixtures/lambda-endpoint.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { startRawSseServer } from "../../fixtures/raw-sse-server.js";
import { createSeededRandom } from "../../fixtures/seeded-random.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

/** Set FUZZ_ROUNDS for longer runs, and FUZZ_SEED to repeat one. */
const ROUNDS = Number(process.env["FUZZ_ROUNDS"] ?? 300);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const TIMEOUT_MS = 60_000 + ROUNDS * 200;

const INITIALIZE_RESULT = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "fuzz", version: "1" },
};

type Random = () => number;

const createRandom = (seed: number): Random => {
  const { between } = createSeededRandom(seed);
  return () => between(0, 1_000_000 - 1) / 1_000_000;
};

const pick = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)] as T;

/** A JSON text: scalars, wide and deep values, and keys that have a meaning in JavaScript or JSON-RPC. */
function createJson(random: Random, depth = 0): string {
  const scalars = [
    "0",
    "-1",
    "1e308",
    "null",
    "true",
    '""',
    '"\\u0000"',
    '"__proto__"',
    '"tools/call"',
    '"2.0"',
    "1.5",
  ];
  const choice = random();
  if (depth > 4 || choice < 0.4) return pick(random, scalars);
  if (choice < 0.44) return `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  if (choice < 0.47) return `{"a":`.repeat(20_000) + "1" + "}".repeat(20_000);
  if (choice < 0.5) return JSON.stringify("x".repeat(Math.floor(random() * 100_000)));
  if (choice < 0.53) return `[${Array.from({ length: 2_000 }, () => pick(random, scalars)).join(",")}]`;
  const count = Math.floor(random() * 5);
  if (choice < 0.75)
    return `[${Array.from({ length: count }, () => createJson(random, depth + 1)).join(",")}]`;
  const keys = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "_meta",
    "__proto__",
    "constructor",
    "then",
  ];
  const entries = Array.from(
    { length: count },
    () => `"${pick(random, keys)}":${createJson(random, depth + 1)}`,
  );
  return `{${entries.join(",")}}`;
}

/** A message that a hostile server sends while the request with this id is pending. */
function createMessage(random: Random, id: number): string {
  const ids = [String(id), `"${id}"`, String(id + 1), "null", "-1", "1e99", createJson(random)];
  const methods = [
    "ping",
    "roots/list",
    "notifications/progress",
    "notifications/cancelled",
    "notifications/message",
    "notifications/tools/list_changed",
    "elicitation/create",
    "",
  ].map((method) => JSON.stringify(method));
  const choice = random();
  if (choice < 0.1) return createJson(random);
  if (choice < 0.15)
    return pick(random, ["", "{", "[]", "null", '{"jsonrpc":"2.0"', "\u0000", "data: x", "[[[[", "{}"]);
  if (choice < 0.35)
    return `{"jsonrpc":"2.0","id":${pick(random, ids)},"method":${pick(random, [...methods, createJson(random)])},"params":${createJson(random)}}`;
  if (choice < 0.55)
    return `{"jsonrpc":"2.0","method":${pick(random, methods)},"params":${createJson(random)}}`;
  if (choice < 0.75) return `{"jsonrpc":"2.0","id":${pick(random, ids)},"result":${createJson(random)}}`;
  if (choice < 0.9) return `{"jsonrpc":"2.0","id":${pick(random, ids)},"error":${createJson(random)}}`;
  if (choice < 0.92) return createLargeBatch(random, id);
  return `[${[createMessage(random, id), createMessage(random, id)].join(",")}]`;
}

/** Up to 20,000 values that are no messages, responses to no request, or notifications. */
function createLargeBatch(random: Random, id: number): string {
  const item = pick(random, [
    "1",
    "{}",
    "[]",
    '"x"',
    "null",
    `{"jsonrpc":"2.0","id":${id + 1},"result":{}}`,
    '{"jsonrpc":"2.0","id":{},"result":{}}',
    '{"jsonrpc":"2.0","method":"notifications/message"}',
    '{"jsonrpc":"2.0","id":7,"method":"ping"}',
  ]);
  return `[${`${item},`.repeat(Math.floor(random() * 20_000))}${item}]`;
}

/** Up to 20,000 texts that cannot be used: more than a session may have in a row. */
function createFlood(random: Random, id: number): string[] {
  const texts = ["x", "7", "{", '{"a":1}', "[1,2]", `{"jsonrpc":"2.0","id":${id + 1},"result":{}}`];
  const text = pick(random, texts);
  return Array.from({ length: Math.floor(random() * 20_000) }, () => text);
}

function createMessages(random: Random, id: number): string[] {
  if (random() < 0.03) return createFlood(random, id);
  const count = random() < 0.05 ? 3_000 : 1 + Math.floor(random() * 6);
  if (count > 100)
    return Array.from({ length: count }, (_, n) => `{"jsonrpc":"2.0","id":"p${n}","method":"ping"}`);
  return Array.from({ length: count }, () => createMessage(random, id).replaceAll("\n", " "));
}

/** A correct response that ends a call which the messages before it have not ended. */
const lastResponse = (id: number) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"end"}]}}`;

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
process.on("unhandledRejection", onUnhandled);
process.on("uncaughtException", onUnhandled);

afterEach(() => expect(unhandled.splice(0)).toEqual([]));

const MAX_RETAINED_BYTES = 64 * 1024 * 1024;

/** Every call ends, with a result or with an error of this package, and the memory is released. */
async function expectCallsToEnd(client: McpClient, rounds: number): Promise<void> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < rounds; round += 1) {
    const outcome = await client.tryCallTool(echo(String(round)), { timeoutMs: 15_000 });
    if (!outcome.ok) expect(outcome.error).toMatchObject({ name: "McpRuntimeError" });
    if (!outcome.ok) expect(["timeout", "circuit-open"]).not.toContain(outcome.error.kind);
  }
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(MAX_RETAINED_BYTES);
}

describe(`generated hostile messages (seed ${SEED})`, () => {
  it.each(["application/json", "text/event-stream"])(
    "over HTTP (%s)",
    { timeout: TIMEOUT_MS },
    async (type) => {
      const random = createRandom(SEED);
      await using server = await startRawServer(({ httpMethod, method, id, response }) => {
        if (httpMethod !== "POST" || method !== "tools/call") return method === undefined ? undefined : false;
        const messages = createMessages(random, Number(id));
        response.writeHead(200, { "content-type": type });
        if (type === "application/json") return void response.end(messages[0]);
        for (const message of [...messages, lastResponse(Number(id))]) response.write(`data: ${message}\n\n`);
        return void response.end();
      });
      await using client = new McpClient({ name: "fuzz", url: server.url, ...NO_RETRY });
      await expectCallsToEnd(client, ROUNDS);
    },
  );

  it("over SSE", { timeout: TIMEOUT_MS }, async () => {
    const random = createRandom(SEED + 3);
    await using server = await startRawSseServer(({ method, id, stream }) => {
      if (method !== "tools/call") return;
      for (const message of [...createMessages(random, Number(id)), lastResponse(Number(id))])
        stream.write(`data: ${message}\n\n`);
    });
    await using client = new McpClient({ name: "fuzz", type: "sse", url: server.url, ...NO_RETRY });
    await expectCallsToEnd(client, ROUNDS);
  });

  it("over a WebSocket", { timeout: TIMEOUT_MS }, async () => {
    const random = createRandom(SEED + 1);
    await using server = await WebSocketTestServer.start((socket) => {
      socket.on("message", (data) => {
        const { id, method } = JSON.parse(String(data)) as { id: number; method: string };
        if (method === "initialize")
          socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT }));
        if (method !== "tools/call") return;
        for (const message of [...createMessages(random, id), lastResponse(id)]) socket.send(message);
      });
    });
    await using client = new McpClient({ name: "fuzz", url: server.url, ...NO_RETRY });
    await expectCallsToEnd(client, ROUNDS);
  });

  it("over a Lambda function", { timeout: TIMEOUT_MS }, async () => {
    stubAwsEnvironment();
    const random = createRandom(SEED + 4);
    await using endpoint = await LambdaEndpoint.start(({ message, response }) => {
      const { id, method } = message;
      if (method === "initialize") return { jsonrpc: "2.0", id, result: INITIALIZE_RESULT };
      if (method !== "tools/call") return null;
      response.writeHead(200).end(createMessages(random, Number(id))[0]);
      return RESPONDED;
    });
    const address = { functionName: "fuzz", region: "eu-north-1", endpoint: endpoint.url };
    await using client = new McpClient({ name: "fuzz", ...address, ...NO_RETRY });
    await expectCallsToEnd(client, ROUNDS);
  });

  it("over a custom transport", { timeout: TIMEOUT_MS }, async () => {
    const random = createRandom(SEED + 5);
    const parse = (text: string): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    };
    await using client = createCustomClient(() =>
      createCustomTransport(({ id, method }, transport) => {
        if (method === "initialize") transport.onmessage?.({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT });
        if (method !== "tools/call") return;
        for (const text of [...createMessages(random, Number(id)), lastResponse(Number(id))])
          transport.onmessage?.(parse(text) as never);
      }),
    );
    await expectCallsToEnd(client, ROUNDS);
  });

  it("over stdio", { timeout: TIMEOUT_MS }, async () => {
    const random = createRandom(SEED + 2);
    const rounds = Array.from({ length: ROUNDS }, () => createMessages(random, 424_242));
    const script = `
      const rounds = JSON.parse(require("node:zlib").gunzipSync(Buffer.from(process.env.ROUNDS, "base64")));
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method, params } = JSON.parse(line);
        const write = (text) => process.stdout.write(text + "\\n");
        if (method === "initialize") write(JSON.stringify({ jsonrpc: "2.0", id, result: ${JSON.stringify(INITIALIZE_RESULT)} }));
        if (method !== "tools/call") return;
        for (const text of rounds[Number(params.arguments.text)]) write(text.replaceAll("424242", id).replaceAll("424243", id + 1));
        write('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[]}}');
      });`;
    const { gzipSync } = await import("node:zlib");
    const env = {
      ROUNDS: gzipSync(JSON.stringify(rounds.map((messages) => messages.map(shorten)))).toString("base64"),
    };
    await using client = new McpClient({
      name: "fuzz",
      command: process.execPath,
      args: ["-e", script],
      env,
      ...NO_RETRY,
    });
    await expectCallsToEnd(client, ROUNDS);
  });
});

/** The messages are passed in an environment variable, whose size is limited. */
function shorten(message: string): string {
  return message.length > 3_000 ? message.slice(0, 3_000) : message;
}
