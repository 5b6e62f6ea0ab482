import { describe, expect, it } from "vitest";
import {
  createTestClient,
  echo,
  eventually,
  recordWarnings,
  rejection,
  times,
} from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { openStream, sendJson, sendText, startRawServer } from "../../fixtures/raw-server.js";

describe("a server that sends requests on the stream of a call", () => {
  it.each([
    ["64 calls on 64 sockets", {}, 64],
    ["3 calls on one socket", { limits: { sockets: 1 } }, 3],
  ])("receives responses while calls occupy every socket: %s", async (_, options, count) => {
    const finishCall = new Map<number, () => void>();
    await using server = await startRawServer(({ method, id, body, response }) => {
      if (method === "tools/call") {
        const write = openStream(response);
        const answer = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: `n${id}` }] } };
        finishCall.set(Number(id), () => {
          write(answer);
          response.end();
        });
        write({ jsonrpc: "2.0", id: `request-${id}`, method: id === 1 ? "ping" : "roots/list" });
        return;
      }
      if (method !== undefined) return false;
      response.writeHead(202).end();
      finishCall.get(Number(String(body["id"]).replace("request-", "")))?.();
      return;
    });
    await using client = createTestClient(server, options);
    const results = await Promise.all(times(count, () => client.callTool(echo())));
    expect(results).toHaveLength(count);
    const responses = server.requests.filter(({ method, body }) => method === undefined && "id" in body);
    expect(responses.find(({ body }) => body["id"] === "request-1")?.body).toMatchObject({ result: {} });
    expect(responses.find(({ body }) => body["id"] === "request-2")?.body).toMatchObject({
      error: { code: -32601 },
    });
  });
});

describe("a server that never responds to notifications", () => {
  it("does not block calls by hanging on notifications/cancelled", async () => {
    await using server = await startRawServer(({ method, body }) => {
      if (method === "notifications/cancelled") return;
      if (method === "tools/call" && (body["params"] as { name: string }).name === "slow") return;
      return false;
    });
    const clock = new FakeClock();
    const client = createTestClient(server, { limits: { sockets: 2 } }, { clock });
    await client.ensureSession();
    const slow = times(6, () => rejection(client.callTool({ name: "slow" }, { timeoutMs: 50 })));
    await eventually(() => server.requests.filter(({ method }) => method === "tools/call").length === 2);
    clock.advance(50);
    expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(times(6, () => "timeout"));
    expect((await clock.advanceUntilSettled(client.callTool(echo()), 1_000)).text()).toBe("ok");
    await clock.advanceUntilSettled(client.close(), 1_000);
  });

  it("does not block the handshake by hanging on notifications/initialized, and leaves no socket open on close", async () => {
    let hangs = 3;
    await using server = await startRawServer(({ method }) => {
      if (method !== "notifications/initialized" || hangs === 0) return false;
      hangs -= 1;
      return;
    });
    const clock = new FakeClock();
    const definition = { limits: { sockets: 2 }, timeouts: { connectMs: 100 } };
    const client = createTestClient(server, definition, { clock });
    for (let n = 0; n < 3; n += 1) {
      const call = rejection(client.callTool(echo()));
      await eventually(() => hangs === 2 - n);
      clock.advance(100);
      expect(await clock.advanceUntilSettled(call, 1_000)).toMatchObject({ kind: "timeout" });
    }
    expect((await client.callTool(echo())).text()).toBe("ok");
    await clock.advanceUntilSettled(client.close(), 1_000);
    await eventually(() => server.sockets.size === 0);
  });

  it("does not occupy a socket with a 202 whose body never ends", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "notifications/initialized") return false;
      response.writeHead(202, { "content-type": "text/plain" });
      response.write("…");
      return;
    });
    await using client = createTestClient(server, { limits: { sockets: 1 } });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("a response", () => {
  it("can start with a byte order mark", async () => {
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
    await using client = createTestClient(server);
    expect((await client.callTool(echo())).text()).toBe("bom");
    expect((await client.callTool(echo())).text()).toBe("bom");
  });

  it("is limited in size, even when comments split the stream", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      let sent = 0;
      const sendMore = () => {
        while (sent < 50_000_000 && response.writable) {
          sent += 60_000;
          if (!response.write(`data: ${"x".repeat(60_000)}\n: a comment\n`))
            return void response.once("drain", sendMore);
        }
        response.end();
      };
      sendMore();
      return;
    });
    await using client = createTestClient(server, { limits: { responseBytes: 1_000_000 } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "too-large" });
  });

  it.each([
    ["is long", (body: string) => body + " ".repeat(100_000), true],
    ["never ends", (body: string) => body, false],
  ])("that reports a lost session is recognized when its body %s", async (_, pad, ends) => {
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
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    await client.ensureSession();
    const call = client.callTool(echo());
    await eventually(() => !isLost);
    // The beginning of a body is read for a second at most.
    expect((await clock.advanceUntilSettled(call, 1_000)).text()).toBe("ok");
    expect(server.requests.filter(({ method }) => method === "initialize")).toHaveLength(2);
  });

  it("that is compressed without being accepted is reported as compressed", async () => {
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call") return false;
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end("\u001f\u008b…");
      return;
    });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-response",
      message: expect.stringContaining("gzip"),
    });
  });

  it("that is an endless error page does not cause fast reconnects of the server stream", async () => {
    let gets = 0;
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod !== "GET") return false;
      gets += 1;
      response.writeHead(503);
      const timer = setInterval(() => response.write("x".repeat(20_000)), 5);
      response.once("close", () => clearInterval(timer));
      return;
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    client.on("toolsChanged", () => undefined);
    const call = client.callTool(echo());
    await eventually(() => gets === 1);
    await clock.advanceUntilSettled(call, 500);
    await client.ping();
    expect(gets).toBe(1);
  });
});

describe("outcomeUnknown is correct", () => {
  it("when a call was never sent because the only socket was busy", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    const clock = new FakeClock();
    await using client = createTestClient(server, { limits: { sockets: 1 } }, { clock });
    await client.ensureSession();
    const first = rejection(client.callTool(echo(), { timeoutMs: 100 }));
    const second = rejection(client.callTool(echo(), { timeoutMs: 60 }));
    await eventually(() => server.requests.some(({ method }) => method === "tools/call"));
    clock.advance(60);
    expect(await second).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    clock.advance(40);
    expect(await first).toMatchObject({ kind: "timeout", outcomeUnknown: true });
  });

  it("when the caller's signal times out after the call was sent", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    await using client = createTestClient(server);
    await client.ensureSession();
    const kinds: unknown[] = [];
    client.on("requestEnded", ({ kind }) => kinds.push(kind));
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await eventually(() => server.requests.some(({ method }) => method === "tools/call"));
    // As AbortSignal.timeout() does.
    controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    expect(await call).toMatchObject({ kind: "timeout", outcomeUnknown: true, attempts: 1, tool: "echo" });
    expect(kinds).toEqual(["timeout"]);
  });

  it("when close ends a running call", async () => {
    await using server = await startRawServer(({ method }) => (method === "tools/call" ? undefined : false));
    const client = createTestClient(server);
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.requests.some(({ method }) => method === "tools/call"));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true, attempts: 1 });
  });

  it("when the handshake after a lost session hangs", async () => {
    let handshakes = 0;
    await using server = await startRawServer(({ method, response }) => {
      if (method === "initialize") return (handshakes += 1) > 1 ? undefined : false;
      if (method !== "tools/call") return false;
      response.writeHead(404).end();
      return;
    });
    const clock = new FakeClock();
    const client = createTestClient(server, { timeouts: { requestMs: 150 } }, { clock });
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => handshakes === 2);
    clock.advance(150);
    expect(await call).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    await clock.advanceUntilSettled(client.close(), 1_000);
  });
});

describe("a call", () => {
  it.each([
    ["a BigInt", { n: 1n }],
    ["a circular reference", Object.assign({}, { self: {} as object })],
  ])("whose arguments contain %s is rejected before anything is sent", async (_, args) => {
    if ("self" in args) args.self = args;
    await using server = await startRawServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    expect(await rejection(client.callTool({ name: "echo", args }))).toMatchObject({
      kind: "invalid-config",
      outcomeUnknown: false,
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("that is cancelled in the queue does not open a connection", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      setTimeout(() => sendText(response, id, "ok"), 50);
      return;
    });
    await using client = createTestClient(server, { limits: { sockets: 1 } });
    await client.ensureSession();
    const before = server.socketsOpened;
    const first = client.callTool(echo());
    const controller = new AbortController();
    const queued = times(30, () => rejection(client.callTool(echo(), { signal: controller.signal })));
    controller.abort("enough");
    expect(await Promise.all(queued)).toEqual(times(30, () => "enough"));
    expect((await first).text()).toBe("ok");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(server.socketsOpened - before).toBeLessThanOrEqual(1);
  });

  it("whose onProgress fails continues", async () => {
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
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const onProgress = async ({ progress }: { progress: number }) => {
      throw new Error(`no ${progress}`);
    };
    expect((await client.callTool(echo(), { onProgress: onProgress as never })).text()).toBe("ok");
    await eventually(() => warnings.length === 2);
    expect(warnings[0]).toContain("no 1");
  });
});

describe("a list", () => {
  it("whose cursor is not a string is invalid-response, not truncated", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      sendJson(response, id, { tools: [{ name: "a", inputSchema: {} }], nextCursor: 2 });
      return;
    });
    await using client = createTestClient(server);
    expect(await rejection(client.listTools())).toMatchObject({ kind: "invalid-response" });
  });

  it("ends when the client closes: later pages do not open a new session", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      setTimeout(() => sendJson(response, id, { tools: [], nextCursor: `c${id}` }), 20);
      return;
    });
    const client = createTestClient(server);
    const listing = rejection(client.listTools());
    await eventually(() => server.requests.some(({ method }) => method === "tools/list"));
    await client.close({ drainMs: 30 });
    expect(await listing).toMatchObject({ kind: "closed" });
    expect(client.state).toBe("closed");
    await eventually(() => server.sockets.size === 0);
    expect(server.requests.filter(({ method }) => method === "initialize")).toHaveLength(1);
  });

  it("of many invalid tools counts toward the limit, and its warnings are limited", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      sendJson(response, id, { tools: times(500, () => ({ name: "bad" })) });
      return;
    });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    expect(await client.listTools()).toEqual([]);
    await eventually(() => warnings.length === 6);
    expect(warnings.at(-1)).toMatch(/^Server "test": \d+ more warnings\./);
    await using small = createTestClient(server, { limits: { tools: 499 } });
    expect(await rejection(small.listTools())).toMatchObject({ kind: "too-large" });
  });
});
