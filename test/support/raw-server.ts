import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

interface RawRequest {
  readonly httpMethod: string;
  readonly method: string | undefined;
  readonly id: number | undefined;
  readonly body: Record<string, unknown>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: RawRequest[];
  readonly sockets: Set<Socket>;
  socketsOpened: number;
  /** Takes no new connections; those without a request under way end. */
  stopListening(): Promise<void>;
}

/** Handles a request, or leaves it to the server by giving back `false`. */
type Handler = (raw: RawRequest, server: RawServer) => void | false | Promise<void>;

const GREETING = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "raw", version: "1" },
};

export function sendJson(response: ServerResponse, id: number | undefined, result: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

export function sendText(response: ServerResponse, id: number | undefined, text: string): void {
  sendJson(response, id, { content: [{ type: "text", text }] });
}

export function openStream(response: ServerResponse): (message: unknown) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return (message) => response.write(`data: ${JSON.stringify(message)}\n\n`);
}

/** A server of a few lines for what no real server does. By default it greets and answers `ok`. */
export async function startRawServer(handle: Handler = () => false): Promise<RawServer> {
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    const method = body["method"] as string | undefined;
    const raw = {
      httpMethod: request.method ?? "",
      method,
      id: body["id"] as number | undefined,
      body,
      request,
      response,
    };
    server.seen.push(raw);
    if (handle(raw, server) === false) answer(raw);
  });
  const server: RawServer = {
    url: "",
    seen: [],
    sockets: new Set(),
    socketsOpened: 0,
    async stopListening() {
      http.close();
      http.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 20));
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  http.on("connection", (socket) => {
    server.socketsOpened += 1;
    server.sockets.add(socket);
    socket.once("close", () => server.sockets.delete(socket));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return Object.assign(server, { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
}

function answer({ httpMethod, method, id, response }: RawRequest): void {
  if (httpMethod !== "POST") response.writeHead(405).end();
  else if (method === "initialize") {
    response.setHeader("mcp-session-id", "raw-session");
    sendJson(response, id, GREETING);
  } else if (id === undefined || method === undefined) response.writeHead(202).end();
  else sendText(response, id, "ok");
}
