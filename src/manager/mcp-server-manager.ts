import type { ServerMetrics } from "../client/server-metrics.js";
import type { McpClient } from "../client/mcp-client.js";
import { CancelScope } from "../async/cancel-scope.js";
import { Semaphore } from "../async/semaphore.js";
import { checkObject } from "../config/assert-object.js";
import { parseServers } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { checkListener } from "../telemetry/assert-listener.js";
import { type McpServerManagerOptions, resolveManagerOptions } from "./manager-options.js";
import { ServerFleet } from "./server-set.js";
import {
  MANAGER_EVENTS,
  type ServerManagerEvents,
  type ServerState,
  type ServerStatus,
} from "./server-status.js";

const IDLE = { state: "idle", error: undefined } as const;

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ReconnectOptions extends WaitOptions {
  /** Only servers that failed; else also those that are connected, anew. */
  readonly failedOnly?: boolean;
}

/**
 * Many servers, one life. What is asked of all or of one (`connect`, `reconnect`, `disconnect`, `add`,
 * `remove`) is done one after the other, in the order it was asked; `close` ends what is under way.
 */
export class McpServerManager implements AsyncDisposable {
  /** @internal */
  readonly fleet: ServerFleet;
  readonly #turns = new Semaphore(1);

  /** Opens nothing. Throws kind `definition` when something is wrong. */
  constructor(
    servers: Readonly<Record<string, ServerDefinition>> = {},
    options: McpServerManagerOptions = {},
  ) {
    const definitions = parseServers(servers);
    this.fleet = new ServerFleet(resolveManagerOptions(options));
    for (const [name, definition] of Object.entries(definitions)) this.fleet.add(name, definition);
  }

  /** All, in the order they were configured. */
  get configured(): string[] {
    return this.fleet.all.map(({ name }) => name);
  }

  get connected(): string[] {
    return this.#namesIn("connected");
  }

  get failed(): string[] {
    return this.#namesIn("failed");
  }

  /** Those that are of use: not disconnected nor, with `dropFailed`, failed. */
  get active(): string[] {
    const { dropsFailed } = this.fleet.settings;
    return this.fleet.all
      .filter(({ state }) => state !== "disconnected" && !(dropsFailed && state === "failed"))
      .map(({ name }) => name);
  }

  /** Why servers failed, or are being reconnected. */
  get errors(): ReadonlyMap<string, McpRuntimeError> {
    return new Map(
      this.fleet.all.flatMap(({ name, error }) => (error === undefined ? [] : [[name, error] as const])),
    );
  }

  get clients(): ReadonlyMap<string, McpClient> {
    return new Map(this.fleet.all.map(({ name, client }) => [name, client]));
  }

  status(): Record<string, ServerStatus> {
    return Object.fromEntries(this.fleet.all.map((server) => [server.name, server.status()]));
  }

  /** What became of the calls, by server and tool: a frozen copy. */
  metrics(): Readonly<Record<string, ServerMetrics>> {
    return Object.freeze(
      Object.fromEntries(this.fleet.all.map(({ name, client }) => [name, client.metrics()])),
    );
  }

  /** What a server last listed, or what the cache knows; `undefined` when nothing is known. */
  toolsOf(name: string): readonly McpToolInfo[] | undefined {
    return this.fleet.get(name).known.tools?.map((tool) => ({ ...tool }));
  }

  /** Connects what is not connected, but for `lazy` servers. Failures are in `errors`, or thrown with `strict`. */
  async connect(options: WaitOptions = {}): Promise<void> {
    const { signal } = checked("connect", options);
    await this.#inTurn(signal, async (cancellation) => {
      const lazy = this.fleet.all.filter(({ isLazy, isOff }) => isLazy && isOff);
      await Promise.all(lazy.map((server) => server.letGo(IDLE)));
      const eager = this.fleet.all.filter(({ isLazy, state }) => !isLazy && state !== "connected");
      await this.fleet.connect(eager, cancellation);
    });
  }

  async reconnect(options: ReconnectOptions = {}): Promise<void> {
    const { failedOnly = true, signal } = checked("reconnect", options);
    await this.#inTurn(signal, async (cancellation) => {
      const open = this.fleet.all.filter(
        ({ state }) => !failedOnly && (state === "connected" || state === "reconnecting"),
      );
      const again = this.fleet.all.filter((server) => server.state === "failed" || open.includes(server));
      await Promise.allSettled(open.map((server) => server.letGo(IDLE)));
      await this.fleet.connect(again, cancellation);
    });
  }

  /** Until a server is connected; one that is idle is connected now. Rejects with what it failed with. */
  async waitFor(name: string, options: WaitOptions = {}): Promise<McpClient> {
    const { signal } = checked("waitFor", options);
    const cancellation = CancelScope.fromSignal(signal);
    try {
      cancellation.throwIfCancelled();
      this.fleet.closed.throwIfCancelled();
      const server = this.fleet.get(name);
      await cancellation.race(server.whenConnected());
      return server.client;
    } finally {
      cancellation.release();
    }
  }

  /** Ends its sessions and calls. Nothing is sent to it before `connect()`. */
  async disconnect(name: string): Promise<void> {
    await this.#inTurn(undefined, () => this.fleet.get(name).letGo());
  }

  /** Adds a server and, unless it is `lazy`, connects it. */
  async add(name: string, definition: ServerDefinition, options: WaitOptions = {}): Promise<void> {
    const { signal } = checked("add", options);
    await this.#inTurn(signal, async (cancellation) => {
      const server = this.fleet.add(name, definition);
      try {
        await server.recall();
        if (!server.isLazy) await this.fleet.connect([server], cancellation);
      } catch (error) {
        await this.fleet.remove(server);
        throw error;
      }
    });
  }

  /** Ends a server and forgets it. Tools of it that somebody holds answer that it is disconnected. */
  async remove(name: string): Promise<void> {
    await this.#inTurn(undefined, () => this.fleet.remove(this.fleet.get(name)));
  }

  /** Listens; the function that comes back stops. */
  on<Event extends keyof ServerManagerEvents>(
    event: Event,
    listener: (event: ServerManagerEvents[Event]) => void,
  ): () => void {
    checkListener(event, listener, MANAGER_EVENTS);
    return this.fleet.events.on(event, listener);
  }

  /** Ends everything, the last server first, past errors, within `closeTimeoutMs`. For good. */
  async close(): Promise<void> {
    await this.fleet.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #namesIn(wanted: ServerState): string[] {
    return this.fleet.all.filter(({ state }) => state === wanted).map(({ name }) => name);
  }

  async #inTurn(
    signal: AbortSignal | undefined,
    work: (cancellation: CancelScope) => Promise<void>,
  ): Promise<void> {
    const cancellation = CancelScope.fromSignal(signal);
    const forget = this.fleet.closed.onCancel((reason) => cancellation.cancel(reason));
    try {
      const leave = await this.#turns.enter(cancellation);
      try {
        await work(cancellation);
      } finally {
        leave();
      }
    } finally {
      forget();
      cancellation.release();
    }
  }
}

function checked<Options extends WaitOptions>(method: string, options: Options): Options {
  return checkObject(options, { subject: `The call of ${method}`, path: "options" });
}
