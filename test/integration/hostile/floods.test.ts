import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { createTestClient, echo, eventually, NO_RETRY, rejection, times } from "../../fixtures/clients.js";
import { INITIALIZE_RESULT, openStream, startRawServer } from "../../fixtures/raw-server.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

/** JSON that no recursive code can walk. */
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const DEEP = nested(20_000);

/** A stdio server that initializes and responds to calls with these lines, in which it fills in `ID` and `DEEP`. */
function createStdioClient(lines: readonly string[], options: object = {}): McpClient {
  const script = `
    const lines = ${JSON.stringify(lines)};
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const write = (text) => process.stdout.write(text + "\\n");
      if (method === "initialize") write(JSON.stringify({ jsonrpc: "2.0", id, result: ${JSON.stringify(INITIALIZE_RESULT)} }));
      if (method === "tools/call") for (const text of lines) write(text.replaceAll("ID", id).replaceAll("DEEP", deep));
    });`;
  return new McpClient({
    name: "hostile",
    command: process.execPath,
    args: ["-e", script],
    ...NO_RETRY,
    ...options,
  });
}

function respondToWebSocket(...createTexts: ((id: number) => string)[]) {
  return WebSocketTestServer.start((socket) => {
    socket.on("message", (data) => {
      const { id, method } = JSON.parse(String(data)) as { id: number; method: string };
      if (method === "initialize")
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT }));
      if (method === "tools/call") for (const createText of createTexts) socket.send(createText(id));
    });
  });
}

describe("a message that is nested 20,000 levels deep", () => {
  const responses: [string, (id: number | string) => string][] = [
    ["as the result", (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":${DEEP}}}`],
    [
      "as the error data",
      (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"x","data":${DEEP}}}`,
    ],
    ["as the error", (id) => `{"jsonrpc":"2.0","id":${id},"error":${DEEP}}`],
  ];

  it.each(responses)("%s over HTTP is an invalid response", async (_, createText) => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      return void response.writeHead(200, { "content-type": "application/json" }).end(createText(Number(id)));
    });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
  });

  it.each(responses)(
    "%s over stdio is an invalid response, and the session continues",
    async (_, createText) => {
      await using client = createStdioClient([createText("ID").replace(DEEP, "DEEP")]);
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
    },
  );

  it.each(responses)("%s over a WebSocket is an invalid response", async (_, createText) => {
    await using server = await respondToWebSocket(createText);
    await using client = createTestClient(server);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
  });

  const result = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}`;
  const unidentifiedResponses = [
    `{"jsonrpc":"2.0","id":DEEP,"result":{}}`,
    `{"jsonrpc":"2.0","id":DEEP,"error":{"code":1,"message":"x"}}`,
  ];

  it.each(unidentifiedResponses)(
    "ends the session over stdio, because it may respond to the call: %s",
    async (message) => {
      await using client = createStdioClient([message, result]);
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
      expect(client.sessions()).toEqual([]);
    },
  );

  it.each(unidentifiedResponses)(
    "ends the session over a WebSocket, because it may respond to the call: %s",
    async (message) => {
      await using server = await respondToWebSocket(
        () => message.replace("DEEP", DEEP),
        (id) => result.replace("ID", String(id)),
      );
      await using client = createTestClient(server);
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
      expect(client.sessions()).toEqual([]);
    },
  );

  const otherMessages = [
    `{"jsonrpc":"2.0","id":DEEP,"method":"ping"}`,
    `{"jsonrpc":"2.0","method":DEEP}`,
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":DEEP}}`,
    "DEEP",
  ];

  it.each(otherMessages)("is ignored over stdio, and the call gets its response: %s", async (message) => {
    await using client = createStdioClient([message, result]);
    expect((await client.callTool(echo())).text()).toBe("fine");
  });

  it.each(otherMessages)(
    "is ignored over a WebSocket, and the call gets its response: %s",
    async (message) => {
      await using server = await respondToWebSocket(
        () => message.replace("DEEP", DEEP),
        (id) => result.replace("ID", String(id)),
      );
      await using client = createTestClient(server);
      expect((await client.callTool(echo())).text()).toBe("fine");
    },
  );

  it("as the initialize result fails the handshake", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "initialize") return false;
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(`{"jsonrpc":"2.0","id":${id},"result":{"capabilities":${DEEP}}}`);
    });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
  });

  it("is accepted up to 500 levels", async () => {
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/call") return false;
      const text = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${nested(500)}}}}`;
      return void response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
    await using client = createTestClient(server);
    expect(JSON.stringify((await client.callTool(echo())).structuredContent)).toContain("[[[[");
  });
});

describe("a server that sends requests and does not read the responses", () => {
  it("over HTTP ends the call and the session, with a bounded queue", async () => {
    let responses = 0;
    await using server = await startRawServer(({ method, response }) => {
      if (method === "tools/call") {
        const write = openStream(response);
        for (const id of times(20_000, (count) => `ping-${count}`))
          write({ jsonrpc: "2.0", id, method: "ping" });
        return;
      }
      if (method !== undefined) return false;
      // The response to a ping is never accepted.
      responses += 1;
      return;
    });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(failure.message).toContain("without reading the responses");
    expect(responses).toBeLessThan(100);
  });

  it("over stdio ends the call, and close() does not wait for its stdin", async () => {
    const script = `
      let pending = "";
      process.stdin.on("data", (chunk) => {
        pending += chunk;
        const line = pending.split("\\n").find((text) => text.includes('"tools/call"'));
        const first = pending.split("\\n")[0];
        if (first.includes('"initialize"') && !pending.includes("initialized"))
          process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(first).id, result: ${JSON.stringify(INITIALIZE_RESULT)} }) + "\\n");
        if (line === undefined) return;
        process.stdin.pause();
        const filler = "x".repeat(1000);
        let sent = 0;
        const flood = () => {
          for (let count = 0; count < 100; count += 1)
            process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: filler + sent++, method: "ping" }) + "\\n");
          setTimeout(flood, 1);
        };
        flood();
      });`;
    await using client = new McpClient({
      name: "flood",
      command: process.execPath,
      args: ["-e", script],
      ...NO_RETRY,
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-response" });
    await client.close();
  });

  it("over a WebSocket is disconnected when it sends pings and does not read the pongs", async () => {
    await using server = await WebSocketTestServer.start((socket, request) => {
      socket.on("message", (data) => {
        const { id, method } = JSON.parse(String(data)) as { id: number; method: string };
        if (method === "initialize")
          socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: INITIALIZE_RESULT }));
        if (method !== "tools/call") return;
        request.socket.pause();
        const payload = Buffer.alloc(125);
        const timer = setInterval(() => {
          for (let count = 0; count < 5_000; count += 1) socket.ping(payload);
        }, 5);
        socket.once("close", () => clearInterval(timer));
        request.socket.once("close", () => clearInterval(timer));
      });
    });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    await eventually(() => client.sessions().length === 0);
    for (const socket of server.sockets) socket.terminate();
  });
});
