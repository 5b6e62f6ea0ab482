import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import type { MessageTransport } from "../../src/definitions/message-transport.js";
import type { McpTestServer } from "../../src/testing/index.js";

const SETTLE_MS = 20;

type OnConnection = (socket: WebSocket, request: IncomingMessage) => void;

/** A WebSocket server on a loopback port that can die and come back on the same port. */
export class WebSocketHost implements AsyncDisposable {
  readonly #onConnection: OnConnection;
  readonly #options: ServerOptions;
  readonly #connections = new Set<Socket>();
  /** The sockets that are open now. */
  readonly sockets = new Set<WebSocket>();
  /** Every request that became a WebSocket, in order. */
  readonly upgrades: IncomingMessage[] = [];
  #http: Server | undefined;
  #port = 0;

  private constructor(onConnection: OnConnection, options: ServerOptions) {
    this.#onConnection = onConnection;
    this.#options = options;
  }

  static async start(onConnection: OnConnection, options: ServerOptions = {}): Promise<WebSocketHost> {
    const host = new WebSocketHost(onConnection, options);
    await host.start();
    return host;
  }

  /** With a real MCP server behind each connection. */
  static serve(server: McpTestServer, options?: ServerOptions): Promise<WebSocketHost> {
    return WebSocketHost.start((socket) => void server.connect(toTransport(socket)), options);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/mcp`;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  async start(): Promise<void> {
    const http = createServer();
    http.on("connection", (connection) => {
      this.#connections.add(connection);
      connection.once("close", () => this.#connections.delete(connection));
    });
    const sockets = new WebSocketServer({ ...this.#options, server: http });
    sockets.on("connection", (socket, request) => {
      this.upgrades.push(request);
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
      socket.on("error", () => undefined);
      this.#onConnection(socket, request);
    });
    await new Promise<void>((resolve) => http.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (http.address() as AddressInfo).port;
    this.#http = http;
  }

  /**
   * As a killed process: every connection breaks, and the port refuses. Waits a moment for clients in
   * this process to see it, as a process that is started again takes a moment.
   */
  async stop(): Promise<void> {
    const http = this.#http;
    this.#http = undefined;
    for (const connection of this.#connections) connection.destroy();
    if (http === undefined) return;
    await new Promise((resolve) => http.close(resolve));
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function toTransport(socket: WebSocket): MessageTransport {
  const transport: MessageTransport = {
    start: async () => undefined,
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => socket.close(),
  };
  socket.on("message", (data) => transport.onmessage?.(JSON.parse(String(data)) as never));
  socket.once("close", () => transport.onclose?.());
  return transport;
}

/** What a raw server was asked. */
export interface RawMessage {
  readonly id: number | undefined;
  /** `undefined`: it is an answer. */
  readonly method: string | undefined;
  readonly params: Record<string, unknown>;
}

/** Handles a message, or leaves it to the server by giving back `false`. */
type RawHandler = (message: RawMessage, socket: WebSocket) => void | false;

const GREETING = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "raw", version: "1" },
};

/** A server of a few lines for what no real server does. By default it greets and answers `ok`. */
export function startRawWebSocket(
  handle: RawHandler = () => false,
  options: ServerOptions = {},
): Promise<WebSocketHost> {
  return WebSocketHost.start((socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as RawMessage;
      if (handle(message, socket) !== false || message.id === undefined) return;
      if (message.method === "initialize") sendResult(socket, message.id, GREETING);
      else sendText(socket, message.id, "ok");
    });
  }, options);
}

export const isCall = ({ method }: RawMessage) => method === "tools/call";

export function sendText(socket: WebSocket, id: number | undefined, text: string): void {
  sendResult(socket, id, { content: [{ type: "text", text }] });
}

function sendResult(socket: WebSocket, id: number | undefined, result: unknown): void {
  socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
