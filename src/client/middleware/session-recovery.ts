import { type Clock, delay } from "../../async/clock.js";
import type { ServerConfig } from "../../config/server-config.js";
import { isFailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { printValue } from "../../errors/sanitize-text.js";
import { ignoreRejection, isPromiseLike } from "../../json/json.js";
import type { Connection } from "../../session/connection.js";
import type { SessionSlot, OpenSessionHandle } from "../../session/session-pool.js";
import { hasCapability, type Session } from "../../session/session.js";
import type { ClientContext } from "../client-events.js";
import { type Handler, hasWaitedToConnect, type RequestContext } from "../request-context.js";
import type { SessionEventEmitter } from "../session-event-emitter.js";

interface SessionRecoveryDependencies extends Pick<ClientContext, "server" | "clock" | "random"> {
  readonly events: { warn(message: string): void };
  readonly lifecycle: { readonly sessionEvents: Pick<SessionEventEmitter, "lost"> };
}

/** Later repetitions wait, so that callers that lost a session together do not lose the next one together. */
const IMMEDIATE_REPETITIONS = 2;
const BASE_DELAY_MS = 25;
const MAX_DELAY_MS = 500;

/** Created only for failed attempts, so that successful calls do not allocate it. */
interface FailedAttempt {
  readonly deps: SessionRecoveryDependencies;
  readonly connection: Connection;
  readonly slot: SessionSlot;
}

/**
 * Sends a request on the current session. A server that no longer knows the session has not run the request, so it is
 * sent again on a new session. This is the only place where that is safe for every request.
 */
export function recoverSession(deps: SessionRecoveryDependencies): Handler {
  return async (request) => {
    const { cancellation } = request;
    request.hasConnectTimedOut = false;
    const connecting = request.connect();
    const connection =
      connecting instanceof Promise
        ? await waitToConnect(request, deps.clock, cancellation.race(connecting))
        : connecting;
    const { config, pool } = connection;
    const slot = pool.acquire(request.identity, request.context);
    let releaseTurn: (() => void) | undefined;
    try {
      if (config.session.sequential) releaseTurn = await slot.mutex.acquire(cancellation);
      if (request.useFreshSession && canUseFreshSession(connection, slot))
        return await sendOnFreshSession(request, { deps, connection, slot });
      for (let recovery: Recovery | undefined; ;) {
        const handle = slot.currentSession.ready ?? (await open({ deps, connection, slot }, request));
        const { session } = handle;
        request.attempts += 1;
        request.session = session;
        try {
          if (lacksCapability(session, request.capability)) throw unsupportedError(request, deps.server);
          return await session.request(request);
        } catch (error) {
          recovery ??= new Recovery(request, { deps, connection, slot });
          await recovery.continueAfter(error, handle);
        }
      }
    } finally {
      releaseTurn?.();
      pool.release(slot);
    }
  };
}

function lacksCapability({ metadata }: Session, capability: string | undefined): boolean {
  return (
    capability !== undefined && metadata !== undefined && !hasCapability(metadata.capabilities, capability)
  );
}

function unsupportedError({ method, capability }: RequestContext, server: string): McpRuntimeError {
  const text = `Server "${server}" does not support ${capability}: ${method} was not sent.`;
  return new McpRuntimeError("not-found", text, { server });
}

/**
 * Opens a session, or waits for the one that is being opened. A call that has joined a handshake late, for example one that
 * began during an outage, waits for another one if it times out.
 */
async function open(attempt: FailedAttempt, request: RequestContext): Promise<OpenSessionHandle> {
  const { config } = attempt.connection;
  const acquire = () => {
    const acquiring = attempt.slot.currentSession.acquire(request.cancellation, request);
    return waitToConnect(request, attempt.deps.clock, acquiring);
  };
  try {
    return await acquire().catch((error: unknown) => {
      if (!request.hasConnectTimedOut || hasWaitedToConnect(request, config.timeouts.connectMs)) throw error;
      return acquire();
    });
  } catch (error) {
    throw classifyError(error, attempt);
  }
}

/** Records a timeout of connecting, as opposed to one of the request: then `cancellation` is cancelled. */
async function waitToConnect<T>(request: RequestContext, clock: Clock, connecting: Promise<T>): Promise<T> {
  const startedAt = clock.now();
  try {
    return await connecting;
  } catch (error) {
    const isTimeout = error instanceof McpRuntimeError && error.kind === "timeout";
    request.hasConnectTimedOut = isTimeout && !request.cancellation.isCancelled;
    request.connectWaitMs += clock.now() - startedAt;
    throw error;
  }
}

/** Decides after each failure of a request whether it is sent again. */
class Recovery {
  readonly #request: RequestContext;
  readonly #attempt: FailedAttempt;
  /** How many new sessions the request has used. */
  #recoveries = 0;
  #repetitions = 0;
  /** The last session on which the request was lost. */
  #lostHandle: OpenSessionHandle | undefined;

  constructor(request: RequestContext, attempt: FailedAttempt) {
    this.#request = request;
    this.#attempt = attempt;
  }

  /** Resolves when the request may be sent again; throws the failure if it may not. */
  async continueAfter(error: unknown, handle: OpenSessionHandle): Promise<void> {
    this.#plan(error, handle);
    this.#repetitions += 1;
    const exponent = this.#repetitions - IMMEDIATE_REPETITIONS;
    if (exponent <= 0) return;
    const { clock, random } = this.#attempt.deps;
    const delayMs = random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** exponent);
    await delay(delayMs, clock, this.#request.cancellation);
  }

  #plan(error: unknown, handle: OpenSessionHandle): void {
    const request = this.#request;
    const attempt = this.#attempt;
    const failure = classifyError(error, attempt);
    const isReported = reportsSessionLoss(failure, handle.session);
    if (!isReported && !isSessionLoss(failure, handle.session)) throw failure;
    // A server that does not know the session has not run the request. A report with status 200 may come from the tool.
    if (!isReported) request.sendStatus = undefined;
    // A configured session id is replaced by the user, never by the client.
    if (attempt.connection.config.session.id !== undefined) throw failure;
    // A session from the store that never worked: it had already expired. At most two stored sessions are tried
    // before a new one is opened.
    const wasNeverConfirmed = !handle.session.isConfirmed;
    if (!wasNeverConfirmed && this.#mayResend(failure, handle)) return;
    const mayRecover = wasNeverConfirmed || this.#recoveries < this.#maxRecoveries(failure);
    // After the last recovery, the new session is left to the next caller: if each caller invalidated it, every caller
    // that lost the previous session would open another one.
    if (mayRecover || this.#recoveries === 0) {
      attempt.slot.currentSession.invalidate(handle);
      attempt.deps.lifecycle.sessionEvents.lost(request, handle);
    }
    if (!mayRecover || (isReported && !request.isIdempotent)) throw failure;
    if (!wasNeverConfirmed) this.#recoveries += 1;
  }

  /**
   * A load balancer may have sent the request to another server than the handshake: a new session that is lost at once is
   * tried a second time.
   */
  #mayResend(failure: McpRuntimeError, handle: OpenSessionHandle): boolean {
    const isNew = this.#recoveries > 0 && this.#lostHandle !== handle;
    this.#lostHandle = handle;
    return isNew && isLostByStatus(failure);
  }

  /** Only a status proves that the request did not run and that the server is there; after other losses, one recovery. */
  #maxRecoveries(failure: McpRuntimeError): number {
    const { maxRecoveries } = this.#attempt.connection.config.session;
    return isLostByStatus(failure) ? maxRecoveries : Math.min(1, maxRecoveries);
  }
}

function isLostByStatus({ kind, status }: McpRuntimeError): boolean {
  return kind === "session-lost" && status !== undefined;
}

function classifyError(error: unknown, { connection, deps }: FailedAttempt): unknown {
  return applyUserClassifier(error, connection.config.classify, (message) => deps.events.warn(message));
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

/** Errors with which known servers report an unknown session with HTTP status 200. */
const SESSION_LOSS_ERRORS: ReadonlySet<string> = new Set([
  "-32001 Session not found",
  "-32600 Session not found",
  "-32000 Bad Request: No valid session ID provided",
  "-32000 Bad Request: Server not initialized",
]);

/**
 * Whether an error without an HTTP status reports a lost session, or a server of another era. Servers reject a protocol
 * version with 400 before they run a request; with 200, the code may come from what the request has run.
 */
function reportsSessionLoss(failure: unknown, session: Session): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError) || failure.status !== undefined) return false;
  const { kind, code, cause } = failure;
  if (kind === "unsupported-protocol") return true;
  return (
    session.id !== undefined && cause instanceof Error && SESSION_LOSS_ERRORS.has(`${code} ${cause.message}`)
  );
}

/** Not for a server without sessions, nor with a configured session id. */
function canUseFreshSession(connection: Connection, slot: SessionSlot): boolean {
  return connection.config.session.id === undefined && slot.currentSession.ready?.session.id !== undefined;
}

/** The session is used for this attempt only, so it is not recovered. */
async function sendOnFreshSession(request: RequestContext, attempt: FailedAttempt): Promise<unknown> {
  const { connection, slot } = attempt;
  const { identity } = slot;
  const credentials = request.isBackground ? slot.credentials?.withoutLogin() : slot.credentials;
  try {
    return await connection.withFreshSession({ identity, credentials }, request.cancellation, (session) => {
      request.attempts += 1;
      request.session = session;
      return session.request(request);
    });
  } catch (error) {
    throw classifyError(error, attempt);
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
    if (isPromiseLike(kind)) {
      ignoreRejection(kind);
      warn("classify returned a promise, which is ignored: it has to return a failure kind synchronously.");
      return error;
    }
    warn(`classify returned ${JSON.stringify(kind)}, which is not a failure kind; ignored.`);
  } catch (thrown) {
    warn(`classify threw an error; ignored: ${printValue(thrown)}`);
  }
  return error;
}
