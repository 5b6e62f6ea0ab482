import type { Clock } from "../async/clock.js";
import type { JsonObject } from "../json/json.js";
import { serverEndpoint } from "../config/server-endpoint.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { Session } from "../session/session.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import type { ClientEvents } from "./client-events.js";
import type { RequestWrapper } from "./request-events.js";
import { shownSessionId } from "./redacted-session-id.js";
import { surround } from "./middleware/wrap-request.js";

interface HandshakeWatchParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly metrics: RequestMetrics;
  readonly redactor: Redactor;
}

/** Counts handshakes, and tells of them to whoever listens. */
export class HandshakeWatch {
  readonly #parts: HandshakeWatchParts;

  constructor(parts: HandshakeWatchParts) {
    this.#parts = parts;
  }

  async watch(
    { identity, config }: { readonly identity: string; readonly config: Pick<ServerConfig, "address"> },
    shakeHands: (meta: JsonObject) => Promise<Session>,
  ): Promise<Session> {
    const { server, clock, events, metrics, redactor } = this.#parts;
    const startedAt = clock.now();
    const meta = new Map<string, string>();
    const surroundings: RequestWrapper[] = [];
    const about = { token: {}, server, identity };
    events.emit("handshakeStarted", {
      ...about,
      addMeta: (name, value) => meta.set(name, value),
      around: (surrounding) => surroundings.push(surrounding),
    });
    const tellEnd = (session: Session | undefined, failure: unknown) => {
      metrics.handshakeEnded(session === undefined ? "failures" : "successes");
      const error = failure instanceof McpRuntimeError ? failure : undefined;
      const protocolVersion = session?.facts?.protocolVersion;
      events.emit("handshakeEnded", {
        ...about,
        latencyMs: clock.now() - startedAt,
        method: protocolVersion === MODERN_VERSION ? "server/discover" : "initialize",
        kind: session === undefined ? (error?.kind ?? "cancelled") : undefined,
        error,
        endpoint: serverEndpoint(config),
        sessionId: shownSessionId(session, redactor),
        protocolVersion,
      });
    };
    try {
      const session = await surround(
        surroundings,
        () => shakeHands(Object.fromEntries(meta)),
        (error) => events.warn(`What a listener put around a handshake failed: ${String(error)}`),
      );
      tellEnd(session, undefined);
      return session;
    } catch (error) {
      tellEnd(undefined, error);
      throw error;
    }
  }
}
