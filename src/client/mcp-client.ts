import { randomUUID } from "node:crypto";
import type { Clock } from "../concurrency/clock.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { definitionHash } from "../definitions/definition-hash.js";
import type { JsonObject } from "../definitions/json.js";
import { parseServer } from "../definitions/parse-server.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { ToolRules } from "../definitions/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ServerFacts } from "../session/session.js";
import type { ListenOptions } from "../telemetry/event-hub.js";
import type { CircuitBreaker } from "../policies/circuit-breaker.js";
import { assembleClient, type McpClientOptions } from "./assemble-client.js";
import type { Breakers } from "./breakers.js";
import {
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  checkCall,
  checkConcurrency,
  DEFAULT_CALL_CONCURRENCY,
  type RequestOptions,
  type ToolCall,
} from "./call-tool.js";
import { outcomeOf } from "./outcome-of.js";
import type { ClientEvents, McpClientEvents } from "./client-events.js";
import type { ClientLife, ClientState, LogLevel, SessionView } from "./client-life.js";
import { createTrace, type ExchangeTrace } from "./exchange.js";
import { finishLogin } from "./finish-login.js";
import { listTools } from "./list-tools.js";
import { SHARED_IDENTITY } from "./identify.js";
import type { Requester } from "./requester.js";
import { type ToolResult, toToolResult } from "./tool-result.js";

export type BreakerControl = Pick<CircuitBreaker, "stats" | "forceOpen" | "forceClose">;

/** How the tools of a server are treated. */
export interface ToolPolicyOptions {
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
}

/**
 * One server, across all its sessions. The first request connects (phase 1, once) and shakes hands
 * (phase 2, as often as the server forgets us); callers notice neither.
 */
export class McpClient implements AsyncDisposable {
  readonly name: string;
  /** Tells this server apart from others of its name, also by credentials; nothing of it can be read back. */
  readonly fingerprint: string;
  readonly #clock: Clock;
  readonly #events: ClientEvents;
  readonly #life: ClientLife;
  readonly #breakers: Breakers;
  readonly #requester: Requester;

  /** Opens nothing. Throws kind `definition` when the definition is wrong. */
  constructor(server: { readonly name: string } & ServerDefinition, options: McpClientOptions = {}) {
    const { name, ...definition } = server;
    const { clock, events, life, breakers, requester } = assembleClient(
      parseServer(name, definition),
      options,
    );
    this.name = name;
    this.fingerprint = definitionHash(name, definition);
    this.#clock = clock;
    this.#events = events;
    this.#life = life;
    this.#breakers = breakers;
    this.#requester = requester;
  }

  get state(): ClientState {
    return this.#life.state;
  }

  /** Phase 1 is done: address and connection pool are there. */
  get isClientInitialized(): boolean {
    return this.#life.isConnected;
  }

  get sessionId(): string | undefined {
    return this.#life.session?.id;
  }

  get serverInfo(): ServerFacts["serverInfo"] | undefined {
    return this.#life.session?.facts?.serverInfo;
  }

  get capabilities(): JsonObject | undefined {
    return this.#life.session?.facts?.capabilities;
  }

  get instructions(): string | undefined {
    return this.#life.session?.facts?.instructions;
  }

  /** Whether the server is left alone; can be forced. `undefined` with `breaker: false`. */
  get breaker(): BreakerControl | undefined {
    return this.breakerOf(SHARED_IDENTITY);
  }

  /** As `breaker`, where each identity has its own. */
  breakerOf(identity: string): BreakerControl | undefined {
    return this.#breakers.of(identity);
  }

  /** Whose session a request with these options belongs to; an empty text where everybody is one. */
  identityOf(options: Pick<RequestOptions, "context" | "signal">): string {
    return this.#requester.identityOf(options);
  }

  /** What its definition says of its tools. */
  get toolPolicy(): ToolPolicyOptions {
    const { tools, trustAnnotations } = this.#life.spec;
    return { tools, trustAnnotations };
  }

  /** The open sessions of all identities. */
  sessions(): SessionView[] {
    return this.#life.sessions();
  }

  /** Listens; the function that comes back stops. */
  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void {
    const stop = this.#events.on(name, listener, options);
    this.#life.listenIfWanted();
    return stop;
  }

  /** Connects and shakes hands, if that has not happened. */
  async ensureSession(options: RequestOptions = {}): Promise<void> {
    await this.#requester.open(options);
  }

  /** The second half of a login: the code with which the user came back from `authorizationUrl`. */
  async finishAuth(code: string, options: RequestOptions = {}): Promise<void> {
    await this.#requester.atSeat(options, ({ credentials }, cancellation) =>
      cancellation.race(finishLogin(this.name, credentials, code)),
    );
  }

  /** The tool's result, also when the tool reports an error (`isError`). Throws `McpRuntimeError`. */
  async callTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<ToolResult<Output>> {
    return this.#callTool(call, options, call?.id ?? randomUUID(), createTrace());
  }

  /** As `callTool`, with the failure as a value. Only the caller's own cancellation throws. */
  async tryCallTool<Output = unknown>(
    call: ToolCall,
    options: CallToolOptions<Output> = {},
  ): Promise<CallOutcome<Output>> {
    return outcomeOf({ server: this.name, clock: this.#clock, call }, (requestId, trace) =>
      this.#callTool(call, options, requestId, trace),
    );
  }

  /** Many calls, the outcomes in their order; one that fails does not touch the others. */
  async callTools(calls: readonly ToolCall[], options: CallToolsOptions = {}): Promise<CallOutcome[]> {
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...each } = options;
    checkConcurrency(this.name, concurrency);
    return mapLimited(calls, concurrency, (call) => this.tryCallTool(call, each));
  }

  /** Every tool of the server, by name. */
  async listTools(options: RequestOptions = {}): Promise<McpToolInfo[]> {
    const startedAt = this.#clock.now();
    const { totalMs } = this.#life.spec.timeouts;
    // One total for all pages together; 0 means none.
    const leftMs = () => (totalMs === 0 ? 0 : Math.max(1, totalMs - (this.#clock.now() - startedAt)));
    try {
      return await this.#requester.operation(options, (send) =>
        listTools({
          server: this.name,
          limits: () => this.#life.spec.limits,
          requestPage: (params) => send("tools/list", params, { totalMs: leftMs(), isIdempotent: true }),
          warn: (message) => this.#events.warn(message),
        }),
      );
    } catch (error) {
      const isUnknown = error instanceof McpRuntimeError && error.kind === "not-found";
      if (isUnknown && this.capabilities !== undefined && this.capabilities["tools"] === undefined) return [];
      throw error;
    }
  }

  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#requester.request("ping", {}, { ...options, isIdempotent: true });
  }

  /** Which log messages the server should send; kept across sessions. They come as `notification`. */
  async setLogLevel(level: LogLevel, options: RequestOptions = {}): Promise<void> {
    await this.#requester.request("logging/setLevel", { level }, { ...options, isIdempotent: true });
    this.#life.logLevel = level;
  }

  /**
   * Ends calls in flight (after `drainMs`), sessions and connections. Calling it again does nothing;
   * using the client again starts it anew.
   */
  async close(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    await this.#life.close(options.drainMs ?? this.#life.spec.session.drainMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #callTool<Output>(
    call: ToolCall,
    options: CallToolOptions<Output>,
    requestId: string,
    trace: ExchangeTrace,
  ): Promise<ToolResult<Output>> {
    checkCall(this.name, call, options);
    const { name: tool, args = {} } = call;
    const { signal, timeoutMs, onProgress, headers, context, output, meta, idempotent = false } = options;
    const params =
      meta === undefined ? { name: tool, arguments: args } : { name: tool, arguments: args, _meta: meta };
    const details = {
      signal,
      timeoutMs,
      onProgress,
      headers,
      context,
      tool,
      toolCallId: call.id,
      requestId,
      trace,
      isIdempotent: idempotent,
    };
    const result = await this.#requester.request("tools/call", params, details);
    const { attempts } = trace;
    return toToolResult(result, { server: this.name, tool, attempts }, output);
  }
}
