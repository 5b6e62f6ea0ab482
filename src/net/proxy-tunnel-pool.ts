import type { Socket } from "node:net";
import { type buildConnector, Pool } from "undici";
import { basicCredentials } from "../config/basic-credentials.js";
import type { HttpProxy } from "./find-proxy.js";
import { ProxyError } from "./proxy-error.js";

interface ProxyTunnelsOptions {
  readonly proxy: HttpProxy;
  /** How the proxy itself is connected to. */
  readonly connect: buildConnector.connector;
  /** How long the proxy may take to answer. 0 means for ever. */
  readonly answerMs: number;
}

/** Connections to servers through a proxy, by its `CONNECT`. */
export class ProxyTunnels {
  readonly #proxy: HttpProxy;
  readonly #pool: Pool;
  readonly #credentials: Readonly<Record<string, string>>;

  constructor({ proxy, connect, answerMs }: ProxyTunnelsOptions) {
    const credentials = basicCredentials(proxy.url);
    this.#proxy = proxy;
    this.#pool = new Pool(proxy.url.origin, {
      // undici takes the host that is asked for, which here is the server, for the name to check.
      connect: (options, callback) => {
        const { servername: _, ...own } = options;
        connect(own, callback);
      },
      headersTimeout: answerMs,
      bodyTimeout: 0,
    });
    this.#credentials = credentials === undefined ? {} : { "proxy-authorization": `Basic ${credentials}` };
  }

  /** `authority` is the server's host and port. */
  async open(authority: string): Promise<Socket> {
    const headers = { host: authority, ...this.#credentials };
    const { statusCode, socket } = await this.#pool
      .connect({ path: authority, headers })
      .catch((cause: unknown) => {
        throw new ProxyError(this.#proxy, whyNoAnswer(cause), cause);
      });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => undefined).destroy();
    throw new ProxyError(this.#proxy, whyRefused(statusCode, this.#proxy));
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

function whyNoAnswer(cause: unknown): string {
  const code = cause instanceof Error ? String(Reflect.get(cause, "code") ?? cause.name) : String(cause);
  return `there is no answer from it (${code}). Is the address right? NO_PROXY exempts a server.`;
}

function whyRefused(status: number, { variable }: HttpProxy): string {
  if (status === 407)
    return `it wants other credentials (HTTP 407). They stand in ${variable} as http://user:password@host.`;
  return `it answered HTTP ${status}. Does it allow this server? NO_PROXY exempts one.`;
}
