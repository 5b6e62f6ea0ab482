import type { Cancellation } from "../concurrency/cancellation.js";
import type { CallContext } from "../definitions/call-context.js";
import type { JsonObject } from "../definitions/json.js";
import type { Connection } from "../session/connection.js";
import type { Delivery, Progress, Session } from "../session/session.js";

/** One request on its way through the links, with what became of it so far. */
export interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly params: JsonObject;
  /** The tool that is called, when one is. */
  readonly tool: string | undefined;
  /** Whose session it goes over. */
  readonly identity: string;
  /** Who asks, where that matters. */
  readonly context: CallContext | undefined;
  readonly requestMs: number;
  readonly totalMs: number;
  /** When its time is up, by the clock; for ever when it has no limit. */
  readonly deadlineAt: number;
  /** Sending it twice does no harm. */
  readonly isIdempotent: boolean;
  /** The caller's own; `cancellation` follows it. */
  readonly signal: AbortSignal | undefined;
  readonly cancellation: Cancellation;
  /** Phase 1, of the client's era in which this request began; the connection itself once it is there. */
  readonly connect: () => Connection | Promise<Connection>;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly trace: ExchangeTrace;
  /** Repeated on a session of its own, if it can have one. */
  readonly isIsolated: boolean;
  /** The session it is sent over; given by the last link. */
  readonly session: Session | undefined;
}

export interface ExchangeTrace extends Delivery {
  /** How often it was handed to a session. */
  attempts: number;
  /** An attempt that was repeated may have been run. */
  mayHaveRun: boolean;
}

export function createTrace(): ExchangeTrace {
  return { attempts: 0, mayHaveRun: false, wasSent: neverSent };
}

/** Of a request that the server has certainly not seen. */
export function neverSent(): boolean {
  return false;
}

export type Next = (exchange: Exchange) => Promise<unknown>;
/** Surrounds a request: it may watch it, limit it, repeat it, or answer in its place. */
export type Link = (exchange: Exchange, next: Next) => Promise<unknown>;

/** The links around `last`, the first of them outermost. */
export function chain(links: readonly Link[], last: Next): Next {
  return links.reduceRight<Next>((next, link) => (exchange) => link(exchange, next), last);
}
