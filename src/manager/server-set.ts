import { CancelScope } from "../async/cancel-scope.js";
import { settleWithin } from "../async/deadline.js";
import { describeValue } from "../json/describe-value.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { createManagedServer, type ManagedServer } from "./managed-server.js";
import type { ManagerSettings } from "./manager-options.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./server-status.js";
import type { McpClientEvents } from "../client/client-events.js";
import type { McpClient } from "../client/mcp-client.js";
import { mapConcurrent } from "../async/map-concurrent.js";

/** The servers of one manager, in the order of configuration, with their events. */
export class ServerSet {
  readonly settings: ManagerSettings;
  readonly closed = new CancelScope();
  readonly events: TypedEmitter<ServerManagerEvents>;
  /** Events of all clients. */
  readonly relay = new ClientEventRelay();
  readonly #servers = new Map<string, ManagedServer>();
  #closing: Promise<void> | undefined;

  constructor(settings: ManagerSettings) {
    this.settings = settings;
    this.events = new TypedEmitter(
      (error) => settings.warn(`An event listener threw: ${String(error)}`),
      MANAGER_CHANNELS,
    );
  }

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
      .filter(({ listsTools, latestTools }) => listsTools && latestTools.current === undefined)
      .map(({ name, state }) => `"${name}" (${state})`);
  }

  /** Connects nothing. */
  add(config: ServerConfig): ManagedServer {
    const { name } = config;
    this.assertNameIsFree(name);
    const { settings, closed, events } = this;
    const server = createManagedServer(config, {
      settings,
      closed,
      events,
      onChange: ({ state, error }) => events.emit("serverChanged", { server: name, state, error }),
      onToolsChange: () => events.emit("toolsChanged", { server: name }),
    });
    this.#servers.set(name, server);
    this.relay.add(server.client);
    return server;
  }

  assertNameIsFree(name: string): void {
    if (!this.#servers.has(name)) return;
    const text = `A server named "${name}" already exists. Remove it first, or choose another name.`;
    throw new McpRuntimeError("invalid-config", text, { server: name });
  }

  async remove(server: ManagedServer): Promise<void> {
    const { name } = server;
    this.#servers.delete(name);
    this.relay.remove(server.client);
    this.events.emit("toolsChanged", { server: name });
    await server.close();
  }

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

  async connect(servers: readonly ManagedServer[], cancellation: CancelScope): Promise<void> {
    const { isStrict, concurrency } = this.settings;
    await connectServers(servers, { isStrict, concurrency, cancellation });
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  /** A server that cannot be closed does not prevent others from closing. */
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

type SubscribeFn = (client: McpClient) => () => void;

/** Forwards events of all clients, including those added later. */
class ClientEventRelay {
  readonly #clients = new Set<McpClient>();
  readonly #listeners = new Map<SubscribeFn, Map<McpClient, () => void>>();

  add(client: McpClient): void {
    this.#clients.add(client);
    for (const [subscribe, unsubscribers] of this.#listeners) unsubscribers.set(client, subscribe(client));
  }

  remove(client: McpClient): void {
    this.#clients.delete(client);
    for (const unsubscribers of this.#listeners.values()) {
      unsubscribers.get(client)?.();
      unsubscribers.delete(client);
    }
  }

  /** Returns a function that unsubscribes. */
  on<Name extends keyof McpClientEvents>(
    event: Name,
    listener: (server: string, data: McpClientEvents[Name]) => void,
  ): () => void {
    const subscribe: SubscribeFn = (client) => client.on(event, (data) => listener(client.name, data));
    const unsubscribers = new Map([...this.#clients].map((client) => [client, subscribe(client)]));
    this.#listeners.set(subscribe, unsubscribers);
    return () => {
      this.#listeners.delete(subscribe);
      for (const unsubscribe of unsubscribers.values()) unsubscribe();
    };
  }
}

interface ConnectOptions {
  /** Whether one failure rolls back the whole attempt. */
  readonly isStrict: boolean;
  readonly concurrency: number;
  readonly cancellation: CancelScope;
}

/** The result for one server. `skipped`: the attempt ended before its turn. */
type Outcome = "connected" | "skipped" | { readonly error: unknown };

/**
 * Connects servers that are not connected. Failures are in each server's state. With `isStrict`, the first
 * failure in the order of the servers is thrown after all of them are restored to their previous state.
 */
async function connectServers(
  servers: readonly ManagedServer[],
  { isStrict, concurrency, cancellation }: ConnectOptions,
): Promise<void> {
  const previous = servers.map((server) => server.getRestorableState());
  let isAborted = false;
  const outcomes = await mapConcurrent(servers, concurrency, async (server): Promise<Outcome> => {
    if (isAborted || cancellation.isCancelled) return "skipped";
    try {
      await cancellation.race(server.connect());
      return "connected";
    } catch (error) {
      isAborted = isStrict && concurrency === 1;
      return { error };
    }
  });
  const failed = outcomes.find((outcome) => typeof outcome === "object");
  const needsRollback = (outcome: Outcome) => outcome !== "skipped" && (isStrict || outcome !== "connected");
  if (cancellation.isCancelled || (isStrict && failed !== undefined)) {
    const rollbacks = servers.map(async (server, index) => {
      const target = previous[index];
      if (
        target === undefined ||
        target.state === "connected" ||
        !needsRollback(outcomes[index] ?? "skipped")
      )
        return;
      await server.disconnect(target);
    });
    await Promise.allSettled(rollbacks);
    cancellation.throwIfCancelled();
    throw (failed as { readonly error: unknown }).error;
  }
}
