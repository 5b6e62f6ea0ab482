import { inspect } from "node:util";
import { expect } from "vitest";
import type { KeyValueStore, Logger, McpClient, McpClientEvents } from "../../src/index.js";
import { memoryStore } from "../../src/stores/index.js";
import { ProcessEvents } from "./process-events.js";
import { Tracing } from "./tracing.js";

/** Takes down what left. */
type Take = (thing: unknown) => void;

/**
 * Every place by which things leave a process without being asked for. A new one is a new entry: `open`
 * begins to watch it, and the function that comes back takes down the rest and ends it.
 */
const PLACES: Readonly<Record<string, (take: Take) => Promise<() => void | Promise<void>>>> = {
  async "channels of the process"(take) {
    const events = new ProcessEvents();
    return () => {
      events[Symbol.dispose]();
      // Content is behind functions, for who records it: also that has no secrets.
      for (const { event } of events.all)
        take([event, "args" in event && event.args(), "result" in event && event.result()]);
    };
  },
  async "spans and histograms"(take) {
    const tracing = await Tracing.start({ recordContent: true });
    return async () => {
      for (const { name, attributes, events, status } of tracing.spans)
        take({ name, attributes, events, status });
      for (const measured of await tracing.measured()) take(measured);
      await tracing[Symbol.asyncDispose]();
    };
  },
  async "output of the process"(take) {
    const streams = [process.stdout, process.stderr];
    const writes = streams.map((stream) => stream.write);
    for (const [n, stream] of streams.entries()) {
      stream.write = ((...args: Parameters<typeof stream.write>) => {
        take(String(args[0]));
        return Reflect.apply(writes[n] as never, stream, args) as boolean;
      }) as typeof stream.write;
    }
    return () => {
      for (const [n, stream] of streams.entries()) stream.write = writes[n] as typeof stream.write;
    };
  },
};

const CLIENT_EVENTS = {
  requestStarted: 1,
  requestRetried: 1,
  requestEnded: 1,
  handshakeStarted: 1,
  handshakeEnded: 1,
  sessionOpened: 1,
  sessionLost: 1,
  connectionLost: 1,
  sessionEnded: 1,
  breakerChanged: 1,
  notification: 1,
  toolsChanged: 1,
  resourcesChanged: 1,
  promptsChanged: 1,
  resourceUpdated: 1,
  warning: 1,
} satisfies Record<keyof McpClientEvents, 1>;

/** All that leaves, by place: what somebody planted must be nowhere in it. */
export class Exits {
  readonly #left: { readonly place: string; readonly thing: unknown }[] = [];
  readonly #ends: (() => void | Promise<void>)[] = [];

  static async open(): Promise<Exits> {
    const exits = new Exits();
    for (const [place, open] of Object.entries(PLACES))
      exits.#ends.push(await open((thing) => exits.take(place, thing)));
    return exits;
  }

  /** For what is given back to the caller: errors, outcomes, metrics. */
  take(place: string, thing: unknown): void {
    this.#left.push({ place, thing });
  }

  get logger(): Logger {
    const log = (message: string) => this.take("log", message);
    return { debug: log, info: log, warn: log, error: log, isDebugEnabled: () => true };
  }

  listen(client: McpClient): void {
    for (const name of Object.keys(CLIENT_EVENTS) as (keyof McpClientEvents)[])
      client.on(name, (event) => this.take("events of a client", event), { quiet: true });
  }

  /** A store whose keys and values are taken down. */
  store(): KeyValueStore {
    const store = memoryStore();
    return {
      get: (key) => {
        this.take("keys of a store", key);
        return store.get(key);
      },
      set: (key, value, options) => {
        this.take("values of a store", [key, value]);
        return store.set(key, value, options);
      },
      delete: (key) => store.delete(key),
    } as KeyValueStore;
  }

  /** Ends it: nothing that left has any of these in it, however it is printed. Says where things left. */
  async expectWithout(...planted: readonly string[]): Promise<string[]> {
    for (const end of this.#ends.splice(0)) await end();
    const leaks = this.#left.filter(({ thing }) =>
      [inspect(thing, { depth: 9, showHidden: true }), JSON.stringify(thing) ?? ""].some((text) =>
        planted.some((secret) => text.includes(secret)),
      ),
    );
    expect(leaks).toEqual([]);
    return [...new Set(this.#left.map(({ place }) => place))].toSorted();
  }
}
