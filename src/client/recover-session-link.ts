import type { ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Connection } from "../session/connection.js";
import type { Seat } from "../session/seats.js";
import type { Session } from "../session/session.js";
import type { HeldSession, OpenSession } from "../session/session-keeper.js";
import { classifyFailure } from "./classify-failure.js";
import { type Exchange, type Link, neverSent, type Next } from "./exchange.js";

export interface RecoverParts {
  readonly onSessionLost: (identity: string, held: HeldSession) => void;
  readonly warn: (message: string) => void;
}

/**
 * Gives a request the current session. When the server has forgotten that session it has not run
 * the request: a new session is opened and the request is sent once more. Safe here and nowhere
 * else.
 */
export function recoverSession(parts: RecoverParts): Link {
  return async (exchange, next) => {
    const { identity, context, cancellation } = exchange;
    const connected = exchange.connect();
    const connection = connected instanceof Promise ? await cancellation.race(connected) : connected;
    const { spec, seats } = connection;
    const seat = seats.enter(identity, context);
    let leaveTurn: (() => void) | undefined;
    try {
      if (spec.session.serialize) leaveTurn = await seat.turn.enter(cancellation);
      return exchange.isIsolated && canIsolate(spec, seat)
        ? await sendIsolated(exchange, next, { ...parts, connection, seat })
        : await sendRecovering(exchange, next, { ...parts, spec, seat });
    } finally {
      leaveTurn?.();
      seats.leave(seat);
    }
  };
}

interface SharedSession extends RecoverParts {
  readonly spec: ServerSpec;
  readonly seat: Seat;
}

async function sendRecovering(
  exchange: Exchange,
  next: Next,
  { spec, seat, onSessionLost, warn }: SharedSession,
): Promise<unknown> {
  let recoveries = 0;
  for (;;) {
    let held: OpenSession | undefined;
    try {
      held = seat.keeper.ready ?? (await seat.keeper.hold(exchange.cancellation));
      exchange.trace.attempts += 1;
      return await next({ ...exchange, session: held.session });
    } catch (error) {
      const failure = classifyFailure(error, spec.classify, warn);
      if (held === undefined || !isLoss(failure, held.session)) throw failure;
      // Whoever does not know the session has not run the request.
      exchange.trace.wasSent = neverSent;
      // A session that somebody pinned is that somebody's to replace.
      if (spec.session.id !== undefined) throw failure;
      // Nobody had this session yet: it was found in the store, where two are tried at most before one
      // is opened, and was gone already.
      const wasNeverThere = !held.session.isProven;
      const mayRecover = wasNeverThere || recoveries < spec.session.maxRecoveries;
      // Who gives up on a session that was just opened leaves it to the next caller: were it thrown
      // away here, every caller that lost the one before would open yet another.
      if (mayRecover || recoveries === 0) {
        seat.keeper.discard(held);
        onSessionLost(exchange.identity, held);
      }
      if (!mayRecover) throw failure;
      if (!wasNeverThere) recoveries += 1;
    }
  }
}

/** Forgotten by the server, or gone on our side before the request left. A server without sessions forgets none. */
function isLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  if (failure.kind === "session-lost") return session.id !== undefined;
  return failure.kind === "not-sent" && !session.isAlive;
}

/** Where a server has no sessions, and where somebody pinned one, there is nothing to get away from. */
function canIsolate({ session }: ServerSpec, { keeper }: Seat): boolean {
  return session.id === undefined && keeper.ready?.session.id !== undefined;
}

/** Nobody else has this session, so there is nobody to recover it for. */
async function sendIsolated(
  exchange: Exchange,
  next: Next,
  { connection, seat, warn }: RecoverParts & { readonly connection: Connection; readonly seat: Seat },
): Promise<unknown> {
  try {
    return await connection.withOwnSession(seat, exchange.cancellation, (session) => {
      exchange.trace.attempts += 1;
      return next({ ...exchange, session });
    });
  } catch (error) {
    throw classifyFailure(error, connection.spec.classify, warn);
  }
}
