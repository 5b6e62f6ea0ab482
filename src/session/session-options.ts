import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import type { MessageTransport } from "../config/message-transport.js";
import type { ServerRequestHandlers } from "../config/server-request-handlers.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { JsonObject } from "../json/json.js";
import type { DetachedTransport, WireIds } from "./safe-transport.js";
import type { ServerMetadata, ServerNotification } from "./session.js";

/** Everything that opening one session needs, in either protocol era. */
export interface OpenSessionOptions {
  readonly server: string;
  /** A transport that already has a session id is used without a handshake. */
  readonly openTransport: () => Promise<MessageTransport>;
  /** A transport that is already started and is reused. */
  readonly startedTransport?: DetachedTransport | undefined;
  /** The transport comes from the user's `openTransport`. */
  readonly isCustomTransport: boolean;
  /** Metadata that is already known, for a resumed session. */
  readonly metadata: ServerMetadata | undefined;
  /** Sent as `_meta` of `initialize` or `server/discover`. */
  readonly handshakeMeta: JsonObject;
  /** Called when the server rejects `initialize`. A caller of `detach` owns the transport and closes it. */
  readonly onInitializeRejected?: ((code: number, detach: () => DetachedTransport) => void) | undefined;
  /** Set when other processes may use the same session. */
  readonly wireIds: WireIds | undefined;
  readonly connectMs: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Cancelled when the client is closed, never by a single caller: several may wait for the session. */
  readonly cancellation: CancelScope;
  /** The identity that owns the session; empty for the shared one. */
  readonly identity: string;
  /** Handlers for server requests, and how many of them may run at a time. */
  readonly handlers: ServerRequestHandlers;
  readonly maxServerRequests: number;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error) => void;
  /** The transport closed unexpectedly. */
  readonly onDisconnected: () => void;
}

/** One attempt to open a session, limited by `timeouts.connectMs`. */
interface ConnectAttempt {
  /** Cancelled on timeout and when the client is closed. */
  readonly cancellation: CancelScope;
  readonly end: () => void;
}

export function startAttempt({ server, connectMs, clock, cancellation }: OpenSessionOptions): ConnectAttempt {
  const attempt = cancellation.child();
  const cancelTimer =
    connectMs === 0
      ? () => undefined
      : clock.after(connectMs, () => attempt.cancel(handshakeTimeoutError(server, connectMs)));
  return {
    cancellation: attempt,
    end: () => {
      cancelTimer();
      attempt.dispose();
    },
  };
}

function handshakeTimeoutError(server: string, connectMs: number): McpRuntimeError {
  return new McpRuntimeError(
    "timeout",
    `Server "${server}" did not finish the handshake within ${connectMs} ms (timeouts.connectMs).`,
    { server },
  );
}

/** Opens the transport within the attempt. A transport that opens after it was cancelled is closed here. */
export async function openTransportWithin(
  options: OpenSessionOptions,
  attempt: CancelScope,
): Promise<MessageTransport> {
  const { server, redactor } = options;
  const opening = options.openTransport();
  try {
    return await attempt.race(opening);
  } catch (error) {
    if (attempt.isCancelled) opening.then((late) => late.close()).catch(() => undefined);
    if (attempt.isCancelled || error instanceof McpRuntimeError) throw error;
    const message = redactor.redact(error instanceof Error ? error.message : String(error));
    throw new McpRuntimeError("not-sent", `The transport of server "${server}" failed to open: ${message}`, {
      server,
      cause: redactor.redactCause(error),
    });
  }
}

export function closedDuringHandshakeError(server: string): McpRuntimeError {
  return new McpRuntimeError(
    "connection-lost",
    `Server "${server}" closed the connection during the handshake.`,
    { server },
  );
}
