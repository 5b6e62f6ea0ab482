import { z } from "zod";
import { urlSchema } from "./url-schema.js";
import { type AuthGrant, AUTH_GRANT_SCHEMA } from "../auth-grant.js";
import { strictObject } from "./strict-object.js";
import type { AuthOption, HeadersOption, IdentityOption } from "../credential-options.js";
import { describeValue } from "../../json/describe-value.js";
import { HEADERS_SCHEMA } from "./header-schema.js";
import { HTTP_SHAPE, validateHttpOptions } from "../http-options.js";
import { isPlainObject } from "../../json/json.js";
import type { FallbackOption, ResolveContext, SessionStore } from "../server-definition.js";
import type { ElicitationOption, RootsOption, SamplingHandler } from "../server-request-handlers.js";
import { validateToolRules, type ToolRules } from "../tool-rules.js";
import type { TransportType } from "../server-config.js";

/** The schema of a server of one transport. `type` and `transport` were removed before parsing. */
function serverSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  return strictObject({ ...shape, ...commonFields }, ["type", "transport"]);
}

/** A value that is passed on unchanged: a function, or an object with certain methods. */
function opaque<T>(expected: string, isValid: (value: unknown) => boolean) {
  return z.custom<T>(isValid, { error: `expected ${expected}` });
}
const isFunction = (value: unknown) => typeof value === "function";
const hasMethod = (value: unknown, name: string) =>
  typeof value === "object" && value !== null && isFunction(Reflect.get(value, name));

function isModeHandlers(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const handlers = Object.entries(value).filter(([, handler]) => handler !== undefined);
  const areKnown = handlers.every(([mode, handler]) => ["form", "url"].includes(mode) && isFunction(handler));
  return areKnown && handlers.length > 0;
}

const milliseconds = z.number().nonnegative();
const positiveInt = z.number().int().positive();
const nonNegativeInt = z.number().int().nonnegative();
const nonEmptyString = z.string().min(1);

const credentials = {
  headers: z
    .union([HEADERS_SCHEMA, opaque<Exclude<HeadersOption, object>>("a function", isFunction)])
    .default({}),
  auth: z
    .union([
      opaque<Exclude<AuthOption, AuthGrant>>(
        "a function that returns a token, or an OAuth provider",
        (value) => isFunction(value) || hasMethod(value, "tokens"),
      ),
      AUTH_GRANT_SCHEMA,
    ])
    .optional(),
  dpop: z.boolean().optional(),
  identity: opaque<IdentityOption>("a function that returns a string", isFunction).optional(),
};

/** The operating system cannot pass null characters to a process. */
const noNullString = z.string().regex(/^[^\0]*$/, { error: "contains a null character" });
const variableName = z
  .string()
  .regex(/^[^\0=]+$/, { error: "contains an invalid environment variable name" });
const UNKNOWN_ENCODING =
  'expected an encoding that TextDecoder supports, such as "utf-8" or "windows-1252", except UTF-16';

const PROTOCOLS = ["auto", "legacy", "2026-07-28"] as const;

const commonFields = {
  timeouts: strictObject({ connectMs: milliseconds, requestMs: milliseconds, totalMs: milliseconds })
    .partial()
    .optional(),
  session: strictObject({
    id: z.string().regex(/^[\x21-\x7e]+$/, { error: "session ids must be visible ASCII" }),
    protocolVersion: z.string().regex(/^[\x21-\x7e]+$/, { error: "versions must be visible ASCII" }),
    store: opaque<SessionStore>("a store: an object with get, set and delete", (value) =>
      ["get", "set", "delete"].every((name) => hasMethod(value, name)),
    ),
    storeTtlMs: z.number().positive(),
    maxRecoveries: nonNegativeInt,
    sequential: z.boolean(),
    drainMs: milliseconds,
    terminateOnClose: z.boolean(),
  })
    .partial()
    .optional(),
  limits: strictObject({
    responseBytes: positiveInt,
    sockets: positiveInt,
    pages: positiveInt,
    tools: positiveInt,
    resources: positiveInt,
    prompts: positiveInt,
    concurrentCalls: positiveInt,
    identities: positiveInt,
    serverRequests: positiveInt,
  })
    .partial()
    .optional(),
  retry: z
    .union([
      z.literal(false),
      strictObject({
        maxRetries: nonNegativeInt,
        baseDelayMs: milliseconds,
        maxDelayMs: milliseconds,
        freshSession: z.boolean(),
      }).partial(),
    ])
    .optional(),
  circuitBreaker: z
    .union([
      z.literal(false),
      strictObject({
        failureThreshold: positiveInt,
        recoveryTimeoutMs: milliseconds,
        halfOpenMaxCalls: positiveInt,
        successThreshold: positiveInt,
      }).partial(),
    ])
    .optional(),
  tools: z
    .custom<ToolRules>()
    .superRefine((rules, context) => {
      for (const { path, message } of validateToolRules(rules))
        context.addIssue({ code: "custom", path: [...path], message });
    })
    .optional(),
  trustAnnotations: z.boolean().optional(),
  optional: z.boolean().optional(),
  lazy: z.boolean().optional(),
  protocol: z
    .enum(PROTOCOLS, {
      error: ({ input }) => `expected one of ${PROTOCOLS.join(", ")}, got ${describeValue(input)}`,
    })
    .optional(),
  roots: z
    .union([
      z.array(strictObject({ uri: urlSchema("file:"), name: z.string().optional() })),
      opaque<Extract<RootsOption, (...args: never) => unknown>>("a function", isFunction),
    ])
    .optional(),
  onSamplingRequest: opaque<SamplingHandler>("a function", isFunction).optional(),
  onElicitationRequest: opaque<ElicitationOption>(
    "a function, or { form, url } with at least one of them",
    (value) => isFunction(value) || isModeHandlers(value),
  ).optional(),
  fallback: opaque<FallbackOption>(
    "a function, or lastGoodResult({ maxAgeMs })",
    (value) => isFunction(value) || hasMethod(value, "respond"),
  ).optional(),
  classify: opaque<(failure: never) => never>("a function", isFunction).optional(),
  secrets: z.array(z.string()).optional(),
};

/** The common options alone, to validate them when the transport is unknown. */
export const COMMON_SCHEMA = z.object(commonFields);

function httpServerSchema() {
  const url = urlSchema("http:", "https:");
  return serverSchema({ url, ...credentials, ...HTTP_SHAPE }).superRefine(validateHttpOptions);
}

/** The schemas of server definitions by transport, without `type` and `transport`. */
export const SERVER_SCHEMAS = {
  http: httpServerSchema(),
  sse: httpServerSchema().refine(({ session }) => session?.id === undefined, {
    path: ["session", "id"],
    error: "an SSE session ends with its stream and cannot be resumed",
  }),
  websocket: serverSchema({ url: urlSchema("ws:", "wss:"), ...credentials, tls: HTTP_SHAPE.tls }),
  stdio: serverSchema({
    command: noNullString.min(1),
    args: z.array(noNullString).default([]),
    env: z.record(variableName, noNullString).default({}),
    cwd: noNullString.min(1).optional(),
    encoding: z.string().refine(isNewlineSafeEncoding, { error: UNKNOWN_ENCODING }).optional(),
  }),
  lambda: serverSchema({
    functionName: nonEmptyString,
    qualifier: nonEmptyString.optional(),
    region: nonEmptyString.optional(),
    endpoint: urlSchema("http:", "https:").optional(),
  }),
  custom: serverSchema({ openTransport: opaque<() => never>("a function", isFunction) }),
  "in-process": serverSchema({
    server: opaque<object>(
      "an MCP server with a connect() method, or a function that returns one",
      (value) => isFunction(value) || hasMethod(value, "connect"),
    ),
  }),
  dynamic: serverSchema({
    resolve: opaque<(context: ResolveContext) => unknown>("a function", isFunction),
    identity: credentials.identity,
  }),
} satisfies Record<TransportType, z.ZodType>;

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
