import type { CancelScope } from "../async/cancel-scope.js";
import type { CallContext } from "../config/call-context.js";
import type { JsonObject } from "../json/json.js";

/** What a server said of itself when the session was opened. Unknown for a session that was pinned. */
export interface ServerMetadata {
  /** Servers need not say who they are. */
  readonly serverInfo:
    | {
        readonly name: string;
        readonly version: string;
        readonly title?: string | undefined;
      }
    | undefined;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  readonly protocolVersion: string;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A request on its way. */
export interface SendStatus {
  /** Whether the server may have seen it. */
  wasSent(): boolean;
}

/** What became of a request. */
export interface DeliveryTracker {
  /** There once it was handed to a transport. */
  sending: SendStatus | undefined;
  /** The id of its message. */
  wireId: string | number | undefined;
}

export interface SessionRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly cancellation: CancelScope;
  /** For this request only, where messages have headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Who asks, where credentials depend on it. */
  readonly context?: CallContext | undefined;
  /** Told where the request is, from the moment it is handed over. */
  readonly delivery?: DeliveryTracker | undefined;
  /** The caller answers what a person is asked: it comes back as a result that is not complete. */
  readonly holdsInput?: boolean | undefined;
  /** Also asks the server for progress. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** A notification of the server. */
export interface ServerNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * One conversation with a server. It is opened, used by any number of requests at once, retired when
 * the server has forgotten it, and closed.
 */
export interface Session {
  readonly id: string | undefined;
  readonly facts: ServerMetadata | undefined;
  /** Opened by somebody else, and used without a handshake. */
  readonly isResumed: boolean;
  /** The server knows it, for it has answered. A resumed one may be long gone. */
  readonly isProven: boolean;
  /** False once the transport below is gone: the next request needs another session. */
  readonly isAlive: boolean;
  readonly inFlight: number;
  /** The server's result as it came. Rejects with `McpRuntimeError`, or with the cancellation's reason. */
  request(request: SessionRequest): Promise<unknown>;
  /** Lets the server speak unasked. Done when it can, or after a short while; never rejects. */
  listen(): Promise<void>;
  /** Takes no new requests; closes when the last one in flight has ended. */
  retire(): void;
  close(options: { readonly terminate: boolean }): Promise<void>;
}
