import type { CancelScope } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Connection } from "../../session/connection.js";
import type { SessionSlot } from "../../session/session-pool.js";
import type { Session } from "../../session/session.js";
import type { OpenSessionHandle } from "../../session/current-session.js";
import { applyUserClassifier } from "./apply-user-classifier.js";
import type { ClientRequest, RequestContext, Middleware, Handler } from "../request-context.js";

export interface RecoverParts {
  readonly onSessionLost: (request: ClientRequest, held: OpenSessionHandle) => void;
  readonly warn: (message: string) => void;
}

/** Where a request is sent from. Made by those who need it: a call that goes well does not. */
interface Place {
  readonly parts: RecoverParts;
  readonly connection: Connection;
  readonly slot: SessionSlot;
}

/**
 * Gives a request the current session. When the server has forgotten that session it has not run
 * the request: a new session is opened and the request is sent once more. Safe here and nowhere
 * else.
 */
export function recoverSession(parts: RecoverParts): Middleware {
  return (next) => async (exchange) => {
    const { request, cancellation } = exchange;
    const connected = request.connect();
    const connection = connected instanceof Promise ? await cancellation.race(connected) : connected;
    const { config, pool } = connection;
    const slot = pool.acquire(request.identity, request.context);
    let leaveTurn: (() => void) | undefined;
    try {
      if (config.session.sequential) leaveTurn = await slot.mutex.enter(cancellation);
      if (exchange.isIsolated && canIsolate(connection, slot))
        return await sendIsolated(exchange, next, { parts, connection, slot });
      for (let recoveries = 0; ;) {
        const held = slot.keeper.ready ?? (await open({ parts, connection, slot }, cancellation));
        request.trace.attempts += 1;
        request.trace.session = held.session;
        try {
          exchange.session = held.session;
          return await next(exchange);
        } catch (error) {
          const place = { parts, connection, slot };
          recoveries += recoveriesFor(error, { held, recoveries, request, place });
        }
      }
    } finally {
      leaveTurn?.();
      pool.release(slot);
    }
  };
}

async function open(place: Place, cancellation: CancelScope): Promise<OpenSessionHandle> {
  try {
    return await place.slot.keeper.hold(cancellation);
  } catch (error) {
    throw classified(error, place);
  }
}

interface FailedSending {
  readonly held: OpenSessionHandle;
  /** How often the request has got a new session so far. */
  readonly recoveries: number;
  readonly request: ClientRequest;
  readonly place: Place;
}

/** Throws unless the request may have another session; says what that counts for. */
function recoveriesFor(error: unknown, { held, recoveries, request, place }: FailedSending): number {
  const { id: pinnedId, maxRecoveries } = place.connection.config.session;
  const failure = classified(error, place);
  if (!isLoss(failure, held.session)) throw failure;
  // Whoever does not know the session has not run the request.
  request.trace.sending = undefined;
  // A session that somebody pinned is that somebody's to replace.
  if (pinnedId !== undefined) throw failure;
  // Nobody had this session yet: it was found in the store, where two are tried at most before one
  // is opened, and was gone already.
  const wasNeverThere = !held.session.isProven;
  const mayRecover = wasNeverThere || recoveries < maxRecoveries;
  // Who gives up on a session that was just opened leaves it to the next caller: were it thrown
  // away here, every caller that lost the one before would open yet another.
  if (mayRecover || recoveries === 0) {
    place.slot.keeper.discard(held);
    place.parts.onSessionLost(request, held);
  }
  if (!mayRecover) throw failure;
  return wasNeverThere ? 0 : 1;
}

function classified(error: unknown, { connection, parts }: Place): unknown {
  return applyUserClassifier(error, connection.config.classify, parts.warn);
}

/**
 * Forgotten by the server, or gone on our side before the request left. A server without sessions
 * forgets none, but it may be replaced by one that has them, and the other way round: then it refuses
 * the request for the protocol it is written in.
 */
function isLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  if (failure.kind === "session-lost") return session.id !== undefined;
  if (failure.kind === "unsupported-protocol") return true;
  return failure.kind === "not-sent" && !session.isAlive;
}

/** Where a server has no sessions, and where somebody pinned one, there is nothing to get away from. */
function canIsolate(connection: Connection, slot: SessionSlot): boolean {
  return connection.config.session.id === undefined && slot.keeper.ready?.session.id !== undefined;
}

/** Nobody else has this session, so there is nobody to recover it for. */
async function sendIsolated(exchange: RequestContext, next: Handler, place: Place): Promise<unknown> {
  const { connection, slot } = place;
  try {
    return await connection.withOwnSession(slot, exchange.cancellation, (session) => {
      exchange.request.trace.attempts += 1;
      exchange.request.trace.session = session;
      exchange.session = session;
      return next(exchange);
    });
  } catch (error) {
    throw classified(error, place);
  }
}
