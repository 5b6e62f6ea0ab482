import { z } from "zod";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject } from "../json/json.js";
import type { AllowAddress } from "./address-policy.js";
import type { CallContext } from "./call-context.js";
import type { CredentialOptions, IdentityOption } from "./credential-options.js";
import { type HttpOptions, isPlaceholder, MADE_FROM_MISSING, urlSchema } from "./http-options.js";
import type { InProcessServer, TransportLike } from "./message-transport.js";
import { OUTPUT_FIELDS, type OutputOptions } from "./output-options.js";
import {
  hasMethods,
  isFunction,
  option,
  type OptionsOf,
  optionsSchema,
  strictObject,
} from "./parse-options.js";
import type {
  ElicitationOption,
  ExtensionsOption,
  Root,
  RootsOption,
  SamplingHandler,
} from "./server-request-handlers.js";
import { DESCRIPTIONS_SCHEMA, INPUT_VALIDATION_SCHEMA, TOOL_RULES_SCHEMA } from "./tool-rules.js";

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

const milliseconds = z.number().nonnegative();
const positiveInt = z.number().int().positive();
const nonNegativeInt = z.number().int().nonnegative();

const TIMEOUT_FIELDS = {
  /**
   * Connecting and initializing a session.
   *
   * @default 10_000 (stdio: 50_000)
   */
  connectMs: milliseconds,
  /**
   * One attempt of a request. Each progress notification restarts it.
   *
   * @default 60_000
   */
  requestMs: milliseconds,
  /**
   * A whole call, including handshakes, retries and delays. The hooks of a call share a second limit of the
   * same length.
   *
   * @default 600_000
   */
  totalMs: milliseconds,
  /**
   * A task: from the time at which the server has turned a call into one to its result. `requestMs` and
   * `totalMs` then limit each status request.
   *
   * @default 3_600_000 (one hour)
   */
  taskMs: milliseconds,
};

/** Timeouts in milliseconds. 0 disables a timeout. */
export interface TimeoutOptions extends OptionsOf<typeof TIMEOUT_FIELDS> {}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

const SESSION_FIELDS = {
  /**
   * Resumes this session instead of opening one. It is never replaced by another session.
   *
   * @default a new session is opened
   */
  id: z
    .string()
    .regex(VISIBLE_ASCII, { error: "session ids must be visible ASCII" })
    .refine((id) => !isPlaceholder(id), { error: MADE_FROM_MISSING }),
  /**
   * The protocol version that the resumed session was opened with.
   *
   * @default unknown
   */
  protocolVersion: z.string().regex(VISIBLE_ASCII, { error: "versions must be visible ASCII" }),
  /**
   * Stores sessions for other processes and later runs, which use them without a handshake. Only for
   * Streamable HTTP; cannot be combined with `id`.
   *
   * @default sessions are not stored
   */
  store: option.withMethods<SessionStore>(
    ["get", "set", "delete"],
    "a store: an object with get, set and delete",
  ),
  /**
   * How long a session is kept in `store`, in milliseconds.
   *
   * @default 86_400_000 (one day)
   */
  storeTtlMs: z.number().positive(),
  /**
   * How many new sessions one call may get after the server reported with an HTTP status that it does not
   * know the session: behind a load balancer without sticky sessions, one call may need several. The third
   * repetition and later ones wait for growing, random delays, within the timeouts of the call. After other
   * losses, such as a process that ended before the call was sent, a call gets at most one.
   *
   * @default 8
   */
  maxRecoveries: nonNegativeInt,
  /**
   * Send one request at a time.
   *
   * @default false
   */
  sequential: z.boolean(),
  /**
   * How long `close()` waits for calls in flight before it aborts them, in milliseconds.
   *
   * @default 0
   */
  drainMs: milliseconds,
  /**
   * Terminate the session at the server on `close()`.
   *
   * @default true; false with `id` or `store`
   */
  terminateOnClose: z.boolean(),
};

/** How sessions are opened, recovered, shared and closed. */
export interface SessionOptions extends OptionsOf<typeof SESSION_FIELDS> {}

/** Options of one operation of a `SessionStore`. */
interface SessionStoreCallOptions {
  readonly signal: AbortSignal;
}

/**
 * Stores sessions for other processes and later runs: any store of `langchain-mcp-runtime/stores`, or
 * an object with the same methods.
 */
export interface SessionStore {
  /** Returns the value that was stored last; `undefined` if there is none or it has expired. */
  get(key: string, call: SessionStoreCallOptions): Promise<unknown>;
  /** Stores a JSON value for `ttlMs` milliseconds. */
  set(key: string, value: unknown, call: SessionStoreCallOptions & { readonly ttlMs: number }): Promise<void>;
  /** Removes a value; does nothing if there is none. */
  delete(key: string, call: SessionStoreCallOptions): Promise<void>;
}

const LIMIT_FIELDS = {
  /**
   * The largest message that is read, in bytes.
   *
   * @default 33_554_432 (32 MiB)
   */
  responseBytes: positiveInt,
  /**
   * Concurrent connections to the server.
   *
   * @default 64
   */
  sockets: positiveInt,
  /**
   * Pages of one list.
   *
   * @default 100
   */
  pages: positiveInt,
  /**
   * Tools of the server.
   *
   * @default 10_000
   */
  tools: positiveInt,
  /**
   * Resources of the server, and as many resource templates.
   *
   * @default 10_000
   */
  resources: positiveInt,
  /**
   * Prompts of the server.
   *
   * @default 10_000
   */
  prompts: positiveInt,
  /**
   * Skills of the server.
   *
   * @default 1_000
   */
  skills: positiveInt,
  /**
   * Concurrent requests to the server; further requests wait.
   *
   * @default unlimited
   */
  concurrentCalls: positiveInt,
  /**
   * Identities with a session of their own. Beyond that, the identity that was idle longest loses its
   * session.
   *
   * @default 1_000
   */
  identities: positiveInt,
  /**
   * Server requests (sampling, elicitation, roots) that are handled concurrently in one session; further
   * requests wait.
   *
   * @default 8
   */
  serverRequests: positiveInt,
  /**
   * Characters of text of one result that a model sees.
   *
   * @default the `limits.contentChars` of the toolset (100_000)
   */
  contentChars: positiveInt,
};

/** Limits that protect the client from large or misbehaving servers. */
export interface LimitOptions extends OptionsOf<typeof LIMIT_FIELDS> {}

const RETRY_FIELDS = {
  /**
   * Retries of one call.
   *
   * @default 2
   */
  maxRetries: nonNegativeInt,
  /**
   * The shortest delay before a retry, in milliseconds.
   *
   * @default 100
   */
  baseDelayMs: milliseconds,
  /**
   * The longest delay before a retry, in milliseconds.
   *
   * @default 5_000
   */
  maxDelayMs: milliseconds,
  /**
   * After a failure that the session may have caused, retry the request in a separate session, which is
   * closed afterwards. Without effect for servers without session ids and with `session.id`.
   *
   * @default false
   */
  freshSession: z.boolean(),
};

/** How often, and after which delays, a request is retried where that is safe. */
export interface RetryOptions extends OptionsOf<typeof RETRY_FIELDS> {}

const CIRCUIT_BREAKER_FIELDS = {
  /**
   * Consecutive failures that open the circuit. They count at most once in 250 ms, regardless of how many
   * callers and retries meet them, so that the restart of a server is one failure.
   *
   * @default 5
   */
  failureThreshold: positiveInt,
  /**
   * How long the circuit stays open before calls are let through again, in milliseconds. If nothing answers
   * at the address, the server is probed with handshakes in the background instead, first after 250 ms and
   * then with delays that grow by a fifth (for a program: double) up to this time; a call waits for probes
   * that are due within 2 s.
   *
   * @default 30_000
   */
  recoveryTimeoutMs: milliseconds,
  /**
   * Concurrent calls while the circuit is half-open.
   *
   * @default 1
   */
  halfOpenMaxCalls: positiveInt,
  /**
   * Successful calls in the half-open state that close the circuit.
   *
   * @default 2
   */
  successThreshold: positiveInt,
};

/** When the circuit to a failing server opens, and how it closes again. */
export interface CircuitBreakerOptions extends OptionsOf<typeof CIRCUIT_BREAKER_FIELDS> {}

/** The tool call that a fallback responds to or records. */
export interface FallbackCall {
  /** The name of the server. */
  readonly server: string;
  /** The name of the tool on the server. */
  readonly tool: string;
  /** The arguments as they were sent. */
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * The headers of this call only. They may identify the caller: never respond with a result of other
   * headers.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The `_meta` of this call. It may identify the caller: never respond with a result of another `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** The identity of the caller. Never respond with a result of another identity. */
  readonly identity: string;
  /** Whether the call may safely run twice, by its options, a rule or trusted annotations. */
  readonly isIdempotent: boolean;
  /**
   * Whether the server has requested input (elicitation, sampling, roots) during the call, or the call was
   * sent with input. Its result may depend on the answer, which is not part of the call: never respond with
   * the result of another call. With a server before 2026-07-28, this holds for all calls that are in flight
   * on the session meanwhile.
   */
  readonly hasInput: boolean;
  /** The caller, to pass on to another client. */
  readonly context?: Partial<CallContext> | undefined;
  /** Aborted when the caller cancels the call. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Another client that runs a failed call, such as an `McpClient` of another server or transport. You close
 * it.
 */
export interface FallbackClient {
  /**
   * Calls the tool of the same name.
   * @throws why the call failed; the failure of the first client is thrown then
   */
  callTool(
    call: { readonly name: string; readonly args: Record<string, unknown> },
    options: Pick<FallbackCall, "signal"> & {
      readonly context: Partial<CallContext> | undefined;
      readonly meta: Record<string, unknown> | undefined;
      readonly idempotent: boolean;
    },
  ): Promise<unknown>;
  /** Distinguishes a client from a toolset. */
  ensureSession(): Promise<void>;
}

/** The tool result that a fallback returns. */
export interface FallbackResult {
  /**
   * Content blocks in the format of MCP: `{ type: "text", text: "…" }`.
   *
   * @default []
   */
  readonly content?: readonly Readonly<Record<string, unknown>>[];
  /** JSON that matches the `outputSchema` of the tool, if it has one. */
  readonly structuredContent?: unknown;
  /**
   * The result describes an error of the tool.
   *
   * @default false
   */
  readonly isError?: boolean;
  /** Metadata for programs, which the model does not see. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/**
 * Provides the result of a tool call that failed after all retries: a function, another client, or
 * `{ respond, record }`. `respond` returns `undefined` to let the failure through; `record` receives every
 * successful result. Another client runs the call only if it did not run or is idempotent, and receives
 * neither the headers nor the credentials of this server.
 */
export type FallbackOption =
  | FallbackResponder
  | FallbackClient
  | {
      /** Returns the result of a call that failed, or `undefined` to let the failure through. */
      readonly respond: FallbackResponder;
      /** Receives every successful result, for later failures. */
      readonly record?: FallbackRecorder | undefined;
    };
type FallbackResponder = (
  failure: McpRuntimeError,
  call: FallbackCall,
) => FallbackAnswer | Promise<FallbackAnswer>;
/**
 * A result, for example of another tool; content as LangChain has it (a string, blocks, a message); or
 * nothing.
 */
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

const ROOTS_SCHEMA: z.ZodType<RootsOption, RootsOption> = z.union([
  z.array(strictObject({ uri: urlSchema("file:"), name: z.string().optional() })),
  option.function<Exclude<RootsOption, readonly Root[]>>(),
]);

const EXTENSIONS_SCHEMA: z.ZodType<ExtensionsOption, ExtensionsOption> = z.record(
  z.string(),
  z.record(z.string(), z.unknown()),
);

function isModeHandlers(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const handlers = Object.entries(value).filter(([, handler]) => handler !== undefined);
  const areKnown = handlers.every(([mode, handler]) => ["form", "url"].includes(mode) && isFunction(handler));
  return areKnown && handlers.length > 0;
}

/** The schemas of `CommonServerOptions`. */
export const COMMON_FIELDS = {
  /**
   * Timeouts of connecting, of one attempt and of a whole call.
   *
   * @default the defaults of `TimeoutOptions`
   */
  timeouts: optionsSchema<TimeoutOptions>(TIMEOUT_FIELDS),
  /**
   * How sessions are opened, recovered, shared and closed.
   *
   * @default the defaults of `SessionOptions`
   */
  session: optionsSchema<SessionOptions>(SESSION_FIELDS),
  /**
   * Limits on sizes, counts and concurrency.
   *
   * @default the defaults of `LimitOptions`
   */
  limits: optionsSchema<LimitOptions>(LIMIT_FIELDS),
  /**
   * How requests are retried; `false` disables retries.
   *
   * @default the defaults of `RetryOptions`
   */
  retry: z.literal(false).or(optionsSchema<RetryOptions>(RETRY_FIELDS)),
  /**
   * When the circuit to a failing server opens; `false` disables the circuit breaker.
   *
   * @default the defaults of `CircuitBreakerOptions`
   */
  circuitBreaker: z.literal(false).or(optionsSchema<CircuitBreakerOptions>(CIRCUIT_BREAKER_FIELDS)),
  /**
   * Rules for the tools of this server, by their names on the server.
   *
   * @default all tools, without rules
   */
  tools: TOOL_RULES_SCHEMA,
  /**
   * Trust the annotations of the server's tools (`readOnlyHint`, `idempotentHint`) when deciding about
   * approvals and retries.
   *
   * @default false
   */
  trustAnnotations: z.boolean(),
  ...OUTPUT_FIELDS,
  /**
   * How long the descriptions of this server's tools may be. What is not set here follows the option of the
   * toolset.
   *
   * @default the `descriptions` of the toolset
   */
  descriptions: DESCRIPTIONS_SCHEMA,
  /**
   * What happens with arguments that do not match the input schema of a tool: the call fails, a warning, or
   * nothing. The rule of a tool takes precedence.
   *
   * @default the `inputValidation` of the toolset ("error")
   */
  inputValidation: INPUT_VALIDATION_SCHEMA,
  /**
   * Continue without this server when it cannot be reached at startup. A start waits for it until
   * `startupWaitMs` after all other servers; if it connects later, its tools are added then.
   *
   * @default false
   */
  optional: z.boolean(),
  /**
   * Connect on first use instead of at startup.
   *
   * @default false
   */
  lazy: z.boolean(),
  /**
   * Which MCP revisions are used.
   *
   * @default "auto"
   */
  protocol: option.oneOf("auto", "legacy", "2026-07-28"),
  /**
   * The folders and files that the server may work in.
   *
   * @default roots are not offered
   */
  roots: ROOTS_SCHEMA,
  /**
   * Handles requests of the server to sample from a model. Without it, sampling is not offered.
   *
   * @default none
   */
  onSamplingRequest: option.function<SamplingHandler>(),
  /**
   * Handles requests of the server for user input. Without it, elicitation is not offered.
   *
   * @default none
   */
  onElicitationRequest: option.opaque<ElicitationOption>(
    "a function, or { form, url } with at least one of them",
    (value) => isFunction(value) || isModeHandlers(value),
  ),
  /**
   * The protocol extensions that your application supports, with their settings. They are declared to the
   * server, which may then offer more: `{ "io.modelcontextprotocol/ui": { mimeTypes:
   * ["text/html;profile=mcp-app"] } }` for a host of MCP Apps.
   *
   * @default {}
   */
  extensions: EXTENSIONS_SCHEMA,
  /**
   * Provides the result of a tool call that failed after all retries: a function of the failure and the
   * call, an `McpClient` of another server or transport, or `lastGoodResult({ maxAgeMs })`.
   *
   * @default the failure is thrown
   */
  fallback: option.opaque<FallbackOption>(
    "a function, an McpClient, or lastGoodResult({ maxAgeMs })",
    (value) =>
      isFunction(value) || hasMethods(value, "respond") || hasMethods(value, "callTool", "ensureSession"),
  ),
  /**
   * Changes the kind of a failure; `undefined` keeps it. For platforms with error codes of their own:
   * `(error) => (error.code === -32600 ? "session-lost" : undefined)`.
   *
   * @default none
   */
  classify: option.function<(failure: McpRuntimeError) => FailureKind | undefined>(),
  /**
   * Additional strings to redact from errors, logs and events. Redacted in any case: header values,
   * tokens, the user, password and query of a URL, and the values of variables and command line options
   * with names such as `API_KEY`.
   *
   * @default []
   */
  secrets: option.array(z.string()),
  /**
   * Decides where requests may go that you did not configure: the address of a server in an agent or project
   * file or returned by `resolve`, and the addresses of OAuth, which servers name. Redirects to another
   * origin are never followed. Checked for each IP address before a connection to it is opened, in addition
   * to the `allowAddress` of the toolset: both have to allow it. Only `true` allows an address. Programs,
   * custom transports and servers in this process open their own connections.
   *
   * @default denies link-local addresses and metadata services (169.254.0.0/16, fe80::/10), and loopback and
   * private ones where your own address is public
   */
  allowAddress: option.function<AllowAddress>(),
};

/** Options of every server, whatever its transport. */
export interface CommonServerOptions extends OutputOptions, OptionsOf<typeof COMMON_FIELDS> {}

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
/** The options that fields describe, of which some are required. */
type FieldsOf<Fields, Needed extends keyof Fields> = OptionsOf<Fields> &
  Required<Pick<OptionsOf<Fields>, Needed>>;
/** `transport` is an alias of `type`. */
type TypeTag<Name extends string> =
  | { readonly type?: Name; readonly transport?: never }
  | { readonly type?: never; readonly transport?: Name };
/** For a transport that is not inferred from the keys. */
type RequiredTypeTag<Name extends string> =
  | { readonly type: Name; readonly transport?: never }
  | { readonly type?: never; readonly transport: Name };

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
  RequiredTypeTag<"sse"> &
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

/** The operating system cannot pass null characters to a process. */
const noNullString = z.string().regex(/^[^\0]*$/, { error: "contains a null character" });
const variableName = z
  .string()
  .regex(/^[^\0=]+$/, { error: "contains an invalid environment variable name" });
const UNKNOWN_ENCODING =
  'expected an encoding that TextDecoder supports, such as "utf-8" or "windows-1252", except UTF-16';

/**
 * Whether bytes in this encoding can be split into lines before decoding. In all encodings of `TextDecoder`
 * except UTF-16, a line break is one byte that occurs in no other character.
 */
function isNewlineSafeEncoding(label: string): boolean {
  try {
    return !new TextDecoder(label).encoding.startsWith("utf-16");
  } catch {
    return false;
  }
}

export const STDIO_FIELDS = {
  /** The program to start. */
  command: noNullString.min(1),
  /**
   * Its arguments.
   *
   * @default []
   */
  args: option.array(noNullString).default([]),
  /**
   * Environment variables, in addition to a few harmless ones such as `PATH` and `HOME`. The rest of this
   * process's environment is not passed on.
   *
   * @default {}
   */
  env: z.record(variableName, noNullString).default({}),
  /**
   * Its working directory.
   *
   * @default the working directory of this process
   */
  cwd: noNullString.min(1).optional(),
  /**
   * The encoding of its output: any that `TextDecoder` supports, except UTF-16.
   *
   * @default "utf-8"
   */
  encoding: z.string().refine(isNewlineSafeEncoding, { error: UNKNOWN_ENCODING }).optional(),
};

/** A program that is started on first use and communicates over stdin and stdout. */
export type StdioServerDefinition = CommonServerOptions &
  OnlyKeys<"command"> &
  TypeTag<"stdio"> &
  FieldsOf<typeof STDIO_FIELDS, "command">;

const nonEmptyString = z.string().min(1);

export const LAMBDA_FIELDS = {
  /** The name or ARN of the function. */
  functionName: nonEmptyString,
  /** A version or an alias of the function. */
  qualifier: nonEmptyString.optional(),
  /**
   * The AWS region.
   *
   * @default the region that the AWS SDK finds in the environment
   */
  region: nonEmptyString.optional(),
  /**
   * The URL of the Lambda API.
   *
   * @default the endpoint of the region
   */
  endpoint: urlSchema("http:", "https:").optional(),
};

/** A server in an AWS Lambda function. Needs the package `@aws-sdk/client-lambda`. */
export type LambdaServerDefinition = CommonServerOptions &
  OnlyKeys<"functionName"> &
  TypeTag<"lambda"> &
  FieldsOf<typeof LAMBDA_FIELDS, "functionName">;

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
    /** May be omitted: `resolve` identifies the transport. */
    readonly type?: "dynamic";
    /** Not available: `resolve` returns the definition of another transport. */
    readonly transport?: never;
    /** Returns the definition of the server. It may not contain `tools` or `identity`. */
    readonly resolve: (
      context: ResolveContext,
    ) => AddressedServerDefinition | Promise<AddressedServerDefinition>;
    /** Identifies the caller. Set here because it is needed before the server is resolved. */
    readonly identity?: IdentityOption;
  };
