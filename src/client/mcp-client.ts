import { checkObject } from "../config/assert-object.js";
import { definitionHash } from "../config/server-fingerprint.js";
import type { JsonObject } from "../json/json.js";
import { parseServer } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import type { McpPromptInfo, McpResourceInfo, McpResourceTemplateInfo } from "../config/resource-info.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ToolPolicyOptions } from "../config/tool-rules.js";
import { toReadable } from "../errors/sanitize-text.js";
import type { ServerMetadata } from "../session/session.js";
import type { ListenOptions } from "../telemetry/typed-emitter.js";
import { assembleClient, type ClientParts } from "./create-client-internals.js";
import type { CircuitBreakerHandle } from "./policies/circuit-breakers.js";
import type {
  CallOutcome,
  CallToolOptions,
  CallToolsOptions,
  ListToolsOptions,
  RequestOptions,
  ToolCall,
} from "./call-options.js";
import type { Completion, CompletionCall } from "./completion.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLife, ClientState, SessionInfo } from "./client-lifecycle.js";
import type { McpClientOptions } from "./client-options.js";
import { finishLogin } from "./finish-login.js";
import { SHARED_IDENTITY } from "./resolve-identity.js";
import { askForLogLevel, type LogLevel } from "./log-level.js";
import type { McpClientEvents } from "./mcp-client-events.js";
import type { McpPrompt, PromptCall } from "./prompt.js";
import type { Requester } from "./request-runner.js";
import type { McpResourceContent } from "./resource-content.js";
import type { ServerMetrics } from "./server-metrics.js";
import type { ToolResult } from "./tool-result.js";

/**
 * One server, across all its sessions. The first request connects (phase 1, once) and shakes hands
 * (phase 2, as often as the server forgets us); callers notice neither.
 */
export class McpClient implements AsyncDisposable {
  readonly name: string;
  /** Tells this server apart from others of its name, also by credentials; nothing of it can be read back. */
  readonly fingerprint: string;
  readonly #events: ClientEvents;
  readonly #life: ClientLife;
  readonly #health: Pick<ClientParts, "breakers" | "metrics">;
  readonly #requester: Requester;
  readonly #offers: Pick<ClientParts, "tools" | "lists" | "resources" | "prompts">;

  /** Opens nothing. Throws kind `definition` when the definition is wrong. */
  constructor(server: { readonly name: string } & ServerDefinition, options: McpClientOptions = {}) {
    const { name, ...definition } = checkObject(server, { subject: "The server" });
    const parts = assembleClient(parseServer(name, definition), options);
    this.name = name;
    this.fingerprint = definitionHash(name, definition);
    this.#events = parts.events;
    this.#life = parts.life;
    this.#health = parts;
    this.#requester = parts.requester;
    this.#offers = parts;
  }

  get state(): ClientState {
    return this.#life.state;
  }

  /** Phase 1 is done: address and connection pool are there. */
  get isConnected(): boolean {
    return this.#life.isConnected;
  }

  get sessionId(): string | undefined {
    return this.#life.session?.id;
  }

  get serverInfo(): ServerMetadata["serverInfo"] | undefined {
    return this.#life.session?.facts?.serverInfo;
  }

  get capabilities(): JsonObject | undefined {
    return this.#life.session?.facts?.capabilities;
  }

  /** The revision of MCP that is spoken with the server. */
  get protocolVersion(): string | undefined {
    return this.#life.session?.facts?.protocolVersion;
  }

  /** What the server spoke when somebody last asked: it is tried first. */
  hintProtocolVersion(version: string): void {
    this.#life.expectProtocol(version);
  }

  /** How the server wants to be used, without hidden characters. */
  get instructions(): string | undefined {
    const said = this.#life.session?.facts?.instructions;
    return said === undefined ? undefined : toReadable(said);
  }

  /** Whether the server is left alone; can be forced. `undefined` with `breaker: false`. */
  get breaker(): CircuitBreakerHandle | undefined {
    return this.getBreaker(SHARED_IDENTITY);
  }

  /** As `breaker`, where each identity has its own. */
  getBreaker(identity: string): CircuitBreakerHandle | undefined {
    return this.#health.breakers.of(identity);
  }

  /** Whose session a request with these options belongs to; an empty text where everybody is one. */
  identityOf(options: Pick<RequestOptions, "context" | "signal">): string {
    return this.#requester.identityOf(options);
  }

  /** What its definition says of its tools. */
  get toolPolicy(): ToolPolicyOptions {
    const { tools, trustAnnotations } = this.#life.config;
    return { tools, trustAnnotations };
  }

  /** The open sessions of all identities. */
  sessions(): SessionInfo[] {
    return this.#life.sessions();
  }

  /** How long the server took for the last request that it answered. */
  get lastLatencyMs(): number | undefined {
    return this.#health.metrics.lastLatencyMs;
  }

  /** What became of its requests since it was made: a frozen copy. */
  metrics(): ServerMetrics {
    return Object.freeze({ ...this.#health.metrics.snapshot(), breakers: this.#health.breakers.count() });
  }

  /** Listens; the function that comes back stops. */
  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void {
    const stop = this.#events.on(name, listener, options);
    void this.#life.listenIfWanted();
    return stop;
  }

  /** Connects and shakes hands, if that has not happened. */
  async ensureSession(options: RequestOptions = {}): Promise<void> {
    await this.#requester.open(options);
  }

  /**
   * The second half of a login: the code with which the user came back from `authorizationUrl`, or all of
   * it (`new URL(address).searchParams`): then it is also checked where it comes from.
   */
  async finishAuth(login: string | URLSearchParams, options: RequestOptions = {}): Promise<void> {
    await this.#requester.atSeat(options, ({ credentials }, cancellation) =>
      cancellation.race(finishLogin(this.name, credentials, login)),
    );
  }

  /** The tool's result, also when the tool reports an error (`isError`). Throws `McpRuntimeError`. */
  async callTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<ToolResult<Output>> {
    return this.#offers.tools.call(call, options);
  }

  /** As `callTool`, with the failure as a value. Only the caller's own cancellation throws. */
  async tryCallTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<CallOutcome<Output>> {
    return this.#offers.tools.try(call, options);
  }

  /** Many calls, the outcomes in their order; one that fails does not touch the others. */
  async callTools(calls: readonly ToolCall[], options: CallToolsOptions = {}): Promise<CallOutcome[]> {
    return this.#offers.tools.many(calls, options);
  }

  /** Every tool of the server, by name. */
  async listTools(options: ListToolsOptions = {}): Promise<McpToolInfo[]> {
    return this.#offers.lists.tools(options);
  }

  /** Every resource that the server lists, by URI; none where it has no resources. */
  async listResources(options: RequestOptions = {}): Promise<McpResourceInfo[]> {
    return this.#offers.resources.list(options);
  }

  async listResourceTemplates(options: RequestOptions = {}): Promise<McpResourceTemplateInfo[]> {
    return this.#offers.resources.listTemplates(options);
  }

  /** One URI may give several contents. A resource that the server does not have is kind `not-found`. */
  async readResource(uri: string, options: RequestOptions = {}): Promise<McpResourceContent[]> {
    return this.#offers.resources.read(uri, options);
  }

  /** Has updates told as `resourceUpdated`, on this session and on those that follow it. */
  async subscribeResource(uri: string, options: RequestOptions = {}): Promise<void> {
    await this.#offers.resources.subscribe(uri, options);
  }

  async unsubscribeResource(uri: string, options: RequestOptions = {}): Promise<void> {
    await this.#offers.resources.unsubscribe(uri, options);
  }

  /** Every prompt of the server, by name. */
  async listPrompts(options: RequestOptions = {}): Promise<McpPromptInfo[]> {
    return this.#offers.prompts.list(options);
  }

  async getPrompt(call: PromptCall, options: RequestOptions = {}): Promise<McpPrompt> {
    return this.#offers.prompts.get(call, options);
  }

  /** What the server proposes for an argument of a prompt or a variable of a resource template. */
  async complete(call: CompletionCall, options: RequestOptions = {}): Promise<Completion> {
    return this.#offers.prompts.complete(call, options);
  }

  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#requester.operation(options, (send) => send("ping", {}, { isIdempotent: true }));
  }

  /** Which log messages the server should send; kept across sessions. They come as `notification`. */
  async setLogLevel(level: LogLevel, options: RequestOptions = {}): Promise<void> {
    await this.#requester.operation(options, askForLogLevel(this.name, level));
    this.#life.wishes.logLevel = level;
  }

  /**
   * Ends calls in flight (after `drainMs`), sessions and connections. Calling it again does nothing;
   * using the client again starts it anew.
   */
  async close(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    await this.#life.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
