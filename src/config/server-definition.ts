import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CredentialOptions, IdentityOption } from "./credential-options.js";
import type { HttpOptions } from "./http-options.js";
import type { ToolRules } from "./tool-rules.js";
import type { InProcessServer, TransportLike } from "./message-transport.js";
import type { ElicitationOption, RootsOption, SamplingHandler } from "./server-request-handlers.js";

/**
 * How to reach a server, and its options. `type` selects the transport; without it, the transport is
 * inferred from the keys (`url`, `command`, `functionName`, `openTransport`, `server` or `resolve`).
 *
 * @example
 * ```ts
 * const servers: Record<string, ServerDefinition> = {
 *   weather: { url: "https://weather.example/mcp", headers: { "x-api-key": "…" } },
 *   files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"] },
 * };
 * ```
 */
export type ServerDefinition = AddressedServerDefinition | DynamicServerDefinition;

/** A server whose address is known: every definition except `DynamicServerDefinition`. */
export type AddressedServerDefinition =
  | HttpServerDefinition
  | SseServerDefinition
  | WebSocketServerDefinition
  | StdioServerDefinition
  | LambdaServerDefinition
  | CustomServerDefinition
  | InProcessServerDefinition;

/** Timeouts in milliseconds. 0 disables a timeout. */
export interface TimeoutOptions {
  /**
   * Connecting and initializing a session.
   *
   * @default 10_000 (stdio: 60_000)
   */
  readonly connectMs?: number;
  /**
   * One attempt of a request. Each progress notification restarts it.
   *
   * @default 60_000
   */
  readonly requestMs?: number;
  /**
   * A whole call, including handshakes, retries and delays.
   *
   * @default 600_000
   */
  readonly totalMs?: number;
}

/** How sessions are opened, recovered, shared and closed. */
export interface SessionOptions {
  /** Resumes this session instead of opening one. It is never replaced by another session. */
  readonly id?: string;
  /** The protocol version that the resumed session was opened with. */
  readonly protocolVersion?: string;
  /**
   * Stores sessions for other processes and later runs, which use them without a handshake. Only for
   * Streamable HTTP; cannot be combined with `id`.
   */
  readonly store?: SessionStore;
  /**
   * How long a session is kept in `store`, in milliseconds.
   *
   * @default 86_400_000 (one day)
   */
  readonly storeTtlMs?: number;
  /**
   * How many new sessions one call may get after the server lost its session.
   *
   * @default 1
   */
  readonly maxRecoveries?: number;
  /**
   * Send one request at a time.
   *
   * @default false
   */
  readonly sequential?: boolean;
  /**
   * How long `close()` waits for calls in flight before it aborts them, in milliseconds.
   *
   * @default 0
   */
  readonly drainMs?: number;
  /**
   * Terminate the session at the server on `close()`.
   *
   * @default true; false with `id` or `store`
   */
  readonly terminateOnClose?: boolean;
}

/** Options of one operation of a `SessionStore`. */
interface SessionStoreCallOptions {
  readonly signal: AbortSignal;
}

/**
 * Stores sessions for other processes and later runs: any store of `langchain-mcp-runtime/stores`, or
 * an object with the same methods.
 */
export interface SessionStore {
  get(key: string, call: SessionStoreCallOptions): Promise<unknown>;
  set(key: string, value: unknown, call: SessionStoreCallOptions & { readonly ttlMs: number }): Promise<void>;
  delete(key: string, call: SessionStoreCallOptions): Promise<void>;
}

/** Limits that protect the client from large or misbehaving servers. */
export interface LimitOptions {
  /**
   * The largest message that is read, in bytes.
   *
   * @default 33_554_432 (32 MiB)
   */
  readonly responseBytes?: number;
  /**
   * Concurrent connections to the server.
   *
   * @default 64
   */
  readonly sockets?: number;
  /**
   * Pages of one list.
   *
   * @default 100
   */
  readonly pages?: number;
  /**
   * Tools of the server.
   *
   * @default 10_000
   */
  readonly tools?: number;
  /**
   * Resources of the server, and as many resource templates.
   *
   * @default 10_000
   */
  readonly resources?: number;
  /**
   * Prompts of the server.
   *
   * @default 10_000
   */
  readonly prompts?: number;
  /**
   * Concurrent requests to the server; further requests wait.
   *
   * @default unlimited
   */
  readonly concurrentCalls?: number;
  /**
   * Identities with a session of their own. Beyond that, the identity that was idle longest loses its
   * session.
   *
   * @default 1_000
   */
  readonly identities?: number;
  /**
   * Server requests (sampling, elicitation, roots) that are handled concurrently in one session; further
   * requests wait.
   *
   * @default 8
   */
  readonly serverRequests?: number;
}

/** How often, and after which delays, a request is retried where that is safe. */
export interface RetryOptions {
  /**
   * Retries of one call.
   *
   * @default 2
   */
  readonly maxRetries?: number;
  /**
   * The shortest delay before a retry, in milliseconds.
   *
   * @default 100
   */
  readonly baseDelayMs?: number;
  /**
   * The longest delay before a retry, in milliseconds.
   *
   * @default 5_000
   */
  readonly maxDelayMs?: number;
  /**
   * After a failure that the session may have caused, retry the request in a separate session, which is
   * closed afterwards. Without effect for servers without session ids and with `session.id`.
   *
   * @default false
   */
  readonly freshSession?: boolean;
}

/** When the circuit to a failing server opens, and how it closes again. */
export interface CircuitBreakerOptions {
  /**
   * Consecutive failures that open the circuit.
   *
   * @default 5
   */
  readonly failureThreshold?: number;
  /**
   * How long the circuit stays open before calls are let through again, in milliseconds.
   *
   * @default 30_000
   */
  readonly recoveryTimeoutMs?: number;
  /**
   * Concurrent calls while the circuit is half-open.
   *
   * @default 1
   */
  readonly halfOpenMaxCalls?: number;
  /**
   * Successful calls in the half-open state that close the circuit.
   *
   * @default 2
   */
  readonly successThreshold?: number;
}

/** The tool call that a fallback responds to or records. */
export interface FallbackCall {
  readonly server: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The headers of this call only. They may identify the caller: never respond with a result of other headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The `_meta` of this call. It may identify the caller: never respond with a result of another `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** The identity of the caller. Never respond with a result of another identity. */
  readonly identity: string;
  readonly isIdempotent: boolean;
}

/** The tool result that a fallback returns. */
export interface FallbackResult {
  readonly content?: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/**
 * Provides the result of a tool call that failed after all retries. `respond` returns `undefined` to let
 * the failure through; `record` receives every successful result.
 */
export type FallbackOption =
  | FallbackResponder
  | { readonly respond: FallbackResponder; readonly record?: FallbackRecorder | undefined };
type FallbackResponder = (
  failure: McpRuntimeError,
  call: FallbackCall,
) => FallbackAnswer | Promise<FallbackAnswer>;
/** A result, for example of another tool; content as LangChain has it (a string, blocks, a message); or nothing. */
type FallbackAnswer =
  | FallbackResult
  | string
  | readonly (string | Readonly<Record<string, unknown>>)[]
  | { readonly content: unknown }
  | undefined;
type FallbackRecorder = (call: FallbackCall, result: Readonly<Record<string, unknown>>) => void;

/**
 * Which MCP revisions are used: `auto` detects what the server supports, `legacy` allows the revisions
 * with sessions (up to 2025-11-25), `2026-07-28` only the revision without sessions.
 */
export type ProtocolOption = "auto" | "legacy" | "2026-07-28";

/** Options of every server, whatever its transport. */
export interface CommonServerOptions {
  /** Timeouts of connecting, of one attempt and of a whole call. */
  readonly timeouts?: TimeoutOptions;
  /** How sessions are opened, recovered, shared and closed. */
  readonly session?: SessionOptions;
  /** Limits on sizes, counts and concurrency. */
  readonly limits?: LimitOptions;
  /** How requests are retried; `false` disables retries. */
  readonly retry?: RetryOptions | false;
  /** When the circuit to a failing server opens; `false` disables the circuit breaker. */
  readonly circuitBreaker?: CircuitBreakerOptions | false;
  /** Rules for the tools of this server, by their names on the server. */
  readonly tools?: ToolRules;
  /**
   * Trust the annotations of the server's tools (`readOnlyHint`, `idempotentHint`) when deciding about
   * approvals and retries.
   *
   * @default false
   */
  readonly trustAnnotations?: boolean;
  /**
   * Continue without this server when it cannot be reached at startup.
   *
   * @default false
   */
  readonly optional?: boolean;
  /**
   * Connect on first use instead of at startup.
   *
   * @default false
   */
  readonly lazy?: boolean;
  /**
   * Which MCP revisions are used.
   *
   * @default "auto"
   */
  readonly protocol?: ProtocolOption;
  /** The folders and files that the server may work in. */
  readonly roots?: RootsOption;
  /** Handles requests of the server to sample from a model. Without it, sampling is not offered. */
  readonly onSamplingRequest?: SamplingHandler;
  /** Handles requests of the server for user input. Without it, elicitation is not offered. */
  readonly onElicitationRequest?: ElicitationOption;
  /**
   * Provides the result of a tool call that failed after all retries: a function of the failure and the
   * call, or `lastGoodResult({ maxAgeMs })`.
   */
  readonly fallback?: FallbackOption;
  /**
   * Changes the kind of a failure; `undefined` keeps it. For platforms with error codes of their own:
   * `(error) => (error.code === -32600 ? "session-lost" : undefined)`.
   */
  readonly classify?: (failure: McpRuntimeError) => FailureKind | undefined;
  /**
   * Additional strings to redact from errors, logs and events. Redacted in any case: header values,
   * tokens, the user, password and query of a URL, and the values of variables and command line options
   * with names such as `API_KEY`.
   */
  readonly secrets?: readonly string[];
}

/** The keys that identify a transport. A definition has the keys of exactly one transport. */
interface TransportKeys {
  readonly url?: unknown;
  readonly command?: unknown;
  readonly functionName?: unknown;
  readonly openTransport?: unknown;
  readonly server?: unknown;
  readonly resolve?: unknown;
}
type OnlyKeys<Own extends keyof TransportKeys> = {
  readonly [Key in Exclude<keyof TransportKeys, Own>]?: never;
};
/** `transport` is an alias of `type`. */
type TypeTag<Name extends string> =
  | { readonly type?: Name; readonly transport?: never }
  | { readonly type?: never; readonly transport?: Name };

/** A server over Streamable HTTP. Falls back to SSE for servers that are older than Streamable HTTP. */
export type HttpServerDefinition = CommonServerOptions &
  OnlyKeys<"url"> &
  TypeTag<"http" | "streamable-http" | "streamableHttp"> &
  CredentialOptions &
  HttpOptions & {
    /** The URL of the MCP endpoint: `https://…` or `http://…`. */
    readonly url: string | URL;
  };

/** A server over HTTP+SSE, the transport of protocol version 2024-11-05. */
export type SseServerDefinition = CommonServerOptions &
  OnlyKeys<"url"> &
  (
    | { readonly type: "sse"; readonly transport?: never }
    | { readonly transport: "sse"; readonly type?: never }
  ) &
  CredentialOptions &
  HttpOptions & {
    /** The URL of the event stream: `https://…` or `http://…`. */
    readonly url: string | URL;
  };

/** A server over WebSocket, with one connection per session. Needs the package `ws`. */
export type WebSocketServerDefinition = CommonServerOptions &
  OnlyKeys<"url"> &
  TypeTag<"websocket"> &
  CredentialOptions &
  Pick<HttpOptions, "tls"> & {
    /** The URL of the server: `wss://…` or `ws://…`. */
    readonly url: string | URL;
  };

/** A program that is started on first use and communicates over stdin and stdout. */
export type StdioServerDefinition = CommonServerOptions &
  OnlyKeys<"command"> &
  TypeTag<"stdio"> & {
    /** The program to start. */
    readonly command: string;
    /**
     * Its arguments.
     *
     * @default []
     */
    readonly args?: readonly string[];
    /**
     * Environment variables, in addition to a few harmless ones such as `PATH` and `HOME`. The rest of this
     * process's environment is not passed on.
     *
     * @default {}
     */
    readonly env?: Readonly<Record<string, string>>;
    /**
     * Its working directory.
     *
     * @default the working directory of this process
     */
    readonly cwd?: string;
    /**
     * The encoding of its output: any that `TextDecoder` supports, except UTF-16.
     *
     * @default "utf-8"
     */
    readonly encoding?: string;
  };

/** A server in an AWS Lambda function. Needs the package `@aws-sdk/client-lambda`. */
export type LambdaServerDefinition = CommonServerOptions &
  OnlyKeys<"functionName"> &
  TypeTag<"lambda"> & {
    /** The name or ARN of the function. */
    readonly functionName: string;
    /** A version or an alias of the function. */
    readonly qualifier?: string;
    /**
     * The AWS region.
     *
     * @default the region that the AWS SDK finds in the environment
     */
    readonly region?: string;
    /**
     * The URL of the Lambda API.
     *
     * @default the endpoint of the region
     */
    readonly endpoint?: string | URL;
  };

/** A server over a custom transport. */
export type CustomServerDefinition = CommonServerOptions &
  OnlyKeys<"openTransport"> &
  TypeTag<"custom"> & {
    /** Creates a transport; called for every new session. */
    readonly openTransport: () => TransportLike | Promise<TransportLike>;
  };

/** A server in this process. */
export type InProcessServerDefinition = CommonServerOptions &
  OnlyKeys<"server"> &
  TypeTag<"in-process"> & {
    /** The server, or a function that creates one for each session. */
    readonly server: InProcessServer | (() => InProcessServer | Promise<InProcessServer>);
  };

/** What `resolve` of a `DynamicServerDefinition` receives. */
export interface ResolveContext {
  /** Aborted when no caller waits for the server any more. */
  readonly signal: AbortSignal;
  /** Emits a warning of the client. */
  readonly warn: (message: string) => void;
}

/**
 * A server whose address is resolved on first use. The options next to `resolve` are defaults for the
 * definition that it returns.
 */
export type DynamicServerDefinition = CommonServerOptions &
  OnlyKeys<"resolve"> & {
    readonly type?: "dynamic";
    readonly transport?: never;
    /** Returns the definition of the server. It may not contain `tools` or `identity`. */
    readonly resolve: (
      context: ResolveContext,
    ) => AddressedServerDefinition | Promise<AddressedServerDefinition>;
    /** Identifies the caller. Set here because it is needed before the server is resolved. */
    readonly identity?: IdentityOption;
  };
