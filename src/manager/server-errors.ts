import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { appendSentence } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { ignoreRejection, isPromiseLike } from "../json/json.js";

/** What `onServerError` receives in addition to the failure. */
export interface ServerErrorContext {
  /** The name of the server. */
  readonly server: string;
  /** Whether the server is `optional`. */
  readonly optional: boolean;
}

/**
 * Decides whether the failure to connect a server is thrown: `"throw"` or `"ignore"`; `undefined` leaves the decision to
 * the other options. An error that the function throws is thrown instead of the failure. It cannot be asynchronous.
 */
export type OnServerError = (
  error: McpRuntimeError,
  context: ServerErrorContext,
) => "throw" | "ignore" | undefined | void;

const DECISIONS: ReadonlySet<unknown> = new Set(["throw", "ignore", undefined]);

export interface FailureRules {
  readonly onServerError: OnServerError | undefined;
  /** Whether a failure is thrown that `onServerError` does not decide. */
  readonly isFatal: boolean;
}

/** Whether a failure is thrown: what `onServerError` decides, otherwise `isFatal`. */
export function isThrown(
  error: McpRuntimeError,
  context: ServerErrorContext,
  { onServerError, isFatal }: FailureRules,
): boolean {
  const decision: unknown = onServerError?.(error, context);
  if (DECISIONS.has(decision)) return decision === undefined ? isFatal : decision === "throw";
  if (isPromiseLike(decision)) ignoreRejection(decision);
  const text = `onServerError must return "throw", "ignore" or undefined, not ${describeValue(decision)}; it cannot be asynchronous.`;
  throw new McpRuntimeError("invalid-config", text, { server: context.server, cause: error });
}

/**
 * Merges the failures of several servers into one error, which has the kind of the first; its cause is an
 * `AggregateError` of all. An error that `onServerError` has thrown takes precedence.
 */
export function mergeServerErrors(all: readonly unknown[], pending: readonly string[] = []): unknown {
  // What has cancelled all servers is one error.
  const errors = [...new Set(all)];
  const failures = errors.filter((error) => error instanceof McpRuntimeError);
  const [first, second] = failures;
  if (first === undefined || failures.length < errors.length)
    return errors.find((error) => !(error instanceof McpRuntimeError));
  const rest = pending.length === 0 ? [] : [`Not connected yet: ${pending.join(", ")}.`];
  if (second === undefined)
    return rest.length === 0 ? first : first.with({ message: [first.message, ...rest].join(" ") });
  const lines = failures.map(({ server, message }) => `  ${server}: ${message.replaceAll("\n", "\n  ")}`);
  const text = [`${failures.length} servers failed:`, ...lines, ...rest].join("\n");
  return first.with({
    message: text,
    server: undefined,
    attempts: 0,
    issues: failures.flatMap(({ server, issues }) =>
      issues.map(({ path, message }) => ({ path: `${server}.${path}`, message })),
    ),
    cause: new AggregateError(failures, text),
  });
}

/** Shorter times of closing are not reported. */
const MIN_CLOSING_MS = 1_000;

/** Adds how long closing took to a timeout error, whose message has only the time of the attempts. */
export function withClosingTime(error: unknown, ms: number): unknown {
  const isTimeout = error instanceof McpRuntimeError && error.kind === "timeout";
  if (!isTimeout || ms < MIN_CLOSING_MS) return error;
  const sentence = `Closing what was open took another ${(ms / 1_000).toFixed(1)} s.`;
  return error.with({ message: appendSentence(error.message, sentence) });
}

/** The values of all servers; throws one error for those that failed. */
export function unwrapServers<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  const errors = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  );
  if (errors.length > 0) throw mergeServerErrors(errors);
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}
