import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createDice, type Dice } from "./dice.js";

/** Probabilities from 0 to 1: of each connection, and of each chunk in either direction. */
export interface FaultRates {
  /** A connection is reset as soon as it is made. */
  readonly resetOnConnect: number;
  /** Both sides are reset, and the chunk is gone. */
  readonly reset: number;
  /** Only the beginning of the chunk gets through; then both sides end. */
  readonly truncate: number;
  /** From this chunk on nothing gets through, and nobody is told. */
  readonly blackhole: number;
  /** The chunk, and what comes behind it, waits for up to `MAX_DELAY_MS`. */
  readonly delay: number;
}

export type FaultCounts = Record<keyof FaultRates | "connections" | "refusals", number>;

interface FaultProxyOptions {
  /** Where the server is. */
  readonly target: string;
  readonly seed: number;
  readonly rates: FaultRates;
}

const MAX_DELAY_MS = 600;
const CHUNK_FAULTS = ["reset", "truncate", "blackhole", "delay"] as const;
const NO_FAULTS: FaultRates = { resetOnConnect: 0, reset: 0, truncate: 0, blackhole: 0, delay: 0 };

type ChunkFault = (typeof CHUNK_FAULTS)[number];

/** A network on a bad day: a TCP proxy on a loopback port in front of a server. */
export class FaultProxy implements AsyncDisposable {
  readonly counts: FaultCounts = {
    connections: 0,
    refusals: 0,
    resetOnConnect: 0,
    reset: 0,
    truncate: 0,
    blackhole: 0,
    delay: 0,
  };
  readonly #target: URL;
  readonly #dice: Dice;
  readonly #pairs = new Set<Pair>();
  /** Lets a delayed chunk go. */
  readonly #held = new Set<() => void>();
  #rates: FaultRates;
  #listener: Server | undefined;
  #port = 0;

  private constructor({ target, seed, rates }: FaultProxyOptions) {
    this.#target = new URL(target);
    this.#dice = createDice(seed);
    this.#rates = rates;
  }

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    await proxy.#listen();
    return proxy;
  }

  /** The server's address, by way of this proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String(this.#port);
    return url.href;
  }

  /** Connections of which one side is open. */
  get openConnections(): number {
    return this.#pairs.size;
  }

  /** From now on nothing goes wrong; what is held back goes on. What is lost stays lost. */
  calm(): void {
    this.#rates = NO_FAULTS;
    for (const release of this.#held) release();
  }

  /** Nobody listens for a while, so that new connections are refused; open ones stay. */
  async refuseFor(ms: number): Promise<void> {
    this.counts.refusals += 1;
    this.#listener?.close();
    await new Promise((resolve) => setTimeout(resolve, ms));
    await this.#listen();
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    const closed = new Promise((resolve) => listener?.close(resolve) ?? resolve(undefined));
    for (const pair of this.#pairs) pair.destroy();
    for (const release of this.#held) release();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #listen(): Promise<void> {
    const listener = createServer((client) => this.#accept(client));
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#port = (listener.address() as AddressInfo).port;
    this.#listener = listener;
  }

  #accept(client: Socket): void {
    this.counts.connections += 1;
    const dice = this.#dice.fork();
    if (dice.chance(this.#rates.resetOnConnect)) {
      this.counts.resetOnConnect += 1;
      client.on("error", () => undefined);
      reset(client);
      return;
    }
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const pair = new Pair(client, server, {
      dice,
      drawFault: () => this.#drawFault(dice),
      hold: (ms) => this.#hold(ms),
      onClosed: () => this.#pairs.delete(pair),
    });
    this.#pairs.add(pair);
  }

  #drawFault(dice: Dice): ChunkFault | undefined {
    const fault = CHUNK_FAULTS.find((name) => dice.chance(this.#rates[name]));
    if (fault !== undefined) this.counts[fault] += 1;
    return fault;
  }

  #hold(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const release = () => {
        clearTimeout(timer);
        this.#held.delete(release);
        resolve();
      };
      const timer = setTimeout(release, ms);
      this.#held.add(release);
    });
  }
}

interface PairOptions {
  readonly dice: Dice;
  /** What happens to the next chunk. */
  readonly drawFault: () => ChunkFault | undefined;
  readonly hold: (ms: number) => Promise<void>;
  readonly onClosed: () => void;
}

/** One connection through the proxy: the client's socket and ours to the server. */
class Pair {
  readonly #sockets: readonly [Socket, Socket];
  readonly #options: PairOptions;
  #isBlackhole = false;

  constructor(client: Socket, server: Socket, options: PairOptions) {
    this.#sockets = [client, server];
    this.#options = options;
    this.#pipe(client, server, () => true);
    // A server that goes away does not free who waits in a black hole.
    this.#pipe(server, client, () => !this.#isBlackhole);
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      // What matters of an error is the close behind it.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        if (this.#sockets.every(({ closed }) => closed)) options.onClosed();
      });
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** In order: what comes behind a delayed chunk waits as well, also the end. */
  #pipe(from: Socket, to: Socket, mayEnd: () => boolean): void {
    let last = Promise.resolve();
    const then = (step: () => Promise<void> | void) => {
      last = last.then(step);
    };
    // Always read on, or the other side's end would go unnoticed.
    from.on("data", (chunk) => then(() => this.#forward(chunk, from, to)));
    from.once("close", () =>
      then(() => {
        if (mayEnd()) to.destroySoon();
      }),
    );
  }

  async #forward(chunk: Buffer, from: Socket, to: Socket): Promise<void> {
    if (this.#isBlackhole || to.destroyed) return;
    const { dice, drawFault, hold } = this.#options;
    switch (drawFault()) {
      case "reset":
        for (const socket of this.#sockets) reset(socket);
        return;
      case "truncate":
        to.write(chunk.subarray(0, dice.between(0, chunk.length - 1)));
        to.destroySoon();
        from.destroy();
        return;
      case "blackhole":
        this.#isBlackhole = true;
        return;
      case "delay":
        // Squared: mostly short, now and then longer than anybody waits.
        await hold(MAX_DELAY_MS * (dice.between(0, 100) / 100) ** 2);
        break;
      case undefined:
    }
    if (!this.#isBlackhole && to.writable) to.write(chunk);
  }
}

/** Node cannot reset a socket that is not open or already ending: it would stay behind, half-closed, for good. */
function reset(socket: Socket): void {
  if (socket.readyState === "open" && !socket.writableEnded) socket.resetAndDestroy();
  else socket.destroy();
}
