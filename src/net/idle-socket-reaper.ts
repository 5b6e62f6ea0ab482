import type { Socket } from "node:net";
import type * as undici from "undici";
import type { ResponseHeaders } from "./http-request.js";
import { Client } from "./undici-dispatchers.js";
import { setImmediate } from "node:timers";

/** How long an idle socket is kept when the server sends no `Keep-Alive` header. Longer than undici's 4 s. */
export const KEEP_ALIVE_MS = 30_000;

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
  readonly #now: () => number;
  readonly #connected = new Set<PooledClient>();
  #keepAliveMs = KEEP_ALIVE_MS;
  #lastKeepAlive: unknown;
  /** No socket can be stale before this time: one that becomes idle now is stale even later. */
  #nextCheckAt = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The `factory` of an undici pool, which creates one client per socket. */
  readonly createClient = (origin: URL, options: object): undici.Client => {
    const client = new PooledClient(origin, options, this.#now);
    client.on("connect", () => this.#connected.add(client));
    client.on("disconnect", () => this.#connected.delete(client));
    return client;
  };

  /** Reads how long the server keeps an idle socket from its `Keep-Alive` header. */
  onResponseHeaders({ "keep-alive": keepAlive }: ResponseHeaders): void {
    if (keepAlive === this.#lastKeepAlive) return;
    this.#lastKeepAlive = keepAlive;
    const [, seconds] = /\btimeout=(\d+)/i.exec(String(keepAlive)) ?? [];
    const serverMs = seconds === undefined ? KEEP_ALIVE_MS : Number(seconds) * 1_000 - MARGIN_MS;
    this.#keepAliveMs = Math.min(KEEP_ALIVE_MS, serverMs);
    this.#nextCheckAt = 0;
  }

  closeStale(): void {
    const now = this.#now();
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

  constructor(origin: URL, { connect, ...options }: undici.Client.Options, now: () => number) {
    const trackSocket: undici.buildConnector.connector = (target, callback) =>
      (connect as undici.buildConnector.connector)(target, (...result) => {
        this.#socket = result[1] ?? undefined;
        callback(...result);
      });
    super(origin, { ...options, connect: trackSocket });
    this.on("drain", () => {
      this.idleSince = now();
    });
  }

  override dispatch(...request: Parameters<undici.Client["dispatch"]>): boolean {
    this.idleSince = NEVER;
    return super.dispatch(...request);
  }

  destroySocket(): void {
    this.idleSince = NEVER;
    this.#socket?.destroy();
  }
}

/** Activity of a server within this time proves that its sockets are still open. */
const RECENT_MS = 5;

/**
 * Delays a request on a possibly closed socket until the event loop has polled. A socket that the server
 * closed while idle reports that only in the poll phase; a request written before it is lost, with an
 * unknown outcome. Without recent activity of the server, requests therefore wait for one poll.
 */
export class StaleSocketGuard {
  #lastActiveAt = Number.NEGATIVE_INFINITY;

  /** Call when data was received from the server: the event loop has just polled. */
  markActive(): void {
    this.#lastActiveAt = performance.now();
  }

  /** Uses two `setImmediate` turns, because the first may run before the poll phase. */
  afterPoll(action: () => void): void {
    if (performance.now() - this.#lastActiveAt < RECENT_MS) action();
    else setImmediate(() => setImmediate(action));
  }
}
