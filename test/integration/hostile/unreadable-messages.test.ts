import { describe, expect, it } from "vitest";
import { type McpClientOptions, McpClient } from "../../../src/index.js";
import { createTestClient, echo, eventually, NO_RETRY, rejection, times } from "../../fixtures/clients.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { INITIALIZE_RESULT, startRawServer } from "../../fixtures/raw-server.js";
import { startRawSseServer } from "../../fixtures/raw-sse-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { isToolCall, startRawWebSocket } from "../../fixtures/websocket-server.js";

/** The texts of the messages that a server sends for a call. Self-contained: it also runs in another process. */
type Respond = (text: string, id: number) => string[];

interface Subject extends AsyncDisposable {
  readonly client: McpClient;
}

type OpenSubject = (respond: Respond, options?: McpClientOptions) => Promise<Subject>;

const textOf = (params: unknown) => (params as { arguments: { text: string } }).arguments.text;

const overHttp: OpenSubject = async (respond, options) => {
  const server = await startRawServer(({ method, id, body, response }) => {
    if (method !== "tools/call") return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const texts = respond(textOf(body["params"]), Number(id));
    return void response.write(texts.map((text) => `data: ${text}\n\n`).join(""));
  });
  return withClient(createTestClient(server, {}, options), server);
};

const overSse: OpenSubject = async (respond, options) => {
  const server = await startRawSseServer(({ method, id, stream }) => {
    if (method !== "tools/call") return;
    const texts = respond(textOf(server.requests.at(-1)?.body["params"]), Number(id));
    stream.write(texts.map((text) => `data: ${text}\n\n`).join(""));
  });
  return withClient(createTestClient(server, { type: "sse" }, options), server);
};

const overWebSocket: OpenSubject = async (respond, options) => {
  const server = await startRawWebSocket((message, socket) => {
    if (!isToolCall(message)) return false;
    for (const text of respond(textOf(message.params), Number(message.id))) socket.send(text);
    return;
  });
  return withClient(createTestClient(server, {}, options), server);
};

const overStdio = async (respond: Respond, options?: McpClientOptions, definition: object = {}) => {
  const script = `
    const respond = ${respond.toString()};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const result = ${JSON.stringify(INITIALIZE_RESULT)};
      if (method === "initialize") process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
      if (method === "tools/call") process.stdout.write(respond(params.arguments.text, id).join("\\n") + "\\n");
    });`;
  const program = { name: "test", command: process.execPath, args: ["-e", script], ...NO_RETRY };
  return withClient(new McpClient({ ...program, ...definition }, options));
};

const overCustom: OpenSubject = async (respond, options) => {
  const open = () =>
    createCustomTransport(({ method, id, params }, transport) => {
      if (method === "initialize") transport.onmessage?.({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT });
      if (method !== "tools/call") return;
      for (const text of respond(textOf(params), Number(id)))
        transport.onmessage?.(text.startsWith("{no") ? (1 as never) : JSON.parse(text));
    });
  return withClient(createCustomClient(open, {}, options));
};

function withClient(client: McpClient, server?: AsyncDisposable): Subject {
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server?.[Symbol.asyncDispose]();
    },
  };
}

const TRANSPORTS: [string, OpenSubject][] = [
  ["HTTP", overHttp],
  ["SSE", overSse],
  ["a WebSocket", overWebSocket],
  ["stdio", overStdio],
  ["a custom transport", overCustom],
];
/** Those whose messages are read from a text. */
const TEXT_TRANSPORTS = TRANSPORTS.slice(0, 4);
/** Those on which one connection has the responses to all calls. */
const SHARED_CONNECTIONS = TRANSPORTS.slice(1);

const reports = ({ lines }: RecordingLogger) => lines.filter((line) => line.startsWith("debug:"));

/** Sends a text a number of times, as in `3 times text`, and then the response. */
const sendRepeatedly: Respond = (request, id) => {
  const [count, text = ""] = request.split(" times ");
  const response = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } };
  return [...Array.from({ length: Number(count) }, () => text), JSON.stringify(response)];
};

describe("messages in a row that cannot be used", () => {
  it.each(TRANSPORTS)("end the session if they are more than 10,000, over %s", async (_, open) => {
    // Over SSE, an invalid message that begins like a response fails the only pending call.
    const text = open === overSse ? "no JSON" : "{no JSON";
    const logger = new RecordingLogger();
    await using subject = await open(sendRepeatedly, { logger, clock: new FakeClock() });
    const { client } = subject;
    let sessions = 0;
    client.on("sessionOpened", () => void (sessions += 1));
    for (const _call of times(4, String))
      expect((await client.callTool(echo(`5000 times ${text}`))).text()).toBe("ok");
    expect(sessions).toBe(1);
    expect(await rejection(client.callTool(echo(`10001 times ${text}`)))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: true,
      message: expect.stringContaining("sent 10001 messages in a row that cannot be used"),
    });
    expect(reports(logger).length).toBeLessThanOrEqual(101);
    expect((await client.callTool(echo("0 times x"))).text()).toBe("ok");
    expect(sessions).toBe(2);
  });

  it("may be any number if there is some time in between", async () => {
    const clock = new FakeClock();
    await using client = createCustomClient(
      () =>
        createCustomTransport(({ method, id }, { onmessage }) => {
          const result = method === "initialize" ? INITIALIZE_RESULT : { content: [] };
          if (method === "tools/call")
            for (const _ of times(10, String)) {
              for (const _message of times(9_000, String)) onmessage?.("no message" as never);
              clock.advance(10_001);
            }
          onmessage?.({ jsonrpc: "2.0", id, result });
        }),
      { timeouts: { requestMs: 0, totalMs: 0 } },
      { clock },
    );
    expect((await client.callTool(echo())).content).toEqual([]);
  });

  it("end the session if they are responses to no request", async () => {
    await using subject = await overWebSocket(sendRepeatedly, { clock: new FakeClock() });
    const response = '{"jsonrpc":"2.0","id":-1,"result":{}}';
    expect((await subject.client.callTool(echo(`5000 times ${response}`))).text()).toBe("ok");
    expect(await rejection(subject.client.callTool(echo(`10001 times ${response}`)))).toMatchObject({
      kind: "invalid-response",
    });
  });
});

describe("a log on stdout", () => {
  it("does not end the session if it has 20,000 lines for each call", async () => {
    const logger = new RecordingLogger();
    await using subject = await overStdio(sendRepeatedly, { logger, clock: new FakeClock() });
    let sessions = 0;
    subject.client.on("sessionOpened", () => void (sessions += 1));
    for (const _ of times(10, String))
      expect((await subject.client.callTool(echo("20000 times [INFO] done"))).text()).toBe("ok");
    expect(sessions).toBe(1);
    expect(logger.warnings).toHaveLength(1);
  });

  it("ends it if it has more than 100,000 lines without a response, with the first one as a warning", async () => {
    const logger = new RecordingLogger();
    await using subject = await overStdio(sendRepeatedly, { logger, clock: new FakeClock() });
    await subject.client.ensureSession();
    const failure = await rejection(subject.client.callTool(echo("100001 times [INFO] done")));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(logger.warnings).toEqual([expect.stringContaining("[INFO] done")]);
    expect(reports(logger).length).toBeLessThanOrEqual(101);
  });
});

describe("a program that writes without end", () => {
  it("is no MCP server, and its handshake fails with the first line", async () => {
    await using client = new McpClient({
      name: "test",
      command: process.execPath,
      args: ["-e", `const write = () => process.stdout.write("yes\\n".repeat(10_000), write); write();`],
      ...NO_RETRY,
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      outcomeUnknown: false,
      message: expect.stringMatching(
        /the session was closed\. Is it an MCP server\? Check command and args\. It wrote to stdout: yes$/,
      ),
    });
  });
});

describe("an array with 100,000 values that are no messages", () => {
  it.each(TEXT_TRANSPORTS.filter(([, open]) => open !== overSse))(
    "is reported once, and the call gets its response, over %s",
    async (_, open) => {
      const logger = new RecordingLogger();
      await using subject = await open(
        (_text, id) => [`[${"1,".repeat(100_000)}1]`, `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`],
        { logger },
      );
      expect((await subject.client.callTool(echo())).content).toEqual([]);
      expect(logger.messages.filter((message) => /unexpected|stdout/.test(message))).toHaveLength(1);
    },
  );
});

describe("a batch of more than 10,000 messages", () => {
  it.each(TEXT_TRANSPORTS)("is an invalid response over %s, and none of them is used", async (_, open) => {
    await using subject = await open((_text, id) => [
      `[${'{"jsonrpc":"2.0","method":"notifications/message","params":{}},'.repeat(10_000)}{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}]`,
    ]);
    let notifications = 0;
    subject.client.on("notification", () => void (notifications += 1));
    expect(await rejection(subject.client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("a batch of more than 10000 messages"),
    });
    expect(notifications).toBe(0);
  });
});

describe("a response that is nested too deeply", () => {
  it.each(SHARED_CONNECTIONS)(
    "and shows no id fails all pending calls at once, and the next call opens a session, over %s",
    async (_, open) => {
      await using subject = await open((text, id) => {
        const deep = "[".repeat(1_000) + "]".repeat(1_000);
        const good = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } };
        if (text === "good") return [JSON.stringify(good)];
        return text === "deep" ? [`{"jsonrpc":"2.0","result":${deep},"id":${deep},"more":1}`] : [];
      });
      const { client } = subject;
      let sessions = 0;
      client.on("sessionOpened", () => void (sessions += 1));
      await client.ensureSession();
      const failures = await Promise.all([
        rejection(client.callTool(echo("nothing"))),
        rejection(client.callTool(echo("deep"))),
      ]);
      for (const failure of failures)
        expect(failure).toMatchObject({
          kind: "invalid-response",
          outcomeUnknown: true,
          message: expect.stringContaining("nested more than 512 levels deep"),
        });
      expect((await client.callTool(echo("good"))).text()).toBe("ok");
      expect(sessions).toBe(2);
    },
  );

  it.each(TRANSPORTS)("fails its own call at once, wherever its id is, over %s", async (_, open) => {
    await using subject = await open((text, id) => {
      const deep = "[".repeat(1_000) + "]".repeat(1_000);
      const good = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } };
      if (text === "good") return [JSON.stringify(good)];
      return [`{"jsonrpc":"2.0","a":${deep},"id":${id},"result":${deep}}`];
    });
    let sessions = 0;
    subject.client.on("sessionOpened", () => void (sessions += 1));
    const failure = await rejection(subject.client.callTool(echo("deep")));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect((await subject.client.callTool(echo("good"))).text()).toBe("ok");
    expect(sessions).toBe(1);
  });
});

describe("a notification that is too large", () => {
  it("is logged once over stdio, however many there are", async () => {
    const logger = new RecordingLogger();
    const definition = { limits: { responseBytes: 10_000 } };
    const respond: Respond = (_text, id) => [
      ...Array.from(
        { length: 300 },
        () => `{"jsonrpc":"2.0","method":"notifications/message","params":"${"x".repeat(10_000)}"}`,
      ),
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`,
    ];
    await using subject = await overStdio(respond, { logger }, definition);
    expect((await subject.client.callTool(echo())).content).toEqual([]);
    expect(logger.warnings).toEqual([expect.stringContaining("a message of more than 10000 bytes")]);
    expect(reports(logger)).toHaveLength(100);
  });
});

describe("a response that is too large and shows no id", () => {
  it("fails all pending calls at once over stdio, where the session continues", async () => {
    const respond: Respond = (text, id) => {
      const fill = "x".repeat(10_000);
      const good = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } };
      if (text === "good") return [JSON.stringify(good)];
      return text === "large" ? [`{"jsonrpc":"2.0","a":"${fill}","id":${id},"result":{"b":"${fill}"}}`] : [];
    };
    await using subject = await overStdio(respond, {}, { limits: { responseBytes: 10_000 } });
    const { client } = subject;
    await client.ensureSession();
    const calls = ["nothing", "large"].map((text) => rejection(client.callTool(echo(text))));
    for (const failure of await Promise.all(calls))
      expect(failure).toMatchObject({ kind: "too-large", outcomeUnknown: true });
    const sessions = client.sessions();
    expect((await client.callTool(echo("good"))).text()).toBe("ok");
    expect(client.sessions()).toEqual(sessions);
  });
});

describe("responses that a server does not accept", () => {
  it("are reported up to 100 times", async () => {
    const logger = new RecordingLogger();
    await using client = createCustomClient(
      () =>
        createCustomTransport(async ({ method, id }, { onmessage }) => {
          if (method === undefined) throw new Error("not accepted");
          if (method === "initialize") return onmessage?.({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT });
          if (method !== "tools/call") return;
          for (const ping of times(300, (count) => `ping-${count}`)) {
            onmessage?.({ jsonrpc: "2.0", id: ping, method: "ping" });
            await Promise.resolve();
          }
          await new Promise(setImmediate);
          onmessage?.({ jsonrpc: "2.0", id, result: { content: [] } });
        }),
      {},
      { logger },
    );
    expect((await client.callTool(echo())).content).toEqual([]);
    expect(logger.lines.filter((line) => line.includes("not accepted"))).toHaveLength(100);
  });
});

describe("an event stream with more than 100 unknown fields at once", () => {
  const events = (fields: number, id: number | undefined) =>
    `${"x: y\n".repeat(fields)}retry: 5\ndata: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`;

  it.each([
    [100, undefined],
    [101, "invalid-response"],
  ])("is not read any further over HTTP (%i)", async (fields, kind) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write(events(fields, id));
    });
    await using client = createTestClient(server);
    const outcome = await client.tryCallTool(echo());
    expect(outcome.ok ? undefined : outcome.error.kind).toBe(kind);
  });

  it.each([
    [100, undefined],
    [101, "invalid-response"],
  ])("is not read any further over SSE (%i)", async (fields, kind) => {
    await using server = await startRawSseServer(({ method, id, stream }) => {
      if (method === "tools/call") stream.write(events(fields, id));
    });
    await using client = createTestClient(server, { type: "sse" });
    const outcome = await client.tryCallTool(echo());
    expect(outcome.ok ? undefined : outcome.error.kind).toBe(kind);
  });

  it("is closed and opened again later if it is the stream of the server, and calls work meanwhile", async () => {
    let ended = 0;
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod !== "GET") return false;
      response.once("close", () => void (ended += 1));
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write(events(101, undefined));
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    client.on("toolsChanged", () => undefined);
    await client.ensureSession();
    await eventually(() => ended === 1);
    expect((await client.callTool(echo())).text()).toBe("ok");
    clock.advance(1_000);
    await eventually(() => ended === 2);
    expect(client.sessions()).toHaveLength(1);
  });
});

describe("a message that cannot be processed", () => {
  it("ends the session of a custom transport with invalid-response, and does not throw there", async () => {
    const thrown: unknown[] = [];
    await using client = createCustomClient(() =>
      createCustomTransport(({ method, id }, transport) => {
        if (method === "initialize") transport.onmessage?.({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT });
        if (method !== "tools/call") return;
        const message = Object.defineProperty({ jsonrpc: "2.0" }, "id", {
          get: () => {
            throw new Error("no id");
          },
        });
        try {
          transport.onmessage?.(message as never);
        } catch (error) {
          thrown.push(error);
        }
      }),
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
    expect(thrown).toEqual([]);
  });
});
