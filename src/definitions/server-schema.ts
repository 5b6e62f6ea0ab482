import { z } from "zod";
import { redactUrl } from "../errors/redaction.js";
import type { ServerKind } from "./server-spec.js";

/** `z.strictObject` that names what is allowed when it meets a key it does not know. */
function closedObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      const found = issue.keys.map((key) => JSON.stringify(key)).join(", ");
      return `unknown key ${found}; allowed are ${Object.keys(shape).join(", ")}`;
    },
  });
}

/** An object of ours that is passed on as it is: a function, or something with a method. */
function passedOn<T>(expected: string, isValid: (value: unknown) => boolean) {
  return z.custom<T>(isValid, { error: `expected ${expected}` });
}
const isFunction = (value: unknown) => typeof value === "function";
const hasConnect = (value: unknown) =>
  typeof value === "object" && value !== null && isFunction(Reflect.get(value, "connect"));

const milliseconds = z.number().nonnegative();
const count = z.number().int().positive();
const countOrNone = z.number().int().nonnegative();
const text = z.string().min(1);

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const headers = z.record(
  z.string().regex(HEADER_NAME, { error: "this is no header name" }),
  z.string().regex(HEADER_VALUE, { error: "a header value has no line breaks or control characters" }),
);

function urlOf(...protocols: string[]) {
  const expected = protocols.map((protocol) => `${protocol}//`).join(" or ");
  return z
    .custom<string | URL>((value) => typeof value === "string" || value instanceof URL, {
      error: (issue) => `expected an address that starts with ${expected}, found ${describe(issue.input)}`,
    })
    .transform((value, context) => {
      const url = URL.canParse(String(value)) ? new URL(value) : undefined;
      if (url !== undefined && protocols.includes(url.protocol)) return url;
      context.addIssue(`expected an address that starts with ${expected}, found "${redactUrl(value)}"`);
      return z.NEVER;
    });
}

function describe(value: unknown): string {
  return value === undefined ? "nothing" : value === null ? "null" : typeof value;
}

const common = {
  timeouts: closedObject({ connectMs: milliseconds, requestMs: milliseconds, totalMs: milliseconds })
    .partial()
    .optional(),
  session: closedObject({
    id: z.string().regex(/^[\x21-\x7e]+$/, { error: "a session id is visible ASCII" }),
    protocolVersion: z.string().regex(/^[\x21-\x7e]+$/, { error: "a version is visible ASCII" }),
    maxRecoveries: countOrNone,
    serialize: z.boolean(),
    drainMs: milliseconds,
    terminateOnClose: z.boolean(),
  })
    .partial()
    .optional(),
  limits: closedObject({ responseBytes: count, sockets: count, pages: count, tools: count })
    .partial()
    .optional(),
  retry: z
    .union([
      z.literal(false),
      closedObject({
        max: countOrNone,
        baseMs: milliseconds,
        maxMs: milliseconds,
        isolated: z.boolean(),
      }).partial(),
    ])
    .optional(),
  breaker: z
    .union([
      z.literal(false),
      closedObject({ failures: count, recoveryMs: milliseconds, probes: count, successes: count }).partial(),
    ])
    .optional(),
  trustAnnotations: z.boolean().optional(),
  optional: z.boolean().optional(),
  lazy: z.boolean().optional(),
  protocol: z.enum(["auto", "legacy", "2026-07-28"]).optional(),
  classify: passedOn<(failure: never) => never>("a function", isFunction).optional(),
};

/** What each kind of server looks like, once its kind is known and taken out. */
export const SERVER_SCHEMAS = {
  http: closedObject({ url: urlOf("http:", "https:"), headers: headers.default({}), ...common }),
  sse: closedObject({ url: urlOf("http:", "https:"), headers: headers.default({}), ...common }),
  websocket: closedObject({ url: urlOf("ws:", "wss:"), headers: headers.default({}), ...common }),
  stdio: closedObject({
    command: text,
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
    cwd: text.optional(),
    encoding: text.optional(),
    ...common,
  }),
  lambda: closedObject({
    functionName: text,
    qualifier: text.optional(),
    region: text.optional(),
    endpoint: text.optional(),
    ...common,
  }),
  custom: closedObject({ openTransport: passedOn<() => never>("a function", isFunction), ...common }),
  "in-process": closedObject({
    server: passedOn<object>(
      "an MCP server with a connect() method, or a function that gives one",
      (value) => isFunction(value) || hasConnect(value),
    ),
    ...common,
  }),
} satisfies Record<ServerKind, z.ZodType>;
