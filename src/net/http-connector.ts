import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { buildConnector, errors } from "undici";
import type { HttpProxy } from "./find-proxy.js";
import { joinSmallWrites } from "./coalesce-writes.js";
import { ProxyTunnels } from "./proxy-tunnel-pool.js";

interface HttpConnectorOptions {
  /** For each step: to the proxy, through it, to the server. 0 means none. */
  readonly connectMs: number;
  /** Whom to trust, and who we are; what Node trusts when left out. */
  readonly secureContext: SecureContext | undefined;
  readonly proxy: HttpProxy | undefined;
}

/** Makes the connections to one server: straight, or through a proxy. */
export class HttpConnector {
  readonly #sockets = new Set<Socket>();
  readonly #toServer: buildConnector.connector;
  readonly #tunnels: ProxyTunnels | undefined;
  #isClosed = false;

  constructor({ connectMs, secureContext, proxy }: HttpConnectorOptions) {
    const trust = secureContext === undefined ? {} : { secureContext };
    this.#toServer = this.#remembering(buildConnector({ timeout: connectMs, ...trust }));
    if (proxy === undefined) return;
    // To the proxy goes none of that: it is another party, and sees no certificate of ours.
    const connect = this.#remembering(buildConnector({ timeout: connectMs }));
    this.#tunnels = new ProxyTunnels({ proxy, connect, answerMs: connectMs });
  }

  readonly connect: buildConnector.connector = (options, callback) => {
    if (this.#isClosed) callback(new errors.ClientDestroyedError(), null);
    else if (this.#tunnels === undefined) this.#toServer(options, callback);
    else void this.#connectThrough(this.#tunnels, options, callback);
  };

  /** Ends all connections, also those that are still being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#tunnels?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #connectThrough(
    tunnels: ProxyTunnels,
    options: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> {
    try {
      const httpSocket = await tunnels.open(authorityOf(options));
      if (options.protocol === "https:") this.#toServer({ ...options, httpSocket }, callback);
      else callback(null, httpSocket);
    } catch (error) {
      callback(error as Error, null);
    }
  }

  /**
   * Destroying an undici pool does not end sockets that are not connected yet, nor those of a client
   * that it gave up after a refused connection and all the same handed the next request in its queue.
   */
  #remembering(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      // undici gives the socket back at once, which its types do not say.
      const socket = connect(options, (...result) => {
        // With TLS 1.3 a server refuses our certificate when we already send. Node then reports why, and
        // after that the end of the stream, which undici would take for the reason.
        socket.once("error", (error) => socket.destroy(error));
        joinSmallWrites(socket);
        callback(...result);
      }) as unknown as Socket;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    };
  }
}

function authorityOf({ hostname, port, protocol }: buildConnector.Options): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return `${host}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
}
