import type { CloseOptions } from "../client/client-lifecycle.js";
import type { BackgroundOption } from "../client/list-reader.js";
import { McpClient, type ServerMetrics, type ServerTotals } from "../client/mcp-client.js";
import { type CancelScope, withSignal } from "../async/cancel-scope.js";
import { assertOptions, optionKeys, parseArgument } from "../config/parse-options.js";
import { type McpServersDocument, parseServer, parseServerConfigs } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import { freezeIfListed, type McpToolInfo } from "../config/server-features.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { assertListener } from "../telemetry/typed-emitter.js";
import { type McpServerManagerOptions, resolveManagerOptions } from "./manager-options.js";
import { type ConnectOptions, type ConnectTarget, ServerSet } from "./server-set.js";
import type { ServerStatus } from "./managed-server.js";
import { MANAGER_EVENTS, type ServerManagerEvents, type ServerState } from "./mcp-events.js";

/** Options of operations that wait. */
export interface WaitOptions {
  /**
   * Cancels the operation.
   *
   * @default none
   */
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
    servers: Readonly<Record<string, ServerDefinition>> | McpServersDocument = {},
    options: McpServerManagerOptions = {},
  ) {
    const configs = parseArgument(
      () => parseServerConfigs(servers),
      () => resolveManagerOptions(options),
    );
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

  /** The metrics of all current servers in total, as a frozen copy; quantiles are over the calls of all. */
  totalMetrics(): ServerTotals {
    return McpClient.totalMetrics(this.serverSet.all.map(({ client }) => client));
  }

  /**
   * The tools that a server last listed, or the cached ones; `undefined` if there are none yet.
   * @throws McpRuntimeError kind `invalid-config` for an unknown name
   */
  toolsOf(name: string): readonly McpToolInfo[] | undefined {
    return this.serverSet.get(name).latestTools?.map(toPublicInfo);
  }

  /**
   * Connects all servers that are not connected, except `lazy` ones. Failures are in `errors`. A `signal` that is aborted
   * closes the servers again that this call has connected.
   * @throws McpRuntimeError the failures, with `strict` or as `onServerError` decides: then the servers that this call
   * has connected are closed again; kind `closed` after `close()`
   */
  async connect(options: WaitOptions = {}): Promise<void> {
    const { signal } = assertWaitOptions("connect", options);
    await this.#connect(signal, async (server) => {
      if (server.isLazy && server.isDisconnected) await this.serverSet.reset(server);
      return !server.isLazy && server.state !== "connected";
    });
  }

  /**
   * Connects one server with a new session, whatever its state.
   * @throws McpRuntimeError why the server could not be connected; kind `invalid-config` for an unknown name
   */
  async reconnect(name: string, options?: WaitOptions): Promise<void>;
  /**
   * Connects failed servers again; with `failedOnly: false` also connected ones.
   * @throws McpRuntimeError the failures, with `strict` or as `onServerError` decides; kind `closed` after `close()`
   */
  async reconnect(options?: ReconnectOptions): Promise<void>;
  /** @internal With `isBackground`, no login is started. */
  async reconnect(name: string, options: WaitOptions, details: BackgroundOption): Promise<void>;
  async reconnect(
    target: string | ReconnectOptions = {},
    options: WaitOptions = {},
    details: BackgroundOption = {},
  ): Promise<void> {
    if (typeof target === "string") {
      const { signal } = assertWaitOptions("reconnect", options);
      const server = this.serverSet.get(target);
      try {
        return await this.#run(signal, (cancellation) =>
          this.serverSet.connect([server], {
            cancellation,
            isCancellable: signal !== undefined,
            prepare: () => this.serverSet.reset(server).then(() => true),
            isStrict: true,
            ...details,
          }),
        );
      } finally {
        // Does nothing unless it has failed.
        server.retry();
      }
    }
    const { failedOnly = true, signal } = assertWaitOptions("reconnect", target, RECONNECT_OPTIONS);
    return this.#connect(signal, async (server) => {
      const { state } = server;
      const isOpen = state === "connected" || state === "reconnecting";
      // A call may be opening a session, which is "connecting".
      const mustReconnect = server.hasFailed || (isOpen && !failedOnly);
      if (isOpen && mustReconnect) await this.serverSet.reset(server);
      return mustReconnect;
    });
  }

  /**
   * Lists the tools of a server again, regardless of the cache. `toolsChanged` is emitted if they have changed.
   * @throws McpRuntimeError why the server could not be listed; kind `not-sent` if it was disconnected; kind
   * `invalid-config` for an unknown name
   */
  async refresh(name: string, options: WaitOptions = {}): Promise<readonly McpToolInfo[]> {
    const { signal } = assertWaitOptions("refresh", options);
    const server = this.serverSet.get(name);
    server.assertEnabled();
    const tools = await server.catalog.refresh({ signal });
    return tools.map(toPublicInfo);
  }

  /**
   * Waits until a server is connected, and connects it if it is idle.
   * @throws McpRuntimeError why the connection failed; kind `not-sent` if the server was disconnected;
   * kind `invalid-config` for an unknown name
   */
  async waitFor(name: string, options: WaitOptions = {}): Promise<McpClient> {
    const { signal } = assertWaitOptions("waitFor", options);
    return this.#run(signal, async (cancellation) => {
      const server = this.serverSet.get(name);
      await cancellation.race(server.whenConnected());
      return server.client;
    });
  }

  /**
   * Ends a server's calls, within `session.drainMs`, and closes its sessions. It is not used again before `connect()`. A
   * server that is being connected, or a session that is being opened, is not waited for: once the other calls have ended,
   * the rest is closed in the background, before the server is connected again and before `close()` resolves.
   * @throws McpRuntimeError kind `invalid-config` for an unknown name
   */
  async disconnect(name: string): Promise<void> {
    this.serverSet.get(name);
    await this.#supersede(name, () => this.serverSet.disconnect(this.serverSet.get(name)));
  }

  /**
   * Like `disconnect`, for all servers. Unlike after `close()`, they can be connected again.
   * @throws McpRuntimeError why a server could not be closed, after all are disconnected
   */
  async disconnectAll(): Promise<void> {
    const disconnecting = this.serverSet.all.map(({ name }) => this.disconnect(name));
    await Promise.allSettled(disconnecting);
    await Promise.all(disconnecting);
  }

  /**
   * Adds a server and, unless it is `lazy`, connects it.
   * @throws McpRuntimeError kind `invalid-config` if the definition is invalid or the name is taken; kind `cancelled` if
   * the server is removed before it is connected; with `strict`, also the failure to connect
   */
  async add(name: string, definition: ServerDefinition, options?: WaitOptions): Promise<void>;
  /** @internal With `isBackground`, no login is started. */
  async add(
    name: string,
    definition: ServerDefinition,
    options: WaitOptions,
    details: BackgroundOption,
  ): Promise<void>;
  async add(
    name: string,
    definition: ServerDefinition,
    options: WaitOptions = {},
    details: BackgroundOption = {},
  ): Promise<void> {
    const { signal } = assertWaitOptions("add", options);
    await this.#run(signal, (cancellation) => {
      const operation = this.serverSet.beginOperation(name, cancellation);
      return operation.run(async () => {
        this.serverSet.assertNameIsFree(name);
        const server = this.serverSet.add(parseServer(name, definition));
        await this.#connectAdded(
          { server, operation },
          { cancellation, isCancellable: signal !== undefined, ...details },
        );
      });
    });
  }

  /**
   * Removes a server, and closes it like `disconnect`. Calls of its tools then fail because the server is disconnected.
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

  /**
   * Closes all servers permanently, in reverse order, within `closeTimeoutMs` after `drainMs`. Failures to close are logged.
   * @throws McpRuntimeError kind `invalid-config` for an unknown option
   */
  async close(options?: CloseOptions): Promise<void> {
    await this.serverSet.close(options);
  }

  /** Calls `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #namesByState(expected: ServerState): string[] {
    return this.serverSet.all.filter(({ state }) => state === expected).map(({ name }) => name);
  }

  /** Removes the server again if it cannot be connected. */
  async #connectAdded(target: ConnectTarget, options: Omit<ConnectOptions, "prepare">): Promise<void> {
    const { server, operation } = target;
    const prepare = async () => {
      await server.loadFromCache();
      return !server.isLazy;
    };
    try {
      await this.serverSet.connectEach([target], { ...options, prepare });
    } catch (error) {
      if (!operation.isSuperseded) await this.serverSet.remove(server);
      throw error;
    }
    if (operation.isSuperseded && !this.serverSet.all.includes(server))
      throw new McpRuntimeError("cancelled", `Server "${server.name}" was removed before it was connected.`);
  }

  /** Connects all servers for which `prepare` returns true. */
  async #connect(signal: AbortSignal | undefined, prepare: ConnectOptions["prepare"]): Promise<void> {
    const isCancellable = signal !== undefined;
    await this.#run(signal, (cancellation) =>
      this.serverSet.connect(this.serverSet.all, { cancellation, isCancellable, prepare }),
    );
  }

  /** Runs an operation that disconnects a server. It cancels those that connect it. */
  async #supersede(name: string, work: () => Promise<void>): Promise<void> {
    await this.#run(undefined, (cancellation) =>
      this.serverSet.supersedeOperations(name, cancellation).run(work),
    );
  }

  /** Runs an operation that `signal` and `close()` cancel. */
  #run<T>(signal: AbortSignal | undefined, work: (cancellation: CancelScope) => Promise<T>): Promise<T> {
    return withSignal(signal, (cancellation) => {
      const unsubscribe = this.serverSet.closed.onCancel((reason) => cancellation.cancel(reason));
      cancellation.throwIfCancelled();
      return work(cancellation).finally(unsubscribe);
    });
  }
}

const WAIT_OPTIONS = optionKeys<WaitOptions>({ signal: true });
const RECONNECT_OPTIONS = optionKeys<ReconnectOptions>({ signal: true, failedOnly: true });

function assertWaitOptions<Options extends WaitOptions>(
  method: string,
  options: Options,
  keys = WAIT_OPTIONS,
): Options {
  return assertOptions(options, keys, { subject: `The call to ${method}` });
}

/** A copy whose fields cannot be changed for others. */
function toPublicInfo(tool: McpToolInfo): McpToolInfo {
  return { ...freezeIfListed(tool) };
}
