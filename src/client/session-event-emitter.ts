import { serverEndpoint, type ServerConfig } from "../config/server-config.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import type { JsonObject } from "../json/json.js";
import type { OpenSessionHandle } from "../session/session-pool.js";
import type { Session } from "../session/session.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import { type ClientContext, redactedSessionId, type RequestWrapper } from "./client-events.js";
import type { RequestContext } from "./request-context.js";
import { type EventDependencies, wrapRequest } from "./request-event-emitter.js";

interface TrackedSession {
  readonly session: Session;
  readonly generation: number;
  readonly openedAt: number;
}

/** A session that the server loses within this time after its handshake was lost early. */
const EARLY_LOSS_MS = 10_000;
const EARLY_LOSSES_BEFORE_WARNING = 3;

/** Emits events when sessions are opened, lost and ended. Tracks one session per identity. */
export class SessionEventEmitter {
  readonly #deps: EventDependencies;
  readonly #sessions = new Map<string, TrackedSession>();
  /** Consecutive early losses by identity: a restart loses one session of each. */
  readonly #earlyLosses = new Map<string, number>();
  #hasWarned = false;

  constructor(deps: EventDependencies) {
    this.#deps = deps;
  }

  opened(identity: string, session: Session, generation: number): void {
    const { server, clock, events, redactor } = this.#deps;
    this.#sessions.set(identity, { session, generation, openedAt: clock.now() });
    const { isResumed } = session;
    const id = redactedSessionId(session, redactor);
    events.emit("sessionOpened", { server, identity, generation, id, isResumed });
  }

  /** The server no longer knows the session of this request. */
  lost(request: RequestContext, { generation, session }: OpenSessionHandle): void {
    const { server, events, metrics, redactor } = this.#deps;
    const { identity } = request;
    request.token ??= {};
    const id = redactedSessionId(session, redactor);
    events.emit("sessionLost", { server, identity, generation, id, token: request.token });
    // Many requests may detect the same loss; the session ends once.
    if (this.#sessions.get(identity)?.session !== session) return;
    metrics.onSessionLost();
    this.#countEarlyLoss(identity);
    this.#emitEnded(identity, "session-lost");
  }

  /** A load balancer that distributes the requests of a session over several servers looks like this. */
  #countEarlyLoss(identity: string): void {
    const { server, clock, events } = this.#deps;
    const openedAt = this.#sessions.get(identity)?.openedAt ?? Number.NEGATIVE_INFINITY;
    const losses = clock.now() - openedAt < EARLY_LOSS_MS ? (this.#earlyLosses.get(identity) ?? 0) + 1 : 0;
    this.#earlyLosses.set(identity, losses);
    if (this.#hasWarned || losses < EARLY_LOSSES_BEFORE_WARNING) return;
    this.#hasWarned = true;
    events.warn(
      `Server "${server}" lost ${losses} sessions in a row within ${EARLY_LOSS_MS / 1000} s of their handshakes; calls are repeated on new sessions. If a load balancer distributes the requests over several servers, it needs sticky sessions (by the Mcp-Session-Id header).`,
    );
  }

  /** The connection of the session closed unexpectedly. */
  disconnected(identity: string, generation: number): void {
    const { server, events } = this.#deps;
    events.emit("connectionLost", { server, identity, generation });
    if (this.#sessions.get(identity)?.generation === generation) this.#emitEnded(identity, "connection-lost");
  }

  closed(identity: string): void {
    this.#earlyLosses.delete(identity);
    this.#emitEnded(identity, undefined);
  }

  closeAll(): void {
    for (const identity of this.#sessions.keys()) this.closed(identity);
  }

  #emitEnded(identity: string, kind: FailureKind | undefined): void {
    const { server, clock, events, redactor, config } = this.#deps;
    const tracked = this.#sessions.get(identity);
    if (tracked === undefined) return;
    this.#sessions.delete(identity);
    const { session, generation, openedAt } = tracked;
    events.emit("sessionEnded", {
      server,
      identity,
      generation,
      kind,
      durationMs: clock.now() - openedAt,
      endpoint: serverEndpoint(config()),
      sessionId: redactedSessionId(session, redactor),
      protocolVersion: session.metadata?.protocolVersion,
    });
  }
}

/** Counts a handshake and emits its events. */
export async function observeHandshake(
  { identity, config }: { readonly identity: string; readonly config: Pick<ServerConfig, "address"> },
  runHandshake: (meta: JsonObject) => Promise<Session>,
  { server, clock, events, metrics, redactor }: ClientContext,
): Promise<Session> {
  const startedAt = clock.now();
  const meta = new Map<string, string>();
  const wrappers: RequestWrapper[] = [];
  const commonFields = { token: {}, server, identity };
  events.emit("handshakeStarted", {
    ...commonFields,
    addMeta: (name, value) => meta.set(name, value),
    wrap: (wrapper) => wrappers.push(wrapper),
  });
  const emitEnd = (session: Session | undefined, failure: unknown) => {
    metrics.onHandshakeEnded(session === undefined ? "failures" : "successes");
    const error = failure instanceof McpRuntimeError ? failure : undefined;
    const protocolVersion = session?.metadata?.protocolVersion;
    events.emit("handshakeEnded", {
      ...commonFields,
      latencyMs: clock.now() - startedAt,
      method: protocolVersion === MODERN_VERSION ? "server/discover" : "initialize",
      kind: session === undefined ? (error?.kind ?? "cancelled") : undefined,
      error,
      endpoint: serverEndpoint(config),
      sessionId: redactedSessionId(session, redactor),
      protocolVersion,
    });
  };
  try {
    const session = await wrapRequest(
      wrappers,
      () => runHandshake(Object.fromEntries(meta)),
      (error) => events.warn(`A handshake wrapper of a listener failed: ${printValue(error)}`),
    );
    emitEnd(session, undefined);
    return session;
  } catch (error) {
    emitEnd(undefined, error);
    throw error;
  }
}
