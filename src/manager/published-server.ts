import { systemClock } from "../async/clock.js";
import {
  addIssueAt,
  type IssueContext,
  option,
  type OptionsOf,
  optionsSchema,
  parseOptions,
} from "../config/parse-options.js";
import { lowerLimits, type RestrictedOption } from "../config/server-config.js";
import { parseServer } from "../config/parse-server.js";
import { COMMON_FIELDS, type ServerDefinition } from "../config/server-definition.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import { omitUndefined } from "../json/json.js";
import { limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

/** The keys of all published servers start with this. Increment the number when the format changes. */
export const PUBLISHED_PREFIX = "servers/1/";

const SUBJECT = "The published server";
const NAME_PATTERN = /^[A-Za-z0-9][\w.-]{0,63}$/;
const NAME_FORMAT = 'letters, digits, "_", "-" and ".", at most 64, starting with a letter or digit';
const LAMBDA_ARN = /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]+(?::[\w$-]+)?$/;

/** Whether a string is the ARN of a Lambda function, of all its versions or of one. */
export function isLambdaArn(text: string): boolean {
  return LAMBDA_ARN.test(text);
}

const PUBLISHED_FIELDS = {
  /** The URL of the MCP endpoint: `https://…`, `http://…`, `wss://…` or `ws://…`. Without a user and password. */
  url: option.any<string | URL>(),
  /** The ARN of an AWS Lambda function, in place of `url`. Its region is the one that is called. */
  functionName: option.opaque<string>(
    "the ARN of a Lambda function",
    (value) => typeof value === "string" && isLambdaArn(value),
  ),
  /** The transport. @default the one that `url` or `functionName` implies */
  type: option.oneOf("http", "sse", "websocket", "lambda"),
  /** Which MCP revisions are used. @default "auto" */
  protocol: COMMON_FIELDS.protocol,
  /**
   * Timeouts of connecting, of one attempt and of a whole call. They cannot be switched off, or be longer than the defaults;
   * `requestMs` can be as long as the default of `totalMs`.
   */
  timeouts: COMMON_FIELDS.timeouts,
};

/** A server in a registry. It is data: it has an address, but no command, credential or rule. */
export interface PublishedServer extends OptionsOf<typeof PUBLISHED_FIELDS> {
  /**
   * The name of the server: letters, digits, `_`, `-` and `.`, at most 64, starting with a letter or digit. One that is
   * published again replaces the earlier one.
   */
  readonly name: string;
}

const PUBLISHED_SCHEMA = optionsSchema<PublishedServer>(
  {
    name: option.opaque<string>(
      NAME_FORMAT,
      (value) => typeof value === "string" && NAME_PATTERN.test(value),
    ),
    ...PUBLISHED_FIELDS,
  },
  {
    required: ["name"],
    hint: "A registry has addresses only. Credentials are set where they are used: registryServers(store, { credentials })",
  },
).superRefine(validateAddress);

function validateAddress({ url, functionName }: PublishedServer, context: IssueContext): void {
  if ((url === undefined) === (functionName === undefined))
    addIssueAt(context, [], "expected either url or functionName");
  if (url === undefined || !URL.canParse(String(url))) return;
  const { username, password } = new URL(url);
  if (username + password !== "")
    addIssueAt(context, ["url"], "has a user or password, which all readers of the registry could see");
}

/** A valid published server. */
export interface ParsedServerRecord {
  readonly name: string;
  /** Without credentials. */
  readonly definition: ServerDefinition;
  /** What has to be allowed: the origin of the URL, or the ARN. */
  readonly address: string;
  /** The paths of the timeouts that are longer than a registry may set, and their limits, which the definition has. */
  readonly raised: readonly { readonly path: string; readonly limit: string }[];
}

/** Throws kind `invalid-config` with all problems. */
export function parsePublishedServer(value: unknown): ParsedServerRecord {
  const { name, ...fields } = parseOptions(PUBLISHED_SCHEMA, value, { subject: SUBJECT });
  const { url, functionName } = fields;
  // A definition has a string, as in the store, where the parser accepts a URL, too.
  const address = url === undefined ? { region: functionName?.split(":")[3] } : { url: String(url) };
  const restricted: RestrictedOption[] = [];
  const definition = lowerLimits(omitUndefined({ ...fields, ...address }) as ServerDefinition, restricted);
  parseServer(name, definition);
  return {
    name,
    definition,
    address: url === undefined ? (functionName ?? "") : new URL(url).origin,
    raised: restricted.map(({ path, limit }) => ({ path: formatPath(path), limit: String(limit) })),
  };
}

/**
 * Adds a server to a registry, or replaces the one with this name. Processes that use `registryServers` with the same store
 * connect to it if their `allow` names its address.
 *
 * @param store the store that the processes share, such as `redisStore(…)` or `dynamoStore(…)`
 * @throws McpRuntimeError kind `invalid-config` for an invalid server; `unavailable`, `timeout` or `closed` of the store
 * @example
 * ```ts
 * await publishServer(store, { name: "weather", url: "https://tools.example.com/weather/mcp" });
 * ```
 */
export async function publishServer(store: KeyValueStore, server: PublishedServer): Promise<void> {
  const { name, raised } = parsePublishedServer(server);
  if (raised.length > 0) {
    const issues = raised.map(({ path, limit }) => ({
      path,
      message: `is longer than ${limit} or 0 (no limit), which only the processes that use the server may set`,
    }));
    throw configError(SUBJECT, issues);
  }
  const { url, ...fields } = server;
  const record = { ...fields, ...(url === undefined ? {} : { url: String(url) }) };
  await limitStore(store, systemClock).set(toPublishedKey(name), omitUndefined(record));
}

/**
 * Removes a server from a registry. It leaves the processes that use it, with its tools; calls in progress are cancelled.
 * Succeeds if there is no such server.
 *
 * @throws McpRuntimeError kind `invalid-config` for an invalid name; `unavailable`, `timeout` or `closed` of the store
 *
 * @example
 * ```ts
 * await withdrawServer(store, "weather");
 * ```
 */
export async function withdrawServer(store: KeyValueStore, name: string): Promise<void> {
  await limitStore(store, systemClock).delete(toPublishedKey(name));
}

/** Whether a registry has a server of this name. Throws like `withdrawServer`. */
export async function isPublished(store: KeyValueStore, name: string): Promise<boolean> {
  return (await limitStore(store, systemClock).get(toPublishedKey(name))) !== undefined;
}

function toPublishedKey(name: string): string {
  if (typeof name === "string" && NAME_PATTERN.test(name)) return PUBLISHED_PREFIX + name;
  const message = `expected ${NAME_FORMAT}, got ${describeValue(name)}`;
  throw configError(SUBJECT, [{ path: "name", message }]);
}
