import type { FailureKind } from "./failure-kinds.js";
import { redactText } from "./redaction.js";

/** One problem in what somebody wrote down. */
export interface ConfigIssue {
  /** Where: `servers.weather.url`, `resources[2].availableTools[0].inputSchema`. */
  readonly path: string;
  /** What was found there, and what is allowed. */
  readonly message: string;
}

export interface FailureDetails {
  /** JSON-RPC error code, when the server answered with one. */
  readonly code?: number | undefined;
  /** HTTP status, when there was one. */
  readonly status?: number | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  /** How often the request was tried; 0 when nothing was sent. */
  readonly attempts?: number | undefined;
  /** The request was sent and no result came: the server may or may not have run it. */
  readonly outcomeUnknown?: boolean | undefined;
  /** Not before this moment is another try worth it. */
  readonly retryAt?: Date | undefined;
  /** Where a person logs in; then `client.finishAuth(code)`. */
  readonly authorizationUrl?: string | undefined;
  /** Every problem of a definition, together. */
  readonly issues?: readonly ConfigIssue[] | undefined;
  readonly cause?: unknown;
}

/**
 * The one error of this package. Decide by `kind`; the message is for people: it says what failed,
 * where, and what to do next. Credentials that can be recognised are removed from it here, secrets
 * known by value where the server's words come in.
 */
export class McpRuntimeError extends Error {
  readonly kind: FailureKind;
  readonly code: number | undefined;
  readonly status: number | undefined;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  readonly attempts: number;
  readonly outcomeUnknown: boolean;
  readonly retryAt: Date | undefined;
  readonly authorizationUrl: string | undefined;
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

  /**
   * The same failure, told with more details. A copy: callers that shared one handshake share its
   * failure, and each must be able to name its own tool.
   */
  with(
    details: FailureDetails & { readonly kind?: FailureKind; readonly message?: string },
  ): McpRuntimeError {
    const { kind = this.kind, message = this.message, ...known } = details;
    const copy = new McpRuntimeError(kind, message, { ...this.#details(), ...known });
    // A stack begins with its message.
    if (this.stack !== undefined) copy.stack = this.stack.replace(this.message, () => copy.message);
    return copy;
  }

  #details(): FailureDetails {
    const { code, status, server, tool, attempts, outcomeUnknown, retryAt, authorizationUrl, issues } = this;
    const { cause } = this;
    return { code, status, server, tool, attempts, outcomeUnknown, retryAt, authorizationUrl, issues, cause };
  }

  toJSON(): Record<string, unknown> {
    const { cause: _, ...details } = this.#details();
    return { name: this.name, kind: this.kind, message: this.message, ...details };
  }
}
