import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

const CLOSE_GRACE_MS = 20;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An HTTP server on a loopback port that can be stopped and started again on the same port. */
export class HttpListener {
  readonly #handler: Handler;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  socketsOpened = 0;

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  get port(): number {
    return this.#port;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  async start(port = this.#port): Promise<void> {
    const server = createServer((request, response) => {
      this.#handler(request, response).catch(() => response.destroy());
    });
    server.on("connection", (socket) => {
      this.socketsOpened += 1;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /**
   * Stops like a killed process: destroys every connection and refuses new ones. Waits briefly so that
   * clients in this process notice; a real restart takes longer than the close events.
   */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server === undefined) return;
    await new Promise((resolve) => server.close(resolve));
    await new Promise((resolve) => setTimeout(resolve, CLOSE_GRACE_MS));
  }
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
