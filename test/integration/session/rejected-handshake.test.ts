import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import {
  McpClient,
  type MessageTransport,
  type McpRuntimeError,
  type ServerDefinition,
} from "../../../src/index.js";
import { NO_RETRY, rejection } from "../../fixtures/clients.js";
import { openStream, startRawServer } from "../../fixtures/raw-server.js";
import { startRawWebSocket } from "../../fixtures/websocket-server.js";

const REASON = "License expired on 2026-01-31";
const UNKNOWN_METHOD = { code: -32_601, message: "Method not found" };

interface Scenario {
  readonly url?: string;
  readonly command?: string;
  readonly args?: string[];
}

/** The method that the server rejects with -32000, and whether it closes the connection along with the rejection. */
interface Rejection {
  readonly method: string;
  readonly closes: boolean;
}

function toError(method: string | undefined, rejected: Rejection) {
  return method === rejected.method ? { code: -32_000, message: REASON } : UNKNOWN_METHOD;
}

async function connect(scenario: Scenario): Promise<McpRuntimeError> {
  await using client = new McpClient({ name: "strict", ...NO_RETRY, ...scenario } as ServerDefinition & {
    name: string;
  });
  return await rejection(client.ensureSession());
}

/** How each transport carries a rejection. Returns the error that a client gets. */
const TRANSPORTS: Record<string, (rejected: Rejection) => Promise<McpRuntimeError>> = {
  "HTTP with JSON": async (rejected) => {
    await using server = await startRawServer(({ id, method, response }) => {
      response.writeHead(200, {
        "content-type": "application/json",
        ...(rejected.closes && { connection: "close" }),
      });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: toError(method, rejected) }));
    });
    return await connect({ url: server.url });
  },
  "HTTP with an event stream": async (rejected) => {
    await using server = await startRawServer(({ id, method, response }) => {
      openStream(response)({ jsonrpc: "2.0", id, error: toError(method, rejected) });
      response.end();
      if (rejected.closes) response.socket?.destroySoon();
    });
    return await connect({ url: server.url });
  },
  "HTTP with status 400": async (rejected) => {
    await using server = await startRawServer(({ id, method, response }) => {
      response.writeHead(400, {
        "content-type": "application/json",
        ...(rejected.closes && { connection: "close" }),
      });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: toError(method, rejected) }));
    });
    return await connect({ url: server.url });
  },
  SSE: async (rejected) => {
    let stream: ServerResponse | undefined;
    await using server = await startRawServer(({ httpMethod, id, method, response }) => {
      if (httpMethod === "GET") {
        stream = response;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("event: endpoint\ndata: /messages?sessionId=1\n\n");
        return;
      }
      response.writeHead(202).end();
      const message = JSON.stringify({ jsonrpc: "2.0", id, error: toError(method, rejected) });
      stream?.write(`data: ${message}\n\n`);
      if (rejected.closes) stream?.end();
    });
    return await connect({ url: server.url, type: "sse" } as Scenario);
  },
  WebSocket: async (rejected) => {
    await using server = await startRawWebSocket(({ id, method }, socket) => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: toError(method, rejected) }));
      if (rejected.closes) socket.close();
    });
    return await connect({ url: server.url });
  },
  "a custom transport": async (rejected) => {
    const openTransport = async () => {
      const transport: MessageTransport = {
        start: async () => undefined,
        close: async () => transport.onclose?.(),
        send: async ({ id, method }) => {
          if (id === undefined) return;
          transport.onmessage?.({ jsonrpc: "2.0", id, error: toError(method, rejected) });
          if (rejected.closes) transport.onclose?.();
        },
      };
      return transport;
    };
    return await connect({ openTransport } as Scenario);
  },
  stdio: async (rejected) => {
    const program = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const error = method === ${JSON.stringify(rejected.method)} ? ${JSON.stringify(toError(rejected.method, rejected))} : ${JSON.stringify(UNKNOWN_METHOD)};
        const isLast = ${rejected.closes} && method === ${JSON.stringify(rejected.method)};
        process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error }) + "\\n", () => isLast && process.exit(1));
      });`;
    return await connect({ command: process.execPath, args: ["-e", program] });
  },
};

describe.each(Object.entries(TRANSPORTS))("a handshake rejected with -32000 over %s", (_, run) => {
  it.each([
    ["initialize", "keeps the connection open", false],
    ["initialize", "closes the connection", true],
    ["server/discover", "keeps the connection open", false],
    ["server/discover", "closes the connection", true],
  ])("keeps the message of the server: %s, by a server that %s", async (method, __, closes) => {
    const error = await run({ method, closes });
    expect(error.message).toContain(REASON);
    expect(error.message).not.toContain("during the handshake");
  });
});
