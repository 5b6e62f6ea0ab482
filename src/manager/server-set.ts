import { CancelScope } from "../async/cancel-scope.js";
import { settleWithin } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import type { McpClientEvents } from "../client/client-events.js";
import type { McpClient } from "../client/mcp-client.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { ManagedServer, type LifecycleState } from "./managed-server.js";
import type { ManagerSettings } from "./manager-options.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./mcp-events.js";

type SubscribeFn = (client: McpClient) => () => void;

/** An attempt to connect one server. `skipped`: all attempts ended before its turn. */
interface ConnectAttempt {
  readonly server: ManagedServer;
  /** The state to restore on a rollback. */
  readonly previous: LifecycleState;
  outcome: "skipped" | "connected" | "failed";
  error: unknown;
}

/**
 * The servers of one manager, in the order of configuration, with their events. It finds, connects and closes
 * them; `McpServerManager` adds the public operations and runs these one after the other. No call passes through
 * it: a tool holds its `ManagedServer`.
 */
export class ServerSet {
  /** The resolved options of the manager. */
  readonly settings: ManagerSettings;
  /** Cancelled by `close()`. */
  readonly closed = new CancelScope();
  /** Events of the manager and of all servers. */
  readonly events: TypedEmitter<ServerManagerEvents>;
  readonly #servers = new Map<string, ManagedServer>();
  readonly #clientSubscriptions = new Map<SubscribeFn, Map<McpClient, () => void>>();
  #closing: Promise<void> | undefined;

  constructor(settings: ManagerSettings) {
    this.settings = settings;
    this.events = new TypedEmitter(
      (error) => settings.warn(`An event listener threw: ${String(error)}`),
      MANAGER_CHANNELS,
    );
  }

  /** All servers, as a copy. */
  get all(): ManagedServer[] {
    return [...this.#servers.values()];
  }

  /** The servers that were not disconnected. */
  get enabled(): ManagedServer[] {
    return this.all.filter(({ isDisconnected }) => !isDisconnected);
  }

  /** The servers whose tools are not listed yet, each with its state, for messages. */
  get serversWithoutTools(): string[] {
    return this.enabled
      .filter(({ listsTools, latestTools }) => listsTools && latestTools === undefined)
      .map(({ name, state }) => `"${name}" (${state})`);
  }

  /** Connects nothing. */
  add(config: ServerConfig): ManagedServer {
    this.assertNameIsFree(config.name);
    const server = new ManagedServer(config, this);
    const { client } = server;
    this.#servers.set(config.name, server);
    for (const [subscribe, unsubscribers] of this.#clientSubscriptions)
      unsubscribers.set(client, subscribe(client));
    return server;
  }

  /** Throws `invalid-config` if there is a server with this name. */
  assertNameIsFree(name: string): void {
    if (!this.#servers.has(name)) return;
    const text = `A server named "${name}" already exists. Remove it first, or choose another name.`;
    throw new McpRuntimeError("invalid-config", text, { server: name });
  }

  /** Removes a server, then closes it. */
  async remove(server: ManagedServer): Promise<void> {
    const { name, client } = server;
    this.#servers.delete(name);
    for (const unsubscribers of this.#clientSubscriptions.values()) {
      unsubscribers.get(client)?.();
      unsubscribers.delete(client);
    }
    this.events.emit("toolsChanged", { server: name });
    await server.close();
  }

  /** Throws `invalid-config` for an unknown name. */
  get(name: string): ManagedServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const names = [...this.#servers.keys()].map((configured) => `"${configured}"`).join(", ");
    const problem =
      typeof name === "string"
        ? `Unknown server "${name}"`
        : `A server name must be a string, got ${describeValue(name)}`;
    const text = `${problem}; configured servers: ${names || "none"}.`;
    throw new McpRuntimeError("invalid-config", text, { server: name });
  }

  /** Subscribes to an event of all clients, including those added later. Returns a function that unsubscribes. */
  onClientEvent<Name extends keyof McpClientEvents>(
    event: Name,
    listener: (server: string, data: McpClientEvents[Name]) => void,
  ): () => void {
    const subscribe: SubscribeFn = (client) => client.on(event, (data) => listener(client.name, data));
    const unsubscribers = new Map(this.all.map(({ client }) => [client, subscribe(client)]));
    this.#clientSubscriptions.set(subscribe, unsubscribers);
    return () => {
      this.#clientSubscriptions.delete(subscribe);
      for (const unsubscribe of unsubscribers.values()) unsubscribe();
    };
  }

  /**
   * Connects servers that are not connected. Failures are in each server's state. With `strict`, the first
   * failure in the order of the servers is thrown after all of them are restored to their previous state.
   */
  async connect(servers: readonly ManagedServer[], cancellation: CancelScope): Promise<void> {
    const { isStrict, concurrency } = this.settings;
    const attempts = servers.map((server): ConnectAttempt => {
      return { server, previous: server.getRestorableState(), outcome: "skipped", error: undefined };
    });
    let isAborted = false;
    await mapConcurrent(attempts, concurrency, async (attempt) => {
      if (isAborted || cancellation.isCancelled) return;
      try {
        await cancellation.race(attempt.server.connect());
        attempt.outcome = "connected";
      } catch (error) {
        attempt.outcome = "failed";
        attempt.error = error;
        isAborted = isStrict && concurrency === 1;
      }
    });
    const failed = isStrict ? attempts.find(({ outcome }) => outcome === "failed") : undefined;
    if (failed === undefined && !cancellation.isCancelled) return;
    const rollbacks = attempts.filter(
      ({ previous, outcome }) =>
        previous.state !== "connected" && (outcome === "failed" || (isStrict && outcome === "connected")),
    );
    await Promise.allSettled(rollbacks.map(({ server, previous }) => server.disconnect(previous)));
    cancellation.throwIfCancelled();
    throw failed?.error;
  }

  /** Closes all servers permanently, in reverse order. A server that cannot be closed does not affect the others. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const { closeTimeoutMs, clock, warn } = this.settings;
    this.closed.cancel(new McpRuntimeError("closed", "The toolset was closed."));
    const unclosed = new Map<string, unknown>(this.all.map(({ name }) => [name, "timed out"]));
    const closing = this.all.toReversed().map((server) =>
      server.close().then(
        () => unclosed.delete(server.name),
        (error: unknown) => unclosed.set(server.name, error),
      ),
    );
    await settleWithin(closeTimeoutMs, clock, () => Promise.all(closing));
    for (const [name, reason] of unclosed) warn(`Server "${name}" could not be closed: ${String(reason)}`);
  }
}
