import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { openStream, sendJson, sendText, startRawServer } from "../../fixtures/raw-server.js";

function clientOf(url: string, options: object = {}): McpClient {
  return new McpClient({ name: "raw", url, ...ONCE, ...options });
}

describe("a server that asks something back on the stream of a call", () => {
  it.each([
    ["64 calls on 64 sockets", {}, 64],
    ["3 calls on one socket", { limits: { sockets: 1 } }, 3],
  ])("gets its answers while calls hold every socket: %s", async (_, options, count) => {
    const waiting = new Map<number, () => void>();
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "tools/call") {
        const write = openStream(response);
        const answer = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: `n${id}` }] } };
        waiting.set(Number(id), () => {
          write(answer);
          response.end();
        });
        write({ jsonrpc: "2.0", id: `ask-${id}`, method: id === 1 ? "ping" : "roots/list" });
        return;
      }
      if (method !== undefined) return false;
      response.writeHead(202).end();
      waiting.get(Number(String(body["id"]).replace("ask-", "")))?.();
      return;
    });
    await using client = clientOf(server.url, options);
    const results = await Promise.all(times(count, () => client.callTool(echo())));
    expect(results).toHaveLength(count);
    const answers = server.seen.filter(({ method, body }) => method === undefined && "id" in body);
    expect(answers.find(({ body }) => body["id"] === "ask-1")?.body).toMatchObject({ result: {} });
    expect(answers.find(({ body }) => body["id"] === "ask-2")?.body).toMatchObject({
      error: { code: -32601 },
    });
  });
});

describe("a server that never takes what expects no answer", () => {
  it("starves no call by hanging on notifications/cancelled", async () => {
    await using server = await startRawServer(({ method, body }) => {
      if (method === "notifications/cancelled") return;
      if (method === "tools/call" && (body["params"] as { name: string }).name === "slow") return;
      return false;
    });
    await using client = clientOf(server.url, { limits: { sockets: 2 } });
    await client.ensureSession();
    const slow = times(6, () => failureOf(client.callTool({ name: "slow" }, { timeoutMs: 50 })));
    expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(times(6, () => "timeout"));
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("starves no handshake by hanging on notifications/initialized, and nothing is left on close", async () => {
    let hangs = 3;
    await using server = await startRawServer(({ method }) => {
      if (method !== "notifications/initialized" || hangs === 0) return false;
      hangs -= 1;
      return;
    });
    const client = clientOf(server.url, { limits: { sockets: 2 }, timeouts: { connectMs: 100 } });
    for (let n = 0; n < 3; n += 1)
      expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "timeout" });
    expect((await client.callTool(echo())).text()).toBe("ok");
    await client.close();
    await eventually(() => server.sockets.size === 0);
  });

  it("holds no socket with a 202 whose body never ends", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "notifications/initialized") return false;
      response.writeHead(202, { "content-type": "text/plain" });
      response.write("…");
      return;
    });
    await using client = clientOf(server.url, { limits: { sockets: 1 } });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("what is read of an answer", () => {
  it("starts behind a byte order mark", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      const isStream = Number(id) % 2 === 0;
      const answer = JSON.stringify({
        jsonrpc: "2.0",
        id,
        result: { content: [{ type: "text", text: "bom" }] },
      });
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      response.end(isStream ? `\uFEFFdata: ${answer}\n\n` : `\uFEFF${answer}`);
      return;
    });
    await using client = clientOf(server.url);
    expect((await client.callTool(echo())).text()).toBe("bom");
    expect((await client.callTool(echo())).text()).toBe("bom");
  });

  it("keeps within the limit, however the stream is cut up with comments", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      let sent = 0;
      const more = () => {
        while (sent < 50_000_000 && response.writable) {
          sent += 60_000;
          if (!response.write(`data: ${"x".repeat(60_000)}\n: a comment\n`))
            return void response.once("drain", more);
        }
        response.end();
      };
      more();
      return;
    });
    await using client = clientOf(server.url, { limits: { responseBytes: 1_000_000 } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
  });

  it.each([
    ["is long", (body: string) => body + " ".repeat(100_000), true],
    ["never ends", (body: string) => body, false],
  ])("of a failure is its beginning: a lost session whose body %s is found", async (_, pad, ends) => {
    let isLost = true;
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call" || !isLost) return false;
      isLost = false;
      const message = "Bad Request: No valid session ID provided";
      response.writeHead(400, { "content-type": "application/json" });
      response.write(pad(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null })));
      if (ends) response.end();
      return;
    });
    await using client = clientOf(server.url);
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.seen.filter(({ method }) => method === "initialize")).toHaveLength(2);
  });

  it("that is compressed all the same is called so", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end("\u001f\u008b…");
      return;
    });
    await using client = clientOf(server.url);
    expect((await failureOf(client.callTool(echo()))).message).toContain("compressed (gzip)");
  });

  it("of an endless error page to the server's stream is asked for again only now and then", async () => {
    let gets = 0;
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod !== "GET") return false;
      gets += 1;
      response.writeHead(503);
      const timer = setInterval(() => response.write("x".repeat(20_000)), 5);
      response.once("close", () => clearInterval(timer));
      return;
    });
    await using client = clientOf(server.url);
    client.on("toolsChanged", () => undefined);
    await client.callTool(echo());
    await eventually(() => gets === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(gets).toBe(1);
  });
});

describe("what a failure says is true", () => {
  it("when a call never left the queue of a single socket", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    await using client = clientOf(server.url, { limits: { sockets: 1 } });
    await client.ensureSession();
    const first = failureOf(client.callTool(echo(), { timeoutMs: 100 }));
    const second = failureOf(client.callTool(echo(), { timeoutMs: 60 }));
    expect(await second).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    expect((await second).message).toContain("The request was not sent.");
    expect(await first).toMatchObject({ kind: "timeout", outcomeUnknown: true });
  });

  it("when the caller's own time ran out after it was sent", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    await using client = clientOf(server.url);
    await client.ensureSession();
    const kinds: unknown[] = [];
    client.on("requestEnded", ({ kind }) => kinds.push(kind));
    const failure = await failureOf(client.callTool(echo(), { signal: AbortSignal.timeout(50) }));
    expect(failure).toMatchObject({ kind: "timeout", outcomeUnknown: true, attempts: 1, tool: "echo" });
    expect(kinds).toEqual(["timeout"]);
  });

  it("when close ended a call that was under way", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    const client = clientOf(server.url);
    await client.ensureSession();
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.seen.some(({ method }) => method === "tools/call"));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true, attempts: 1 });
  });

  it("when the handshake after a lost session hangs: the call was not run", async () => {
    let handshakes = 0;
    await using server = await startRawServer(({ method, response }) => {
      if (method === "initialize") return (handshakes += 1) > 1 ? undefined : false;
      if (method !== "tools/call") return false;
      response.writeHead(404).end();
      return;
    });
    await using client = clientOf(server.url, { timeouts: { requestMs: 150 } });
    await client.ensureSession();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "timeout",
      outcomeUnknown: false,
    });
  });
});

describe("a call", () => {
  it.each([
    ["a BigInt", { n: 1n }],
    ["a circle", Object.assign({}, { self: {} as object })],
  ])("whose arguments hold %s is refused before anything is sent", async (_, args) => {
    if ("self" in args) args.self = args;
    await using server = await startRawServer();
    await using client = clientOf(server.url);
    await client.ensureSession();
    expect(await failureOf(client.callTool({ name: "echo", args }))).toMatchObject({
      kind: "invalid-config",
      outcomeUnknown: false,
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("that is cancelled in the queue costs no connection", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      setTimeout(() => sendText(response, id, "ok"), 50);
      return;
    });
    await using client = clientOf(server.url, { limits: { sockets: 1 } });
    await client.ensureSession();
    const before = server.socketsOpened;
    const first = client.callTool(echo());
    const controller = new AbortController();
    const queued = times(30, () => failureOf(client.callTool(echo(), { signal: controller.signal })));
    controller.abort("enough");
    expect(await Promise.all(queued)).toEqual(times(30, () => "enough"));
    expect((await first).text()).toBe("ok");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.socketsOpened - before).toBeLessThanOrEqual(1);
  });

  it("whose onProgress fails goes on", async () => {
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method !== "tools/call") return false;
      const { progressToken } = (body["params"] as { _meta: { progressToken: number } })._meta;
      const write = openStream(response);
      for (const progress of [1, 2])
        write({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
      setTimeout(() => {
        write({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } });
        response.end();
      }, 20);
      return;
    });
    await using client = clientOf(server.url);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    const onProgress = async ({ progress }: { progress: number }) => {
      throw new Error(`no ${progress}`);
    };
    expect((await client.callTool(echo(), { onProgress: onProgress as never })).text()).toBe("ok");
    await eventually(() => warnings.length === 2);
    expect(warnings[0]).toContain("no 1");
  });
});

describe("a list", () => {
  it("whose cursor is no text is malformed, not short", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      sendJson(response, id, { tools: [{ name: "a", inputSchema: {} }], nextCursor: 2 });
      return;
    });
    await using client = clientOf(server.url);
    expect(await failureOf(client.listTools())).toMatchObject({ kind: "invalid-response" });
  });

  it("ends with the client: no further page opens it again", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      setTimeout(() => sendJson(response, id, { tools: [], nextCursor: `c${id}` }), 20);
      return;
    });
    const client = clientOf(server.url);
    const listing = failureOf(client.listTools());
    await eventually(() => server.seen.some(({ method }) => method === "tools/list"));
    await client.close({ drainMs: 30 });
    expect(await listing).toMatchObject({ kind: "closed" });
    expect(client.state).toBe("closed");
    await eventually(() => server.sockets.size === 0);
    expect(server.seen.filter(({ method }) => method === "initialize")).toHaveLength(1);
  });

  it("of thousands of malformed tools is over the limit, and its warnings are few", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      sendJson(response, id, { tools: times(500, () => ({ name: "bad" })) });
      return;
    });
    await using client = clientOf(server.url);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    expect(await client.listTools()).toEqual([]);
    expect(warnings).toHaveLength(11);
    await using small = clientOf(server.url, { limits: { tools: 499 } });
    expect(await failureOf(small.listTools())).toMatchObject({ kind: "too-large" });
  });
});
