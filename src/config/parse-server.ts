import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import { definitionError } from "../errors/config-error.js";
import { describeFound } from "../json/describe-value.js";
import { toIssues } from "./zod-issues.js";
import type { HttpOptions } from "./http-options.js";
import { issuesOfIdentity } from "./validate-identity.js";
import { isJsonObject } from "../json/json.js";
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
  type LaterAddress,
  type ServerAddress,
  type ServerKind,
  type ServerSpec,
} from "./server-config.js";

/** Checks what somebody wrote and fills in what they left out, or throws kind `definition`. */
export function parseServer(name: string, definition: ServerDefinition): ServerSpec {
  const parsed = checkServer(name, definition);
  if ("issues" in parsed)
    throw isNamed(name)
      ? definitionError(`Server ${JSON.stringify(name)}`, parsed.issues, { server: name })
      : definitionError("The server", parsed.issues);
  return parsed.spec;
}

/**
 * The servers of a JSON document, `{ "weather": { "url": … } }`, as text or as an object. All
 * problems of all servers come together in one error of kind `definition`.
 */
export function parseServers(json: unknown): Record<string, ServerDefinition> {
  const servers = typeof json === "string" ? parseJsonText(json, "The list of servers") : json;
  if (!isJsonObject(servers)) {
    const message = `expected an object { name: definition }, found ${describeFound(servers)}`;
    throw definitionError("The list of servers", [{ path: "", message }]);
  }
  const issues = Object.entries(servers).flatMap(([name, definition]) => {
    const parsed = checkServer(name, definition);
    return "issues" in parsed ? parsed.issues.map((issue) => within(name, issue)) : [];
  });
  if (issues.length > 0) throw definitionError("The list of servers", issues);
  return servers as Record<string, ServerDefinition>;
}

function within(name: string, issue: DefinitionIssue): DefinitionIssue {
  const head = /^[\w$-]+$/.test(name) ? name : `[${JSON.stringify(name)}]`;
  const separator = issue.path === "" || issue.path.startsWith("[") ? "" : ".";
  return { path: `${head}${separator}${issue.path}`, message: issue.message };
}

function isNamed(name: unknown): name is string {
  return typeof name === "string" && name.trim() !== "";
}

type Checked = { readonly spec: ServerSpec } | { readonly issues: readonly DefinitionIssue[] };

function checkServer(name: unknown, definition: unknown): Checked {
  if (!isNamed(name)) {
    const found = typeof name === "string" ? "" : `, found ${describeFound(name)}`;
    const message = `expected a name that is not empty${found}`;
    return { issues: [{ path: "name", message }] };
  }
  if (!isJsonObject(definition)) {
    return { issues: [{ path: "", message: `expected an object, found ${describeFound(definition)}` }] };
  }
  const kind = serverKindOf(definition);
  if (typeof kind !== "string") {
    const others = COMMON_SCHEMA.safeParse(definition, PLAIN_WORDS);
    return { issues: [kind, ...(others.success ? [] : toIssues(others.error))] };
  }
  const { type: _, transport: __, ...rest } = definition;
  const parsed = SERVER_SCHEMAS[kind].safeParse(rest, PLAIN_WORDS);
  if (!parsed.success) return { issues: toIssues(parsed.error) };
  const { data } = parsed;
  const issues = [...issuesOfIdentity(data), ...issuesOfDpop(data), ...issuesOfSessionStore(kind, data)];
  if (issues.length > 0) return { issues };
  return { spec: toSpec(name, kind, data) };
}

/** There is nothing to bind to a key where no token is asked for. */
function issuesOfDpop(parsed: ParsedServer): DefinitionIssue[] {
  if (!("dpop" in parsed) || parsed.dpop === undefined || parsed.auth !== undefined) return [];
  return [{ path: "dpop", message: "is for tokens of OAuth, and there is no auth" }];
}

/** What is asked before a server is looked up: which tools there are, and whose session a call belongs to. */
const TOO_LATE: readonly DefinitionIssue[] = [
  {
    path: "tools",
    message:
      "rules cannot come with a looked-up server; put them next to resolve, or into the factory's option tools",
  },
  { path: "identity", message: "cannot come with a looked-up server; put it next to resolve" },
];

type ParsedServer = ReturnType<(typeof SERVER_SCHEMAS)[ServerKind]["parse"]>;

function toSpec(name: string, kind: ServerKind, parsed: ParsedServer): ServerSpec {
  const address = toAddress(name, kind, parsed);
  const { timeouts, session, limits, retry, breaker } = SERVER_DEFAULTS;
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
    retry: parsed.retry === false ? { ...retry, max: 0 } : { ...retry, ...defined(parsed.retry) },
    breaker: parsed.breaker === false ? undefined : { ...breaker, ...defined(parsed.breaker) },
    protocol: parsed.protocol ?? "auto",
    tools: parsed.tools,
    trustAnnotations: parsed.trustAnnotations ?? false,
    optional: parsed.optional ?? false,
    lazy: parsed.lazy ?? false,
    fallback: parsed.fallback,
    handlers: toHandlers(parsed),
    classify: parsed.classify as ServerSpec["classify"],
    secrets: [...secretsOf(address, parsed.session?.id), ...(parsed.secrets ?? [])],
  };
}

function toHandlers({ roots, onSample, onElicit }: ParsedServer): ServerRequestHandlers {
  const elicit = typeof onElicit === "function" ? { form: onElicit, url: onElicit } : onElicit;
  return { roots, sample: onSample, elicitForm: elicit?.form, elicitUrl: elicit?.url };
}

/** An option that is there but `undefined` was left out, too. */
function defined<T extends object>(
  options: T | undefined,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

function toAddress(name: string, kind: ServerKind, parsed: ParsedServer): ServerAddress | LaterAddress {
  if ("resolve" in parsed) {
    const { resolve, ...defaults } = parsed;
    const resolveSpec = async (context: ResolveContext) => {
      const definition = await resolve(context);
      const whole = isJsonObject(definition) ? { ...defaults, ...definition } : definition;
      const tooLate = TOO_LATE.filter(
        ({ path }) => isJsonObject(definition) && definition[path] !== undefined,
      );
      if (tooLate.length > 0) throw definitionError(`Server ${JSON.stringify(name)}`, tooLate);
      return parseServer(name, whole as ServerDefinition);
    };
    return { kind: "resolved", resolve: resolveSpec };
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
