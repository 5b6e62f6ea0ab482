import { LIST_WARNINGS } from "../telemetry/warning-limit.js";
import { assertObject, assertOptions, optionKeys } from "../config/parse-options.js";
import { type ServerProvenance, toProvenance } from "../config/address-policy.js";
import type { CallContext } from "../config/call-context.js";
import { isServerConfig, parseServer } from "../config/parse-server.js";
import type {
  McpPromptInfo,
  McpResourceInfo,
  McpResourceTemplateInfo,
  McpToolInfo,
} from "../config/server-features.js";
import type { ServerOutput } from "../config/output-options.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerDefinition } from "../config/server-definition.js";
import { serverFingerprint } from "../config/server-fingerprint.js";
import type { ToolPolicyOptions } from "../config/tool-rules.js";
import type { Redactor } from "../errors/redaction.js";
import { excerpt, stripHiddenCharacters } from "../errors/sanitize-text.js";
import type { JsonObject } from "../json/json.js";
import { type ServerMetadata, type Session, SHARED_IDENTITY } from "../session/session.js";
import { type ClientMetrics, RequestMetrics } from "../telemetry/request-metrics.js";
import type { ListenOptions } from "../telemetry/typed-emitter.js";
import {
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  IDENTITY_OPTIONS,
  type ListToolsOptions,
  type RequestOptions,
  type ToolCall,
} from "./call-options.js";
import type { McpClientEvents } from "./client-events.js";
import { type ClientComponents, createClientComponents, type McpClientOptions } from "./client-components.js";
import type { DependentCall } from "./call-plan.js";
import type { ClientClosing, ClientState, CloseOptions, SessionInfo } from "./client-lifecycle.js";
import type { BreakerMetrics, CircuitBreakerHandle } from "./policies/circuit-breaker.js";
import {
  complete,
  type Completion,
  type CompletionCall,
  getPrompt,
  type McpPrompt,
  type PromptCall,
} from "./prompt-client.js";
import {
  type McpResourceContent,
  readResource,
  subscribeResource,
  unsubscribeResource,
} from "./resource-client.js";
import { assertLogLevel, type LogLevel } from "./restored-session-state.js";
import type { ToolResult } from "./tool-result.js";
import type { McpSkillFile, ReadSkillOptions } from "./skills/skill-client.js";
import type { McpSkillInfo } from "./skills/skill-info.js";
import type { McpTask } from "./tasks/mcp-task.js";
import type { WaitForTaskOptions } from "./tasks/task-client.js";
import { type BackgroundOption, LIST_KINDS, listOrEmpty, listTools } from "./list-reader.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { SessionSlot } from "../session/session-pool.js";

/** Request metrics of one server, and the state of its circuit breakers. */
export interface ServerMetrics extends ClientMetrics {
  /** The number of circuit breakers in each state. */
  readonly breakers: BreakerMetrics;
}

/** Metrics of all servers in total. */
export type ServerTotals = Omit<ServerMetrics, "tools" | "methods">;

/**
 * A client of one MCP server that outlives its sessions. The first request connects and initializes a session;
 * lost sessions are replaced transparently.
 *
 * @example
 * ```ts
 * await using client = new McpClient({ name: "weather", url: "https://weather.example/mcp" });
 * const result = await client.callTool({ name: "forecast", args: { city: "Oslo" } });
 * console.log(result.text());
 * ```
 */
export class McpClient implements AsyncDisposable {
  /** The server name from the definition. */
  readonly name: string;
  /** Where the definition of the server comes from. */
  readonly provenance: ServerProvenance;
  /** A one-way hash of name and definition, credentials included: identifies the server without revealing them. */
  readonly fingerprint: string;
  readonly #components: ClientComponents;

  /**
   * Opens no connection.
   * @throws {McpRuntimeError} kind `invalid-config` if the definition or the options are invalid.
   */
  constructor(server: { readonly name: string } & ServerDefinition, options?: McpClientOptions);
  /** @internal Takes a parsed config, which is not parsed again. */
  constructor(server: ServerConfig, options?: McpClientOptions);
  constructor(
    server: ({ readonly name: string } & ServerDefinition) | ServerConfig,
    options: McpClientOptions = {},
  ) {
    const config = toServerConfig(server);
    const components = createClientComponents(config, options);
    this.name = config.name;
    this.provenance = toProvenance(config.addressOrigin, {
      isDynamic: config.address.kind === "dynamic",
    });
    this.fingerprint = serverFingerprint(config);
    this.#components = components;
    LIST_WARNINGS.set(this, components.events.listWarnings);
  }

  /** The current lifecycle state. */
  get state(): ClientState {
    return this.#components.lifecycle.state;
  }

  /** The address is resolved and the connection pool is open. There may be no session yet. */
  get isConnected(): boolean {
    return this.#components.lifecycle.isConnected;
  }

  /**
   * The id of the open session, if the server assigned one. With an `identity`, that of requests without a caller;
   * `sessions()` lists all.
   */
  get sessionId(): string | undefined {
    return this.#sessionFor({})?.id;
  }

  /**
   * The name and version that the server reported, without hidden characters. With an `identity`, those for requests
   * without a caller.
   */
  get serverInfo(): ServerMetadata["serverInfo"] | undefined {
    return this.getServerInfo();
  }

  /**
   * Like `serverInfo`, for a caller: a server with an `identity` may report others to each.
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown or invalid option.
   */
  getServerInfo(options: Pick<RequestOptions, "context"> = {}): ServerMetadata["serverInfo"] | undefined {
    return this.#metadataFor(options, "getServerInfo")?.serverInfo;
  }

  /** The capabilities that the server announced. With an `identity`, those for requests without a caller. */
  get capabilities(): JsonObject | undefined {
    return this.getCapabilities();
  }

  /**
   * Like `capabilities`, for a caller: a server with an `identity` may announce others to each.
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown or invalid option.
   */
  getCapabilities(options: Pick<RequestOptions, "context"> = {}): JsonObject | undefined {
    return this.#metadataFor(options, "getCapabilities")?.capabilities;
  }

  /** @internal The capabilities for requests without a caller, or those for the last caller where all requests have one. */
  static latestCapabilities(client: McpClient): JsonObject | undefined {
    return client.capabilities ?? client.#components.lifecycle.session?.metadata?.capabilities;
  }

  /** The MCP protocol version that was negotiated last. */
  get protocolVersion(): string | undefined {
    return this.#components.lifecycle.session?.metadata?.protocolVersion;
  }

  /**
   * Sets the protocol version to try first, for example one from an earlier connection.
   * @internal
   */
  hintProtocolVersion(version: string): void {
    this.#components.lifecycle.hintProtocolVersion(version);
  }

  /**
   * Makes new sessions of these identities listen for changes of the tools, if the server announces them. Unlike a
   * listener, that does not keep the process alive.
   * @internal
   */
  followTools(isFollowed: (identity: string) => boolean): void {
    this.#components.lifecycle.followsTools = isFollowed;
  }

  /**
   * Calls the listener with the identity of each login that `finishAuth` completes.
   * @internal
   */
  followLogins(onLogin: (identity: string) => void): void {
    this.#components.lifecycle.onLogin = onLogin;
  }

  /**
   * Resolves if the server can be reached with the credentials of requests without a caller. Never starts a login.
   * @internal
   */
  async tryToConnect({
    listsTools,
    ...options
  }: RequestOptions & { readonly listsTools: boolean }): Promise<void> {
    await this.#components.runner.withSlot(options, (slot, cancellation, connection) =>
      connection.tryToOpen(slot, { listsTools, cancellation }),
    );
  }

  /**
   * Redacts the secrets of this server.
   * @internal
   */
  get redactor(): Redactor {
    return this.#components.redactor;
  }

  /** The usage instructions of the server, without hidden characters. With an `identity`, those for requests without a caller. */
  get instructions(): string | undefined {
    return this.getInstructions();
  }

  /**
   * Like `instructions`, for a caller: a server with an `identity` may send other instructions to each.
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown or invalid option.
   */
  getInstructions(options: Pick<RequestOptions, "context"> = {}): string | undefined {
    const instructions = this.#metadataFor(options, "getInstructions")?.instructions;
    return instructions === undefined ? undefined : stripHiddenCharacters(instructions);
  }

  #metadataFor(options: Pick<RequestOptions, "context">, method: string): ServerMetadata | undefined {
    assertOptions(options, CALLER_OPTIONS, { subject: `The call to ${method}`, server: this.name });
    return this.#sessionFor(options)?.metadata;
  }

  /** A caller without an identity has no session. */
  #sessionFor(options: Pick<RequestOptions, "context">): Session | undefined {
    try {
      const purpose = options.context === undefined ? "discovery" : "call";
      return this.#components.lifecycle.sessionOf(this.#components.runner.identityOf(options, { purpose }));
    } catch {
      return undefined;
    }
  }

  /** The circuit breaker: its state, and methods to force it. `undefined` with `circuitBreaker: false`. */
  get breaker(): CircuitBreakerHandle | undefined {
    return this.getBreaker(SHARED_IDENTITY);
  }

  /** Like `breaker`, for servers with an `identity`: each identity has its own. */
  getBreaker(identity: string): CircuitBreakerHandle | undefined {
    return this.#components.breakers.get(identity);
  }

  /**
   * Returns the identity of requests with these options; an empty string for servers without `identity`. `purpose` is
   * "discovery" unless it is set.
   * @throws {McpRuntimeError} kind `unauthorized` if the `identity` function returns no identity, `invalid-config` for an unknown option.
   */
  identityOf(
    options: Pick<RequestOptions, "context" | "signal"> & {
      readonly purpose?: CallContext["purpose"] | undefined;
    },
  ): string {
    const { purpose } = assertOptions(options, IDENTITY_OPTIONS, {
      subject: "The request",
      server: this.name,
    });
    return this.#components.runner.identityOf(options, purpose === undefined ? {} : { purpose });
  }

  /** The tool rules of the server definition. */
  get toolPolicy(): ToolPolicyOptions {
    const { tools, trustAnnotations, descriptions, inputValidation } = this.#components.lifecycle.config;
    return { tools, trustAnnotations, descriptions, inputValidation };
  }

  /** The output options of the server definition. @internal */
  get output(): ServerOutput | undefined {
    return this.#components.lifecycle.config.output;
  }

  /** The total timeout of a call. @internal */
  get totalMs(): number {
    return this.#components.lifecycle.config.timeouts.totalMs;
  }

  /** Lists the open sessions of all identities. */
  sessions(): SessionInfo[] {
    return this.#components.lifecycle.sessions();
  }

  /** The latency of the last request that the server responded to. */
  get lastLatencyMs(): number | undefined {
    return this.#components.metrics.lastLatencyMs;
  }

  /** Returns a frozen snapshot of the request metrics since the client was created. */
  metrics(): ServerMetrics {
    return Object.freeze({
      ...this.#components.metrics.snapshot(),
      breakers: this.#components.breakers.countByState(),
    });
  }

  /** @internal Like `close`, but returns what there is to wait for. */
  static beginClose(client: McpClient, options: CloseOptions): ClientClosing {
    client.#components.probe.stop();
    return client.#components.lifecycle.close(options);
  }

  /** @internal The metrics of these clients in total. */
  static totalMetrics(clients: readonly McpClient[]): ServerTotals {
    const breakers = { closed: 0, open: 0, "half-open": 0 };
    for (const client of clients) {
      const { closed, open, "half-open": halfOpen } = client.#components.breakers.countByState();
      breakers.closed += closed;
      breakers.open += open;
      breakers["half-open"] += halfOpen;
    }
    const totals = RequestMetrics.sum(clients.map((client) => client.#components.metrics));
    return Object.freeze({ ...totals, breakers: Object.freeze(breakers) });
  }

  /**
   * Subscribes to an event. Returns a function that unsubscribes.
   *
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown event or a listener that is not a function.
   *
   * @example
   * ```ts
   * const unsubscribe = client.on("requestEnded", ({ tool, latencyMs }) => console.log(tool, latencyMs));
   * ```
   */
  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void {
    const unsubscribe = this.#components.events.on(name, listener, options);
    void this.#components.lifecycle.listenIfNeeded();
    return unsubscribe;
  }

  /**
   * Connects and initializes a session, unless one is open.
   * @throws {McpRuntimeError} why the server could not be connected, such as kind `not-sent`, `timeout` or `unauthorized`.
   */
  ensureSession(options?: RequestOptions): Promise<void>;
  /** @internal With `isBackground`, no login is started. */
  ensureSession(options: RequestOptions, details: BackgroundOption): Promise<void>;
  async ensureSession(options: RequestOptions = {}, details: BackgroundOption = {}): Promise<void> {
    await this.#components.runner.withSlot(options, async ({ currentSession }, cancellation) => {
      await currentSession.acquire(cancellation, details);
    });
  }

  /**
   * Completes an OAuth login. Pass the authorization code, or all parameters of the redirect
   * (`new URL(address).searchParams`): then the issuer (`iss`) is validated, too.
   * @throws {McpRuntimeError} kind `unauthorized` if the login failed, `invalid-config` without a code or `auth`.
   */
  async finishAuth(login: string | URLSearchParams, options: RequestOptions = {}): Promise<void> {
    await this.#components.runner.withSlot(options, async ({ identity, credentials }, cancellation) => {
      await cancellation.race(finishLogin(this.name, credentials, login));
      this.#components.lifecycle.onLogin(identity);
    });
  }

  /**
   * Calls a tool. If the tool ran and reported an error, that is a result with `isError: true`: it is returned, not thrown.
   * @throws {McpRuntimeError} if the call failed; the reason of `options.signal` if that was aborted.
   *
   * @example
   * ```ts
   * const result = await client.callTool({ name: "forecast", args: { city: "Oslo" } }, { timeoutMs: 5_000 });
   * ```
   */
  async callTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<ToolResult<Output>> {
    const { result } = await this.#components.tools.call(call, options);
    return result;
  }

  /**
   * Like `callTool`, but returns the failure as a value. `ok: true` means that the server responded: check
   * `result.isError`, too.
   * @throws The reason of `signal` if the caller aborts. Nothing else is thrown.
   */
  async tryCallTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<CallOutcome<Output>> {
    return this.#components.tools.tryCall(call, options);
  }

  /**
   * Makes many calls and returns their outcomes in order. A failed call affects only those that depend on it.
   * @throws {McpRuntimeError} kind `invalid-config` before anything is sent, if a dependency is unknown or circular.
   */
  async callTools(
    calls: readonly (ToolCall | DependentCall)[],
    options: CallToolsOptions = {},
  ): Promise<CallOutcome[]> {
    return this.#components.tools.callMany(calls, options);
  }

  /**
   * Lists the tasks of the caller. Servers of 2026-07-28 have no such list: keep the ids.
   * @throws {McpRuntimeError} kind `not-found` if the server does not list tasks.
   */
  async listTasks(options: RequestOptions = {}): Promise<McpTask[]> {
    return this.#components.tasks.list(options);
  }

  /**
   * Requests the status of a task.
   * @throws {McpRuntimeError} kind `not-found` if the server does not know it.
   */
  async getTask(taskId: string, options: RequestOptions = {}): Promise<McpTask> {
    return this.#components.tasks.get(taskId, options);
  }

  /**
   * Cancels a task. The server may still end it in another way.
   * @throws {McpRuntimeError} kind `invalid-request` if the server does not know it, or if it has already ended.
   */
  async cancelTask(taskId: string, options: RequestOptions = {}): Promise<void> {
    await this.#components.tasks.cancel(taskId, options);
  }

  /**
   * Waits until a task has ended, at most `timeouts.taskMs`, and returns the result of its call. Aborting the wait does
   * not cancel the task.
   * @throws {McpRuntimeError} if the task failed or was cancelled (kind `cancelled`), or is unknown (kind `not-found`).
   *
   * @example
   * ```ts
   * const result = await client.waitForTask(taskId, { onProgress: ({ message }) => console.log(message) });
   * ```
   */
  async waitForTask(taskId: string, options: WaitForTaskOptions = {}): Promise<ToolResult> {
    return this.#components.tasks.wait(taskId, options);
  }

  /**
   * Lists all tools of the server, sorted by name.
   * @throws {McpRuntimeError} kind `too-large` above `limits.tools`, `invalid-response` for an incomplete list.
   */
  listTools(options?: ListToolsOptions): Promise<McpToolInfo[]>;
  /** @internal With `isBackground`, no login is started. */
  listTools(options: ListToolsOptions, details: BackgroundOption): Promise<McpToolInfo[]>;
  async listTools(options: ListToolsOptions = {}, details: BackgroundOption = {}): Promise<McpToolInfo[]> {
    const listed = await listTools(this.#components, options, details);
    this.#components.tools.rememberTaskTools(listed);
    return listed;
  }

  /**
   * Lists all resources of the server, sorted by URI; empty if it does not support resources.
   *
   * @throws {McpRuntimeError} kind `too-large` above `limits.resources`, `invalid-response` for an incomplete list.
   */
  async listResources(options: RequestOptions = {}): Promise<McpResourceInfo[]> {
    return listOrEmpty(this.#components, LIST_KINDS.resources, options);
  }

  /**
   * Lists all resource templates of the server; empty if it does not support resources.
   *
   * @throws {McpRuntimeError} kind `too-large` above `limits.resources`, `invalid-response` for an incomplete list.
   */
  async listResourceTemplates(options: RequestOptions = {}): Promise<McpResourceTemplateInfo[]> {
    return listOrEmpty(this.#components, LIST_KINDS.resourceTemplates, options);
  }

  /**
   * Reads a resource. One URI may return several contents.
   * @throws {McpRuntimeError} kind `not-found` if the server does not have the resource.
   */
  async readResource(uri: string, options: RequestOptions = {}): Promise<McpResourceContent[]> {
    return readResource(this.#components, uri, options);
  }

  /**
   * Subscribes to updates of a resource, across sessions. They are emitted as `resourceUpdated`.
   *
   * @throws {McpRuntimeError} kind `invalid-config` for an empty URI, or why the server did not accept the subscription.
   */
  async subscribeResource(uri: string, options: RequestOptions = {}): Promise<void> {
    await subscribeResource(this.#components, uri, options);
  }

  /**
   * Ends a subscription to a resource.
   * @throws {McpRuntimeError} kind `invalid-config` for an empty URI, `unauthorized` without an identity, or why the request failed;
   * the subscription is not restored in later sessions either way.
   */
  async unsubscribeResource(uri: string, options: RequestOptions = {}): Promise<void> {
    await unsubscribeResource(this.#components, uri, options);
  }

  /**
   * Lists all prompts of the server, sorted by name; empty if it does not support prompts.
   *
   * @throws {McpRuntimeError} kind `too-large` above `limits.prompts`, `invalid-response` for an incomplete list.
   */
  async listPrompts(options: RequestOptions = {}): Promise<McpPromptInfo[]> {
    return listOrEmpty(this.#components, LIST_KINDS.prompts, options);
  }

  /**
   * Gets a prompt with its arguments filled in.
   * @throws {McpRuntimeError} kind `invalid-response` if a message of the prompt is invalid.
   */
  async getPrompt(call: PromptCall, options: RequestOptions = {}): Promise<McpPrompt> {
    return getPrompt(this.#components, call, options);
  }

  /**
   * Lists the skills of the server (SEP-2640), sorted by URI; empty if it does not support skills. A server may serve more
   * skills than it lists. No file is read.
   *
   * @throws {McpRuntimeError} kind `too-large` above `limits.skills`, `invalid-response` for an incomplete list.
   */
  async listSkills(options: RequestOptions = {}): Promise<McpSkillInfo[]> {
    return listOrEmpty(this.#components, LIST_KINDS.skills, options);
  }

  /**
   * Finds a skill by its name, or by the URI of its `SKILL.md`, which does not have to be listed. No file is read.
   * @throws {McpRuntimeError} kind `not-found` if the server does not have the skill, `invalid-request` if several skills
   * have the name, `invalid-response` if its description is invalid.
   */
  async getSkill(skill: string, options: RequestOptions = {}): Promise<McpSkillInfo> {
    return this.#components.skills.get(skill, options);
  }

  /**
   * Reads a file of a skill, `SKILL.md` unless `file` is set, and compares it with what the server has listed: size,
   * SHA-256, and the frontmatter of `SKILL.md`. A skill that you hold is not requested again.
   * @throws {McpRuntimeError} kind `invalid-response` if a file differs, `not-found` for a file that is not listed.
   *
   * @example
   * ```ts
   * const { body } = await client.readSkill("pdf-processing");
   * const { text } = await client.readSkill("pdf-processing", { file: "references/forms.md" });
   * ```
   */
  async readSkill(skill: string | McpSkillInfo, options: ReadSkillOptions = {}): Promise<McpSkillFile> {
    return this.#components.skills.read(skill, options);
  }

  /**
   * Returns completions for an argument of a prompt or a variable of a resource template.
   *
   * @throws {McpRuntimeError} kind `invalid-config` for invalid arguments, `invalid-response` for an invalid result.
   */
  async complete(call: CompletionCall, options: RequestOptions = {}): Promise<Completion> {
    return complete(this.#components, call, options);
  }

  /**
   * Checks that the server responds.
   *
   * @throws {McpRuntimeError} why the server did not respond, such as kind `not-sent`, `timeout` or `unauthorized`.
   */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#components.runner.runOperation(options, (send) => send("ping", {}, { isIdempotent: true }));
  }

  /**
   * Sets the minimum level of the log messages that the server sends, across sessions. They are emitted as
   * `notification`.
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown level.
   */
  async setLogLevel(level: LogLevel, options: RequestOptions = {}): Promise<void> {
    assertLogLevel(this.name, level);
    await this.#components.runner.runOperation(options, (send) =>
      send("logging/setLevel", { level }, { isIdempotent: true }),
    );
    this.#components.lifecycle.sessionState.logLevel = level;
  }

  /**
   * Notifies the server that the function `roots` now returns other roots: many servers request them only once. Sent on
   * the open sessions of all identities, or with a `context` on that of the caller; servers of revision 2026-07-28 request
   * the roots when they need them. Sessions that are opening are waited for, at most `timeoutMs`.
   * @throws {McpRuntimeError} kind `invalid-config` if `roots` is not a function, `timeout` if a session did not open in time;
   * the others have been notified.
   */
  async sendRootsListChanged(options: RequestOptions = {}): Promise<void> {
    await this.#components.runner.sendRootsListChanged(options);
  }

  /**
   * Cancels running calls (after `drainMs`), then closes sessions and connections. Closing again does nothing; the
   * next request reopens the client.
   *
   * @throws {McpRuntimeError} kind `invalid-config` for an unknown or invalid option.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    await McpClient.beginClose(this, options).closed;
  }

  /** Closes the client at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function toServerConfig(server: ({ readonly name: string } & ServerDefinition) | ServerConfig): ServerConfig {
  const input = assertObject(server, { subject: "The server" });
  if (isServerConfig(input)) return input;
  const { name, ...definition } = input;
  return parseServer(name, definition);
}

/** Passes an authorization code, or all redirect parameters, to the OAuth flow that waits for it. */
async function finishLogin(
  server: string,
  credentials: SessionSlot["credentials"],
  login: string | URLSearchParams,
): Promise<void> {
  const invalidLogin = (text: string) => new McpRuntimeError("invalid-config", text, { server });
  const params = login instanceof URLSearchParams ? login : undefined;
  const code: unknown = params === undefined ? login : params.get("code");
  const error = params?.get("error");
  if (typeof error === "string")
    throw new McpRuntimeError("unauthorized", `The login failed: ${excerpt(error)}.`, { server });
  if (typeof code !== "string" || code === "")
    throw invalidLogin("finishAuth requires the authorization code from the redirect.");
  if (credentials === undefined) throw invalidLogin(`Server "${server}" has no auth in its definition.`);
  await credentials.finishLogin({ code, params });
}

const CALLER_OPTIONS = optionKeys<Pick<RequestOptions, "context">>({ context: true });
