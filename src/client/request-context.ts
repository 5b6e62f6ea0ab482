import type { CancelScope } from "../async/cancel-scope.js";
import type { CallContext } from "../config/call-context.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { SecretLease } from "../errors/redaction.js";
import type { JsonObject } from "../json/json.js";
import type { Connection } from "../session/connection.js";
import type { Session, SessionRequest } from "../session/session.js";
import type { Progress, RequestTracker, SendStatus } from "../transports/transport.js";
import type { CallerContext } from "./call-options.js";

/** What a request is; the same for all its attempts. */
export interface RequestContextOptions extends Pick<
  RequestContext,
  | "requestId"
  | "method"
  | "params"
  | "tool"
  | "capability"
  | "identity"
  | "context"
  | "startedAt"
  | "requestMs"
  | "isIdempotent"
  | "retriesTimeouts"
  | "isBackground"
  | "signal"
  | "cancellation"
  | "connect"
  | "headers"
  | "deferInput"
  | "callerContext"
  | "loggableArgs"
  | "secretLeases"
> {
  /** 0 means no limit. */
  readonly totalMs: number;
  /** Must not throw. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/**
 * A request on its way from the client to the transport: created once, and extended by the middleware. Its attempts run one
 * after the other, so what belongs to an attempt (`cancellation`, `deadline`, `session`) is set for each.
 *
 * A class, like everything created per call: V8 may allocate object literals in the old generation (pretenuring), together
 * with everything they reference.
 */
export class RequestContext implements SessionRequest, RequestTracker {
  readonly method: string;
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
  /** It may safely run twice. */
  readonly isIdempotent: boolean;
  /** Whether it is sent again after it has timed out, if it may safely run twice. */
  readonly retriesTimeouts: boolean;
  /** No caller waits for it, so it must not start a login. */
  readonly isBackground: boolean;
  /** The signal of the caller; `cancellation` follows it. */
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
  /** Keep the secrets of the call redacted while it is running. */
  readonly secretLeases: readonly (SecretLease | undefined)[] | undefined;
  readonly #progressListener: ((progress: Progress) => void) | undefined;
  /** The end of the total timeout, in the time of the client's clock. No inner wait exceeds it. */
  readonly deadlineAt: number;
  /** Listeners of `requestStarted` may add `_meta` entries. */
  params: JsonObject;
  /** The `_meta` of the caller, without those. */
  readonly callerMeta: unknown;
  /** Created for the first event if the caller passed none. */
  requestId: string | undefined;
  /** Shared by all events of the request; created for the first event. */
  token: object | undefined;
  /** Cancels the current attempt; outside of an attempt, the request. */
  cancellation: CancelScope;
  /** The timeout of the current attempt. */
  deadline: { extend(): void } | undefined;
  /** Send on a new session of its own, if possible. */
  useFreshSession = false;
  /** The session of the last attempt. */
  session: Session | undefined;
  sendStatus: SendStatus | undefined;
  wireId: string | number | undefined;
  /** How often the request was passed to a session. */
  attempts = 0;
  /** An earlier attempt that was retried, or a fallback, may have run. */
  mayHaveRun = false;
  /** The last attempt failed because connecting took longer than `connectMs`: it was not sent. */
  hasConnectTimedOut = false;
  /** The server has requested input for an attempt. */
  hasInput = false;
  /** How long attempts have waited for a connection or a session that they did not get. */
  connectWaitMs = 0;
  /** Set, like the next two, when the request has ended. */
  result: unknown;
  latencyMs = 0;
  kind: FailureKind | undefined;

  constructor(options: RequestContextOptions) {
    this.method = options.method;
    this.tool = options.tool;
    this.capability = options.capability;
    this.identity = options.identity;
    this.context = options.context;
    this.startedAt = options.startedAt;
    this.requestMs = options.requestMs;
    this.isIdempotent = options.isIdempotent;
    this.retriesTimeouts = options.retriesTimeouts;
    this.isBackground = options.isBackground;
    this.signal = options.signal;
    this.connect = options.connect;
    this.headers = options.headers;
    this.deferInput = options.deferInput;
    this.callerContext = options.callerContext;
    this.loggableArgs = options.loggableArgs;
    this.secretLeases = options.secretLeases;
    this.#progressListener = options.onProgress;
    this.deadlineAt = options.totalMs === 0 ? Number.POSITIVE_INFINITY : options.startedAt + options.totalMs;
    this.params = options.params;
    this.callerMeta = options.params["_meta"];
    this.requestId = options.requestId;
    this.cancellation = options.cancellation;
  }

  /** The request tracks itself. */
  get tracker(): RequestTracker {
    return this;
  }

  /** Whether the server may have received the last attempt. */
  get wasSent(): boolean {
    return this.sendStatus?.mayHaveBeenSent() ?? false;
  }

  /** Each progress notification restarts the timeout of the attempt. */
  onProgress(progress: Progress): void {
    this.deadline?.extend();
    this.#progressListener?.(progress);
  }
}

/** Handles a request and resolves with its result. */
export type Handler = (request: RequestContext) => Promise<unknown>;

/**
 * Wraps a handler: it may observe, limit, retry or replace a request. `next` is bound once per pipeline, not per request,
 * so that V8 can inline the whole chain.
 */
export type Middleware = (next: Handler) => Handler;

/** Failures caused by the client while a request is running: it may have run if it was sent. */
const LOCALLY_ENDED_KINDS: ReadonlySet<FailureKind> = new Set(["timeout", "closed"]);

/** Adds server, tool, attempts and `outcomeUnknown` over all attempts to a failure. */
export function withRequestDetails(
  failure: McpRuntimeError,
  { tool, attempts, wasSent, mayHaveRun }: RequestContext,
  server: string,
): McpRuntimeError {
  const mayHaveRunNow = LOCALLY_ENDED_KINDS.has(failure.kind) ? wasSent : failure.outcomeUnknown;
  return failure.with({ server, tool, attempts, outcomeUnknown: mayHaveRunNow || mayHaveRun });
}

/** Of `connectMs`; the rest is for the precision of timers. */
const CONNECT_WAIT_SHARE = 0.9;

/** Whether a request has waited for as long as connecting may take. */
export function hasWaitedToConnect({ connectWaitMs }: RequestContext, connectMs: number): boolean {
  return connectMs > 0 && connectWaitMs >= connectMs * CONNECT_WAIT_SHARE;
}
