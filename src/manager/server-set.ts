import { CancelScope } from "../async/cancel-scope.js";
import { within } from "../async/settle-within.js";
import { describeValue } from "../json/describe-value.js";
import type { ServerDefinition } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { ClientRelay } from "./client-event-relay.js";
import { connectServers } from "./connect-servers.js";
import { createManagedServer } from "./create-managed-server.js";
import type { ManagedServer } from "./managed-server.js";
import type { ManagerSettings } from "./manager-options.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./server-status.js";

/** The servers of one manager, in the order they were configured, and who listens to them. */
export class ServerFleet {
  readonly settings: ManagerSettings;
  readonly closed = new CancelScope();
  readonly events: TypedEmitter<ServerManagerEvents>;
  /** Events of the clients. */
  readonly relay = new ClientRelay();
  readonly #servers = new Map<string, ManagedServer>();
  #closing: Promise<void> | undefined;

  constructor(settings: ManagerSettings) {
    this.settings = settings;
    this.events = new TypedEmitter(
      (error) => settings.warn(`A listener to the events of all servers failed: ${String(error)}`),
      MANAGER_CHANNELS,
    );
  }

  get all(): ManagedServer[] {
    return [...this.#servers.values()];
  }

  /** Those that were not disconnected. */
  get on(): ManagedServer[] {
    return this.all.filter(({ isOff }) => !isOff);
  }

  /** Those that have not told their tools, and what they are doing. */
  get silent(): string[] {
    return this.on
      .filter(({ isListed, known }) => isListed && known.tools === undefined)
      .map(({ name, state }) => `"${name}" (${state})`);
  }

  /** Opens nothing. */
  add(name: string, definition: ServerDefinition): ManagedServer {
    if (this.#servers.has(name)) {
      const text = `There is a server "${name}" already. Remove it first, or choose another name.`;
      throw new McpRuntimeError("invalid-config", text, { server: name });
    }
    const { settings, closed, events } = this;
    const server = createManagedServer(name, definition, {
      settings,
      closed,
      witness: events,
      onChange: ({ state, error }) => events.emit("serverChanged", { server: name, state, error }),
      onToolsChange: () => events.emit("toolsChanged", { server: name }),
    });
    this.#servers.set(name, server);
    this.relay.add(server.client);
    return server;
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
    const known = [...this.#servers.keys()].map((other) => `"${other}"`).join(", ");
    const wanted =
      typeof name === "string"
        ? `There is no server "${name}" here`
        : `A server is named by a text, found ${describeValue(name)}`;
    const text = `${wanted}; there are ${known || "none"}.`;
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

  /** One that cannot be closed keeps no other open. */
  async #closeAll(): Promise<void> {
    const { closeTimeoutMs, clock, warn } = this.settings;
    this.closed.cancel(new McpRuntimeError("closed", "The toolset was closed."));
    const left = new Map<string, unknown>(this.all.map(({ name }) => [name, "it takes too long"]));
    const closing = this.all.toReversed().map((server) =>
      server.close().then(
        () => left.delete(server.name),
        (error: unknown) => left.set(server.name, error),
      ),
    );
    await within(closeTimeoutMs, clock, () => Promise.all(closing));
    for (const [name, why] of left) warn(`Server "${name}" could not be closed: ${String(why)}`);
  }
}
