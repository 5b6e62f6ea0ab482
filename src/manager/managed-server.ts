import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { ToolCatalog } from "../catalog/tool-catalog.js";
import { ToolListStore } from "../catalog/tool-list-store.js";
import { SKILL_PINS, SkillCatalog } from "../catalog/skill-catalog.js";
import { Pins, ToolPins } from "../catalog/tool-pins.js";
import type { CallToolOptions, ToolCall } from "../client/call-options.js";
import type { ClientClosing, CloseOptions } from "../client/client-lifecycle.js";
import type { BackgroundOption } from "../client/list-reader.js";
import { McpClient } from "../client/mcp-client.js";
import type { BreakerState } from "../client/policies/circuit-breaker.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ServerProvenance } from "../config/address-policy.js";
import type { McpToolInfo } from "../config/server-features.js";
import type { ServerOutput } from "../config/output-options.js";
import {
  serverEndpoint,
  type ServerConfig,
  type ServerEndpoint,
  type TransportType,
} from "../config/server-config.js";
import { withServerSettings } from "../config/parse-server.js";
import { redactedAddress } from "../config/server-fingerprint.js";
import { isUnauthorized, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { TextRedactor } from "../errors/redaction.js";
import { appendSentence, printValue } from "../errors/sanitize-text.js";
import { isDeepEqual } from "../json/json.js";
import type { TypedEmitter } from "../telemetry/typed-emitter.js";
import { clientClosedError } from "../transports/transport.js";
import type { ToolCaller } from "../tools/tool-run.js";
import type { ManagerSettings } from "./manager-options.js";
import type { ServerManagerEvents, ServerState } from "./mcp-events.js";
import { ReconnectSchedule } from "./reconnect-schedule.js";

/** The state of one server. */
export interface ServerStatus {
  /** The connection state, including a connection that a call is opening. */
  readonly state: ServerState;
  /** When the state was entered (Unix time in milliseconds). */
  readonly since: number;
  /** The number of known tools. */
  readonly tools: number;
  /** In a toolset: the estimated tokens of the definitions of its tools (see `tokenCosts`). */
  readonly tokens?: number | undefined;
  /** Why the server failed or is being reconnected. */
  readonly error?: McpRuntimeError | undefined;
  /** The state of the circuit breaker; `undefined` with `circuitBreaker: false`. */
  readonly breaker: BreakerState | undefined;
  /** The latency of the last response; `undefined` before the first one. */
  readonly latencyMs: number | undefined;
  /** Where the definition of the server comes from: your code, a config file, an agent definition or a lookup. */
  readonly provenance: ServerProvenance;
}

/** The connection state of a server, and why it failed. */
export interface LifecycleState {
  /** The state to enter or restore. */
  readonly state: ServerState;
  /** The failure that belongs to the state, if any. */
  readonly error: McpRuntimeError | undefined;
}

/** What all servers of a manager share. */
interface ServerEnvironment {
  readonly settings: ManagerSettings;
  readonly events: TypedEmitter<ServerManagerEvents>;
  /** Cancelled when all servers are closed. */
  readonly closed: CancelScope;
}

/** An attempt to connect. In the background, no caller waits for it, so it starts no login. */
interface Attempt extends Required<BackgroundOption> {
  readonly done: Promise<void>;
}

/** Transports of servers in this process or in a child process. */
const LOCAL_TRANSPORTS: ReadonlySet<TransportType> = new Set(["stdio", "custom", "in-process"]);
const AUTO_CONNECT_STATES: ReadonlySet<ServerState> = new Set(["idle", "failed"]);
const DISCONNECTED: LifecycleState = { state: "disconnected", error: undefined };
const RESTORED_STATE: Partial<Record<ServerState, ServerState>> = {
  connecting: "idle",
  reconnecting: "failed",
};

/**
 * One server of a manager: it owns the client, the tool catalog and the pins of the server, and adds its
 * connection state and the latest list of its tools.
 *
 * A managed server is what its tools call: `McpTool` calls `callTool` here, which denies calls while the server
 * is disconnected or the tool is blocked, and passes the others to the client. Lists and lookups go to `catalog`.
 */
export class ManagedServer implements ToolCaller {
  /** How long `close()` waits for calls in flight, unless it has the option. */
  readonly drainMs: number;
  /** The configured name. */
  readonly name: string;
  /** How and where it is reached. */
  readonly endpoint: ServerEndpoint;
  /** Whether the server is connected on first use instead of by `connect()`. */
  readonly isLazy: boolean;
  /** Whether a start succeeds without this server. */
  readonly isOptional: boolean;
  /** Whether tools are listed from the server; otherwise they come from snapshots. */
  readonly listsTools: boolean;
  /** Sends the requests. It would reconnect a disconnected server on use: see `assertEnabled`. */
  readonly client: McpClient;
  /** The tool lists of all identities. */
  readonly catalog: ToolCatalog;
  /** Set if changes of tools are detected (option `pin`). */
  readonly pins: ToolPins | undefined;
  /** The skills of the server, without those that are blocked. */
  readonly skills: SkillCatalog;
  /** Cancelled when all servers are closed. */
  readonly closed: CancelScope;
  readonly #events: TypedEmitter<ServerManagerEvents>;
  readonly #clock: Clock;
  readonly #reconnectSchedule: ReconnectSchedule;
  /** Whether an attempt in the background is running. */
  #isRetrying = false;
  /** How often the server was disconnected. An attempt that started before a disconnect must not change the state. */
  #disconnectCount = 0;
  /** Aborted on disconnect: cancels the attempt to connect, and listings. */
  #disconnected = new AbortController();
  #state: ServerState = "idle";
  #since = Date.now();
  #error: McpRuntimeError | undefined;
  #connecting: Attempt | undefined;
  #latestTools: readonly McpToolInfo[] | undefined;
  #initialTools: readonly McpToolInfo[] | undefined;

  /** Connects nothing. */
  constructor(config: ServerConfig, { settings, events, closed }: ServerEnvironment) {
    this.drainMs = config.session.drainMs;
    this.name = config.name;
    this.endpoint = serverEndpoint(config);
    this.isLazy = config.lazy;
    this.isOptional = config.optional;
    this.closed = closed;
    this.#events = events;
    this.#clock = settings.clock;
    const { allowAddress } = settings;
    const guarded =
      allowAddress === undefined
        ? config
        : withServerSettings(config, { allowAddress: [...config.allowAddress, allowAddress] });
    this.client = new McpClient(guarded, settings.client);
    this.listsTools = settings.listTools(this.name);
    const { name: server, fingerprint } = this.client;
    const { staleAfterMs, store, ttlMs, pin: mode, warn } = settings.catalog;
    const { tools: maxTools } = config.limits;
    const pinOptions = mode && { server, mode, address: redactedAddress(config), store, warn, events };
    this.pins = pinOptions && new ToolPins(pinOptions);
    this.skills = new SkillCatalog(this.client, {
      pins: pinOptions && new Pins(SKILL_PINS, pinOptions),
      assertEnabled: () => this.assertEnabled(),
    });
    this.catalog = new ToolCatalog(this.client, {
      staleAfterMs,
      // Keyed by fingerprint, unlike pins: other credentials may see other tools, but pins outlive a token.
      store:
        store &&
        new ToolListStore({ server, fingerprint, store, ttlMs, maxTools, now: () => Date.now(), warn }),
      events,
      warn,
      pins: this.pins,
      assertEnabled: () => this.assertEnabled(),
      signal: () => this.#disconnected.signal,
      onListed: (identity, tools) => {
        if (identity === this.#getSharedIdentity()) this.#updateTools(tools);
      },
    });
    this.#reconnectSchedule = new ReconnectSchedule({
      clock: settings.clock,
      random: Math.random,
      settings: settings.reconnection,
      isRemote: !LOCAL_TRANSPORTS.has(config.address.kind),
      reconnect: () => this.#reconnect(),
      onExhausted: (error) => {
        // A server whose tools could not be listed may be in use.
        if (this.#state !== "connected") this.#setState("failed", toRuntimeError(error));
      },
    });
    if (settings.live && this.listsTools)
      this.client.followTools((identity) => identity === this.#getSharedIdentity());
    this.client.on("sessionOpened", () => this.#onOpened());
    this.client.followLogins((identity) => {
      if (this.hasFailed && identity === this.#getSharedIdentity())
        void this.connect({ isBackground: true }).catch(() => undefined);
    });
    this.client.on("connectionLost", ({ identity }) => {
      if (this.#state === "connected" && identity === this.#getSharedIdentity()) this.#onLost();
    });
  }

  /** How often the server was disconnected. */
  get disconnectCount(): number {
    return this.#disconnectCount;
  }

  /** The connection state, including a connection that a call is opening. A failed server that is tried again has failed. */
  get state(): ServerState {
    const isConnecting = this.client.state === "connecting" && AUTO_CONNECT_STATES.has(this.#state);
    return isConnecting && !this.#isRetrying ? "connecting" : this.#state;
  }

  /** Whether the last attempt failed, even if a session is being opened again by a call. */
  get hasFailed(): boolean {
    return this.#state === "failed";
  }

  /** Whether the server was disconnected, and is not used until it is connected again. */
  get isDisconnected(): boolean {
    return this.#state === "disconnected";
  }

  /** Why the server failed or is being reconnected. */
  get error(): McpRuntimeError | undefined {
    return this.#error;
  }

  /** The last list, from the server or the cache. `undefined` if nothing was listed yet, as opposed to an empty list. */
  get latestTools(): readonly McpToolInfo[] | undefined {
    return this.#latestTools;
  }

  /** The first list, which drift is measured against. */
  get initialTools(): readonly McpToolInfo[] | undefined {
    return this.#initialTools;
  }

  get redactor(): TextRedactor {
    return this.client.redactor;
  }

  get output(): ServerOutput | undefined {
    return this.client.output;
  }

  get totalMs(): number {
    return this.client.totalMs;
  }

  identityOf(options: Parameters<McpClient["identityOf"]>[0]): string {
    return this.client.identityOf(options);
  }

  assertNotBlocked(tool: string): void {
    this.pins?.assertNotBlocked(tool);
  }

  /** Calls a tool while the server is enabled. The client itself would reconnect on use. */
  async callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult> {
    this.assertEnabled(call.name);
    this.assertNotBlocked(call.name);
    try {
      return await this.client.callTool(call, options);
    } catch (error) {
      const isNotFound = error instanceof McpRuntimeError && error.kind === "not-found";
      if (isNotFound) this.catalog.invalidate();
      throw error;
    }
  }

  /** Whether a list goes on without this server if it fails in this way. */
  tolerates(error: unknown): error is McpRuntimeError {
    return this.isOptional && error instanceof McpRuntimeError && error.kind !== "invalid-config";
  }

  /** The state for `McpServerManager.status()`. */
  status(): ServerStatus {
    const { state } = this;
    return {
      state,
      since: this.#since,
      tools: this.#latestTools?.length ?? 0,
      ...(this.#error === undefined || state === "connecting" ? {} : { error: this.#error }),
      breaker: this.client.breaker?.stats().state,
      latencyMs: this.client.lastLatencyMs,
      provenance: this.client.provenance,
    };
  }

  /** The state to restore if the next attempt is rolled back. Never a state in progress. */
  getRestorableState(): LifecycleState {
    return { state: RESTORED_STATE[this.#state] ?? this.#state, error: this.#error };
  }

  /** Loads the tools from the cache, without a request to the server. Returns whether there were any. */
  async loadFromCache(): Promise<boolean> {
    const cached = this.listsTools ? await this.catalog.getCached() : undefined;
    if (cached !== undefined && this.#latestTools === undefined) this.#updateTools(cached);
    return cached !== undefined;
  }

  /**
   * Lists the tools and opens a session. Concurrent callers share one attempt. If one in the background requires a login,
   * a caller who waits for it connects again.
   */
  connect({ isBackground = false }: BackgroundOption = {}): Promise<void> {
    if (this.#state === "connected") return Promise.resolve();
    const attempt = this.#connecting ?? this.#startConnecting(isBackground);
    if (isBackground || !attempt.isBackground) return attempt.done;
    const disconnectCount = this.#disconnectCount;
    return attempt.done.catch((error: unknown) => {
      if (isUnauthorized(error) && disconnectCount === this.#disconnectCount) return this.connect();
      throw error;
    });
  }

  /** Like `connect`, but rejects if the server has failed or was disconnected, without another attempt. */
  async whenConnected(): Promise<void> {
    this.assertEnabled();
    if (this.#state === "failed" && this.#error !== undefined) throw this.#error;
    await this.connect();
  }

  /**
   * Enters the target state, cancels the attempt to connect, ends running calls and closes sessions. What is open of a
   * server that is being connected is not waited for: it may not respond.
   */
  disconnect(target: LifecycleState = DISCONNECTED, options: CloseOptions = {}): ClientClosing {
    const { state, error } = this.closed.isCancelled ? DISCONNECTED : target;
    const isConnecting = this.#connecting !== undefined || this.#isRetrying;
    this.#disconnectCount += 1;
    this.#connecting = undefined;
    this.#reconnectSchedule.stop();
    this.#disconnected.abort(clientClosedError(this.name));
    this.catalog.abandonListings();
    this.#disconnected = new AbortController();
    this.#setState(state, error);
    const { drained, closed } = McpClient.beginClose(this.client, options);
    return { drained: drained.then((mayWait) => mayWait && !isConnecting), closed };
  }

  /** Disconnects permanently. */
  async close(options: CloseOptions): Promise<ClientClosing> {
    // Not awaited if there is nothing to do, so that the state changes at once.
    const flushed = this.catalog.flush();
    if (flushed !== undefined) await flushed;
    const catalogClosed = this.catalog.close();
    const { drained, closed } = this.disconnect(DISCONNECTED, options);
    return { drained, closed: Promise.all([catalogClosed, closed]).then(() => undefined) };
  }

  /** Throws if the server was disconnected or the manager closed. */
  assertEnabled(tool?: string): void {
    this.closed.throwIfCancelled();
    if (!this.isDisconnected) return;
    const text = `Server "${this.name}" is disconnected. Connect it again before using it.`;
    throw new McpRuntimeError("not-sent", text, { server: this.name, tool });
  }

  #startConnecting(isBackground: boolean): Attempt {
    const disconnectCount = this.#disconnectCount;
    const previous = isBackground ? this.#error : undefined;
    let begin: (() => void) | undefined;
    const done = new Promise<void>((resolve) => {
      begin = resolve;
    }).then(() => this.#attemptConnect(disconnectCount, { isBackground }, previous));
    // Set before the event is emitted: a listener may call `connect()` or `disconnect()`.
    const attempt = { done, isBackground };
    this.#connecting = attempt;
    this.#reconnectSchedule.pause();
    this.#setState("connecting", undefined);
    begin?.();
    return attempt;
  }

  /** `previous` is the failure before an attempt in the background: it may have the URL of a login that can be completed. */
  async #attemptConnect(
    disconnectCount: number,
    details: Required<BackgroundOption>,
    previous: McpRuntimeError | undefined,
  ): Promise<void> {
    const startedAt = this.#clock.now();
    const { failures: failuresBefore } = this.client.metrics().handshakes;
    try {
      this.#assertCurrent(disconnectCount);
      if (this.listsTools) {
        // From the cache if possible; otherwise a request to the server, with retries.
        const tools = await (details.isBackground ? this.catalog.listInBackground() : this.catalog.list());
        this.#assertCurrent(disconnectCount);
        this.#updateTools(tools);
      }
      await this.client.ensureSession({ signal: this.#disconnected.signal }, details);
      this.#assertCurrent(disconnectCount);
      this.#connecting = undefined;
      this.#reconnectSchedule.stop();
      this.#setState("connected", undefined);
    } catch (error) {
      const failedHandshakes = this.client.metrics().handshakes.failures - failuresBefore;
      const failure = toConnectError(error, failedHandshakes, this.#clock.now() - startedAt);
      if (disconnectCount === this.#disconnectCount) {
        this.#connecting = undefined;
        // Before the event is emitted: a start that fails because of it cancels the retry.
        this.#retryAfter(failure);
        this.#setState("failed", failure.kind === previous?.kind ? previous : failure);
      }
      throw failure;
    }
  }

  /** Throws if the server was disconnected in the meantime: a session opened now would never be closed. */
  #assertCurrent(disconnectCount: number): void {
    this.assertEnabled();
    if (disconnectCount !== this.#disconnectCount)
      throw new McpRuntimeError("cancelled", "The connection attempt was cancelled.", { server: this.name });
  }

  /** A session was opened by a call or by the reconnect schedule. */
  #onOpened(): void {
    if (this.#connecting !== undefined || this.isDisconnected || this.#state === "connected") return;
    // The server may have changed while it was away.
    if (this.#state === "reconnecting") this.catalog.invalidate();
    this.#reconnectSchedule.stop();
    this.#setState("connected", undefined);
    if (!this.listsTools) return;
    const disconnectCount = this.#disconnectCount;
    this.catalog.listInBackground().then(
      (tools) => this.#updateTools(tools),
      // The client and the catalog have already reported the failure.
      (error: unknown) => {
        const mustRetry = this.#state === "connected" && this.#latestTools === undefined;
        if (disconnectCount === this.#disconnectCount && mustRetry) this.#retryAfter(toRuntimeError(error));
      },
    );
  }

  /**
   * Tries again in the background, without a call. Trying again does not help if the definition is invalid, or if there
   * is no caller.
   */
  #retryAfter(error: McpRuntimeError): void {
    if (this.isLazy || error.kind === "invalid-config" || this.#getSharedIdentity() === undefined) return;
    this.#reconnectSchedule.continueAfter(error);
  }

  /** Tries a server that has failed again, in the background. */
  retry(): void {
    if (this.hasFailed && this.#error !== undefined) this.#retryAfter(this.#error);
  }

  /** Does not try again until something connects the server. */
  cancelRetry(): void {
    this.#reconnectSchedule.stop();
  }

  /** One attempt in the background. After a failure, it connects once the server accepts the available credentials. */
  async #reconnect(): Promise<void> {
    const { signal } = this.#disconnected;
    if (this.#state === "reconnecting") return this.client.ensureSession({ signal }, { isBackground: true });
    const disconnectCount = this.#disconnectCount;
    this.#isRetrying = true;
    try {
      await this.client.tryToConnect({ listsTools: this.listsTools, signal });
    } catch (error) {
      const failure = toRuntimeError(error);
      const isOther = this.hasFailed && failure.kind !== this.#error?.kind;
      if (disconnectCount === this.#disconnectCount && isOther) this.#setState("failed", failure);
      throw failure;
    } finally {
      this.#isRetrying = false;
    }
    if (disconnectCount !== this.#disconnectCount) return;
    // The server may reject now what it has accepted before.
    if (this.#state !== "connected") await this.connect({ isBackground: true });
    else if (this.listsTools) this.#updateTools(await this.catalog.listInBackground());
  }

  #onLost(): void {
    const { name: server } = this;
    const lost = `The connection to server "${server}" was lost.`;
    const isReconnecting = this.#reconnectSchedule.start();
    const reason = this.#reconnectSchedule.isEnabled
      ? " It was lost repeatedly, so it is not restored automatically."
      : "";
    const text = isReconnecting ? lost : `${lost}${reason} A call or reconnect() connects again.`;
    const error = new McpRuntimeError("connection-lost", text, { server });
    this.#setState(isReconnecting ? "reconnecting" : "failed", error);
  }

  #setState(state: ServerState, error: McpRuntimeError | undefined): void {
    if (this.#state === state && this.#error === error) return;
    this.#state = state;
    this.#error = error;
    this.#since = Date.now();
    this.#events.emit("serverChanged", { server: this.name, state, error });
  }

  #updateTools(tools: readonly McpToolInfo[]): void {
    const before = this.#latestTools;
    this.#latestTools = tools;
    this.#initialTools ??= tools;
    if (before === undefined || !isDeepEqual(before, tools))
      this.#events.emit("toolsChanged", { server: this.name });
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

function toRuntimeError(error: unknown): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  return new McpRuntimeError("server-error", `Could not connect: ${printValue(error)}`, { cause: error });
}

/** The error of a timeout includes the time that was waited and the number of attempts. */
function toConnectError(error: unknown, failedHandshakes: number, ms: number): McpRuntimeError {
  const failure = toRuntimeError(error);
  if (failure.kind !== "timeout") return failure;
  const attempts = Math.max(failedHandshakes, failure.attempts);
  const tried = attempts > 1 ? `${attempts} attempts` : "1 attempt";
  const sentence = `Gave up after ${tried} and ${(ms / 1_000).toFixed(1)} s.`;
  return failure.with({ message: appendSentence(failure.message, sentence) });
}
