import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { zodToIssues, ZOD_ERROR_MAP } from "./schema/zod-issues.js";
import type { HttpOptions } from "./http-options.js";
import { isPlainObject, omitUndefined } from "../json/json.js";
import type { InProcessServer } from "./message-transport.js";
import type { ResolveContext, ServerDefinition } from "./server-definition.js";
import type { ServerRequestHandlers } from "./server-request-handlers.js";
import { getTransportType } from "./transport-type.js";
import { parseJson } from "../json/parse-json.js";
import { collectSecrets } from "./collect-secrets.js";
import { COMMON_SCHEMA, SERVER_SCHEMAS } from "./schema/server-schema.js";
import {
  SERVER_DEFAULTS,
  STDIO_CONNECT_MS,
  type DynamicAddress,
  type ServerAddress,
  type TransportType,
  type ServerConfig,
} from "./server-config.js";

/**
 * Validates a server definition and fills in the defaults. Throws kind `invalid-config` with all problems.
 */
export function parseServer(name: string, definition: ServerDefinition): ServerConfig {
  const parsed = validateServer(name, definition);
  if ("issues" in parsed)
    throw isValidName(name)
      ? configError(`Server ${JSON.stringify(name)}`, parsed.issues, { server: name })
      : configError("The server", parsed.issues);
  return parsed.config;
}

/** All parsed configs, so that no other object can pass for one. */
const parsedConfigs = new WeakSet<ServerConfig>();

export function isServerConfig(value: object): value is ServerConfig {
  return parsedConfigs.has(value as ServerConfig);
}

/** Copies a parsed config with another name, or as lazy. */
export function withServerSettings(
  config: ServerConfig,
  settings: Partial<Pick<ServerConfig, "name" | "lazy">>,
): ServerConfig {
  const copy = { ...config, ...settings };
  parsedConfigs.add(copy);
  return copy;
}

/**
 * Validates the servers of a JSON document, given as a string or as an object.
 *
 * @throws McpRuntimeError of kind `invalid-config` with the problems of all servers, each with its path.
 *
 * @example
 * ```ts
 * const servers = parseServers(`{ "weather": { "url": "https://weather.example/mcp" } }`);
 * await using toolset = await createMcpTools(servers);
 * ```
 */
export function parseServers(json: unknown): Record<string, ServerDefinition> {
  const servers = typeof json === "string" ? parseJson(json, "The list of servers") : json;
  parseServerConfigs(servers);
  return servers as Record<string, ServerDefinition>;
}

/**
 * Parses the definitions of several servers, given as an object or as a JSON string. Throws kind
 * `invalid-config` with the problems of all.
 */
export function parseServerConfigs(json: unknown): Record<string, ServerConfig> {
  const servers = typeof json === "string" ? parseJson(json, "The list of servers") : json;
  if (!isPlainObject(servers)) {
    const message = `expected an object { name: definition }, got ${describeValue(servers)}`;
    throw configError("The list of servers", [{ path: "", message }]);
  }
  const issues: ConfigIssue[] = [];
  const configs = Object.entries(servers).flatMap(([name, definition]) => {
    const parsed = validateServer(name, definition);
    if ("config" in parsed) return [[name, parsed.config] as const];
    issues.push(...parsed.issues.map((issue) => prefixPath(name, issue)));
    return [];
  });
  if (issues.length > 0) throw configError("The list of servers", issues);
  return Object.fromEntries(configs);
}

function prefixPath(name: string, issue: ConfigIssue): ConfigIssue {
  const head = /^[\w$-]+$/.test(name) ? name : `[${JSON.stringify(name)}]`;
  const separator = issue.path === "" || issue.path.startsWith("[") ? "" : ".";
  return { path: `${head}${separator}${issue.path}`, message: issue.message };
}

function isValidName(name: unknown): name is string {
  return typeof name === "string" && name.trim() !== "";
}

type ParseResult = { readonly config: ServerConfig } | { readonly issues: readonly ConfigIssue[] };

function validateServer(name: unknown, definition: unknown): ParseResult {
  if (!isValidName(name)) {
    const actual = typeof name === "string" ? "" : `, got ${describeValue(name)}`;
    const message = `expected a non-empty name${actual}`;
    return { issues: [{ path: "name", message }] };
  }
  if (!isPlainObject(definition)) {
    return { issues: [{ path: "", message: `expected an object, got ${describeValue(definition)}` }] };
  }
  const transportType = getTransportType(definition);
  if (typeof transportType !== "string") {
    const commonOptions = COMMON_SCHEMA.safeParse(definition, ZOD_ERROR_MAP);
    return { issues: [transportType, ...(commonOptions.success ? [] : zodToIssues(commonOptions.error))] };
  }
  const { type: _, transport: __, ...rest } = definition;
  const parsed = SERVER_SCHEMAS[transportType].safeParse(rest, ZOD_ERROR_MAP);
  if (!parsed.success) return { issues: zodToIssues(parsed.error) };
  const { data } = parsed;
  const issues = [
    ...validateIdentity(data),
    ...validateDpop(data),
    ...validateSessionStore(transportType, data),
  ];
  if (issues.length > 0) return { issues };
  const config = toServerConfig(name, transportType, data);
  parsedConfigs.add(config);
  return { config };
}

/** DPoP binds OAuth tokens to a key, so it needs `auth`. */
function validateDpop(parsed: ParsedServer): ConfigIssue[] {
  if (!("dpop" in parsed) || parsed.dpop === undefined || parsed.auth !== undefined) return [];
  return [{ path: "dpop", message: "requires OAuth tokens, but auth is not set" }];
}

/** Options that are needed before a dynamic server is resolved. */
const FORBIDDEN_IN_RESOLVED: readonly ConfigIssue[] = [
  {
    path: "tools",
    message: "cannot be set by resolve(); set it next to resolve, or in the factory option tools",
  },
  { path: "identity", message: "cannot be set by resolve(); set it next to resolve" },
];

type ParsedServer = ReturnType<(typeof SERVER_SCHEMAS)[TransportType]["parse"]>;

function toServerConfig(name: string, transportType: TransportType, parsed: ParsedServer): ServerConfig {
  const address = toAddress(name, transportType, parsed);
  const { timeouts, session, limits, retry, circuitBreaker } = SERVER_DEFAULTS;
  const connectMs = transportType === "stdio" ? STDIO_CONNECT_MS : timeouts.connectMs;
  // A resumed or stored session may be used by others, so it is not terminated.
  const isShared = parsed.session?.id !== undefined || parsed.session?.store !== undefined;
  const terminateOnClose = !isShared && session.terminateOnClose;
  return {
    name,
    address,
    identity: "identity" in parsed ? parsed.identity : undefined,
    timeouts: { ...timeouts, connectMs, ...omitUndefined(parsed.timeouts) },
    session: { ...session, terminateOnClose, ...omitUndefined(parsed.session) },
    limits: { ...limits, concurrentCalls: undefined, ...omitUndefined(parsed.limits) },
    retry:
      parsed.retry === false ? { ...retry, maxRetries: 0 } : { ...retry, ...omitUndefined(parsed.retry) },
    circuitBreaker:
      parsed.circuitBreaker === false
        ? undefined
        : { ...circuitBreaker, ...omitUndefined(parsed.circuitBreaker) },
    protocol: parsed.protocol ?? "auto",
    tools: parsed.tools,
    trustAnnotations: parsed.trustAnnotations ?? false,
    optional: parsed.optional ?? false,
    lazy: parsed.lazy ?? false,
    fallback: parsed.fallback,
    handlers: toHandlers(parsed),
    classify: parsed.classify as ServerConfig["classify"],
    secrets: [...collectSecrets(address, parsed.session?.id), ...(parsed.secrets ?? [])],
  };
}

function toHandlers({ roots, onSamplingRequest, onElicitationRequest }: ParsedServer): ServerRequestHandlers {
  const elicit =
    typeof onElicitationRequest === "function"
      ? { form: onElicitationRequest, url: onElicitationRequest }
      : onElicitationRequest;
  return { roots, sample: onSamplingRequest, elicitForm: elicit?.form, elicitUrl: elicit?.url };
}

function toAddress(
  name: string,
  transportType: TransportType,
  parsed: ParsedServer,
): ServerAddress | DynamicAddress {
  if ("resolve" in parsed) {
    const { resolve, ...defaults } = parsed;
    const resolveConfig = async (context: ResolveContext, serverName: string = name) => {
      const definition = await resolve(context);
      const merged = isPlainObject(definition) ? { ...defaults, ...definition } : definition;
      const forbidden = FORBIDDEN_IN_RESOLVED.filter(
        ({ path }) => isPlainObject(definition) && definition[path] !== undefined,
      );
      if (forbidden.length > 0) throw configError(`Server ${JSON.stringify(serverName)}`, forbidden);
      return parseServer(serverName, merged as ServerDefinition);
    };
    return { kind: "dynamic", resolve: resolveConfig };
  }
  if ("openTransport" in parsed) return { kind: "custom", open: parsed.openTransport };
  if ("server" in parsed) {
    const { server } = parsed;
    const open = (typeof server === "function" ? server : () => server) as () => InProcessServer;
    return { kind: "in-process", open };
  }
  if ("command" in parsed) {
    const { command, args, env, cwd, encoding } = parsed;
    return { kind: "stdio", command, args, env, cwd, encoding };
  }
  if ("functionName" in parsed) {
    const { functionName, qualifier, region, endpoint } = parsed;
    return { kind: "lambda", functionName, qualifier, region, endpoint };
  }
  const { url, headers, auth, dpop } = parsed;
  const { tls, dispatcher, fetch } = parsed as HttpOptions;
  const isPerCaller = typeof headers === "function";
  return {
    kind: transportType as "http" | "sse" | "websocket",
    url,
    headers: isPerCaller ? {} : headers,
    headersProvider: isPerCaller ? headers : undefined,
    auth,
    dpop,
    tls,
    dispatcher,
    fetch,
  };
}

interface IdentityInput {
  readonly headers?: unknown;
  readonly auth?: unknown;
  readonly identity?: unknown;
  readonly session?: { readonly id?: string | undefined } | undefined;
}

/** Rejects definitions that would let two users share a session. */
function validateIdentity({ headers, auth, identity, session }: IdentityInput): ConfigIssue[] {
  const sources = { headers, auth, "auth.idToken": isPlainObject(auth) ? auth["idToken"] : undefined };
  const perCaller = Object.entries(sources).find(([, value]) => typeof value === "function");
  if (perCaller !== undefined && identity === undefined) {
    const message = `is required because ${perCaller[0]} depends on the caller: identity: (context) => string returns whose session a call uses`;
    return [{ path: "identity", message }];
  }
  if (identity !== undefined && session?.id !== undefined)
    return [{ path: "session.id", message: "one session cannot be shared by several identities" }];
  return [];
}

interface SessionStoreInput {
  readonly session?: { readonly id?: string | undefined; readonly store?: unknown } | undefined;
  readonly identity?: unknown;
  readonly url?: URL;
  readonly headers?: unknown;
  readonly auth?: unknown;
  readonly tls?: { readonly cert?: unknown } | undefined;
  readonly dispatcher?: unknown;
  readonly fetch?: unknown;
}

/** Rejects what a session store cannot be combined with. */
function validateSessionStore(transportType: TransportType, server: SessionStoreInput): ConfigIssue[] {
  const { session, identity } = server;
  if (session?.store === undefined) return [];
  const issues: ConfigIssue[] = [];
  // A dynamic server is validated again when it is resolved.
  if (transportType !== "http" && transportType !== "dynamic") {
    const message = `is only supported for type http: a session of type ${transportType} ends with its connection`;
    issues.push({ path: "session.store", message });
  }
  if (session.id !== undefined)
    issues.push({ path: "session.id", message: "cannot be combined with session.store: use one of them" });
  const credential = credentialInUse(server);
  if (credential !== undefined && identity === undefined) {
    const message = `is required because processes with different credentials (${credential}) may share the store: identity: () => "billing" returns whose sessions these are`;
    issues.push({ path: "identity", message });
  }
  return issues;
}

/** The credential in use, which may differ between processes that share a store. */
function credentialInUse({
  url,
  headers,
  auth,
  tls,
  dispatcher,
  fetch,
}: SessionStoreInput): string | undefined {
  // These require an identity in any case.
  if (typeof headers === "function" || typeof auth === "function") return undefined;
  if (Object.keys(headers ?? {}).length > 0) return "headers";
  if (auth !== undefined) return "auth";
  if (url !== undefined && url.username + url.password !== "") return "user in the url";
  if (tls?.cert !== undefined) return "tls.cert";
  if (dispatcher !== undefined) return "dispatcher";
  return fetch === undefined ? undefined : "fetch";
}
