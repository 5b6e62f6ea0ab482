import type { Socket } from "node:net";
import { type buildConnector, Pool } from "undici";
import { toBasicAuth } from "../config/basic-auth.js";
import type { HttpProxy } from "./find-proxy.js";
import { ProxyError } from "./connect-errors.js";

interface ProxyTunnelPoolOptions {
  readonly proxy: HttpProxy;
  /** Connects to the proxy itself. */
  readonly connect: buildConnector.connector;
  /** How long the proxy may take to respond to `CONNECT`; 0 disables the limit. */
  readonly connectTimeoutMs: number;
}

/** Opens tunnels to servers through an HTTP proxy with `CONNECT`. */
export class ProxyTunnelPool {
  readonly #proxy: HttpProxy;
  readonly #pool: Pool;
  readonly #credentials: Readonly<Record<string, string>>;

  constructor({ proxy, connect, connectTimeoutMs }: ProxyTunnelPoolOptions) {
    const credentials = toBasicAuth(proxy.url);
    this.#proxy = proxy;
    this.#pool = new Pool(proxy.url.origin, {
      // undici sets the TLS server name from the `host` header, which here is the target server, not the
      // proxy.
      connect: (options, callback) => {
        const { servername: _, ...proxyOptions } = options;
        connect(proxyOptions, callback);
      },
      headersTimeout: connectTimeoutMs,
      bodyTimeout: 0,
    });
    this.#credentials = credentials === undefined ? {} : { "proxy-authorization": `Basic ${credentials}` };
  }

  /** Opens a tunnel to `authority`, the host and port of the server. */
  async open(authority: string): Promise<Socket> {
    const headers = { host: authority, ...this.#credentials };
    const { statusCode, socket } = await this.#pool
      .connect({ path: authority, headers })
      .catch((cause: unknown) => {
        throw new ProxyError(this.#proxy, describeConnectFailure(cause), cause);
      });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => undefined).destroy();
    throw new ProxyError(this.#proxy, describeRejection(statusCode, this.#proxy));
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

function describeConnectFailure(cause: unknown): string {
  const code = cause instanceof Error ? String(Reflect.get(cause, "code") ?? cause.name) : String(cause);
  return `the proxy did not respond (${code}). Check its address, or exempt the server with NO_PROXY.`;
}

function describeRejection(status: number, { variable }: HttpProxy): string {
  if (status === 407)
    return `the proxy requires valid credentials (HTTP 407). Set them in ${variable} as http://user:password@host.`;
  return `the proxy returned HTTP ${status}. Check that it allows this server, or exempt the server with NO_PROXY.`;
}
