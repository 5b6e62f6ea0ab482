import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import type { ResponseHeaders } from "./http-request.js";

interface IdleSocketsOptions {
  /** How long a socket is kept where the server says nothing about it. */
  readonly keepAliveMs: number;
  /** Milliseconds that only ever grow. */
  readonly now: () => number;
}

/** How much earlier than the server we let go of a socket: its time began before its answer was here. */
const MARGIN_MS = 1_000;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Ends sockets that were idle for as long as the server keeps them, before one of them is used. What is
 * written while the server closes is lost, and nobody can tell whether it was run. undici does so as
 * well, by timers that count turns of the event loop: in a process that is busy they come too late.
 */
export class IdleSockets {
  readonly #options: IdleSocketsOptions;
  readonly #connected = new Set<PooledClient>();
  #keepAliveMs: number;
  #heard: unknown;
  /** By the clock: whoever falls idle from now on is stale later still. */
  #noneStaleBefore = 0;

  constructor(options: IdleSocketsOptions) {
    this.#options = options;
    this.#keepAliveMs = options.keepAliveMs;
  }

  /** For the pool, which makes one for each of its sockets. */
  readonly createClient = (origin: URL, options: object): Client => {
    const client = new PooledClient(origin, options, this.#options.now);
    client.on("connect", () => this.#connected.add(client));
    client.on("disconnect", () => this.#connected.delete(client));
    return client;
  };

  /** How a response begins: it may say for how long the server keeps an idle socket. */
  heard({ "keep-alive": said }: ResponseHeaders): void {
    if (said === this.#heard) return;
    this.#heard = said;
    const [, seconds] = /\btimeout=(\d+)/i.exec(String(said)) ?? [];
    const { keepAliveMs: keepMs } = this.#options;
    this.#keepAliveMs =
      seconds === undefined ? keepMs : Math.min(keepMs, Number(seconds) * 1_000 - MARGIN_MS);
    this.#noneStaleBefore = 0;
  }

  endStale(): void {
    const now = this.#options.now();
    if (now < this.#noneStaleBefore) return;
    const longAgo = now - this.#keepAliveMs;
    let oldest = now;
    for (const client of this.#connected) {
      if (client.idleSince <= longAgo) client.endSocket();
      else oldest = Math.min(oldest, client.idleSince);
    }
    this.#noneStaleBefore = oldest + this.#keepAliveMs;
  }
}

/** Of the pool's: it has one socket at a time, for one request at a time. */
class PooledClient extends Client {
  /** By the clock; never, while it is at work. */
  idleSince = NEVER;
  #socket: Socket | undefined;

  constructor(origin: URL, { connect, ...options }: Client.Options, now: () => number) {
    const remember: buildConnector.connector = (target, done) =>
      (connect as buildConnector.connector)(target, (...result) => {
        this.#socket = result[1] ?? undefined;
        done(...result);
      });
    super(origin, { ...options, connect: remember });
    this.on("drain", () => {
      this.idleSince = now();
    });
  }

  override dispatch(...request: Parameters<Client["dispatch"]>): boolean {
    this.idleSince = NEVER;
    return super.dispatch(...request);
  }

  endSocket(): void {
    this.idleSince = NEVER;
    this.#socket?.destroy();
  }
}
