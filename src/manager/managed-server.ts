import { McpClient } from "../client/mcp-client.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolCaller } from "../tools/tool-runtime.js";
import { type ServerInternals, type ServerCallbacks, createServerInternals } from "./server-internals.js";
import { ReconnectSchedule } from "./reconnect-schedule.js";
import type { ServerState, ServerStatus } from "./server-status.js";
import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import type { CatalogEventEmitter } from "../catalog/catalog-events.js";
import { redactedAddress } from "../config/server-fingerprint.js";
import type { ServerConfig, TransportType } from "../config/server-config.js";
import type { ManagerSettings } from "./manager-options.js";
import { schemaHash } from "../json-schema/schema-hash.js";
import type { McpToolInfo } from "../config/tool-info.js";

export interface ManagedServerOptions {
  readonly name: string;
  readonly isLazy: boolean;
  readonly isOptional: boolean;
  /** Runs on another machine. */
  readonly isRemote: boolean;
  /** Whether tools are listed from the server; otherwise they come from snapshots. */
  readonly listsTools: boolean;
  readonly clock: Clock;
  /** Cancelled when all servers are closed. */
  readonly closed: CancelScope;
  readonly onChange: (current: LifecycleState) => void;
  readonly onToolsChange: () => void;
}

/** The connection state of a server, and why it failed. */
export interface LifecycleState {
  readonly state: ServerState;
  readonly error: McpRuntimeError | undefined;
}

/** One server of a manager: its connection state, its client and the latest list of its tools. */
export class ManagedServer {
  readonly name: string;
  readonly isLazy: boolean;
  readonly isOptional: boolean;
  readonly #options: ManagedServerOptions;
  readonly #internals: ServerInternals;
  readonly #reconnectSchedule: ReconnectSchedule;
  /** Incremented on disconnect: an attempt that started in an earlier epoch must not change the state. */
  #epoch = 0;
  #state: ServerState = "idle";
  #since = Date.now();
  #error: McpRuntimeError | undefined;
  #connecting: Promise<void> | undefined;
  readonly #latestTools: LatestTools;

  constructor(
    createInternals: (callbacks: ServerCallbacks) => ServerInternals,
    options: ManagedServerOptions,
  ) {
    this.name = options.name;
    this.isLazy = options.isLazy;
    this.isOptional = options.isOptional;
    this.#options = options;
    this.#latestTools = new LatestTools(() => options.onToolsChange());
    this.#internals = createInternals({
      onListed: (identity, tools) => {
        if (identity === this.#getSharedIdentity()) this.#latestTools.update(tools);
      },
      assertEnabled: () => this.assertEnabled(),
    });
    this.#reconnectSchedule = new ReconnectSchedule({
      clock: options.clock,
      isRemote: options.isRemote,
      reconnect: () => this.client.ensureSession(),
      onExhausted: (error) => this.#setState("failed", toConnectError(error)),
    });
    this.#subscribe(this.#internals.client);
  }

  get internals(): ServerInternals {
    return this.#internals;
  }

  get client(): McpClient {
    return this.#internals.client;
  }

  get state(): ServerState {
    const isConnecting = this.client.state === "connecting" && AUTO_CONNECT_STATES.has(this.#state);
    return isConnecting ? "connecting" : this.#state;
  }

  /** Whether the last attempt failed, even if a session is being opened again by a call. */
  get hasFailed(): boolean {
    return this.#state === "failed";
  }

  get error(): McpRuntimeError | undefined {
    return this.#error;
  }

  get latestTools(): LatestTools {
    return this.#latestTools;
  }

  get listsTools(): boolean {
    return this.#options.listsTools;
  }

  get isDisconnected(): boolean {
    return this.#state === "disconnected";
  }

  /** Calls tools through the client while the server is enabled. The client itself would reconnect on use. */
  get caller(): ToolCaller {
    return {
      closed: this.#options.closed,
      callTool: async (call, options) => {
        this.assertEnabled(call.name);
        this.#internals.pins?.assertNotBlocked(call.name);
        try {
          return await this.client.callTool(call, options);
        } catch (error) {
          const isNotFound = error instanceof McpRuntimeError && error.kind === "not-found";
          if (isNotFound) this.#internals.catalog.invalidate();
          throw error;
        }
      },
    };
  }

  status(): ServerStatus {
    const { state } = this;
    return {
      state,
      since: this.#since,
      tools: this.#latestTools.current?.length ?? 0,
      ...(this.#error === undefined || state === "connecting" ? {} : { error: this.#error }),
      breaker: this.client.breaker?.stats().state,
      latencyMs: this.client.lastLatencyMs,
    };
  }

  /** The state to restore if the next attempt is rolled back. Never a state in progress. */
  getRestorableState(): LifecycleState {
    return { state: RESTORED_STATE[this.#state] ?? this.#state, error: this.#error };
  }

  /** Loads the tools from the cache, without a request to the server. */
  async loadFromCache(): Promise<void> {
    const cached = this.#options.listsTools ? await this.#internals.catalog.getCached() : undefined;
    if (cached !== undefined && this.#latestTools.current === undefined) this.#latestTools.update(cached);
  }

  /** Lists the tools and opens a session. Concurrent callers share one attempt. */
  connect(): Promise<void> {
    if (this.#state === "connected") return Promise.resolve();
    this.#connecting ??= this.#attemptConnect();
    return this.#connecting;
  }

  /** Like `connect`, but rejects if the server has failed or was disconnected, without another attempt. */
  async whenConnected(): Promise<void> {
    this.assertEnabled();
    if (this.#state === "failed" && this.#error !== undefined) throw this.#error;
    await this.connect();
  }

  /** Closes sessions, cancels running calls and connection attempts, then enters the target state. */
  async disconnect(target: LifecycleState = DISCONNECTED): Promise<void> {
    const { state, error } = this.#options.closed.isCancelled ? DISCONNECTED : target;
    this.#epoch += 1;
    this.#connecting = undefined;
    this.#reconnectSchedule.stop();
    this.#setState(state, error);
    await this.client.close();
  }

  /** Disconnects permanently. */
  async close(): Promise<void> {
    await Promise.all([this.#internals.catalog.close(), this.disconnect()]);
  }

  /** Throws if the server was disconnected or the manager closed. */
  assertEnabled(tool?: string): void {
    this.#options.closed.throwIfCancelled();
    if (!this.isDisconnected) return;
    const text = `Server "${this.name}" is disconnected. Connect it again before using it.`;
    throw new McpRuntimeError("not-sent", text, { server: this.name, tool });
  }

  async #attemptConnect(): Promise<void> {
    const epoch = this.#epoch;
    this.#reconnectSchedule.stop();
    this.#setState("connecting", undefined);
    try {
      await this.#open(epoch);
      this.#assertCurrent(epoch);
      this.#connecting = undefined;
      this.#setState("connected", undefined);
    } catch (error) {
      if (epoch === this.#epoch) {
        this.#connecting = undefined;
        this.#setState("failed", toConnectError(error));
      }
      throw error;
    }
  }

  async #open(epoch: number): Promise<void> {
    if (this.#options.listsTools) {
      // From the cache if possible; otherwise a request to the server, with retries.
      const tools = await this.#internals.catalog.list();
      this.#assertCurrent(epoch);
      this.#latestTools.update(tools);
    }
    await this.client.ensureSession();
  }

  /** Throws if the server was disconnected in the meantime: a session opened now would never be closed. */
  #assertCurrent(epoch: number): void {
    this.assertEnabled();
    if (epoch !== this.#epoch)
      throw new McpRuntimeError("cancelled", "The connection attempt was cancelled.", { server: this.name });
  }

  #subscribe(client: McpClient): void {
    client.on("sessionOpened", () => this.#onOpened());
    client.on("connectionLost", ({ identity }) => {
      if (this.#state === "connected" && identity === this.#getSharedIdentity()) this.#onLost();
    });
  }

  /** A session was opened by a call or by the reconnect schedule. */
  #onOpened(): void {
    if (this.#connecting !== undefined || this.isDisconnected || this.#state === "connected") return;
    // The server may have changed while it was away.
    if (this.#state === "reconnecting") this.#internals.catalog.invalidate();
    this.#reconnectSchedule.stop();
    this.#setState("connected", undefined);
    if (this.listsTools)
      this.#internals.catalog.list().then((tools) => this.#latestTools.update(tools), ignore);
  }

  #onLost(): void {
    const { name: server } = this;
    const lost = (text: string) => new McpRuntimeError("connection-lost", text, { server });
    if (this.#reconnectSchedule.start()) {
      this.#setState("reconnecting", lost(`The connection to server "${server}" was lost.`));
      return;
    }
    const text = `Server "${server}" loses its connection repeatedly; automatic reconnection has stopped. A call or reconnect() connects again.`;
    this.#setState("failed", lost(text));
  }

  #setState(state: ServerState, error: McpRuntimeError | undefined): void {
    if (this.#state === state && this.#error === error) return;
    this.#state = state;
    this.#error = error;
    this.#since = Date.now();
    this.#options.onChange({ state, error });
  }

  /** The identity without a caller; `undefined` if the server requires one. */
  #getSharedIdentity(): string | undefined {
    try {
      return this.client.identityOf({});
    } catch {
      return undefined;
    }
  }
}

const DISCONNECTED: LifecycleState = { state: "disconnected", error: undefined };
const RESTORED_STATE: Partial<Record<ServerState, ServerState>> = {
  connecting: "idle",
  reconnecting: "failed",
};
const AUTO_CONNECT_STATES: ReadonlySet<ServerState> = new Set(["idle", "failed"]);

function ignore(): void {
  // The client and the catalog have already reported the failure.
}

/** Transports of servers in this process or in a child process. */
const LOCAL_TRANSPORTS: ReadonlySet<TransportType> = new Set(["stdio", "custom", "in-process"]);

interface ServerEnvironment extends Pick<ManagedServerOptions, "onChange" | "onToolsChange"> {
  readonly settings: ManagerSettings;
  readonly closed: CancelScope;
  readonly events: CatalogEventEmitter;
}

/** Connects nothing. */
export function createManagedServer(
  config: ServerConfig,
  { settings, events, ...environment }: ServerEnvironment,
): ManagedServer {
  const { name, address, lazy, optional } = config;
  const { clock, catalog, client: clientOptions, listsTools } = settings;
  const client = new McpClient(config, clientOptions);
  const internals = { client, address: redactedAddress(config), settings: catalog, events };
  return new ManagedServer((callbacks) => createServerInternals({ ...internals, ...callbacks }), {
    ...environment,
    name,
    isLazy: lazy,
    isOptional: optional,
    isRemote: !LOCAL_TRANSPORTS.has(address.kind),
    listsTools: listsTools(name),
    clock,
  });
}

/** The last list of a server's tools, from the server or the cache. */
class LatestTools {
  readonly #onChange: () => void;
  #current: readonly McpToolInfo[] | undefined;
  #initial: readonly McpToolInfo[] | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** `undefined` if nothing was listed yet, as opposed to an empty list. */
  get current(): readonly McpToolInfo[] | undefined {
    return this.#current;
  }

  /** The first list, which drift is measured against. */
  get initial(): readonly McpToolInfo[] | undefined {
    return this.#initial;
  }

  update(tools: readonly McpToolInfo[]): void {
    const before = this.#current;
    this.#current = tools;
    this.#initial ??= tools;
    if (before === undefined || !isSame(before, tools)) this.#onChange();
  }
}

/** A list that cannot be serialized, such as one of an in-process server with a BigInt, equals no other. */
function isSame(before: readonly McpToolInfo[], after: readonly McpToolInfo[]): boolean {
  try {
    return before === after || schemaHash(before) === schemaHash(after);
  } catch {
    return false;
  }
}

function toConnectError(error: unknown): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  return new McpRuntimeError("server-error", `Could not connect: ${String(error)}`, { cause: error });
}
