import { z } from "zod";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { configError, type ConfigIssue } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject, omitUndefined, parseJson } from "../json/json.js";
import { getAddressOrigin, OPERATOR_ADDRESS } from "./address-policy.js";
import { isAuthGrant } from "./auth-grant.js";
import { collectSecrets } from "./collect-secrets.js";
import type { HttpOptions } from "./http-options.js";
import {
  addIssueAt,
  type IssueContext,
  option,
  optionsSchema,
  parseOptions,
  parsePart,
} from "./parse-options.js";
import { SERVER_DEFAULTS, type ServerConfig, STDIO_CONNECT_MS, type TransportType } from "./server-config.js";
import type { ResolveContext, ServerDefinition } from "./server-definition.js";
import type { ServerRequestHandlers } from "./server-request-handlers.js";
import { COMMON_SCHEMA, type ParsedServer, SERVER_SCHEMAS } from "./server-schema.js";

/**
 * Validates a server definition and fills in the defaults. Throws kind `invalid-config` with all problems.
 */
export function parseServer(name: string, definition: ServerDefinition): ServerConfig {
  const nameProblem = findNameProblem(name);
  if (nameProblem !== undefined) throw configError("The server", [{ path: "name", message: nameProblem }]);
  const location = { subject: `Server ${JSON.stringify(name)}`, server: name };
  return toServerConfig(name, parseOptions(DEFINITION_SCHEMA, definition, location));
}

function findNameProblem(name: unknown): string | undefined {
  if (typeof name !== "string") return `expected a non-empty name, got ${describeValue(name)}`;
  return name.trim() === "" ? "expected a non-empty name" : undefined;
}

/** All parsed configs, so that no other object can pass for one. */
const parsedConfigs = new WeakSet<ServerConfig>();

export function isServerConfig(value: object): value is ServerConfig {
  return parsedConfigs.has(value as ServerConfig);
}

/** Copies a parsed config with some other settings. */
export function withServerSettings(
  config: ServerConfig,
  settings: Partial<Pick<ServerConfig, "name" | "lazy" | "allowAddress" | "addressOrigin">>,
): ServerConfig {
  const copy = { ...config, ...settings };
  parsedConfigs.add(copy);
  return copy;
}

/**
 * Validates the servers of a JSON document, given as a string or as an object: `{ name: definition }`, or
 * `{ mcpServers: { name: definition } }` as most MCP clients write it. Returns the definitions by name.
 *
 * @throws McpRuntimeError of kind `invalid-config` with the problems of all servers, each with its path. The
 * message of an unknown key suggests the valid key that is close to it.
 *
 * @example
 * ```ts
 * const servers = parseServers(`{ "weather": { "url": "https://weather.example/mcp" } }`);
 * await using toolset = await createMcpTools(servers);
 * ```
 */
export function parseServers(json: unknown): Record<string, ServerDefinition> {
  const value = typeof json === "string" ? parseJson(json, LIST_SUBJECT) : json;
  parseServerConfigs(value);
  const servers = hasServerRecord(value) ? (value as McpServersDocument).mcpServers : value;
  return servers as Record<string, ServerDefinition>;
}

const LIST_SUBJECT = "The list of servers";

/**
 * Parses the definitions of several servers, given as an object or as a JSON string. Throws kind
 * `invalid-config` with the problems of all.
 */
export function parseServerConfigs(json: unknown): Record<string, ServerConfig> {
  const value = typeof json === "string" ? parseJson(json, LIST_SUBJECT) : json;
  const schema = hasServerRecord(value) ? DOCUMENT_SCHEMA : SERVER_LIST_SCHEMA;
  return parseOptions(schema, value, { subject: LIST_SUBJECT });
}

/** Servers in the format of most MCP clients. */
export interface McpServersDocument<Name extends string = string> {
  /** The servers, by name. */
  readonly mcpServers: Readonly<Record<Name, ServerDefinition>>;
}

const DOCUMENT_KEYS_SCHEMA = optionsSchema<McpServersDocument & { readonly $schema?: unknown }>(
  { mcpServers: option.any(), $schema: option.any() },
  { hint: "Options are the second argument of createMcpTools" },
);

/** Whether there are servers in `mcpServers`, and not the definition of one server of that name. */
function hasServerRecord(servers: unknown): boolean {
  try {
    const value: unknown = isPlainObject(servers) ? servers["mcpServers"] : undefined;
    if (!isPlainObject(value)) return false;
    return Object.values(value).every(isPlainObject) || typeof getTransportType(value) !== "string";
  } catch {
    // A value that cannot be read is reported when the servers are parsed.
    return false;
  }
}

const DEFINITION_SCHEMA = option
  .opaque<JsonObject>("an object", isPlainObject)
  .transform((definition, context): ParsedServer => {
    const type = getTransportType(definition);
    if (typeof type === "string") {
      const parsed = parsePart(SERVER_SCHEMAS[type], definition, context);
      return parsed === undefined ? z.NEVER : { ...parsed, addressOrigin: getAddressOrigin(definition) };
    }
    addIssueAt(context, type.path === "" ? [] : [type.path], type.message);
    parsePart(COMMON_SCHEMA, definition, context);
    return z.NEVER;
  })
  .superRefine((server, context) => {
    validateIdentity(server, context);
    validateDpop(server, context);
    validateSessionStore(server, context);
  });

const SERVER_LIST_SCHEMA = option
  .opaque<JsonObject>("an object { name: definition }", isPlainObject)
  .transform((servers, context) => {
    const configs = Object.entries(servers).flatMap(([name, definition]) => {
      const nameProblem = findNameProblem(name);
      if (nameProblem !== undefined) addIssueAt(context, [name, "name"], nameProblem);
      if (typeof definition === "string") {
        addIssueAt(context, [name], describeStringAsServer(name));
        return [];
      }
      const parsed =
        nameProblem === undefined ? parsePart(DEFINITION_SCHEMA, definition, context, [name]) : undefined;
      return parsed === undefined ? [] : [[name, toServerConfig(name, parsed)] as const];
    });
    return Object.fromEntries(configs);
  });

function describeStringAsServer(name: string): string {
  const isField = ["url", "type", "transport", ...Object.keys(TYPES_BY_KEY)].includes(name);
  const hint = isField
    ? "a definition needs a name: { weather: { url } }"
    : "write { url } or { command, args }";
  return `expected an object, got a string; ${hint}`;
}

/**
 * Reports the problems of the document and of its servers together; paths start with the name of a server.
 */
const DOCUMENT_SCHEMA = z.custom<McpServersDocument>().transform((document, context) => {
  parsePart(DOCUMENT_KEYS_SCHEMA, document, context);
  return parsePart(SERVER_LIST_SCHEMA, document.mcpServers, context) ?? z.NEVER;
});

function toServerConfig(name: string, parsed: ParsedServer): ServerConfig {
  const address = toAddress(name, parsed);
  const { timeouts, session, limits, retry, circuitBreaker } = SERVER_DEFAULTS;
  const connectMs = address.kind === "stdio" ? STDIO_CONNECT_MS : timeouts.connectMs;
  // A resumed or stored session may be used by others, so it is not terminated.
  const isShared = parsed.session?.id !== undefined || parsed.session?.store !== undefined;
  const terminateOnClose = !isShared && session.terminateOnClose;
  const { contentChars, ...ownLimits } = parsed.limits ?? {};
  const { structuredContent, outputHandling, onToolError } = parsed;
  const output = omitUndefined({ structuredContent, outputHandling, onToolError, contentChars });
  const config: ServerConfig = {
    name,
    address,
    identity: parsed.identity,
    timeouts: { ...timeouts, connectMs, ...omitUndefined(parsed.timeouts) },
    session: { ...session, terminateOnClose, ...omitUndefined(parsed.session) },
    limits: { ...limits, concurrentCalls: undefined, ...omitUndefined(ownLimits) },
    retry:
      parsed.retry === false ? { ...retry, maxRetries: 0 } : { ...retry, ...omitUndefined(parsed.retry) },
    circuitBreaker:
      parsed.circuitBreaker === false
        ? undefined
        : { ...circuitBreaker, ...omitUndefined(parsed.circuitBreaker) },
    protocol: parsed.protocol ?? "auto",
    tools: parsed.tools,
    trustAnnotations: parsed.trustAnnotations ?? false,
    descriptions: parsed.descriptions,
    inputValidation: parsed.inputValidation,
    output: Object.keys(output).length === 0 ? undefined : output,
    optional: parsed.optional ?? false,
    lazy: parsed.lazy ?? false,
    fallback: parsed.fallback,
    handlers: toHandlers(parsed),
    classify: parsed.classify,
    secrets: [...collectSecrets(address, parsed.session?.id), ...(parsed.secrets ?? [])],
    allowAddress: parsed.allowAddress === undefined ? [] : [parsed.allowAddress],
    addressOrigin: parsed.addressOrigin ?? OPERATOR_ADDRESS,
  };
  parsedConfigs.add(config);
  return config;
}

function toHandlers(parsed: ParsedServer): ServerRequestHandlers {
  const { extensions, roots, onSamplingRequest, onElicitationRequest } = parsed;
  const elicit =
    typeof onElicitationRequest === "function"
      ? { form: onElicitationRequest, url: onElicitationRequest }
      : onElicitationRequest;
  const elicitation = { elicitForm: elicit?.form, elicitUrl: elicit?.url };
  return { extensions, roots, sample: onSamplingRequest, ...elicitation };
}

/** Options that are needed before a dynamic server is resolved. */
const FORBIDDEN_IN_RESOLVED: readonly ConfigIssue[] = [
  {
    path: "tools",
    message: "cannot be set by resolve(); set it next to resolve, or in the option tools of createMcpTools",
  },
  { path: "identity", message: "cannot be set by resolve(); set it next to resolve" },
];

function toAddress(name: string, parsed: ParsedServer): ServerConfig["address"] {
  const { address, addressOrigin: _, ...defaults } = parsed;
  if (address.kind !== "dynamic") return address;
  const resolve = async (context: ResolveContext, serverName: string = name) => {
    const definition = await address.resolve(context);
    if (!isPlainObject(definition)) return parseServer(serverName, definition as ServerDefinition);
    const forbidden = FORBIDDEN_IN_RESOLVED.filter(({ path }) => definition[path] !== undefined);
    if (forbidden.length > 0) throw configError(`Server ${JSON.stringify(serverName)}`, forbidden);
    const merged: object = { ...defaults, ...definition };
    return parseServer(serverName, merged as ServerDefinition);
  };
  return { kind: "dynamic", resolve };
}

/** DPoP binds OAuth tokens to a key, so it needs `auth`. */
function validateDpop({ address }: ParsedServer, context: IssueContext): void {
  if ("dpop" in address && address.dpop !== undefined && address.auth === undefined)
    addIssueAt(context, ["dpop"], "requires OAuth tokens, but auth is not set");
}

/** Rejects definitions that would let two users share a session. */
function validateIdentity({ address, identity, session }: ParsedServer, context: IssueContext): void {
  const perCaller = findPerCallerOption(address);
  if (perCaller !== undefined && identity === undefined) {
    const message = `is required because ${perCaller} depends on the caller: identity: (context) => string returns whose session a call uses`;
    addIssueAt(context, ["identity"], message);
  }
  if (identity !== undefined && session?.id !== undefined)
    addIssueAt(context, ["session", "id"], "one session cannot be shared by several identities");
}

/** The credential that a function returns for each caller. */
function findPerCallerOption(address: ParsedServer["address"]): string | undefined {
  if (!("auth" in address)) return undefined;
  const { headersProvider, auth } = address;
  if (headersProvider !== undefined) return "headers";
  if (typeof auth === "function") return "auth";
  return isAuthGrant(auth) && "idToken" in auth && typeof auth.idToken === "function"
    ? "auth.idToken"
    : undefined;
}

/** Rejects what a session store cannot be combined with. */
function validateSessionStore({ address, identity, session }: ParsedServer, context: IssueContext): void {
  if (session?.store === undefined) return;
  // A dynamic server is validated again when it is resolved.
  if (address.kind !== "http" && address.kind !== "dynamic") {
    const message = `is only supported for type http: a session of type ${address.kind} ends with its connection`;
    addIssueAt(context, ["session", "store"], message);
  }
  if (session.id !== undefined)
    addIssueAt(context, ["session", "id"], "cannot be combined with session.store: use one of them");
  const credential = credentialInUse(address);
  if (credential !== undefined && identity === undefined) {
    const message = `is required because processes with different credentials (${credential}) may share the store: identity: () => "billing" returns whose sessions these are`;
    addIssueAt(context, ["identity"], message);
  }
}

/** The credential in use, which may differ between processes that share a store. */
function credentialInUse(address: ParsedServer["address"]): string | undefined {
  if (!("auth" in address)) return undefined;
  const { url, headers, headersProvider, auth } = address;
  const { tls, dispatcher, fetch } = address as HttpOptions;
  // These require an identity in any case.
  if (headersProvider !== undefined || typeof auth === "function") return undefined;
  if (Object.keys(headers).length > 0) return "headers";
  if (auth !== undefined) return "auth";
  if (url.username + url.password !== "") return "user in the url";
  if (tls?.cert !== undefined) return "tls.cert";
  if (dispatcher !== undefined) return "dispatcher";
  return fetch === undefined ? undefined : "fetch";
}

/** Accepted values of `type` and `transport`. */
const TRANSPORT_TYPES: Readonly<Record<string, TransportType>> = {
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  sse: "sse",
  stdio: "stdio",
  websocket: "websocket",
  lambda: "lambda",
  custom: "custom",
  "in-process": "in-process",
  dynamic: "dynamic",
};

/** Keys that identify a transport. `url` is not one of them: its protocol decides. */
const TYPES_BY_KEY: Readonly<Record<string, TransportType>> = {
  command: "stdio",
  functionName: "lambda",
  openTransport: "custom",
  server: "in-process",
  resolve: "dynamic",
};

/** The transport of a definition: from `type` or `transport`, otherwise inferred from its keys. */
export function getTransportType(definition: JsonObject): TransportType | ConfigIssue {
  const { type, transport } = definition;
  if (type === undefined && transport === undefined) return inferType(definition);
  if (type === undefined) return typeFromName("transport", transport);
  const transportType = typeFromName("type", type);
  const isSame = transport === undefined || typeFromName("transport", transport) === transportType;
  if (isSame || typeof transportType !== "string") return transportType;
  const message = `is ${describeValue(transport)}, but type is ${describeValue(type)}`;
  return { path: "transport", message };
}

function typeFromName(path: "type" | "transport", name: unknown): TransportType | ConfigIssue {
  const transportType =
    typeof name === "string" && Object.hasOwn(TRANSPORT_TYPES, name) ? TRANSPORT_TYPES[name] : undefined;
  if (transportType !== undefined) return transportType;
  const allowed = Object.keys(TRANSPORT_TYPES);
  const closest = typeof name === "string" ? findClosestMatch(name, allowed) : undefined;
  const hint = closest === undefined ? "" : ` (did you mean "${closest}"?)`;
  return { path, message: `expected one of ${allowed.join(", ")}, got ${describeValue(name)}${hint}` };
}

function inferType(definition: JsonObject): TransportType | ConfigIssue {
  const types = Object.entries(TYPES_BY_KEY).flatMap(([key, type]) =>
    definition[key] === undefined ? [] : [type],
  );
  const { url } = definition;
  if (url !== undefined) types.push(isWebSocketUrl(url) ? "websocket" : "http");
  const [first, second] = types;
  if (first === undefined) {
    const absent = ["url", ...Object.keys(TYPES_BY_KEY)].find((key) => Object.hasOwn(definition, key));
    const expected = absent === "url" ? "a URL" : "a value";
    if (absent !== undefined) return { path: absent, message: `expected ${expected}, got undefined` };
    const message =
      "cannot determine the transport: expected url, command, functionName, openTransport or server";
    const isNested = Object.values(definition).some(
      (value) => isPlainObject(value) && typeof getTransportType(value) === "string",
    );
    const hint = "it contains servers: pass them without this key, or use the key mcpServers";
    return { path: "", message: isNested ? `${message}; ${hint}` : message };
  }
  if (second === undefined) return first;
  const message = `matches two transports, ${first} and ${second}: use the keys of only one`;
  return { path: "", message };
}

function isWebSocketUrl(url: unknown): boolean {
  const href = url instanceof URL ? url.href : url;
  return typeof href === "string" && /^wss?:/i.test(href);
}
