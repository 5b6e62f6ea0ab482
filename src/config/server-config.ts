import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CredentialSources, HeaderValues, IdentityOption } from "./credential-options.js";
import type { HttpOptions } from "./http-options.js";
import type { InProcessServer, MessageTransport } from "./message-transport.js";
import type { ToolRules } from "./tool-rules.js";
import type { FallbackOption, ProtocolOption, ResolveContext, SessionOptions } from "./server-definition.js";
import type { ServerRequestHandlers } from "./server-request-handlers.js";

const MEBIBYTE = 1024 * 1024;

/** Every default of a server, in one place. The README's table is printed from here. */
export const SERVER_DEFAULTS = {
  timeouts: { connectMs: 10_000, requestMs: 60_000, totalMs: 600_000 },
  session: {
    maxRecoveries: 1,
    sequential: false,
    drainMs: 0,
    terminateOnClose: true,
    storeTtlMs: 86_400_000,
  },
  retry: { maxRetries: 2, baseDelayMs: 100, maxDelayMs: 5_000, freshSession: false },
  circuitBreaker: {
    failureThreshold: 5,
    recoveryTimeoutMs: 30_000,
    halfOpenMaxCalls: 1,
    successThreshold: 2,
  },
  limits: {
    responseBytes: 32 * MEBIBYTE,
    sockets: 64,
    pages: 100,
    tools: 10_000,
    resources: 10_000,
    prompts: 10_000,
    identities: 1_000,
    serverRequests: 8,
  },
} as const;

/** A cold `npx` server needs ten seconds before it says its first word. */
export const STDIO_CONNECT_MS = 60_000;

type Complete<Defaults> = {
  readonly [Key in keyof Defaults]: Defaults[Key] extends number
    ? number
    : Defaults[Key] extends boolean
      ? boolean
      : Defaults[Key];
};
type Timeouts = Complete<typeof SERVER_DEFAULTS.timeouts>;
export type Limits = Complete<typeof SERVER_DEFAULTS.limits>;
export type RetrySettings = Complete<typeof SERVER_DEFAULTS.retry>;
export type CircuitBreakerSettings = Complete<typeof SERVER_DEFAULTS.circuitBreaker>;
type SessionSettings = Complete<typeof SERVER_DEFAULTS.session> &
  Pick<SessionOptions, "id" | "protocolVersion" | "store">;

/** An address on the web, and what proves who asks. */
export interface WebAddress<Kind extends string> extends CredentialSources {
  readonly kind: Kind;
  readonly url: URL;
  /** The same for everybody. */
  readonly headers: HeaderValues;
  readonly dpop: boolean | undefined;
}

/** One that is reached over HTTP, and how. */
export type HttpAddress<Kind extends string = "http" | "sse"> = WebAddress<Kind> & HttpOptions;

export type WebSocketAddress = WebAddress<"websocket"> & Pick<HttpOptions, "tls">;

/** How a server is reached, by kind, as code reads it. */
export type ServerAddress =
  | HttpAddress<"http">
  | HttpAddress<"sse">
  | WebSocketAddress
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
      readonly encoding: string | undefined;
    }
  | {
      readonly kind: "lambda";
      readonly functionName: string;
      readonly qualifier: string | undefined;
      readonly region: string | undefined;
      readonly endpoint: URL | undefined;
    }
  | { readonly kind: "custom"; readonly open: () => MessageTransport | Promise<MessageTransport> }
  | { readonly kind: "in-process"; readonly open: () => InProcessServer | Promise<InProcessServer> };

/** Not known before phase 1. */
export interface DynamicAddress {
  readonly kind: "dynamic";
  readonly resolve: (context: ResolveContext) => Promise<ServerConfig>;
}

export type ServerKind = ServerAddress["kind"] | DynamicAddress["kind"];

/** A server definition after parsing: nothing is optional that code has to decide about. */
export interface ServerConfig {
  readonly name: string;
  readonly address: ServerAddress | DynamicAddress;
  /** `undefined`: everybody is one. */
  readonly identity: IdentityOption | undefined;
  readonly timeouts: Timeouts;
  readonly session: SessionSettings;
  readonly limits: Limits & { readonly concurrentCalls: number | undefined };
  readonly retry: RetrySettings;
  /** `undefined`: none. */
  readonly circuitBreaker: CircuitBreakerSettings | undefined;
  readonly protocol: ProtocolOption;
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
  readonly optional: boolean;
  /** Not connected before its first use. */
  readonly lazy: boolean;
  readonly fallback: FallbackOption | undefined;
  readonly handlers: ServerRequestHandlers;
  readonly classify: ((failure: McpRuntimeError) => FailureKind | undefined) | undefined;
  /** What must never be shown. */
  readonly secrets: readonly string[];
}
