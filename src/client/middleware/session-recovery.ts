import type { Cancellation } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Connection } from "../../session/connection.js";
import type { Seat } from "../../session/session-pool.js";
import type { Session } from "../../session/session.js";
import type { OpenSession } from "../../session/current-session.js";
import { classifyFailure } from "./apply-user-classifier.js";
import type { ClientRequest, Exchange, Link, Next } from "../request-context.js";

export interface RecoverParts {
  readonly onSessionLost: (request: ClientRequest, held: OpenSession) => void;
  readonly warn: (message: string) => void;
}

/** Where a request is sent from. Made by those who need it: a call that goes well does not. */
interface Place {
  readonly parts: RecoverParts;
  readonly connection: Connection;
  readonly seat: Seat;
}

/**
 * Gives a request the current session. When the server has forgotten that session it has not run
 * the request: a new session is opened and the request is sent once more. Safe here and nowhere
 * else.
 */
export function recoverSession(parts: RecoverParts): Link {
  return (next) => async (exchange) => {
    const { request, cancellation } = exchange;
    const connected = request.connect();
    const connection = connected instanceof Promise ? await cancellation.race(connected) : connected;
    const { spec, seats } = connection;
    const seat = seats.enter(request.identity, request.context);
    let leaveTurn: (() => void) | undefined;
    try {
      if (spec.session.serialize) leaveTurn = await seat.turn.enter(cancellation);
      if (exchange.isIsolated && canIsolate(connection, seat))
        return await sendIsolated(exchange, next, { parts, connection, seat });
      for (let recoveries = 0; ;) {
        const held = seat.keeper.ready ?? (await open({ parts, connection, seat }, cancellation));
        request.trace.attempts += 1;
        request.trace.session = held.session;
        try {
          exchange.session = held.session;
          return await next(exchange);
        } catch (error) {
          const place = { parts, connection, seat };
          recoveries += recoveriesFor(error, { held, recoveries, request, place });
        }
      }
    } finally {
      leaveTurn?.();
      seats.leave(seat);
    }
  };
}

async function open(place: Place, cancellation: Cancellation): Promise<OpenSession> {
  try {
    return await place.seat.keeper.hold(cancellation);
  } catch (error) {
    throw classified(error, place);
  }
}

interface FailedSending {
  readonly held: OpenSession;
  /** How often the request has got a new session so far. */
  readonly recoveries: number;
  readonly request: ClientRequest;
  readonly place: Place;
}

/** Throws unless the request may have another session; says what that counts for. */
function recoveriesFor(error: unknown, { held, recoveries, request, place }: FailedSending): number {
  const { id: pinnedId, maxRecoveries } = place.connection.spec.session;
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
    place.seat.keeper.discard(held);
    place.parts.onSessionLost(request, held);
  }
  if (!mayRecover) throw failure;
  return wasNeverThere ? 0 : 1;
}

function classified(error: unknown, { connection, parts }: Place): unknown {
  return classifyFailure(error, connection.spec.classify, parts.warn);
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
function canIsolate(connection: Connection, seat: Seat): boolean {
  return connection.spec.session.id === undefined && seat.keeper.ready?.session.id !== undefined;
}

/** Nobody else has this session, so there is nobody to recover it for. */
async function sendIsolated(exchange: Exchange, next: Next, place: Place): Promise<unknown> {
  const { connection, seat } = place;
  try {
    return await connection.withOwnSession(seat, exchange.cancellation, (session) => {
      exchange.request.trace.attempts += 1;
      exchange.request.trace.session = session;
      exchange.session = session;
      return next(exchange);
    });
  } catch (error) {
    throw classified(error, place);
  }
}
