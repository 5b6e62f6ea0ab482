import type { CancelScope } from "../async/cancel-scope.js";
import type { CallContext } from "../config/call-context.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { JsonObject } from "../json/json.js";
import type { Connection } from "../session/connection.js";
import type { DeliveryTracker, Progress, SendStatus, Session } from "../session/session.js";
import type { CallerContext } from "./call-options.js";

/** A request to a server; the same for all its attempts. */
export interface ClientRequest {
  /** Set if the caller passed one. */
  readonly requestId: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
  /** Set for tool calls. */
  readonly tool: string | undefined;
  /** The server capability that the request requires; it is not sent to a server without it. */
  readonly capability: string | undefined;
  /** The identity whose session is used. */
  readonly identity: string;
  /** Set if the server definition has an `identity`. */
  readonly context: CallContext | undefined;
  /** In the time of the client's clock. */
  readonly startedAt: number;
  readonly requestMs: number;
  readonly totalMs: number;
  /** It may safely run twice. */
  readonly isIdempotent: boolean;
  /** The signal of the caller; `RequestContext.cancellation` follows it. */
  readonly signal: AbortSignal | undefined;
  /** Connects, in the client epoch in which the request began. Synchronous once the connection is open. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Input requests of the server are returned to the caller instead of being handled by the session. */
  readonly deferInput: boolean;
  /** The `context` of the caller, for event listeners. */
  readonly callerContext: CallerContext | undefined;
  /** Returns the tool arguments that may be recorded, if not all of them may. */
  readonly loggableArgs: (() => JsonObject) | undefined;
  readonly trace: RequestTrace;
}

interface RequestContextOptions {
  readonly request: ClientRequest;
  readonly cancellation: CancelScope;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly useFreshSession?: boolean;
}

/**
 * The state of a request in the pipeline. A middleware that changes something for one attempt only passes on a copy
 * (`with`).
 *
 * A class, like everything created per call: V8 may allocate object literals in the old generation (pretenuring), together
 * with everything they reference.
 */
export class RequestContext {
  readonly request: ClientRequest;
  readonly cancellation: CancelScope;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** Send on a new session of its own, if possible. */
  readonly useFreshSession: boolean;
  /** The end of the total timeout, in the time of the client's clock. No inner wait exceeds it. */
  deadlineAt = Number.POSITIVE_INFINITY;
  /** Set by the session recovery middleware. */
  session: Session | undefined;

  constructor({ request, cancellation, onProgress, useFreshSession = false }: RequestContextOptions) {
    this.request = request;
    this.cancellation = cancellation;
    this.onProgress = onProgress;
    this.useFreshSession = useFreshSession;
  }

  /** Returns a copy with some values replaced. */
  with({
    request = this.request,
    cancellation = this.cancellation,
    onProgress = this.onProgress,
    useFreshSession = this.useFreshSession,
  }: Partial<RequestContextOptions>): RequestContext {
    const copy = new RequestContext({ request, cancellation, onProgress, useFreshSession });
    copy.deadlineAt = this.deadlineAt;
    copy.session = this.session;
    return copy;
  }
}

/** The progress of a request so far. */
export class RequestTrace implements DeliveryTracker {
  /** How often the request was passed to a session. */
  attempts = 0;
  /** An earlier attempt that was retried may have run. */
  mayHaveRun = false;
  sendStatus: SendStatus | undefined;
  wireId: string | number | undefined;
  /** The session of the last attempt. */
  session: Session | undefined;
  /** Set, like `kind`, when the request has ended. */
  latencyMs = 0;
  kind: FailureKind | undefined;
  /** Shared by all events of the request; created, like `requestId`, for the first event. */
  token: object | undefined;
  requestId: string | undefined;

  /** Whether the server may have received the last attempt. */
  get wasSent(): boolean {
    return this.sendStatus?.mayHaveBeenSent() ?? false;
  }
}

/** Handles a request and resolves with its result. */
export type Handler = (ctx: RequestContext) => Promise<unknown>;

/**
 * Wraps a handler: it may observe, limit, retry or replace a request. `next` is bound once per pipeline, not per request,
 * so that V8 can inline the whole chain.
 */
export type Middleware = (next: Handler) => Handler;

/** Wraps `last` in the middlewares; the first one is the outermost. */
export function compose(middlewares: readonly Middleware[], last: Handler): Handler {
  return middlewares.reduceRight((next, middleware) => middleware(next), last);
}

/** Failures caused by the client while a request is running: it may have run if it was sent. */
const LOCALLY_ENDED_KINDS: ReadonlySet<FailureKind> = new Set(["timeout", "closed"]);

/** Adds server, tool, attempts and `outcomeUnknown` over all attempts to a failure. */
export function withRequestDetails(
  failure: McpRuntimeError,
  { tool, trace }: ClientRequest,
  server: string,
): McpRuntimeError {
  const mayHaveRun = LOCALLY_ENDED_KINDS.has(failure.kind) ? trace.wasSent : failure.outcomeUnknown;
  const outcomeUnknown = mayHaveRun || trace.mayHaveRun;
  return failure.with({ server, tool, attempts: trace.attempts, outcomeUnknown });
}
