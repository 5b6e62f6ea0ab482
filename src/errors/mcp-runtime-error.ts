import type { FailureKind } from "./failure-kinds.js";
import { redactText } from "./redaction.js";
import { truncate } from "./sanitize-text.js";

/** One problem in a configuration. */
export interface ConfigIssue {
  /** Path of the invalid value: `servers.weather.url`, `resources[2].availableTools[0].inputSchema`. */
  readonly path: string;
  /** What was expected and what was received. */
  readonly message: string;
}

/** Optional details of an {@link McpRuntimeError}. */
export interface FailureDetails {
  /** The JSON-RPC error code, if the server returned one. */
  readonly code?: number | undefined;
  /** The HTTP status of the response, if there was one. */
  readonly status?: number | undefined;
  /** The name of the server. */
  readonly server?: string | undefined;
  /** The name of the tool. */
  readonly tool?: string | undefined;
  /**
   * The number of attempts; 0 if nothing was sent.
   *
   * @default 0
   */
  readonly attempts?: number | undefined;
  /**
   * The request was sent without a result: the server may or may not have run it.
   *
   * @default false
   */
  readonly outcomeUnknown?: boolean | undefined;
  /** The earliest time at which a retry can succeed. */
  readonly retryAt?: Date | undefined;
  /** The URL at which the user logs in; afterwards call `client.finishAuth(code)`. */
  readonly authorizationUrl?: string | undefined;
  /** Every problem of an invalid configuration. */
  readonly issues?: readonly ConfigIssue[] | undefined;
  /** The underlying error. */
  readonly cause?: unknown;
}

const IS_RUNTIME_ERROR = Symbol.for("langchain-mcp-runtime.McpRuntimeError");

/**
 * The only error class of this package. Branch on `kind`; the message is for humans: what failed, where, and what to
 * do next.
 *
 * Recognizable credentials are redacted from the message here. Secrets that are known by value are redacted
 * where the text of a server is received.
 *
 * @example
 * ```ts
 * try {
 *   await client.callTool({ name: "get_forecast", args: { city: "Berlin" } });
 * } catch (error) {
 *   if (error instanceof McpRuntimeError && error.kind === "rate-limited") await waitUntil(error.retryAt);
 *   else throw error;
 * }
 * ```
 */
export class McpRuntimeError extends Error {
  static {
    Object.defineProperty(this.prototype, IS_RUNTIME_ERROR, { value: true });
  }

  /** What happened; the only field to branch on. */
  readonly kind: FailureKind;
  /** The JSON-RPC error code, if the server returned one. */
  readonly code: number | undefined;
  /** The HTTP status of the response, if there was one. */
  readonly status: number | undefined;
  /** The name of the server. */
  readonly server: string | undefined;
  /** The name of the tool. */
  readonly tool: string | undefined;
  /** The number of attempts; 0 if nothing was sent. */
  readonly attempts: number;
  /** The request was sent without a result: the server may or may not have run it. */
  readonly outcomeUnknown: boolean;
  /** The earliest time at which a retry can succeed. */
  readonly retryAt: Date | undefined;
  /** The URL at which the user logs in; afterwards call `client.finishAuth(code)`. */
  readonly authorizationUrl: string | undefined;
  /** Every problem of an invalid configuration; otherwise empty. */
  readonly issues: readonly ConfigIssue[];

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(redactText(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "McpRuntimeError";
    this.kind = kind;
    this.code = details.code;
    this.status = details.status;
    this.server = details.server;
    this.tool = details.tool;
    this.attempts = details.attempts ?? 0;
    this.outcomeUnknown = details.outcomeUnknown ?? false;
    this.retryAt = details.retryAt;
    this.authorizationUrl = details.authorizationUrl;
    this.issues = (details.issues ?? []).map(({ path, message: text }) => ({
      path: redactText(path),
      message: redactText(text),
    }));
  }

  /** Whether a value is such an error, also one of another copy of this package, such as one in a bundle. */
  static override [Symbol.hasInstance](value: unknown): value is McpRuntimeError {
    // Subclasses inherit this method.
    if (this !== McpRuntimeError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof Error && IS_RUNTIME_ERROR in value;
  }

  /**
   * Returns a copy with more details. A copy, because callers that share one handshake also share its
   * error, and each adds its own tool.
   */
  with(
    details: FailureDetails & { readonly kind?: FailureKind; readonly message?: string },
  ): McpRuntimeError {
    const { kind = this.kind, message = this.message, ...overrides } = details;
    const copy = new McpRuntimeError(kind, message, { ...this.#details(), ...overrides });
    // The stack starts with the message.
    if (this.stack !== undefined) copy.stack = this.stack.replace(this.message, () => copy.message);
    return copy;
  }

  #details(): FailureDetails {
    const { code, status, server, tool, attempts, outcomeUnknown, retryAt, authorizationUrl, issues } = this;
    const { cause } = this;
    return { code, status, server, tool, attempts, outcomeUnknown, retryAt, authorizationUrl, issues, cause };
  }

  /** Returns the error as plain JSON, without its cause and stack. */
  toJSON(): Record<string, unknown> {
    const { cause: _, ...details } = this.#details();
    return { name: this.name, kind: this.kind, message: this.message, ...details };
  }
}

/** Limits for a message: a definition that others wrote may have any number of problems. */
const MAX_LISTED_ISSUES = 100;
const MAX_ISSUE_LENGTH = 4_096;

/** Creates an `invalid-config` error that lists the problems with their paths. `issues` has all of them. */
export function configError(
  subject: string,
  issues: readonly ConfigIssue[],
  details: { readonly server?: string } = {},
): McpRuntimeError {
  const lines = issues
    .slice(0, MAX_LISTED_ISSUES)
    .map(({ path, message }) =>
      truncate(path === "" ? `  ${message}` : `  ${path}: ${message}`, MAX_ISSUE_LENGTH),
    );
  if (issues.length > lines.length) lines.push(`  and ${issues.length - lines.length} more problems`);
  return new McpRuntimeError("invalid-config", [`${subject} is not valid:`, ...lines].join("\n"), {
    ...details,
    issues,
  });
}

/** The server requires other credentials: a caller may start a login. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "unauthorized";
}
