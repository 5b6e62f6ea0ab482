import { CancelScope } from "../async/cancel-scope.js";
import { settleWithin } from "../async/clock.js";
import type { McpClientEvents } from "../client/client-events.js";
import { type ClientClosing, type CloseOptions, parseCloseOptions } from "../client/client-lifecycle.js";
import type { BackgroundOption } from "../client/list-reader.js";
import type { McpClient } from "../client/mcp-client.js";
import type { ServerConfig } from "../config/server-config.js";
import { suggestMatch } from "../errors/find-closest-match.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { findLargest, isPlainObject } from "../json/json.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { ConnectLimiter } from "./connect-limiter.js";
import { ManagedServer, type LifecycleState } from "./managed-server.js";
import type { ManagerSettings } from "./manager-options.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./mcp-events.js";
import { type FailureRules, isThrown, mergeServerErrors, withClosingTime } from "./server-errors.js";

const IDLE: LifecycleState = { state: "idle", error: undefined };

type SubscribeFn = (client: McpClient) => () => void;

/** Runs at a server's turn. Returns whether the server is to be connected. */
type PrepareConnect = (server: ManagedServer) => boolean | Promise<boolean>;

export interface ConnectOptions extends BackgroundOption {
  readonly cancellation: CancelScope;
  /** Whether the caller may cancel it: then what it has connected is closed again. */
  readonly isCancellable: boolean;
  readonly prepare: PrepareConnect;
  /** @default the option `strict` */
  readonly isStrict?: boolean;
}

/** A server and the operation that connects it. */
export interface ConnectTarget {
  readonly server: ManagedServer;
  readonly operation: ServerOperation;
}

interface ServerOperationOptions {
  readonly cancellation: CancelScope;
  /** Whether an operation that disconnects the server takes the place of this one. */
  readonly isSupersedable: boolean;
  /** The operations of the server that have not ended. */
  readonly earlier: ReadonlySet<ServerOperation>;
  readonly onEnd: (operation: ServerOperation) => void;
}

/**
 * A lifecycle operation of one server. The operations of one server run one after the other, in the order of the calls;
 * those of different servers do not wait for each other. An operation that disconnects the server supersedes earlier
 * ones that connect it: it does not wait for a server that does not respond.
 */
class ServerOperation {
  /** Cancelled by the caller, when the manager is closed, and when the operation is superseded. */
  readonly cancellation: CancelScope;
  /** A later operation has taken its place: it must not change the server anymore. */
  isSuperseded = false;
  readonly #options: ServerOperationOptions;
  readonly #earlier: readonly Promise<void>[];
  readonly #ended: Promise<void>;
  #resolveEnded: (() => void) | undefined;

  constructor(options: ServerOperationOptions) {
    this.cancellation = options.cancellation.child();
    this.#options = options;
    this.#earlier = Array.from(options.earlier, (operation) => operation.#ended);
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Whether it has to wait for its turn. Otherwise it may begin synchronously. */
  get mustWait(): boolean {
    return this.#earlier.length > 0;
  }

  /** Waits until all earlier operations have ended. Rejects on cancellation. */
  async waitForTurn(): Promise<void> {
    await this.cancellation.race(Promise.all(this.#earlier));
  }

  /** Runs work when all earlier operations have ended, synchronously if there are none, and ends. */
  async run(work: () => Promise<void>): Promise<void> {
    try {
      if (this.mustWait) await this.waitForTurn();
      await work();
    } finally {
      this.end();
    }
  }

  /** Ends the operation in favor of a later one, if it connects the server. */
  supersede(reason: McpRuntimeError): void {
    if (!this.#options.isSupersedable) return;
    this.isSuperseded = true;
    this.cancellation.cancel(reason);
    this.end();
  }

  /** Lets the next operation begin. */
  end(): void {
    this.#options.onEnd(this);
    this.cancellation.dispose();
    this.#resolveEnded?.();
  }
}

interface AttemptOptions extends BackgroundOption {
  readonly prepare: PrepareConnect;
  /** Resolves when nothing is being closed of a server that earlier operations have disconnected. */
  readonly whenClosed: (server: ManagedServer) => Promise<void>;
}

/** An attempt to connect one server. */
class ConnectAttempt {
  readonly server: ManagedServer;
  readonly operation: ServerOperation;
  /** `skipped`: it was not to be connected, or all attempts ended before its turn. */
  outcome: "skipped" | "connected" | "failed" = "skipped";
  error: unknown;
  /** What is thrown because of the failure: itself, what `onServerError` has thrown, or nothing. */
  thrown: readonly unknown[] = [];
  #previous: LifecycleState | undefined;

  constructor({ server, operation }: ConnectTarget) {
    this.server = server;
    this.operation = operation;
  }

  /** Connects the server at its turn, when what was open of it is `closed`, within a slot. Never rejects. */
  async run(
    limiter: ConnectLimiter,
    { prepare, whenClosed, isBackground = false }: AttemptOptions,
  ): Promise<void> {
    const { cancellation } = this.operation;
    let release: (() => void) | undefined;
    try {
      if (this.operation.mustWait) await this.operation.waitForTurn();
      await cancellation.race(whenClosed(this.server));
      release = await limiter.acquire(this.server.endpoint, cancellation);
      // A later `disconnect()` may have superseded this; preparing would make the server usable again.
      cancellation.throwIfCancelled();
      if (!(await prepare(this.server))) return;
      cancellation.throwIfCancelled();
      this.#previous = this.server.getRestorableState();
      await cancellation.race(this.server.connect({ isBackground }));
      this.outcome = "connected";
    } catch (error) {
      const hasBegun = this.#previous !== undefined || this.operation.isSuperseded;
      if (hasBegun || !cancellation.isCancelled) this.outcome = "failed";
      this.error = error;
    } finally {
      release?.();
    }
  }

  /** Decides whether a failure is thrown. */
  decide(rules: FailureRules): void {
    const { server, operation, error, outcome } = this;
    if (outcome !== "failed") return;
    const isFailure = error instanceof McpRuntimeError && !operation.cancellation.isCancelled;
    const context = { server: server.name, optional: server.isOptional };
    try {
      const mustThrow = isFailure ? isThrown(error, context, rules) : rules.isFatal;
      this.thrown = mustThrow ? [error] : [];
    } catch (thrown) {
      this.thrown = [thrown];
    }
  }

  /**
   * Restores the state before the attempt, unless another operation has changed it since. A server that could not be
   * connected stays `failed`, so that `errors` and `reconnect()` know about it.
   */
  async rollBack(reset: ServerSet["reset"]): Promise<void> {
    const previous = this.#previous;
    const isUnchanged =
      previous === undefined || previous.state === "connected" || this.outcome === "skipped";
    if (isUnchanged || this.operation.isSuperseded) return;
    await reset(this.server, this.server.hasFailed ? this.server.getRestorableState() : previous);
    // It was tried in the background before.
    if (previous.state === "failed") this.server.retry();
  }
}

/**
 * The servers of one manager, in the order of configuration, with their events. It finds, connects and closes
 * them; `McpServerManager` adds the public operations. No call passes through it: a tool holds its `ManagedServer`.
 */
export class ServerSet {
  /** The resolved options of the manager. */
  readonly settings: ManagerSettings;
  /** Cancelled by `close()`. */
  readonly closed = new CancelScope();
  /** Events of the manager and of all servers. */
  readonly events: TypedEmitter<ServerManagerEvents>;
  readonly #servers = new Map<string, ManagedServer>();
  /** The lifecycle operations that have not ended, by server name. */
  readonly #operations = new Map<string, Set<ServerOperation>>();
  readonly #clientSubscriptions = new Map<SubscribeFn, Map<McpClient, () => void>>();
  /** Shared by all calls, so that servers that are added one by one are limited, too. */
  readonly #connectLimiter: ConnectLimiter;
  /** What is being closed, also of servers that were removed. The promises never reject. */
  readonly #closings = new Map<ManagedServer, Set<Promise<void>>>();
  #closing: Promise<void> | undefined;

  constructor(settings: ManagerSettings) {
    this.settings = settings;
    this.#connectLimiter = new ConnectLimiter(settings);
    this.events = new TypedEmitter(
      (error) => settings.warn(`An event listener threw: ${printValue(error)}`),
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
    this.settings.redactor.include(client.redactor);
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

  /** Disconnects a server. See `#finishClosing` for what it waits for. */
  async disconnect(server: ManagedServer, target?: LifecycleState): Promise<void> {
    await this.#finishClosing(server, Promise.resolve(server.disconnect(target)));
  }

  /** Removes a server, then closes it, like `disconnect`. */
  async remove(server: ManagedServer): Promise<void> {
    const { name, client } = server;
    if (this.#servers.get(name) === server) this.#servers.delete(name);
    for (const unsubscribers of this.#clientSubscriptions.values()) {
      unsubscribers.get(client)?.();
      unsubscribers.delete(client);
    }
    this.settings.redactor.exclude(client.redactor);
    this.events.emit("toolsChanged", { server: name });
    await this.#finishClosing(server, server.close({}));
  }

  /** Disconnects a server and waits until everything is closed. Never rejects. */
  async reset(server: ManagedServer, target: LifecycleState = IDLE): Promise<void> {
    await this.disconnect(server, target).catch(() => undefined);
    await this.#whenClosed(server.name);
  }

  /**
   * Waits until no call is in flight and, unless a session was being opened, until everything is closed. The rest goes on
   * in the background: operations that connect a server of this name wait for it, and `close()`. A failure there is logged.
   */
  async #finishClosing(server: ManagedServer, closing: Promise<ClientClosing>): Promise<void> {
    const closed = closing.then((begun) => begun.closed);
    const closings = this.#closings.get(server) ?? new Set();
    this.#closings.set(server, closings);
    const settled = closed
      .catch(() => undefined)
      .finally(() => {
        closings.delete(settled);
        if (closings.size === 0) this.#closings.delete(server);
      });
    closings.add(settled);
    const mustWait = await (await closing).drained;
    if (mustWait) await closed;
    else closed.catch((error: unknown) => this.#warnUnclosed(server.name, error));
  }

  /** Resolves when nothing is being closed anymore that a server of this name had open. */
  async #whenClosed(name: string): Promise<void> {
    const closings = [...this.#closings].filter(([server]) => server.name === name);
    await Promise.all(closings.flatMap(([, promises]) => [...promises]));
  }

  find(name: string): ManagedServer | undefined {
    return this.#servers.get(name);
  }

  /** Throws `invalid-config` for an unknown name. */
  get(name: string): ManagedServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const configured = [...this.#servers.keys()];
    const names = configured.map((known) => `"${known}"`).join(", ");
    const isName = typeof name === "string";
    const problem = isName
      ? `Unknown server "${name}"`
      : `A server name must be a string, got ${describeValue(name)}`;
    const hint = isName ? suggestMatch(name, configured) : "";
    const text = `${problem}; configured servers: ${names || "none"}.${hint}`;
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

  /** Begins an operation that connects a server. It takes its place in the order of the calls at once. */
  beginOperation(name: string, cancellation: CancelScope): ServerOperation {
    return this.#addOperation(name, { cancellation, isSupersedable: true });
  }

  /** Begins an operation that disconnects a server, and ends those that connect it. */
  supersedeOperations(name: string, cancellation: CancelScope): ServerOperation {
    const text = `Server "${name}" was disconnected before it was connected.`;
    const reason = new McpRuntimeError("cancelled", text, { server: name });
    for (const operation of this.#operations.get(name) ?? []) operation.supersede(reason);
    return this.#addOperation(name, { cancellation, isSupersedable: false });
  }

  /** Connects those of the servers for which `prepare` returns true: see `connectEach`. */
  async connect(
    servers: readonly ManagedServer[],
    { cancellation, ...options }: ConnectOptions,
  ): Promise<void> {
    const targets = servers.map((server) => {
      return { server, operation: this.beginOperation(server.name, cancellation) };
    });
    try {
      await this.connectEach(targets, { cancellation, ...options });
    } finally {
      for (const { operation } of targets) operation.end();
    }
  }

  /**
   * Connects servers within operations that have begun. Failures are in each server's state. If one of them is to be
   * thrown (`strict`, `onServerError`), or on cancellation, the servers that were connected here are closed again.
   */
  async connectEach(targets: readonly ConnectTarget[], options: ConnectOptions): Promise<void> {
    const { concurrency, onServerError, strict } = this.settings;
    const { cancellation, isCancellable, prepare, isStrict = strict } = options;
    const attempts = targets.map((target) => new ConnectAttempt(target));
    const mayRollBack = isStrict || isCancellable || onServerError !== undefined;
    let isAborted = false;
    const run = async (attempt: ConnectAttempt) => {
      const mayConnect = (server: ManagedServer) => !isAborted && this.#servers.get(server.name) === server;
      await attempt.run(this.#connectLimiter, {
        ...options,
        prepare: (server) => mayConnect(server) && prepare(server),
        whenClosed: ({ name }) => this.#whenClosed(name),
      });
      attempt.decide({ isFatal: isStrict, onServerError });
      if (attempt.thrown.length > 0) isAborted = concurrency === 1;
      // What may be rolled back is kept until it is clear whether it is.
      if (!mayRollBack && !cancellation.isCancelled) attempt.operation.end();
    };
    // Required servers first: an optional one that does not respond must not occupy a slot that they need.
    const required = attempts.filter(({ server }) => !server.isOptional);
    const optional = attempts.filter(({ server }) => server.isOptional);
    await Promise.all([...required, ...optional].map(run));
    const thrown = attempts.flatMap((attempt) => attempt.thrown);
    if (thrown.length === 0 && !cancellation.isCancelled) return;
    const failedAt = this.settings.clock.now();
    await Promise.allSettled(
      attempts.map((attempt) => attempt.rollBack((server, target) => this.reset(server, target))),
    );
    cancellation.throwIfCancelled();
    throw withClosingTime(mergeServerErrors(thrown), this.settings.clock.now() - failedAt);
  }

  /** Closes all servers permanently, in reverse order. A server that cannot be closed does not affect the others. */
  close(options: CloseOptions = {}): Promise<void> {
    // As a listener it receives something else: the name of a signal, an event.
    const parsed = isPlainObject(options) ? parseCloseOptions(options) : {};
    this.#closing ??= this.#closeAll(parsed);
    return this.#closing;
  }

  #addOperation(
    name: string,
    options: Pick<ServerOperationOptions, "cancellation" | "isSupersedable">,
  ): ServerOperation {
    const operations = this.#operations.get(name) ?? new Set();
    const onEnd = (operation: ServerOperation) => {
      operations.delete(operation);
      if (operations.size === 0 && this.#operations.get(name) === operations) this.#operations.delete(name);
    };
    const added = new ServerOperation({ ...options, earlier: operations, onEnd });
    this.#operations.set(name, operations.add(added));
    return added;
  }

  async #closeAll(options: CloseOptions): Promise<void> {
    const { closeTimeoutMs, clock } = this.settings;
    this.closed.cancel(new McpRuntimeError("closed", "The toolset was closed."));
    const background = [...this.#closings.values()].flatMap((closings) => [...closings]);
    // Those that were removed may still have calls in flight.
    const servers = [...new Set([...this.all, ...this.#closings.keys()])];
    const unclosed = new Map<ManagedServer, unknown>(servers.map((server) => [server, "timed out"]));
    const closing = servers.toReversed().map(async (server) => {
      try {
        await (
          await server.close(options)
        ).closed;
        unclosed.delete(server);
      } catch (error) {
        unclosed.set(server, error);
      }
    });
    const drainMs = findLargest(servers.map((server) => options.drainMs ?? server.drainMs));
    await settleWithin(drainMs + closeTimeoutMs, clock, () => Promise.all([...closing, ...background]));
    for (const [{ name }, reason] of unclosed) this.#warnUnclosed(name, reason);
  }

  #warnUnclosed(name: string, reason: unknown): void {
    this.settings.warn(`Server "${name}" could not be closed: ${printValue(reason)}`);
  }
}
