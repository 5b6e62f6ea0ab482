import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CredentialOptions, IdentityOption } from "./credential-options.js";
import type { FallbackCall, FallbackResult } from "./fallback-call.js";
import type { HttpOptions } from "./http-options.js";
import type { SessionStore } from "./session-store.js";
import type { ToolRules } from "./tool-rules.js";
import type { InProcessServer, TransportLike } from "./message-transport.js";
import type { ElicitationOption, RootsOption, SamplingHandler } from "./server-request-handlers.js";

export type ProtocolOption = "auto" | "legacy" | "2026-07-28";

/** How long things may take, in milliseconds. 0 turns a deadline off. */
export interface TimeoutOptions {
  /** The handshake, with everything that belongs to it. */
  readonly connectMs?: number;
  /** One attempt of a request; every progress notification starts it anew. */
  readonly requestMs?: number;
  /** A whole call: handshakes, repetitions and waits included. */
  readonly totalMs?: number;
}

export interface SessionOptions {
  /** Resume this session instead of opening one. It is never replaced by another. */
  readonly id?: string;
  /** The protocol version that the resumed session was opened with. */
  readonly protocolVersion?: string;
  /**
   * Keeps sessions for other processes and later runs: who finds one there uses it without a
   * handshake. Only for servers over Streamable HTTP; not next to `id`.
   */
  readonly store?: SessionStore;
  /** How long a session is kept in the store. */
  readonly storeTtlMs?: number;
  /** How often one call may get a new session because the server forgot the old one. */
  readonly maxRecoveries?: number;
  /** One request at a time. */
  readonly sequential?: boolean;
  /** How long `close()` waits for calls in flight before it ends them. */
  readonly drainMs?: number;
  /** Tell the server on `close()` that the session is over. Off for a resumed session, and with a store. */
  readonly terminateOnClose?: boolean;
}

export interface LimitOptions {
  /** The largest message that is read. */
  readonly responseBytes?: number;
  /** Connections to the server at the same time. */
  readonly sockets?: number;
  /** Pages of one list. */
  readonly pages?: number;
  /** Tools of one server. */
  readonly tools?: number;
  /** Resources of one server; as many templates. */
  readonly resources?: number;
  /** Prompts of one server. */
  readonly prompts?: number;
  /** Requests to the server at the same time; no limit when left out. */
  readonly concurrentCalls?: number;
  /** Users with a session of their own; beyond that, whoever was idle longest loses theirs. */
  readonly identities?: number;
  /** Requests of the server, in one session, that handlers answer at the same time; others wait. */
  readonly serverRequests?: number;
}

/** How often, and after which waits, a request is sent again where that is safe. */
export interface RetryOptions {
  /** Repetitions of one call. */
  readonly maxRetries?: number;
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  /**
   * After a failure that may have been the session's, repeat the request on a session of its own,
   * which is ended with it. Where a server gives no session ids, and with `session.id`, it changes nothing.
   */
  readonly freshSession?: boolean;
}

/** When a server that fails again and again is left alone, and how it is tried again. */
export interface CircuitBreakerOptions {
  /** Failures in a row that open it. */
  readonly failureThreshold?: number;
  /** How long nothing is sent then. */
  readonly recoveryTimeoutMs?: number;
  /** Probes at the same time after that. */
  readonly halfOpenMaxCalls?: number;
  /** Successful probes that close it. */
  readonly successThreshold?: number;
}

/** What is answered when everything failed; `undefined` leaves the failure as it is. */
export type FallbackOption =
  | FallbackAnswer
  | { readonly answer: FallbackAnswer; readonly remember?: FallbackMemory | undefined };
type FallbackAnswer = (
  failure: McpRuntimeError,
  call: FallbackCall,
) => FallbackResult | undefined | Promise<FallbackResult | undefined>;
type FallbackMemory = (call: FallbackCall, result: Readonly<Record<string, unknown>>) => void;

/** What every kind of server takes. */
export interface CommonServerOptions {
  readonly timeouts?: TimeoutOptions;
  readonly session?: SessionOptions;
  readonly limits?: LimitOptions;
  readonly retry?: RetryOptions | false;
  readonly circuitBreaker?: CircuitBreakerOptions | false;
  /** Rules for its tools, by their names on the server. */
  readonly tools?: ToolRules;
  /** Believe what the server says of its own tools (`readOnlyHint`, `idempotentHint`). */
  readonly trustAnnotations?: boolean;
  /** Go on without it when it cannot be reached at the start. */
  readonly optional?: boolean;
  readonly lazy?: boolean;
  /**
   * Which revision of MCP is spoken: found out by itself (`auto`), one with sessions (`legacy`), or the
   * one without (`2026-07-28`).
   */
  readonly protocol?: ProtocolOption;
  /** The folders that the server may work in. */
  readonly roots?: RootsOption;
  /** Lets the server ask a model. */
  readonly onSamplingRequest?: SamplingHandler;
  /** Lets the server ask a person. */
  readonly onElicitationRequest?: ElicitationOption;
  /**
   * Answers a tool call when everything failed: a function of the failure and the call, or
   * `lastGoodResult({ maxAgeMs })`.
   */
  readonly fallback?: FallbackOption;
  /**
   * Gives a failure another kind; `undefined` leaves it as it is. For platforms that signal by
   * codes: `(e) => (e.code === -32600 ? "session-lost" : undefined)`.
   */
  readonly classify?: (failure: McpRuntimeError) => FailureKind | undefined;
  /**
   * Texts that must never be shown, beside what is known to be secret: header values, tokens, user,
   * password and query of a URL, variables and options with names such as `API_KEY`.
   */
  readonly secrets?: readonly string[];
}

/** The keys that tell the kinds apart: each kind has its own and none of the others'. */
interface KindKeys {
  readonly url?: unknown;
  readonly command?: unknown;
  readonly functionName?: unknown;
  readonly openTransport?: unknown;
  readonly server?: unknown;
  readonly resolve?: unknown;
}
type Only<Own extends keyof KindKeys> = { readonly [Key in Exclude<keyof KindKeys, Own>]?: never };
/** `transport` is another word for `type`. */
type Kind<Word extends string> =
  | { readonly type?: Word; readonly transport?: never }
  | { readonly type?: never; readonly transport?: Word };

export type HttpServerDefinition = CommonServerOptions &
  Only<"url"> &
  Kind<"http" | "streamable-http" | "streamableHttp"> &
  CredentialOptions &
  HttpOptions & { readonly url: string | URL };

export type SseServerDefinition = CommonServerOptions &
  Only<"url"> &
  (
    | { readonly type: "sse"; readonly transport?: never }
    | { readonly transport: "sse"; readonly type?: never }
  ) &
  CredentialOptions &
  HttpOptions & { readonly url: string | URL };

export type WebSocketServerDefinition = CommonServerOptions &
  Only<"url"> &
  Kind<"websocket"> &
  CredentialOptions &
  Pick<HttpOptions, "tls"> & { readonly url: string | URL };

export type StdioServerDefinition = CommonServerOptions &
  Only<"command"> &
  Kind<"stdio"> & {
    readonly command: string;
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly encoding?: string;
  };

export type LambdaServerDefinition = CommonServerOptions &
  Only<"functionName"> &
  Kind<"lambda"> & {
    /** Its name, or its ARN. */
    readonly functionName: string;
    /** A version or an alias. */
    readonly qualifier?: string;
    readonly region?: string;
    /** Instead of the region's own. */
    readonly endpoint?: string | URL;
  };

/** A transport of your own; called for every new session. */
export type CustomServerDefinition = CommonServerOptions &
  Only<"openTransport"> &
  Kind<"custom"> & { readonly openTransport: () => TransportLike | Promise<TransportLike> };

/** A server in this process. A function gives each session a server of its own. */
export type InProcessServerDefinition = CommonServerOptions &
  Only<"server"> &
  Kind<"in-process"> & {
    readonly server: InProcessServer | (() => InProcessServer | Promise<InProcessServer>);
  };

/** What a look-up is given. */
export interface ResolveContext {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Says something to whoever reads the client's warnings. */
  readonly warn: (message: string) => void;
}

/**
 * A server whose address is found out when it is first needed; what stands next to `resolve` are
 * defaults. Whose session a call belongs to is asked before that, so `identity` stands here as well.
 */
export type DynamicServerDefinition = CommonServerOptions &
  Only<"resolve"> & {
    readonly type?: "dynamic";
    readonly transport?: never;
    readonly resolve: (
      context: ResolveContext,
    ) => AddressedServerDefinition | Promise<AddressedServerDefinition>;
    readonly identity?: IdentityOption;
  };

/** Where a server is and how to treat it. The kind is told by `type`, or by the keys. */
export type ServerDefinition = AddressedServerDefinition | DynamicServerDefinition;

export type AddressedServerDefinition =
  | HttpServerDefinition
  | SseServerDefinition
  | WebSocketServerDefinition
  | StdioServerDefinition
  | LambdaServerDefinition
  | CustomServerDefinition
  | InProcessServerDefinition;
