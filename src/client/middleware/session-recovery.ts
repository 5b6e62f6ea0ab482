import type { CancelScope } from "../../async/cancel-scope.js";
import type { ServerConfig } from "../../config/server-config.js";
import { isFailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Connection } from "../../session/connection.js";
import type { SessionSlot, OpenSessionHandle } from "../../session/session-pool.js";
import type { Session } from "../../session/session.js";
import type { ClientRequest, RequestContext, Middleware, Handler } from "../request-context.js";

export interface SessionRecoveryDependencies {
  readonly onSessionLost: (request: ClientRequest, handle: OpenSessionHandle) => void;
  readonly warn: (message: string) => void;
}

/** Created only for failed attempts, so that successful calls do not allocate it. */
interface RecoveryContext {
  readonly deps: SessionRecoveryDependencies;
  readonly connection: Connection;
  readonly slot: SessionSlot;
}

/**
 * Provides the current session of a request. A server that no longer knows the session has not run the request, so it is
 * sent again on a new session. This is the only place where that is safe for every request.
 */
export function recoverSession(deps: SessionRecoveryDependencies): Middleware {
  return (next) => async (ctx) => {
    const { request, cancellation } = ctx;
    const connecting = request.connect();
    const connection = connecting instanceof Promise ? await cancellation.race(connecting) : connecting;
    const { config, pool } = connection;
    const slot = pool.acquire(request.identity, request.context);
    let releaseTurn: (() => void) | undefined;
    try {
      if (config.session.sequential) releaseTurn = await slot.mutex.acquire(cancellation);
      if (ctx.useFreshSession && canUseFreshSession(connection, slot))
        return await sendOnFreshSession(ctx, next, { deps, connection, slot });
      for (let recoveries = 0; ;) {
        const handle = slot.currentSession.ready ?? (await open({ deps, connection, slot }, cancellation));
        request.trace.attempts += 1;
        request.trace.session = handle.session;
        try {
          ctx.session = handle.session;
          return await next(ctx);
        } catch (error) {
          const recovery = { deps, connection, slot };
          recoveries += planRecovery(error, { handle, recoveries, request, recovery });
        }
      }
    } finally {
      releaseTurn?.();
      pool.release(slot);
    }
  };
}

async function open(recovery: RecoveryContext, cancellation: CancelScope): Promise<OpenSessionHandle> {
  try {
    return await recovery.slot.currentSession.acquire(cancellation);
  } catch (error) {
    throw classifyError(error, recovery);
  }
}

interface FailedAttempt {
  readonly handle: OpenSessionHandle;
  /** How often the request was given a new session so far. */
  readonly recoveries: number;
  readonly request: ClientRequest;
  readonly recovery: RecoveryContext;
}

/** Throws unless the request may be sent on another session; returns how many recoveries that counts for. */
function planRecovery(error: unknown, { handle, recoveries, request, recovery }: FailedAttempt): number {
  const { id: resumedId, maxRecoveries } = recovery.connection.config.session;
  const failure = classifyError(error, recovery);
  if (!isSessionLoss(failure, handle.session)) throw failure;
  // A server that does not know the session has not run the request.
  request.trace.sendStatus = undefined;
  // A configured session id is replaced by the user, never by the client.
  if (resumedId !== undefined) throw failure;
  // A session from the store that never worked: it had already expired. At most two stored sessions are tried
  // before a new one is opened.
  const wasNeverConfirmed = !handle.session.isConfirmed;
  const mayRecover = wasNeverConfirmed || recoveries < maxRecoveries;
  // After the last recovery, the new session is left to the next caller: if each caller invalidated it, every caller
  // that lost the previous session would open another one.
  if (mayRecover || recoveries === 0) {
    recovery.slot.currentSession.invalidate(handle);
    recovery.deps.onSessionLost(request, handle);
  }
  if (!mayRecover) throw failure;
  return wasNeverConfirmed ? 0 : 1;
}

function classifyError(error: unknown, { connection, deps }: RecoveryContext): unknown {
  return applyUserClassifier(error, connection.config.classify, deps.warn);
}

/**
 * The server no longer knows the session, or it was closed locally before the request was sent. A server without sessions
 * may be replaced by one with sessions, and vice versa: then it rejects the protocol version of the request.
 */
function isSessionLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  if (failure.kind === "session-lost") return session.id !== undefined;
  if (failure.kind === "unsupported-protocol") return true;
  return failure.kind === "not-sent" && !session.isAlive;
}

/** Not for a server without sessions, nor with a configured session id. */
function canUseFreshSession(connection: Connection, slot: SessionSlot): boolean {
  return connection.config.session.id === undefined && slot.currentSession.ready?.session.id !== undefined;
}

/** The session is used for this attempt only, so it is not recovered. */
async function sendOnFreshSession(
  ctx: RequestContext,
  next: Handler,
  recovery: RecoveryContext,
): Promise<unknown> {
  const { connection, slot } = recovery;
  try {
    return await connection.withFreshSession(slot, ctx.cancellation, (session) => {
      ctx.request.trace.attempts += 1;
      ctx.request.trace.session = session;
      ctx.session = session;
      return next(ctx);
    });
  } catch (error) {
    throw classifyError(error, recovery);
  }
}

/** Lets the user's `classify` change the kind of a failure. An invalid kind or an exception is only a warning. */
function applyUserClassifier(
  error: unknown,
  classify: ServerConfig["classify"],
  warn: (message: string) => void,
): unknown {
  if (classify === undefined || !(error instanceof McpRuntimeError)) return error;
  try {
    const kind: unknown = classify(error);
    if (kind === undefined || kind === error.kind) return error;
    if (isFailureKind(kind)) return error.with({ kind });
    warn(`classify returned ${JSON.stringify(kind)}, which is not a failure kind; ignored.`);
  } catch (thrown) {
    warn(`classify threw an error; ignored: ${String(thrown)}`);
  }
  return error;
}
