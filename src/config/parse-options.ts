import { findLargest } from "../json/json.js";
import { z } from "zod";
import type { Clock } from "../async/clock.js";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { type ConfigIssue, configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import { safeClone, UNREADABLE } from "../json/safe-clone.js";
import { type Logger, toSafeLogger } from "../telemetry/logger.js";
import type { ClientInfo } from "./message-transport.js";

/** Where an invalid value was passed; part of the error. */
export interface ErrorLocation {
  readonly subject: string;
  /** The path of the whole value, for problems that belong to none of its fields. */
  readonly path?: string;
  readonly server?: string;
}

/**
 * Parses what a user wrote and throws one error of kind `invalid-config` with all problems. An unknown key is
 * a problem; its message suggests the valid key that is close to it, and lists all valid keys. Values may be
 * built in code: a getter or proxy that throws is a problem of the value, too.
 */
export function parseOptions<T>(
  schema: z.ZodType<T>,
  options: unknown,
  { subject, path: basePath = "", ...details }: ErrorLocation,
): T {
  let problems: readonly PathIssue[];
  try {
    const parsed = schema.safeParse(options, ZOD_CONTEXT);
    if (parsed.success) return parsed.data;
    problems = flattenIssues(parsed.error.issues);
  } catch (error) {
    problems = findUnreadable(options, error);
  }
  const issues = problems.map(({ path, message }) => ({
    path: path.length === 0 ? basePath : formatPath(path),
    message,
  }));
  throw configError(subject, issues, details);
}

/**
 * Parses one of several arguments. If that fails, the error also has the problems that `validateRest`, which
 * parses the others, throws.
 */
export function parseArgument<T>(parse: () => T, validateRest: () => unknown): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof McpRuntimeError ? withProblemsOf(error, validateRest) : error;
  }
}

function withProblemsOf(error: McpRuntimeError, validate: () => unknown): McpRuntimeError {
  try {
    validate();
    return error;
  } catch (other) {
    if (!(other instanceof McpRuntimeError)) return error;
    return error.with({
      message: `${error.message}\n${other.message}`,
      issues: [...error.issues, ...other.issues],
    });
  }
}

/** The values in `options` that cannot be read. `error` is what reading one of them has thrown. */
function findUnreadable(options: unknown, error: unknown): readonly PathIssue[] {
  const { problems } = safeClone(options, { nonJson: "preserve", maxDepth: Number.POSITIVE_INFINITY });
  const unreadable = problems.filter(({ message }) => message === UNREADABLE);
  const reason = error instanceof Error ? error.message : describeValue(error);
  return unreadable.length > 0 ? unreadable : [{ path: [], message: `${UNREADABLE}: ${reason}` }];
}

/**
 * Parses a part of a value inside of a transform, and adds its problems to those of the whole. Returns
 * `undefined` if there are any.
 */
export function parsePart<T>(
  schema: z.ZodType<T>,
  value: unknown,
  context: IssueContext,
  path: readonly PropertyKey[] = [],
): T | undefined {
  const { data, error } = schema.safeParse(value, ZOD_CONTEXT);
  const issues = error === undefined ? [] : flattenIssues(error.issues, path);
  for (const issue of issues) addIssueAt(context, issue.path, issue.message);
  return data;
}

/**
 * Throws kind `invalid-config` unless the value is an object. JavaScript callers can pass anything;
 * promises and arrays are rejected.
 */
export function assertObject<T>(value: T, { subject, path = "", ...details }: ErrorLocation): T {
  if (isObject(value)) return value;
  const message = `expected an object, got ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}

/** The names of the options of one function. Typed as a record, so that none can be missing. */
export function optionKeys<Options extends object>(
  keys: Readonly<Record<keyof Required<Options>, true>>,
): ReadonlySet<string> {
  return new Set(Object.keys(keys));
}

/**
 * Throws kind `invalid-config` unless the value is an object with no other keys than these. For options that
 * are passed with each call: their values are checked where they are used.
 */
export function assertOptions<T>(
  options: T,
  keys: ReadonlySet<string>,
  { subject, path = "options", ...details }: ErrorLocation,
): T {
  const problem = findOptionsProblem(options, keys);
  if (problem === undefined) return options;
  throw configError(subject, [{ path, message: problem }], details);
}

/**
 * Returns what is wrong with an options object: it is not an object, or it has unknown keys. Allocates
 * nothing if it is valid.
 */
export function findOptionsProblem(options: unknown, keys: ReadonlySet<string>): string | undefined {
  try {
    if (!isOptionsObject(options)) return `expected an object, got ${describeValue(options)}`;
    for (const key in options as object)
      if (!keys.has(key) && Object.hasOwn(options as object, key))
        return describeUnknownKeys(Object.keys(options as object), [...keys]);
    return undefined;
  } catch {
    return UNREADABLE;
  }
}

/** All keys of a plain object, and of a prototype that is not `Object.prototype`. */
export function findKeys(object: JsonObject): PropertyKey[] {
  const prototype = Object.getPrototypeOf(object) as object | null;
  const inherited = Reflect.ownKeys(prototype ?? {}).filter((key) => !Object.hasOwn(Object.prototype, key));
  return [...new Set([...Reflect.ownKeys(object), ...inherited])];
}

/**
 * Makes all keys of what a guard returned visible to a schema, which rejects unknown ones: it would ignore
 * symbols and keys that are not enumerable.
 */
export function exposeKeys(object: JsonObject): JsonObject {
  const visible = Object.create(null) as JsonObject;
  for (const key of findKeys(object))
    Object.defineProperty(visible, String(key), { get: () => Reflect.get(object, key), enumerable: true });
  return visible;
}

/** Promises are rejected, too: a promise would be serialized as an empty object. */
export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/**
 * Throws kind `invalid-config` unless the value is an array or `undefined`. A string would otherwise be
 * iterated by character.
 */
export function assertOptionalArray(value: unknown, { subject, path = "", ...details }: ErrorLocation): void {
  if (value === undefined || Array.isArray(value)) return;
  const message = `expected an array, got ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}

/** The schemas of the fields of an options object. */
export type OptionFields<Options> = { readonly [Key in keyof Required<Options>]: z.ZodType };

/**
 * The options object that these fields describe, with their documentation. `Absent` may be set in place of a
 * value.
 */
export type OptionsOf<Fields, Absent = never> = {
  readonly [Key in keyof Fields]?: Exclude<z.input<Fields[Key]>, undefined> | Absent;
};

export function optionalFields<Fields extends z.ZodRawShape>(fields: Fields) {
  const entries = Object.entries(fields).map(([key, field]) => [key, z.optional(field)]);
  return Object.fromEntries(entries) as { [Key in keyof Fields]: z.ZodOptional<Fields[Key]> };
}

/** What the message about an unknown key has in addition. */
interface UnknownKeyHints {
  readonly hint?: string | undefined;
  /** Returns where a key belongs that is valid elsewhere. */
  readonly describeKey?: ((key: string) => string | undefined) | undefined;
}

interface OptionsSchemaSettings<Options> extends UnknownKeyHints {
  readonly required?: readonly (keyof Options)[];
  /** Describes the object in the message about other values. */
  readonly expected?: string;
}

/**
 * The schema of an options object: all fields but those in `required` are optional. Other keys are rejected.
 * It is built when it is first used, because an import would otherwise build all of them.
 */
export function optionsSchema<Options extends object>(
  fields: OptionFields<Options>,
  { required = [], expected = "an object", ...hints }: OptionsSchemaSettings<Options> = {},
): z.ZodType<Options, Options> {
  return z.lazy(() => {
    const requiredFields = Object.fromEntries(required.map((key) => [key, fields[key]]));
    const object = strictObject({ ...optionalFields(fields), ...requiredFields }, hints);
    return opaque(expected, isOptionsObject).pipe(object) as unknown as z.ZodType<Options, Options>;
  });
}

/** A map, a set, or a store in place of `{ store }` would otherwise be read as an object without fields. */
function isOptionsObject(value: unknown): boolean {
  if (!isObject(value) || Symbol.iterator in (value as object)) return false;
  const { get, set } = value as { readonly get?: unknown; readonly set?: unknown };
  return !(typeof get === "function" && typeof set === "function");
}

/**
 * A `z.strictObject` whose error suggests the valid key that is close to an unknown one, and lists all valid
 * keys.
 */
export function strictObject<Shape extends z.ZodRawShape>(shape: Shape, hints?: UnknownKeyHints) {
  const allowed = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? describeUnknownKeys(issue.keys, allowed, hints) : undefined,
  });
}

/** Files and registries of others may have any number of them. */
const MAX_LISTED_KEYS = 20;

/**
 * Describes the keys that are not allowed, and lists the allowed ones unless the place of each key is known.
 */
function describeUnknownKeys(
  keys: readonly string[],
  allowed: readonly string[],
  { hint, describeKey }: UnknownKeyHints = {},
): string {
  const unknown = keys.filter((key) => !allowed.includes(key));
  const explain = (key: string) =>
    Object.hasOwn(ADAPTER_OPTIONS, key) ? ADAPTER_OPTIONS[key] : describeKey?.(key);
  const listed = unknown.slice(0, MAX_LISTED_KEYS).map((key) => {
    const explanation = explain(key);
    return explanation === undefined ? describeUnknownKey(key, allowed) : `"${key}" (${explanation})`;
  });
  const others = unknown.length - listed.length;
  if (others > 0) listed.push(`and ${others} more`);
  const isExplained = others === 0 && unknown.every((key) => explain(key) !== undefined);
  const problem = `unknown key ${listed.join(", ")}`;
  const message = isExplained ? problem : `${problem}; valid keys: ${allowed.join(", ")}`;
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** What the options of LangChain's adapter (`@langchain/mcp-adapters`) are here. */
const ADAPTER_OPTIONS: Readonly<Record<string, string>> = {
  mcpServers: "the servers are the first argument: createMcpTools({ mcpServers: { … } })",
  prefixToolNameWithServerName:
    'use naming: { prefix: "server" }, the default of createMcpTools, or "none" for false',
  additionalToolNamePrefix:
    'use naming: { prefix: "mcp" }, or a function: naming: { prefix: (server, tool) => … }',
  throwOnLoadError: "set optional: true on the servers that may be missing, in place of false",
  onConnectionError: "use onServerError, or set optional: true on the servers that may be missing",
  useStandardContentBlocks: "remove it: content always consists of LangChain's standard blocks",
  outputHandling: "use it as an option of createMcpTools or of a server definition",
  defaultToolTimeout: "use timeouts: { requestMs } of a server definition",
  automaticSSEFallback: 'remove it: the fallback is automatic; type: "sse" skips Streamable HTTP',
  reconnect: "remove it: lost sessions and connections are replaced; see session, retry and circuitBreaker",
  restart: "remove it: a program that ends is started again by the next call",
  authProvider: "use auth, which accepts an OAuth provider",
  onMessage: 'use toolset.on("notification", …)',
  onToolsListChanged: 'use toolset.on("toolsChanged", …)',
  onPromptsListChanged: 'use toolset.on("promptsChanged", …)',
  onResourcesListChanged: 'use toolset.on("resourcesChanged", …)',
  onResourcesUpdated: 'use toolset.on("resourceUpdated", …)',
  onRootsListChanged:
    "remove it: roots are the option roots of a server definition, and client.sendRootsListChanged() notifies the server",
  onInitialized: 'use toolset.on("sessionOpened", …)',
  onCancelled: 'use toolset.on("requestEnded", …): the kind of the event is "cancelled"',
  stderr: "remove it: stderr goes to the log, and into the error if the program does not start",
};

/** Long or unusual keys are not shown: they may be secrets. */
function describeUnknownKey(key: string, allowed: readonly string[]): string {
  if (!/^[\w$.-]{1,40}$/.test(key)) return "(name not shown)";
  const closest = findClosestMatch(key, allowed);
  return closest === undefined ? JSON.stringify(key) : `${JSON.stringify(key)} (did you mean "${closest}"?)`;
}

/** A value that is passed on unchanged: a function, or an object with certain methods. */
function opaque<T>(expected: string, isValid: (value: unknown) => boolean) {
  return z.custom<T>(isValid, { error: ({ input }) => expectedMessage(expected, input) });
}

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const canHaveMethods = (typeof value === "object" && value !== null) || typeof value === "function";
  return canHaveMethods && names.every((name) => isFunction(Reflect.get(value, name)));
}

/** An object with these methods. */
function withMethods<T>(methods: readonly string[], expected = `an object with ${methods.join(", ")}`) {
  return opaque<T>(expected, (value) => hasMethods(value, ...methods));
}

/** The schemas of single options. Their messages state what was expected and what was received. */
export const option = {
  /** Validated where it is used. */
  any: <T = unknown>() => z.custom<T>().optional(),
  /** Not `readonly()` of zod, which freezes the value: that throws for binary data. */
  array: <Item extends z.ZodType>(item: Item) =>
    z.array(item) as z.ZodType<readonly z.output<Item>[], readonly z.input<Item>[]>,
  boolean: z.boolean(),
  string: z.string(),
  count: opaque<number>(
    "a whole number above 0",
    (value) => Number.isSafeInteger(value) && Number(value) > 0,
  ),
  milliseconds: opaque<number>(
    "a number of milliseconds",
    (value) => typeof value === "number" && value >= 0,
  ),
  /** Validated up front: an invalid logger would fail only when the first message is logged. */
  logger: withMethods<Logger>(
    ["debug", "info", "warn", "error"],
    "an object with debug, info, warn, error, such as console",
  ).transform(toSafeLogger),
  clock: withMethods<Clock>(["now", "after"]),
  function: <T>() => opaque<T>("a function", isFunction),
  oneOf: <const Values extends readonly (string | boolean)[]>(...values: Values) => z.literal<Values>(values),
  opaque,
  withMethods,
};

/** A problem, and the path of the invalid value. */
export interface PathIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What refinements and transforms of a schema add issues to. */
export type IssueContext = Pick<z.core.$RefinementCtx, "addIssue">;

export function addIssueAt(context: IssueContext, path: readonly PropertyKey[], message: string): void {
  context.addIssue({ code: "custom", path: [...path], message });
}

/** Converts all issues of a zod error. `basePath` is the path of the input in what the user wrote. */
export function zodToIssues(error: z.ZodError, basePath: readonly PropertyKey[] = []): ConfigIssue[] {
  return flattenIssues(error.issues, basePath).map(({ path, message }) => ({
    path: formatPath(path),
    message,
  }));
}

/**
 * For a union, returns the branch that matched deepest, because that is most likely the one that was meant.
 */
export function flattenIssues(
  issues: readonly z.core.$ZodIssue[],
  basePath: readonly PropertyKey[] = [],
): PathIssue[] {
  return issues.flatMap((issue): PathIssue[] => {
    const path = [...basePath, ...issue.path];
    // Do not show the key: it may be a whole header with its secret value, written in place of the name.
    if (issue.code === "invalid_key")
      return issue.issues.map(({ message }) => ({ path: path.slice(0, -1), message }));
    if (issue.code !== "invalid_union" || issue.errors.length === 0)
      return [{ path, message: issue.message }];
    const best = issue.errors.reduce((a, b) => (matchDepth(b) > matchDepth(a) ? b : a));
    if (matchDepth(best) > 0) return flattenIssues(best, path);
    return [{ path, message: mergeExpectations(issue.errors.flat().map(({ message }) => message)) }];
  });
}

/** A branch that only has unknown keys is the right one, too. */
function matchDepth(branch: readonly z.core.$ZodIssue[]): number {
  const depths = branch.map(({ code, path }) => path.length + (code === "unrecognized_keys" ? 1 : 0));
  return findLargest(depths);
}

/**
 * Merges `expected true or false, got 5` and `expected an object, got 5` into
 * `expected true, false or an object, got 5`.
 */
function mergeExpectations(messages: readonly string[]): string {
  const matches = messages.map((message) => /^expected (.*?)(?:, got (.*))?$/s.exec(message));
  const expectations = matches.map((match) => match?.[1]);
  if (expectations.includes(undefined)) return [...new Set(messages)].join(", or ");
  const received = matches.flatMap((match) => match?.[2] ?? []);
  const actual = received.find((text) => /^["\d-]/.test(text)) ?? received[0];
  const sentence = `expected ${joinAlternatives(expectations.flatMap((text) => splitWords(text ?? "")))}`;
  return actual === undefined ? sentence : `${sentence}, got ${actual}`;
}

/** `true or false` -> `true`, `false`. Longer expectations are not split: they may contain another `or`. */
function splitWords(expectation: string): string[] {
  const [, first, second] = /^(\S+) or (\S+)$/.exec(expectation) ?? [];
  return first === undefined || second === undefined ? [expectation] : [first, second];
}

function joinAlternatives(alternatives: readonly string[]): string {
  const unique = [...new Set(alternatives)];
  return [unique.slice(0, -1).join(", "), ...unique.slice(-1)].filter((text) => text !== "").join(" or ");
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

/**
 * Makes zod report problems in the format of all our errors; messages of a schema take precedence. `jitless`:
 * zod would generate code for each object, which takes longer than to parse the few objects that a process
 * has.
 */
export const ZOD_CONTEXT: z.core.ParseContext<z.core.$ZodIssue> = { error: zodErrorMap, jitless: true };

function zodErrorMap(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type")
    return expectedMessage(TYPE_LABELS[issue.expected] ?? `a ${issue.expected}`, issue.input);
  if (issue.code === "invalid_value") return expectedMessage(joinQuoted(issue.values), issue.input);
  // The discriminator of a discriminated union has an unknown value.
  if (issue.code === "invalid_union" && Array.isArray(issue.options))
    return `expected ${joinQuoted(issue.options)}`;
  if (issue.code === "too_big") return expectedMessage(`a number of at most ${issue.maximum}`, issue.input);
  if (issue.code !== "too_small") return undefined;
  if (issue.origin === "string") return expectedMessage("a non-empty string", issue.input);
  const bound = `${issue.inclusive === false ? "above" : "of at least"} ${issue.minimum}`;
  return expectedMessage(`a number ${bound}`, issue.input);
}

function joinQuoted(values: readonly unknown[]): string {
  const quoted = values.map((value) => JSON.stringify(value));
  return quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
}

function expectedMessage(what: string, actual: unknown): string {
  if (/^an object(?: such as|$)/.test(what) && hasMethods(actual, "get", "set") && !(actual instanceof Map))
    return "expected an object, got a store; write { store }";
  return `expected ${what}, got ${describeReceived(what, actual)}`;
}

function describeReceived(what: string, actual: unknown): string {
  // In place of a string, a number may be a secret.
  const isShown = !Number.isFinite(actual) || /\b(?:number|milliseconds|seconds)\b/.test(what);
  if (typeof actual === "number" && isShown) return String(actual);
  // Not a misspelled word, but perhaps a secret: a token as auth, a header as headers.
  const isAnyString = typeof actual === "string" && /^(?:an object|an array|a function)\b/.test(what);
  return isAnyString ? "a string" : describeValue(actual);
}

const nonEmptyString = z.string().min(1);

/** The option `clientInfo`. */
export const CLIENT_INFO_SCHEMA = optionsSchema<ClientInfo>(
  { name: nonEmptyString, version: nonEmptyString, title: nonEmptyString },
  { required: ["name", "version"] },
);
