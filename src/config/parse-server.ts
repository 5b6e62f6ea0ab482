import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { zodToIssues } from "./zod-issues.js";
import type { HttpOptions } from "./http-options.js";
import { issuesOfIdentity } from "./validate-identity.js";
import { isPlainObject } from "../json/json.js";
import type { InProcessServer } from "./message-transport.js";
import type { ResolveContext, ServerDefinition } from "./server-definition.js";
import type { ServerRequestHandlers } from "./server-request-handlers.js";
import { serverKindOf } from "./transport-type.js";
import { issuesOfSessionStore } from "./validate-session-store.js";
import { parseJsonText } from "../json/parse-json.js";
import { PLAIN_WORDS } from "./zod-error-map.js";
import { secretsOf } from "./collect-secrets.js";
import { COMMON_SCHEMA, SERVER_SCHEMAS } from "./server-schema.js";
import {
  SERVER_DEFAULTS,
  STDIO_CONNECT_MS,
  type DynamicAddress,
  type ServerAddress,
  type ServerKind,
  type ServerConfig,
} from "./server-config.js";

/** Checks what somebody wrote and fills in what they left out, or throws kind `definition`. */
export function parseServer(name: string, definition: ServerDefinition): ServerConfig {
  const parsed = checkServer(name, definition);
  if ("issues" in parsed)
    throw isNamed(name)
      ? configError(`Server ${JSON.stringify(name)}`, parsed.issues, { server: name })
      : configError("The server", parsed.issues);
  return parsed.config;
}

/**
 * The servers of a JSON document, `{ "weather": { "url": … } }`, as text or as an object. All
 * problems of all servers come together in one error of kind `definition`.
 */
export function parseServers(json: unknown): Record<string, ServerDefinition> {
  const servers = typeof json === "string" ? parseJsonText(json, "The list of servers") : json;
  if (!isPlainObject(servers)) {
    const message = `expected an object { name: definition }, found ${describeValue(servers)}`;
    throw configError("The list of servers", [{ path: "", message }]);
  }
  const issues = Object.entries(servers).flatMap(([name, definition]) => {
    const parsed = checkServer(name, definition);
    return "issues" in parsed ? parsed.issues.map((issue) => within(name, issue)) : [];
  });
  if (issues.length > 0) throw configError("The list of servers", issues);
  return servers as Record<string, ServerDefinition>;
}

function within(name: string, issue: ConfigIssue): ConfigIssue {
  const head = /^[\w$-]+$/.test(name) ? name : `[${JSON.stringify(name)}]`;
  const separator = issue.path === "" || issue.path.startsWith("[") ? "" : ".";
  return { path: `${head}${separator}${issue.path}`, message: issue.message };
}

function isNamed(name: unknown): name is string {
  return typeof name === "string" && name.trim() !== "";
}

type Checked = { readonly config: ServerConfig } | { readonly issues: readonly ConfigIssue[] };

function checkServer(name: unknown, definition: unknown): Checked {
  if (!isNamed(name)) {
    const found = typeof name === "string" ? "" : `, found ${describeValue(name)}`;
    const message = `expected a name that is not empty${found}`;
    return { issues: [{ path: "name", message }] };
  }
  if (!isPlainObject(definition)) {
    return { issues: [{ path: "", message: `expected an object, found ${describeValue(definition)}` }] };
  }
  const kind = serverKindOf(definition);
  if (typeof kind !== "string") {
    const others = COMMON_SCHEMA.safeParse(definition, PLAIN_WORDS);
    return { issues: [kind, ...(others.success ? [] : zodToIssues(others.error))] };
  }
  const { type: _, transport: __, ...rest } = definition;
  const parsed = SERVER_SCHEMAS[kind].safeParse(rest, PLAIN_WORDS);
  if (!parsed.success) return { issues: zodToIssues(parsed.error) };
  const { data } = parsed;
  const issues = [...issuesOfIdentity(data), ...issuesOfDpop(data), ...issuesOfSessionStore(kind, data)];
  if (issues.length > 0) return { issues };
  return { config: toSpec(name, kind, data) };
}

/** There is nothing to bind to a key where no token is asked for. */
function issuesOfDpop(parsed: ParsedServer): ConfigIssue[] {
  if (!("dpop" in parsed) || parsed.dpop === undefined || parsed.auth !== undefined) return [];
  return [{ path: "dpop", message: "is for tokens of OAuth, and there is no auth" }];
}

/** What is asked before a server is looked up: which tools there are, and whose session a call belongs to. */
const TOO_LATE: readonly ConfigIssue[] = [
  {
    path: "tools",
    message:
      "rules cannot come with a looked-up server; put them next to resolve, or into the factory's option tools",
  },
  { path: "identity", message: "cannot come with a looked-up server; put it next to resolve" },
];

type ParsedServer = ReturnType<(typeof SERVER_SCHEMAS)[ServerKind]["parse"]>;

function toSpec(name: string, kind: ServerKind, parsed: ParsedServer): ServerConfig {
  const address = toAddress(name, kind, parsed);
  const { timeouts, session, limits, retry, circuitBreaker } = SERVER_DEFAULTS;
  const connectMs = kind === "stdio" ? STDIO_CONNECT_MS : timeouts.connectMs;
  // A session that somebody else opened, or may go on with, is not ours to end.
  const isShared = parsed.session?.id !== undefined || parsed.session?.store !== undefined;
  const terminateOnClose = !isShared && session.terminateOnClose;
  return {
    name,
    address,
    identity: "identity" in parsed ? parsed.identity : undefined,
    timeouts: { ...timeouts, connectMs, ...defined(parsed.timeouts) },
    session: { ...session, terminateOnClose, ...defined(parsed.session) },
    limits: { ...limits, concurrentCalls: undefined, ...defined(parsed.limits) },
    retry: parsed.retry === false ? { ...retry, maxRetries: 0 } : { ...retry, ...defined(parsed.retry) },
    circuitBreaker:
      parsed.circuitBreaker === false ? undefined : { ...circuitBreaker, ...defined(parsed.circuitBreaker) },
    protocol: parsed.protocol ?? "auto",
    tools: parsed.tools,
    trustAnnotations: parsed.trustAnnotations ?? false,
    optional: parsed.optional ?? false,
    lazy: parsed.lazy ?? false,
    fallback: parsed.fallback,
    handlers: toHandlers(parsed),
    classify: parsed.classify as ServerConfig["classify"],
    secrets: [...secretsOf(address, parsed.session?.id), ...(parsed.secrets ?? [])],
  };
}

function toHandlers({ roots, onSamplingRequest, onElicitationRequest }: ParsedServer): ServerRequestHandlers {
  const elicit =
    typeof onElicitationRequest === "function"
      ? { form: onElicitationRequest, url: onElicitationRequest }
      : onElicitationRequest;
  return { roots, sample: onSamplingRequest, elicitForm: elicit?.form, elicitUrl: elicit?.url };
}

/** An option that is there but `undefined` was left out, too. */
function defined<T extends object>(
  options: T | undefined,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

function toAddress(name: string, kind: ServerKind, parsed: ParsedServer): ServerAddress | DynamicAddress {
  if ("resolve" in parsed) {
    const { resolve, ...defaults } = parsed;
    const resolveSpec = async (context: ResolveContext) => {
      const definition = await resolve(context);
      const whole = isPlainObject(definition) ? { ...defaults, ...definition } : definition;
      const tooLate = TOO_LATE.filter(
        ({ path }) => isPlainObject(definition) && definition[path] !== undefined,
      );
      if (tooLate.length > 0) throw configError(`Server ${JSON.stringify(name)}`, tooLate);
      return parseServer(name, whole as ServerDefinition);
    };
    return { kind: "dynamic", resolve: resolveSpec };
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
  const byCaller = typeof headers === "function";
  return {
    kind: kind as "http" | "sse" | "websocket",
    url,
    headers: byCaller ? {} : headers,
    headersOf: byCaller ? headers : undefined,
    auth,
    dpop,
    tls,
    dispatcher,
    fetch,
  };
}
