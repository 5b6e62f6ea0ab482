import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import type { ResponseHeaders } from "./http-request.js";

interface IdleSocketReaperOptions {
  /** How long an idle socket is kept when the server sends no `Keep-Alive` header. */
  readonly keepAliveMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/**
 * Close a socket this much earlier than the server would: the server's timer starts before we receive its
 * response.
 */
const MARGIN_MS = 1_000;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Closes sockets that have been idle for the server's keep-alive time before one of them is reused. A
 * request written while the server closes the socket is lost, with an unknown outcome. undici closes them
 * by timers, which fire too late while the event loop is busy.
 */
export class IdleSocketReaper {
  readonly #options: IdleSocketReaperOptions;
  readonly #connected = new Set<PooledClient>();
  #keepAliveMs: number;
  #lastKeepAlive: unknown;
  /** No socket can be stale before this time: one that becomes idle now is stale even later. */
  #nextCheckAt = 0;

  constructor(options: IdleSocketReaperOptions) {
    this.#options = options;
    this.#keepAliveMs = options.keepAliveMs;
  }

  /** The `factory` of an undici pool, which creates one client per socket. */
  readonly createClient = (origin: URL, options: object): Client => {
    const client = new PooledClient(origin, options, this.#options.now);
    client.on("connect", () => this.#connected.add(client));
    client.on("disconnect", () => this.#connected.delete(client));
    return client;
  };

  /** Reads how long the server keeps an idle socket from its `Keep-Alive` header. */
  onResponseHeaders({ "keep-alive": keepAlive }: ResponseHeaders): void {
    if (keepAlive === this.#lastKeepAlive) return;
    this.#lastKeepAlive = keepAlive;
    const [, seconds] = /\btimeout=(\d+)/i.exec(String(keepAlive)) ?? [];
    const { keepAliveMs: maxMs } = this.#options;
    this.#keepAliveMs = seconds === undefined ? maxMs : Math.min(maxMs, Number(seconds) * 1_000 - MARGIN_MS);
    this.#nextCheckAt = 0;
  }

  closeStale(): void {
    const now = this.#options.now();
    if (now < this.#nextCheckAt) return;
    const cutoff = now - this.#keepAliveMs;
    let oldest = now;
    for (const client of this.#connected) {
      if (client.idleSince <= cutoff) client.destroySocket();
      else oldest = Math.min(oldest, client.idleSince);
    }
    this.#nextCheckAt = oldest + this.#keepAliveMs;
  }
}

/** A client with one socket, used for one request at a time. */
class PooledClient extends Client {
  /** `NEVER` while a request is running. */
  idleSince = NEVER;
  #socket: Socket | undefined;

  constructor(origin: URL, { connect, ...options }: Client.Options, now: () => number) {
    const trackSocket: buildConnector.connector = (target, callback) =>
      (connect as buildConnector.connector)(target, (...result) => {
        this.#socket = result[1] ?? undefined;
        callback(...result);
      });
    super(origin, { ...options, connect: trackSocket });
    this.on("drain", () => {
      this.idleSince = now();
    });
  }

  override dispatch(...request: Parameters<Client["dispatch"]>): boolean {
    this.idleSince = NEVER;
    return super.dispatch(...request);
  }

  destroySocket(): void {
    this.idleSince = NEVER;
    this.#socket?.destroy();
  }
}
