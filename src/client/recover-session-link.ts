import type { ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Connection, Seat } from "../session/connection.js";
import type { Session } from "../session/session.js";
import type { HeldSession } from "../session/session-keeper.js";
import { classifyFailure } from "./classify-failure.js";
import type { Exchange, Link, Next } from "./exchange.js";

export interface RecoverParts {
  /** Phase 1, on the first call. */
  readonly connect: () => Promise<Connection>;
  readonly onSessionLost: (identity: string, held: HeldSession) => void;
  readonly warn: (message: string) => void;
}

/**
 * Gives a request the current session. When the server has forgotten that session it has not run
 * the request: a new session is opened and the request is sent once more. Safe here and nowhere
 * else.
 */
export function recoverSession(parts: RecoverParts): Link {
  const { connect } = parts;
  return async (exchange, next) => {
    const connection = await exchange.cancellation.race(connect());
    const seat = connection.seat(exchange.identity);
    const { spec } = connection;
    if (!spec.session.serialize) return sendRecovering({ ...parts, spec }, seat, exchange, next);
    const unlock = await seat.mutex.lock(exchange.cancellation);
    try {
      return await sendRecovering({ ...parts, spec }, seat, exchange, next);
    } finally {
      unlock();
    }
  };
}

async function sendRecovering(
  parts: RecoverParts & { readonly spec: ServerSpec },
  seat: Seat,
  exchange: Exchange,
  next: Next,
): Promise<unknown> {
  const { spec, warn, onSessionLost } = parts;
  for (let recoveries = 0; ; recoveries += 1) {
    const { held, session } = await seat.keeper.hold(exchange.cancellation);
    try {
      exchange.trace.attempts += 1;
      return await next({ ...exchange, session });
    } catch (error) {
      const failure = classifyFailure(error, spec.classify, warn);
      // A session that somebody pinned is that somebody's to replace.
      if (!isLoss(failure, session) || spec.session.id !== undefined) throw failure;
      const mayRecover = recoveries < spec.session.maxRecoveries;
      // Who gives up on a session that was just opened leaves it to the next caller: were it thrown
      // away here, every caller that lost the one before would open yet another.
      if (mayRecover || recoveries === 0) {
        seat.keeper.discard(held);
        onSessionLost(exchange.identity, held);
      }
      if (!mayRecover) throw failure;
    }
  }
}

/** Forgotten by the server, or gone on our side before the request left. */
function isLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  return failure.kind === "session-lost" || (failure.kind === "not-sent" && !session.isAlive);
}
