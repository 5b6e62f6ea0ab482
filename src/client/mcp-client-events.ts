import type { BreakerState } from "./policies/circuit-breaker.js";
import type { ServerNotification } from "../session/session.js";
import type { WarningCode } from "../telemetry/server-log.js";
import type { RequestEnded, RequestRetried, RequestStarted, RequestWrapper } from "./request-events.js";

/** One session of a client. */
interface SessionEvent {
  readonly server: string;
  readonly identity: string;
  /** Counts the sessions of an identity, from 1. */
  readonly generation: number;
}

interface HandshakeEvent {
  /** The same object in both events of one handshake. */
  readonly token: object;
  readonly server: string;
  readonly identity: string;
}

export interface McpClientEvents {
  requestStarted: RequestStarted;
  requestRetried: RequestRetried;
  requestEnded: RequestEnded;
  handshakeStarted: HandshakeEvent & {
    /** Sent along in `_meta` of what the server is greeted with. While the event is told. */
    readonly addMeta: (name: string, value: string) => void;
    /** The handshake then runs within this, as in an async context. While the event is told. */
    readonly around: (surrounding: RequestWrapper) => void;
  };
  /** `method` tells how: by a handshake or, where a server knows no sessions, by asking what it is. */
  handshakeEnded: HandshakeEvent & { readonly method: "initialize" | "server/discover" } & Pick<
      RequestEnded,
      "latencyMs" | "kind" | "error" | "endpoint" | "sessionId" | "protocolVersion"
    >;
  /**
   * A session can be used: after a handshake, or without one if it was resumed. The id of one that is
   * kept secret, because it is pinned or stored, is told in no event.
   */
  sessionOpened: SessionEvent & { readonly id: string | undefined; readonly isResumed: boolean };
  /** The server forgot a session. `token` is of the request that found out. */
  sessionLost: SessionEvent & { readonly id: string | undefined; readonly token: object };
  /** The connection below a session went by itself: a program ended, a stream broke. The next request opens another. */
  connectionLost: SessionEvent;
  /** A session is over: lost, its connection gone, or closed by us (`kind` is `undefined` then). */
  sessionEnded: SessionEvent &
    Pick<RequestEnded, "kind" | "endpoint" | "sessionId" | "protocolVersion"> & {
      readonly durationMs: number;
    };
  /** The server is left alone, tried again, or taken back. */
  breakerChanged: { readonly server: string; readonly identity: string; readonly state: BreakerState };
  /** A notification of the server that nothing else takes. */
  notification: ServerNotification;
  /** The server says that its list of tools is another one now. */
  toolsChanged: { readonly server: string };
  /** The server says that its list of resources, or of templates, is another one now. */
  resourcesChanged: { readonly server: string };
  /** The server says that its list of prompts is another one now. */
  promptsChanged: { readonly server: string };
  /**
   * A resource that was subscribed to is another one now; or it may be: after a lost session, nobody
   * knows what was missed.
   */
  resourceUpdated: { readonly server: string; readonly identity: string; readonly uri: string };
  /** Something went wrong that costs nobody a call. */
  warning: { readonly server: string; readonly message: string; readonly code?: WarningCode };
}
