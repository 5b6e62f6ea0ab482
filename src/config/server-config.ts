import type { z } from "zod";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import type { AddressOrigin, AllowAddress } from "./address-policy.js";
import type { CredentialSources, HeaderValues, IdentityOption } from "./credential-options.js";
import type { HttpOptions } from "./http-options.js";
import type { InProcessServer, MessageTransport } from "./message-transport.js";
import type { ServerOutput } from "./output-options.js";
import type { ToolRules } from "./tool-rules.js";
import type {
  CircuitBreakerOptions,
  CommonServerOptions,
  LAMBDA_FIELDS,
  LimitOptions,
  ProtocolOption,
  ResolveContext,
  RetryOptions,
  SessionOptions,
  STDIO_FIELDS,
  TimeoutOptions,
} from "./server-definition.js";
import type { ServerRequestHandlers } from "./server-request-handlers.js";

const MEBIBYTE = 1024 * 1024;

/** The defaults of all server options. The table in the docs is generated from here. */
export const SERVER_DEFAULTS = {
  timeouts: { connectMs: 10_000, requestMs: 60_000, totalMs: 600_000, taskMs: 3_600_000 },
  session: {
    maxRecoveries: 8,
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
    skills: 1_000,
    identities: 1_000,
    serverRequests: 8,
  },
} as const;

/**
 * A cold `npx` server needs ten seconds or more before it responds. Less than `requestMs`, so that a process
 * that does not respond is reported with what it wrote.
 */
export const STDIO_CONNECT_MS = 50_000;

export type Limits = Required<Omit<LimitOptions, "concurrentCalls" | "contentChars">> & {
  readonly concurrentCalls: number | undefined;
};
type RetrySettings = Required<RetryOptions>;
export type CircuitBreakerSettings = Required<CircuitBreakerOptions>;
type OptionalSessionKeys = "id" | "protocolVersion" | "store";
type SessionSettings = Required<Omit<SessionOptions, OptionalSessionKeys>> &
  Pick<SessionOptions, OptionalSessionKeys>;

/** A URL and the credentials of requests to it. */
export interface WebAddress<Kind extends string> extends CredentialSources {
  readonly kind: Kind;
  readonly url: URL;
  /** Constant headers, the same for every caller. */
  readonly headers: HeaderValues;
  readonly dpop: boolean | undefined;
}

/** The address of a server over HTTP. */
export type HttpAddress<Kind extends string = "http" | "sse"> = WebAddress<Kind> & HttpOptions;

export type WebSocketAddress = WebAddress<"websocket"> & Pick<HttpOptions, "tls">;

type ParsedFields<Fields extends z.ZodRawShape> = Readonly<Required<z.output<z.ZodObject<Fields>>>>;

/** How a server is reached, after parsing. */
export type ServerAddress =
  | HttpAddress<"http">
  | HttpAddress<"sse">
  | WebSocketAddress
  | ({ readonly kind: "stdio" } & ParsedFields<typeof STDIO_FIELDS>)
  | ({ readonly kind: "lambda" } & ParsedFields<typeof LAMBDA_FIELDS>)
  | { readonly kind: "custom"; readonly open: () => MessageTransport | Promise<MessageTransport> }
  | { readonly kind: "in-process"; readonly open: () => InProcessServer | Promise<InProcessServer> };

/** The address of a server that is resolved when it is connected. */
export interface DynamicAddress {
  readonly kind: "dynamic";
  /** `name` is the current name of the server, if it differs from the one it was parsed with. */
  readonly resolve: (context: ResolveContext, name?: string) => Promise<ServerConfig>;
}

export type TransportType = ServerAddress["kind"] | DynamicAddress["kind"];

/** A server definition after parsing: all defaults are filled in. */
export interface ServerConfig {
  readonly name: string;
  readonly address: ServerAddress | DynamicAddress;
  /** `undefined`: all callers share one identity. */
  readonly identity: IdentityOption | undefined;
  readonly timeouts: Required<TimeoutOptions>;
  readonly session: SessionSettings;
  readonly limits: Limits;
  readonly retry: RetrySettings;
  /** `undefined`: no circuit breaker. */
  readonly circuitBreaker: CircuitBreakerSettings | undefined;
  readonly protocol: ProtocolOption;
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
  readonly descriptions: CommonServerOptions["descriptions"] | undefined;
  readonly inputValidation: CommonServerOptions["inputValidation"] | undefined;
  /** `undefined`: those of the toolset apply. */
  readonly output: ServerOutput | undefined;
  readonly optional: boolean;
  /** Connected on first use. */
  readonly lazy: boolean;
  readonly fallback: CommonServerOptions["fallback"] | undefined;
  readonly handlers: ServerRequestHandlers;
  readonly classify: CommonServerOptions["classify"] | undefined;
  /** Strings to redact. */
  readonly secrets: readonly string[];
  /** Each has to allow an address that the operator did not configure. */
  readonly allowAddress: readonly AllowAddress[];
  /** Where the address comes from. */
  readonly addressOrigin: AddressOrigin;
}

/** How and where a server is reached, without anything secret: no user, path or query. */
export interface ServerEndpoint {
  /** How messages travel: `http`, `stdio` … `dynamic` for a server that is not resolved yet. */
  readonly transport: TransportType;
  /** The host name or IP address; `undefined` for servers without a URL. */
  readonly host: string | undefined;
  /** The port, also if it is the default of the protocol; `undefined` for servers without a URL. */
  readonly port: number | undefined;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "ws:": 80,
  "https:": 443,
  "wss:": 443,
};

export function serverEndpoint({ address }: Pick<ServerConfig, "address">): ServerEndpoint {
  const { kind: transport } = address;
  const url = "url" in address ? address.url : "endpoint" in address ? address.endpoint : undefined;
  if (url === undefined) return { transport, host: undefined, port: undefined };
  const { hostname: host, port, protocol } = url;
  return { transport, host, port: port === "" ? DEFAULT_PORTS[protocol] : Number(port) };
}

/**
 * Returns what a definition that others have written may set in place of a value; `undefined` removes the
 * option.
 */
export type Restriction = (key: string, value: unknown) => unknown;

/** An option that was removed, or replaced by its limit. */
export interface RestrictedOption {
  readonly path: readonly PropertyKey[];
  /** `undefined`: the option was removed. */
  readonly limit: number | undefined;
}

/** Copies an object with what it may have, and adds the other options to `restricted`. */
export function restrictOptions(
  value: unknown,
  restrict: Restriction,
  { path, restricted }: { readonly path: readonly PropertyKey[]; readonly restricted: RestrictedOption[] },
): unknown {
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const allowed = restrict(key, item);
    if (allowed !== item)
      restricted.push({ path: [...path, key], limit: typeof allowed === "number" ? allowed : undefined });
    return [key, allowed];
  });
  return omitUndefined(Object.fromEntries(entries) as JsonObject);
}

/** An attempt may take as long as a call by default. */
const REQUEST_LIMIT_MS = SERVER_DEFAULTS.timeouts.totalMs;
/**
 * A longer `baseDelayMs` only delays calls to the server itself. `drainMs` would delay `close()` of all
 * servers.
 */
const RETRY_LIMITS = { ...SERVER_DEFAULTS.retry, baseDelayMs: SERVER_DEFAULTS.retry.maxDelayMs };

/**
 * Lowers the limits, timeouts, retries and delays of a definition that was not written by the operator, such
 * as that of a project file or a registry, to the defaults, and `requestMs` to the default of `totalMs`.
 */
export function lowerLimits<Definition extends object>(
  definition: Definition,
  restricted: RestrictedOption[],
): Definition {
  const { limits, timeouts, retry, session, command } = definition as JsonObject;
  const connectMs = command === undefined ? SERVER_DEFAULTS.timeouts.connectMs : STDIO_CONNECT_MS;
  const timeoutLimits = { ...SERVER_DEFAULTS.timeouts, connectMs, requestMs: REQUEST_LIMIT_MS };
  const restrict = (key: string, value: unknown, restriction: Restriction) =>
    restrictOptions(value, restriction, { path: [key], restricted });
  const groups = omitUndefined({
    limits: restrict("limits", limits, restrictLimit),
    timeouts: restrict("timeouts", timeouts, limitTo(timeoutLimits, isLonger)),
    retry: restrict("retry", retry, limitTo(RETRY_LIMITS)),
    session: restrict("session", session, limitTo(SERVER_DEFAULTS.session)),
  });
  return { ...definition, ...groups };
}

/** Limits the timeout of an attempt, which is in units of `unitMs`. */
export function limitRequestTimeout(value: unknown, unitMs = 1): unknown {
  const limit = REQUEST_LIMIT_MS / unitMs;
  return typeof value === "number" && isLonger(value, limit) ? limit : value;
}

/** 0 means no timeout. */
function isLonger(timeout: number, limit: number): boolean {
  return timeout === 0 || timeout > limit;
}

/** Keys without a number in `limits` are not limited. */
function limitTo(
  limits: object,
  isOver = (value: number, limit: number): boolean => value > limit,
): Restriction {
  const byKey = new Map<string, unknown>(Object.entries(limits));
  return (key, value) => {
    const limit = byKey.get(key);
    return typeof value === "number" && typeof limit === "number" && isOver(value, limit) ? limit : value;
  };
}

function restrictLimit(key: string, value: unknown): unknown {
  // The limit of the toolset is not known here.
  return key === "contentChars" ? undefined : limitTo(SERVER_DEFAULTS.limits)(key, value);
}
