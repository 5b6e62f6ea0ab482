import type { ServerMetrics, McpClient } from "../client/mcp-client.js";
import { CancelScope } from "../async/cancel-scope.js";
import { assertObject } from "../config/parse-options.js";
import { parseServer, parseServerConfigs } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import type { McpToolInfo } from "../config/list-items.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { assertListener } from "../telemetry/typed-emitter.js";
import { type McpServerManagerOptions, resolveManagerOptions } from "./manager-options.js";
import { type ConnectTarget, ServerSet } from "./server-set.js";
import type { ServerStatus } from "./managed-server.js";
import { MANAGER_EVENTS, type ServerManagerEvents, type ServerState } from "./mcp-events.js";

const IDLE = { state: "idle", error: undefined } as const;

/** Options of operations that wait. */
export interface WaitOptions {
  /** Cancels the operation. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `McpServerManager.reconnect`. */
export interface ReconnectOptions extends WaitOptions {
  /** Whether only failed servers are reconnected. With `false`, connected servers get a new session, too. @default true */
  readonly failedOnly?: boolean;
}

/**
 * Connects several MCP servers and manages their lifecycle: start, reconnect, status and shutdown. The
 * operations `connect`, `reconnect`, `disconnect`, `add` and `remove` of one server run one after the other, in the
 * order of the calls; those of different servers do not wait for each other. `disconnect` and `remove` cancel a
 * connection attempt of the server instead of waiting for it; `close` cancels all operations.
 *
 * @example
 * ```ts
 * await using manager = new McpServerManager({
 *   weather: { url: "https://weather.example.com/mcp" },
 *   files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] },
 * });
 * await manager.connect();
 * console.log(manager.connected, manager.errors);
 * ```
 */
export class McpServerManager implements AsyncDisposable {
  /**
   * The servers and their events. Each is a `ManagedServer`, which has the client, the catalog and the pins of one
   * server; a tool calls its `ManagedServer` directly. Toolsets use it for what the public methods do not offer.
   * @internal
   */
  readonly serverSet: ServerSet;

  /**
   * Connects nothing yet.
   * @throws McpRuntimeError kind `invalid-config` if a server or an option is invalid
   */
  constructor(
    servers: Readonly<Record<string, ServerDefinition>> = {},
    options: McpServerManagerOptions = {},
  ) {
    const configs = parseServerConfigs(servers);
    this.serverSet = new ServerSet(resolveManagerOptions(options));
    for (const config of Object.values(configs)) this.serverSet.add(config);
  }

  /** The names of all servers, in the order of configuration. */
  get configured(): string[] {
    return this.serverSet.all.map(({ name }) => name);
  }

  /** The names of the connected servers. */
  get connected(): string[] {
    return this.#namesByState("connected");
  }

  /** The names of the servers that could not be connected. */
  get failed(): string[] {
    return this.#namesByState("failed");
  }

  /** The names of the usable servers: not disconnected and, with `dropFailed`, not failed. */
  get active(): string[] {
    const { dropFailed } = this.serverSet.settings;
    return this.serverSet.all
      .filter(({ state }) => state !== "disconnected" && !(dropFailed && state === "failed"))
      .map(({ name }) => name);
  }

  /** Why servers failed or are being reconnected, by name. */
  get errors(): ReadonlyMap<string, McpRuntimeError> {
    return new Map(
      this.serverSet.all.flatMap(({ name, error }) => (error === undefined ? [] : [[name, error] as const])),
    );
  }

  /** The clients, by server name. */
  get clients(): ReadonlyMap<string, McpClient> {
    return new Map(this.serverSet.all.map(({ name, client }) => [name, client]));
  }

  /** The state of each server, by name. */
  status(): Record<string, ServerStatus> {
    return Object.fromEntries(this.serverSet.all.map((server) => [server.name, server.status()]));
  }

  /** Call metrics by server and tool, as a frozen copy. */
  metrics(): Readonly<Record<string, ServerMetrics>> {
    return Object.freeze(
      Object.fromEntries(this.serverSet.all.map(({ name, client }) => [name, client.metrics()])),
    );
  }

  /**
   * The tools that a server last listed, or the cached ones; `undefined` if there are none yet.
   * @throws McpRuntimeError kind `invalid-config` for an unknown name
   */
  toolsOf(name: string): readonly McpToolInfo[] | undefined {
    return this.serverSet.get(name).latestTools?.map((tool) => ({ ...tool }));
  }

  /**
   * Connects all servers that are not connected, except `lazy` ones. Failures are in `errors`.
   * @throws McpRuntimeError the first failure, with `strict`; kind `closed` after `close()`
   */
  async connect(options: WaitOptions = {}): Promise<void> {
    const { signal } = assertOptions("connect", options);
    await this.#run(signal, (cancellation) =>
      this.serverSet.connect(cancellation, async (server) => {
        if (server.isLazy && server.isDisconnected) await server.disconnect(IDLE);
        return !server.isLazy && server.state !== "connected";
      }),
    );
  }

  /**
   * Connects failed servers again; with `failedOnly: false` also connected ones.
   * @throws McpRuntimeError the first failure, with `strict`; kind `closed` after `close()`
   */
  async reconnect(options: ReconnectOptions = {}): Promise<void> {
    const { failedOnly = true, signal } = assertOptions("reconnect", options);
    await this.#run(signal, (cancellation) =>
      this.serverSet.connect(cancellation, async (server) => {
        const { state } = server;
        const isOpen = state === "connected" || state === "reconnecting";
        const mustReconnect = state === "failed" || (isOpen && !failedOnly);
        // A session that cannot be closed does not prevent the next one.
        if (isOpen && mustReconnect) await server.disconnect(IDLE).catch(() => undefined);
        return mustReconnect;
      }),
    );
  }

  /**
   * Waits until a server is connected, and connects it if it is idle.
   * @throws McpRuntimeError why the connection failed; kind `not-sent` if the server was disconnected;
   * kind `invalid-config` for an unknown name
   */
  async waitFor(name: string, options: WaitOptions = {}): Promise<McpClient> {
    const { signal } = assertOptions("waitFor", options);
    const cancellation = CancelScope.fromSignal(signal);
    try {
      cancellation.throwIfCancelled();
      this.serverSet.closed.throwIfCancelled();
      const server = this.serverSet.get(name);
      await cancellation.race(server.whenConnected());
      return server.client;
    } finally {
      cancellation.dispose();
    }
  }

  /**
   * Closes a server's sessions and cancels its calls, also while it is being connected. It is not used again before
   * `connect()`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown name
   */
  async disconnect(name: string): Promise<void> {
    this.serverSet.get(name);
    await this.#supersede(name, () => this.serverSet.get(name).disconnect());
  }

  /**
   * Adds a server and, unless it is `lazy`, connects it.
   * @throws McpRuntimeError kind `invalid-config` if the definition is invalid or the name is taken; kind `cancelled` if
   * the server is removed before it is connected; with `strict`, also the failure to connect
   */
  async add(name: string, definition: ServerDefinition, options: WaitOptions = {}): Promise<void> {
    const { signal } = assertOptions("add", options);
    await this.#run(signal, async (cancellation) => {
      const operation = this.serverSet.beginOperation(name, cancellation);
      try {
        if (operation.mustWait) await operation.waitForTurn();
        this.serverSet.assertNameIsFree(name);
        const server = this.serverSet.add(parseServer(name, definition));
        await this.#connectAdded({ server, operation }, cancellation);
      } finally {
        operation.end();
      }
    });
  }

  /**
   * Closes and removes a server, also while it is being connected. Calls of its tools then fail because the server is
   * disconnected.
   * @throws McpRuntimeError kind `invalid-config` for an unknown name
   */
  async remove(name: string): Promise<void> {
    this.serverSet.get(name);
    await this.#supersede(name, () => this.serverSet.remove(this.serverSet.get(name)));
  }

  /**
   * Subscribes to an event. Returns a function that unsubscribes.
   * @throws McpRuntimeError kind `invalid-config` for an unknown event or a listener that is not a function
   */
  on<Event extends keyof ServerManagerEvents>(
    event: Event,
    listener: (event: ServerManagerEvents[Event]) => void,
  ): () => void {
    assertListener(event, listener, MANAGER_EVENTS);
    return this.serverSet.events.on(event, listener);
  }

  /** Closes all servers permanently, in reverse order, within `closeTimeoutMs`. Failures to close are logged. */
  async close(): Promise<void> {
    await this.serverSet.close();
  }

  /** Calls `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #namesByState(expected: ServerState): string[] {
    return this.serverSet.all.filter(({ state }) => state === expected).map(({ name }) => name);
  }

  /** Removes the server again if it cannot be connected. */
  async #connectAdded(target: ConnectTarget, cancellation: CancelScope): Promise<void> {
    const { server, operation } = target;
    try {
      await this.serverSet.connectEach([target], cancellation, async () => {
        await server.loadFromCache();
        return !server.isLazy;
      });
    } catch (error) {
      if (!operation.isSuperseded) await this.serverSet.remove(server);
      throw error;
    }
    if (operation.isSuperseded && !this.serverSet.all.includes(server))
      throw new McpRuntimeError("cancelled", `Server "${server.name}" was removed before it was connected.`);
  }

  /** Runs an operation that disconnects a server. It cancels those that connect it. */
  async #supersede(name: string, work: () => Promise<void>): Promise<void> {
    await this.#run(undefined, async (cancellation) => {
      const operation = this.serverSet.supersedeOperations(name, cancellation);
      try {
        if (operation.mustWait) await operation.waitForTurn();
        await work();
      } finally {
        operation.end();
      }
    });
  }

  /** Runs an operation that `signal` and `close()` cancel. */
  async #run(
    signal: AbortSignal | undefined,
    work: (cancellation: CancelScope) => Promise<void>,
  ): Promise<void> {
    const cancellation = CancelScope.fromSignal(signal);
    const unsubscribe = this.serverSet.closed.onCancel((reason) => cancellation.cancel(reason));
    try {
      cancellation.throwIfCancelled();
      await work(cancellation);
    } finally {
      unsubscribe();
      cancellation.dispose();
    }
  }
}

function assertOptions<Options extends WaitOptions>(method: string, options: Options): Options {
  return assertObject(options, { subject: `The call to ${method}`, path: "options" });
}
