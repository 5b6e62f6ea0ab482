import type { Clock } from "../async/clock.js";
import { serverEndpoint } from "../config/server-endpoint.js";
import type { ServerConfig } from "../config/server-config.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { Redactor } from "../errors/redaction.js";
import type { OpenSessionHandle } from "../session/current-session.js";
import type { Session } from "../session/session.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientRequest } from "./request-context.js";
import { shownSessionId } from "./redacted-session-id.js";

interface SessionWatchParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly metrics: RequestMetrics;
  readonly redactor: Redactor;
  readonly config: () => Pick<ServerConfig, "address">;
}

interface WatchedSession {
  readonly session: Session;
  readonly generation: number;
  readonly openedAt: number;
}

/** Tells of the sessions of a client, one for each identity: when they are opened, lost, and over. */
export class SessionWatch {
  readonly #parts: SessionWatchParts;
  readonly #sessions = new Map<string, WatchedSession>();

  constructor(parts: SessionWatchParts) {
    this.#parts = parts;
  }

  opened(identity: string, session: Session, generation: number): void {
    const { server, clock, events, redactor } = this.#parts;
    this.#sessions.set(identity, { session, generation, openedAt: clock.now() });
    const { isResumed } = session;
    const id = shownSessionId(session, redactor);
    events.emit("sessionOpened", { server, identity, generation, id, isResumed });
  }

  /** The server has forgotten the session that this request was sent over. */
  forgotten({ identity, trace }: ClientRequest, { generation, session }: OpenSessionHandle): void {
    const { server, events, metrics, redactor } = this.#parts;
    trace.token ??= {};
    const id = shownSessionId(session, redactor);
    events.emit("sessionLost", { server, identity, generation, id, token: trace.token });
    // Any number of requests may find out; it is lost once.
    if (this.#sessions.get(identity)?.session !== session) return;
    metrics.sessionLost();
    this.#end(identity, "session-lost");
  }

  /** The connection below it went by itself. */
  disconnected(identity: string, generation: number): void {
    const { server, events } = this.#parts;
    events.emit("connectionLost", { server, identity, generation });
    if (this.#sessions.get(identity)?.generation === generation) this.#end(identity, "connection-lost");
  }

  closed(identity: string): void {
    this.#end(identity, undefined);
  }

  allClosed(): void {
    for (const identity of this.#sessions.keys()) this.closed(identity);
  }

  #end(identity: string, kind: FailureKind | undefined): void {
    const { server, clock, events, redactor, config } = this.#parts;
    const watched = this.#sessions.get(identity);
    if (watched === undefined) return;
    this.#sessions.delete(identity);
    const { session, generation, openedAt } = watched;
    events.emit("sessionEnded", {
      server,
      identity,
      generation,
      kind,
      durationMs: clock.now() - openedAt,
      endpoint: serverEndpoint(config()),
      sessionId: shownSessionId(session, redactor),
      protocolVersion: session.facts?.protocolVersion,
    });
  }
}
