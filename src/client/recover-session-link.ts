import type { ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Seat } from "../session/seats.js";
import type { Session } from "../session/session.js";
import type { HeldSession } from "../session/session-keeper.js";
import { classifyFailure } from "./classify-failure.js";
import type { Exchange, Link, Next } from "./exchange.js";

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
    const connection = await exchange.cancellation.race(exchange.connect());
    const { spec, seats } = connection;
    return seats.use(exchange.identity, exchange.context, async (seat) => {
      if (!spec.session.serialize) return sendRecovering({ ...parts, spec }, seat, exchange, next);
      const leave = await seat.turn.enter(exchange.cancellation);
      try {
        return await sendRecovering({ ...parts, spec }, seat, exchange, next);
      } finally {
        leave();
      }
    });
  };
}

async function sendRecovering(
  parts: RecoverParts & { readonly spec: ServerSpec },
  seat: Seat,
  exchange: Exchange,
  next: Next,
): Promise<unknown> {
  const { spec, onSessionLost } = parts;
  for (let recoveries = 0; ; recoveries += 1) {
    const { held, session } = await classified(parts, () => seat.keeper.hold(exchange.cancellation));
    try {
      exchange.trace.attempts += 1;
      return await classified(parts, () => next({ ...exchange, session }));
    } catch (failure) {
      if (!isLoss(failure, session)) throw failure;
      // Whoever does not know the session has not run the request.
      exchange.trace.wasSent = () => false;
      // A session that somebody pinned is that somebody's to replace.
      if (spec.session.id !== undefined) throw failure;
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

async function classified<T>(
  { spec, warn }: RecoverParts & { readonly spec: ServerSpec },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw classifyFailure(error, spec.classify, warn);
  }
}

/** Forgotten by the server, or gone on our side before the request left. A server without sessions forgets none. */
function isLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  if (failure.kind === "session-lost") return session.id !== undefined;
  return failure.kind === "not-sent" && !session.isAlive;
}
