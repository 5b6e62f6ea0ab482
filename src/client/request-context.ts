import type { CancelScope } from "../async/cancel-scope.js";
import type { CallContext } from "../config/call-context.js";
import type { JsonObject } from "../json/json.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { Connection } from "../session/connection.js";
import type { DeliveryTracker, Progress, SendStatus, Session } from "../session/session.js";
import type { CallerContext } from "./call-options.js";

/** What somebody asks a server for: the same for all attempts at it. */
export interface ClientRequest {
  /** The caller's own, where it gave one. */
  readonly requestId: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
  /** The tool that is called, when one is. */
  readonly tool: string | undefined;
  /** What a server has to offer for it; nothing is sent to one that does not. */
  readonly capability: string | undefined;
  /** Whose session it goes over. */
  readonly identity: string;
  /** Who asks, where that matters. */
  readonly context: CallContext | undefined;
  /** By the clock. */
  readonly startedAt: number;
  readonly requestMs: number;
  readonly totalMs: number;
  /** Sending it twice does no harm. */
  readonly isIdempotent: boolean;
  /** The caller's own; the exchange's cancellation follows it. */
  readonly signal: AbortSignal | undefined;
  /** Phase 1, of the client's chapter in which this request began; the connection itself once it is there. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The caller answers what a person is asked. */
  readonly holdsInput: boolean;
  /** As the caller told, for whoever watches. */
  readonly caller: CallerContext | undefined;
  /** The arguments of a tool as they may be recorded, where that is not all of them. */
  readonly recordedArgs: (() => JsonObject) | undefined;
  readonly trace: RequestTrace;
}

interface ExchangeParts {
  readonly request: ClientRequest;
  readonly cancellation: CancelScope;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly isIsolated?: boolean;
}

/**
 * A request on its way through the links, and what they have given it. A link whose gift is for one attempt
 * makes another one.
 *
 * A class, as all that is made for every call: V8 may take object literals for long-lived, and then makes
 * them old from the start, with all that they hold.
 */
export class RequestContext {
  readonly request: ClientRequest;
  readonly cancellation: CancelScope;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** Repeated on a session of its own, if it can have one. */
  readonly isIsolated: boolean;
  /** When the time of the whole request is up, by the clock: nothing inside waits longer. */
  deadlineAt = Number.POSITIVE_INFINITY;
  /** The session it is sent over; given by the last link. */
  session: Session | undefined;

  constructor({ request, cancellation, onProgress, isIsolated = false }: ExchangeParts) {
    this.request = request;
    this.cancellation = cancellation;
    this.onProgress = onProgress;
    this.isIsolated = isIsolated;
  }

  /** The same with something of its own in place of what it had. */
  with({
    request = this.request,
    cancellation = this.cancellation,
    onProgress = this.onProgress,
    isIsolated = this.isIsolated,
  }: Partial<ExchangeParts>): RequestContext {
    const other = new RequestContext({ request, cancellation, onProgress, isIsolated });
    other.deadlineAt = this.deadlineAt;
    other.session = this.session;
    return other;
  }
}

/** What became of a request so far. */
export class RequestTrace implements DeliveryTracker {
  /** How often it was handed to a session. */
  attempts = 0;
  /** An attempt that was repeated may have been run. */
  mayHaveRun = false;
  sending: SendStatus | undefined;
  wireId: string | number | undefined;
  /** The session it was last handed to. */
  session: Session | undefined;
  /** How long it took, and what went wrong: known when it has ended. */
  latencyMs = 0;
  kind: FailureKind | undefined;
  /** What its events have in common; made when one is told. */
  token: object | undefined;
  requestId: string | undefined;

  /** Whether the server may have seen the last attempt that came as far as a session. */
  get wasSent(): boolean {
    return this.sending?.wasSent() ?? false;
  }
}

export type Handler = (exchange: RequestContext) => Promise<unknown>;
/**
 * Surrounds a request: it may watch it, limit it, repeat it, or answer in its place. What comes next it is
 * told once, and not with every request: so the compiler sees through the whole chain.
 */
export type Middleware = (next: Handler) => Handler;

/** The links around `last`, the first of them outermost. */
export function compose(links: readonly Middleware[], last: Handler): Handler {
  return links.reduceRight((next, link) => link(next), last);
}
