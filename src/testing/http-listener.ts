import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  type IncomingHttpHeaders,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { toObject, tryParseJson } from "../json/json.js";

const CLOSE_GRACE_MS = 20;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An HTTP server on a loopback port that can be stopped and started again on the same port. */
export class HttpListener {
  readonly #handler: Handler;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  /** Chosen by the system when it starts with 0. */
  port: number;
  socketsOpened = 0;

  constructor(handler: Handler, port = 0) {
    this.#handler = handler;
    this.port = port;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#handler(request, response).catch(() => response.destroy());
    });
    server.on("connection", (socket) => {
      this.socketsOpened += 1;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.listen({ port: this.port, host: "127.0.0.1" });
    await once(server, "listening");
    this.port = (server.address() as AddressInfo).port;
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

/** An HTTP request as the test server received it. */
export interface ReceivedRequest {
  /** The HTTP method in upper case. */
  readonly httpMethod: string;
  /** The path with the query. */
  readonly url: string;
  /** The headers with names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** JSON-RPC method; `undefined` for responses, GET and DELETE. */
  readonly method: string | undefined;
  /** The name of the called tool; `undefined` for all methods but `tools/call`. */
  readonly tool: string | undefined;
  /** The parsed JSON, the text if it is not valid JSON, or `undefined` if it is empty. */
  readonly body: unknown;
}

/** Whether a request has this JSON-RPC or HTTP method. */
export function hasMethod(request: ReceivedRequest, method: string): boolean {
  return request.method === method || request.httpMethod === method;
}

export async function parseReceived(request: IncomingMessage): Promise<ReceivedRequest> {
  const text = await readText(request);
  const parsed = tryParseJson(text);
  const body = parsed === undefined && text !== "" ? text : parsed;
  const message = toObject(body);
  const params = toObject(message["params"]);
  const method = typeof message["method"] === "string" ? message["method"] : undefined;
  const tool = method === "tools/call" && typeof params["name"] === "string" ? params["name"] : undefined;
  const { method: httpMethod = "", url = "", headers } = request;
  return { httpMethod, url, headers, method, tool, body };
}

/** An HTTP request that `intercept` may respond to. */
export interface InterceptedRequest {
  /** The request of Node's HTTP server. */
  readonly request: IncomingMessage;
  /** Where to respond. Nothing has been written yet. */
  readonly response: ServerResponse;
  /** The parsed body; the stream of `request` is already consumed. */
  readonly body: unknown;
}
