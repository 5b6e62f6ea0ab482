import { z } from "zod";
import { addressOf } from "./url-schema.js";
import type { AuthGrant } from "./auth-grant.js";
import { AUTH_GRANT } from "./auth-grant-schema.js";
import { closedObject } from "./strict-object.js";
import type { AuthOption, HeadersOption, IdentityOption } from "./credential-options.js";
import { describeValue } from "../json/describe-value.js";
import { HEADERS } from "./header-schema.js";
import { HTTP_SHAPE, refineHttp } from "./http-schema.js";
import { isPlainObject } from "../json/json.js";
import { isLineEncoding } from "./line-encoding.js";
import type { FallbackOption, ResolveContext } from "./server-definition.js";
import type { SessionStore } from "./session-store.js";
import type { ElicitationOption, RootsOption, SamplingHandler } from "./server-request-handlers.js";
import { issuesOfRules, type ToolRules } from "./tool-rules.js";
import type { ServerKind } from "./server-config.js";

/** A server of one kind; its kind is told before its keys are looked at. */
function serverObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return closedObject({ ...shape, ...common }, ["type", "transport"]);
}

/** An object of ours that is passed on as it is: a function, or something with a method. */
function passedOn<T>(expected: string, isValid: (value: unknown) => boolean) {
  return z.custom<T>(isValid, { error: `expected ${expected}` });
}
const isFunction = (value: unknown) => typeof value === "function";
const hasMethod = (value: unknown, name: string) =>
  typeof value === "object" && value !== null && isFunction(Reflect.get(value, name));

function isHandlerByMode(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const handlers = Object.entries(value).filter(([, handler]) => handler !== undefined);
  const areKnown = handlers.every(([mode, handler]) => ["form", "url"].includes(mode) && isFunction(handler));
  return areKnown && handlers.length > 0;
}

const milliseconds = z.number().nonnegative();
const count = z.number().int().positive();
const countOrNone = z.number().int().nonnegative();
const text = z.string().min(1);

const credentials = {
  headers: z.union([HEADERS, passedOn<Exclude<HeadersOption, object>>("a function", isFunction)]).default({}),
  auth: z
    .union([
      passedOn<Exclude<AuthOption, AuthGrant>>(
        "a function that gives a token, or an OAuth provider",
        (value) => isFunction(value) || hasMethod(value, "tokens"),
      ),
      AUTH_GRANT,
    ])
    .optional(),
  dpop: z.boolean().optional(),
  identity: passedOn<IdentityOption>("a function that gives a text", isFunction).optional(),
};

/** What the system can hand to a process. */
const word = z.string().regex(/^[^\0]*$/, { error: "has a null character" });
const variableName = z.string().regex(/^[^\0=]+$/, { error: "has a key that is no name of a variable" });
const UNKNOWN_ENCODING =
  'expected an encoding that TextDecoder knows, such as "utf-8" or "windows-1252", and not UTF-16';

const PROTOCOLS = ["auto", "legacy", "2026-07-28"] as const;

const common = {
  timeouts: closedObject({ connectMs: milliseconds, requestMs: milliseconds, totalMs: milliseconds })
    .partial()
    .optional(),
  session: closedObject({
    id: z.string().regex(/^[\x21-\x7e]+$/, { error: "a session id is visible ASCII" }),
    protocolVersion: z.string().regex(/^[\x21-\x7e]+$/, { error: "a version is visible ASCII" }),
    store: passedOn<SessionStore>("a store: an object with get, set and delete", (value) =>
      ["get", "set", "delete"].every((name) => hasMethod(value, name)),
    ),
    storeTtlMs: z.number().positive(),
    maxRecoveries: countOrNone,
    sequential: z.boolean(),
    drainMs: milliseconds,
    terminateOnClose: z.boolean(),
  })
    .partial()
    .optional(),
  limits: closedObject({
    responseBytes: count,
    sockets: count,
    pages: count,
    tools: count,
    resources: count,
    prompts: count,
    concurrentCalls: count,
    identities: count,
    serverRequests: count,
  })
    .partial()
    .optional(),
  retry: z
    .union([
      z.literal(false),
      closedObject({
        maxRetries: countOrNone,
        baseDelayMs: milliseconds,
        maxDelayMs: milliseconds,
        freshSession: z.boolean(),
      }).partial(),
    ])
    .optional(),
  circuitBreaker: z
    .union([
      z.literal(false),
      closedObject({
        failureThreshold: count,
        recoveryTimeoutMs: milliseconds,
        halfOpenMaxCalls: count,
        successThreshold: count,
      }).partial(),
    ])
    .optional(),
  tools: z
    .custom<ToolRules>()
    .superRefine((rules, context) => {
      for (const { at, message } of issuesOfRules(rules))
        context.addIssue({ code: "custom", path: [...at], message });
    })
    .optional(),
  trustAnnotations: z.boolean().optional(),
  optional: z.boolean().optional(),
  lazy: z.boolean().optional(),
  protocol: z
    .enum(PROTOCOLS, {
      error: ({ input }) => `expected one of ${PROTOCOLS.join(", ")}, found ${describeValue(input)}`,
    })
    .optional(),
  roots: z
    .union([
      z.array(closedObject({ uri: addressOf("file:"), name: z.string().optional() })),
      passedOn<Extract<RootsOption, (...args: never) => unknown>>("a function", isFunction),
    ])
    .optional(),
  onSamplingRequest: passedOn<SamplingHandler>("a function", isFunction).optional(),
  onElicitationRequest: passedOn<ElicitationOption>(
    "a function, or { form, url } with at least one of them",
    (value) => isFunction(value) || isHandlerByMode(value),
  ).optional(),
  fallback: passedOn<FallbackOption>(
    "a function, or lastGoodResult({ maxAgeMs })",
    (value) => isFunction(value) || hasMethod(value, "answer"),
  ).optional(),
  classify: passedOn<(failure: never) => never>("a function", isFunction).optional(),
  secrets: z.array(z.string()).optional(),
};

/** What every kind has: looked at alone where the kind is not known. */
export const COMMON_SCHEMA = z.object(common);

function httpObject() {
  const url = addressOf("http:", "https:");
  return serverObject({ url, ...credentials, ...HTTP_SHAPE }).superRefine(refineHttp);
}

/** What each kind of server looks like, once its kind is known and taken out. */
export const SERVER_SCHEMAS = {
  http: httpObject(),
  sse: httpObject().refine(({ session }) => session?.id === undefined, {
    path: ["session", "id"],
    error: "a session over SSE ends with its stream and cannot be resumed",
  }),
  websocket: serverObject({ url: addressOf("ws:", "wss:"), ...credentials, tls: HTTP_SHAPE.tls }),
  stdio: serverObject({
    command: word.min(1),
    args: z.array(word).default([]),
    env: z.record(variableName, word).default({}),
    cwd: word.min(1).optional(),
    encoding: z.string().refine(isLineEncoding, { error: UNKNOWN_ENCODING }).optional(),
  }),
  lambda: serverObject({
    functionName: text,
    qualifier: text.optional(),
    region: text.optional(),
    endpoint: addressOf("http:", "https:").optional(),
  }),
  custom: serverObject({ openTransport: passedOn<() => never>("a function", isFunction) }),
  "in-process": serverObject({
    server: passedOn<object>(
      "an MCP server with a connect() method, or a function that gives one",
      (value) => isFunction(value) || hasMethod(value, "connect"),
    ),
  }),
  dynamic: serverObject({
    resolve: passedOn<(context: ResolveContext) => unknown>("a function", isFunction),
    identity: credentials.identity,
  }),
} satisfies Record<ServerKind, z.ZodType>;
