import { z } from "zod";
import type { AddressOrigin } from "./address-policy.js";
import { type AuthGrant, AUTH_GRANT_SCHEMA, isAuthGrant } from "./auth-grant.js";
import type {
  AuthOption,
  CredentialSources,
  HeadersOption,
  HeaderValues,
  IdentityOption,
} from "./credential-options.js";
import { HEADERS_SCHEMA, HTTP_FIELDS, urlSchema, validateHttpOptions } from "./http-options.js";
import {
  addIssueAt,
  hasMethods,
  isFunction,
  option,
  optionalFields,
  parsePart,
  strictObject,
} from "./parse-options.js";
import type { ServerAddress, TransportType } from "./server-config.js";
import {
  COMMON_FIELDS,
  type InProcessServerDefinition,
  LAMBDA_FIELDS,
  type ResolveContext,
  STDIO_FIELDS,
} from "./server-definition.js";

/**
 * A definition after its fields are parsed: the address, and the options that do not depend on the transport.
 */
export interface ParsedServer extends z.output<typeof COMMON_SCHEMA> {
  readonly address: ServerAddress | DynamicSource;
  readonly identity?: IdentityOption | undefined;
  /** Set for a definition that the operator did not write. */
  readonly addressOrigin?: AddressOrigin | undefined;
}

/** A server whose definition is returned by `resolve`, which is called later. */
interface DynamicSource {
  readonly kind: "dynamic";
  readonly resolve: (context: ResolveContext) => unknown;
}

/** The schema of a definition of one transport. */
function definitionSchema<Shape extends z.ZodRawShape>(shape: Shape) {
  const fields = { type: option.any(), transport: option.any(), ...shape, ...commonFields };
  return strictObject(fields, { describeKey: describeToolsetOption });
}

/** The options of `createMcpTools` that servers do not have: a higher layer, which this one cannot import. */
const TOOLSET_OPTIONS: ReadonlySet<string> = new Set([
  "schema",
  "coerceArguments",
  "outputValidation",
  "largeResults",
  "beforeToolCall",
  "afterToolCall",
  "customData",
  "meta",
  "onApproval",
  "approvalStore",
  "onProgress",
  "naming",
  "filter",
  "agentInput",
  "resourceTools",
  "skillTools",
  "logger",
  "cache",
  "pin",
  "clientInfo",
  "concurrency",
  "registry",
  "programConcurrency",
  "closeTimeoutMs",
  "live",
  "reconnection",
  "startupWaitMs",
  "waitForUncached",
  "onServerError",
  "signal",
]);

function describeToolsetOption(key: string): string | undefined {
  return TOOLSET_OPTIONS.has(key) ? "an option of createMcpTools, its second argument" : undefined;
}

function withAddress(
  address: ParsedServer["address"],
  options: Omit<ParsedServer, "address"> & { readonly type?: unknown; readonly transport?: unknown },
): ParsedServer {
  const { type: _, transport: __, ...others } = options;
  return { ...others, address };
}

/** Typed like the address: transports of the SDK have a narrower message type. */
type OpenTransport = Extract<ServerAddress, { readonly kind: "custom" }>["open"];

/** The methods that every OAuth provider has. */
const PROVIDER_METHODS = [
  "tokens",
  "saveTokens",
  "clientInformation",
  "redirectToAuthorization",
  "saveCodeVerifier",
  "codeVerifier",
];

const AUTH_EXPECTED = "a function that returns a token, an OAuth provider, or a grant";
const STRING_AS_AUTH = `expected ${AUTH_EXPECTED}, got a string; for a fixed token, use headers: { authorization: "Bearer …" }`;

const functionOrProvider = option.opaque<Exclude<AuthOption, AuthGrant>>(
  AUTH_EXPECTED,
  (value) => isFunction(value) || hasMethods(value, "tokens"),
);

/** Only a grant is validated as one, so that the message for an invalid provider is about providers. */
const authSchema = z
  .custom<AuthOption>()
  .transform((auth, context): NonNullable<CredentialSources["auth"]> => {
    if (typeof auth === "string") {
      addIssueAt(context, [], STRING_AS_AUTH);
      return z.NEVER;
    }
    if (isAuthGrant(auth)) return parsePart(AUTH_GRANT_SCHEMA, auth, context) ?? z.NEVER;
    if (hasMethods(auth, "token") && !hasMethods(auth, "tokens")) {
      addIssueAt(
        context,
        [],
        "is an SDK provider with token(): expected a function, such as () => provider.token()",
      );
      return z.NEVER;
    }
    const isProvider = PROVIDER_METHODS.some((name) => hasMethods(auth, name));
    const invalid = isProvider
      ? PROVIDER_METHODS.filter((name) => Reflect.get(auth, name) !== undefined && !hasMethods(auth, name))
      : [];
    for (const name of invalid) addIssueAt(context, [name], "expected a function");
    return invalid.length > 0 ? z.NEVER : (parsePart(functionOrProvider, auth, context) ?? z.NEVER);
  });

const credentials = {
  headers: z
    .union([HEADERS_SCHEMA, option.function<Exclude<HeadersOption, HeaderValues>>()])
    .default({})
    .transform((headers) =>
      typeof headers === "function"
        ? { headers: {}, headersProvider: headers }
        : { headers, headersProvider: undefined },
    ),
  auth: authSchema.optional(),
  dpop: z.boolean().optional(),
  identity: option.opaque<IdentityOption>("a function that returns a string", isFunction).optional(),
};

const commonFields = optionalFields(COMMON_FIELDS);

/** The common options alone, to validate them when the transport is unknown. */
export const COMMON_SCHEMA = z.object(commonFields);

function httpSchema(kind: "http" | "sse") {
  return definitionSchema({ url: urlSchema("http:", "https:"), ...credentials, ...HTTP_FIELDS })
    .superRefine(validateHttpOptions)
    .refine(({ session }) => kind === "http" || session?.id === undefined, {
      path: ["session", "id"],
      error: "an SSE session ends with its stream and cannot be resumed",
    })
    .transform(({ url, headers, auth, dpop, tls, dispatcher, fetch, ...options }) =>
      withAddress({ kind, url, ...headers, auth, dpop, tls, dispatcher, fetch }, options),
    );
}

/** The schemas of server definitions by transport, each built when it is first used. */
export const SERVER_SCHEMAS: Readonly<Record<TransportType, z.ZodType<ParsedServer>>> = {
  http: z.lazy(() => httpSchema("http")),
  sse: z.lazy(() => httpSchema("sse")),
  websocket: z.lazy(() =>
    definitionSchema({
      url: urlSchema("ws:", "wss:"),
      ...credentials,
      tls: HTTP_FIELDS.tls,
    }).transform(({ url, headers, auth, dpop, tls, ...options }) =>
      withAddress({ kind: "websocket", url, ...headers, auth, dpop, tls }, options),
    ),
  ),
  stdio: z.lazy(() =>
    definitionSchema(STDIO_FIELDS).transform(({ command, args, env, cwd, encoding, ...options }) =>
      withAddress({ kind: "stdio", command, args, env, cwd, encoding }, options),
    ),
  ),
  lambda: z.lazy(() =>
    definitionSchema(LAMBDA_FIELDS).transform(({ functionName, qualifier, region, endpoint, ...options }) =>
      withAddress({ kind: "lambda", functionName, qualifier, region, endpoint }, options),
    ),
  ),
  custom: z.lazy(() =>
    definitionSchema({ openTransport: option.function<OpenTransport>() }).transform(
      ({ openTransport, ...options }) => withAddress({ kind: "custom", open: openTransport }, options),
    ),
  ),
  "in-process": z.lazy(() =>
    definitionSchema({
      server: option.opaque<InProcessServerDefinition["server"]>(
        "an MCP server with a connect() method, or a function that returns one",
        (value) => isFunction(value) || hasMethods(value, "connect"),
      ),
    }).transform(({ server, ...options }) => {
      const open = typeof server === "function" ? server : () => server;
      return withAddress({ kind: "in-process", open }, options);
    }),
  ),
  dynamic: z.lazy(() =>
    definitionSchema({
      resolve: option.function<DynamicSource["resolve"]>(),
      identity: credentials.identity,
    }).transform(({ resolve, ...options }) => withAddress({ kind: "dynamic", resolve }, options)),
  ),
};

/** Returns where an option of a server belongs; `undefined` for other keys. */
export function describeServerOption(key: string): string | undefined {
  const urlOptions = {
    type: true,
    transport: true,
    url: true,
    ...credentials,
    ...HTTP_FIELDS,
    ...COMMON_FIELDS,
  };
  const groups = { command: STDIO_FIELDS, url: urlOptions };
  const [address] = Object.entries(groups).find(([, fields]) => Object.hasOwn(fields, key)) ?? [];
  if (address === undefined) return undefined;
  return `an option of a server: { name: { ${[...new Set([address, key])].join(", ")} } }`;
}
