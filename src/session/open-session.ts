import type { CancelScope } from "../async/cancel-scope.js";
import { withDeadline } from "../async/clock.js";
import type { ClientInfo } from "../config/message-transport.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeThrown } from "../errors/sanitize-text.js";
import type { JsonObject } from "../json/json.js";
import { clientClosedError, closedDuringHandshakeError, type Transport } from "../transports/transport.js";
import { ServerRequests } from "./server-requests/server-requests.js";
import { SessionChannel } from "./session-channel.js";
import type { ServerMetadata, ServerNotification, SessionContext } from "./session.js";

/** Everything that opening one session needs, in either protocol era. */
export interface OpenSessionOptions extends SessionContext {
  /** A transport that already has a session id is used without a handshake. */
  readonly openTransport: (cancellation: CancelScope) => Promise<Transport>;
  /** Another transport was already tried at this address, and is not tried again. */
  readonly hasTriedFallback?: boolean;
  /** The server, with its address resolved. */
  readonly config: ServerConfig;
  /** Metadata that is already known, for a resumed session. */
  readonly metadata: ServerMetadata | undefined;
  /** Sent as `_meta` of `initialize` or `server/discover`. */
  readonly handshakeMeta: JsonObject;
  /** Other processes may use the same session. */
  readonly isShared: boolean;
  /** The identity that owns the session; empty for the shared one. */
  readonly identity: string;
  /** Sent to the server in the handshake. */
  readonly clientInfo: ClientInfo;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
  /** The transport closed unexpectedly. */
  readonly onDisconnected: () => void;
}

/** Opens and starts a transport for a session, within an attempt. A transport that opens too late is closed here. */
async function openChannel(options: OpenSessionOptions, attempt: CancelScope): Promise<SessionChannel> {
  const { server, config } = options;
  const transport = await openTransport(options, attempt);
  const { handlers, limits } = config;
  const serverRequests = new ServerRequests({ ...options, handlers, maxConcurrent: limits.serverRequests });
  const channel = new SessionChannel(transport, { ...options, serverRequests });
  try {
    await attempt.race(transport.start());
    if (channel.isClosed) throw closedDuringHandshakeError(server);
    return channel;
  } catch (error) {
    await channel.close();
    throw error;
  }
}

async function openTransport(options: OpenSessionOptions, attempt: CancelScope): Promise<Transport> {
  const { server, redactor } = options;
  const opening = options.openTransport(attempt);
  try {
    return await attempt.race(opening);
  } catch (error) {
    const closed = clientClosedError(server);
    if (attempt.isCancelled) opening.then((late) => late.close(closed)).catch(() => undefined);
    if (attempt.isCancelled || error instanceof McpRuntimeError) throw error;
    const message = redactor.redact(describeThrown(error));
    throw new McpRuntimeError("not-sent", `The transport of server "${server}" failed to open: ${message}`, {
      server,
      cause: redactor.redactCause(error),
    });
  }
}

/**
 * Runs a handshake within `connectMs`, on an existing channel or a new one. After a failure the channel is closed before
 * the error is thrown. The request that needs the session has not been sent.
 */
export async function runHandshake<T>(
  options: OpenSessionOptions,
  existing: SessionChannel | undefined,
  handshake: (channel: SessionChannel, attempt: CancelScope) => Promise<T>,
): Promise<T> {
  const { server, clock, cancellation } = options;
  const { connectMs: ms } = options.config.timeouts;
  let channel = existing;
  const createError = () => {
    const output = channel?.transport.describeOutput?.() ?? "";
    const text = `Server "${server}" did not finish the handshake within ${ms} ms (timeouts.connectMs).${output}`;
    return new McpRuntimeError("timeout", text, { server });
  };
  return withDeadline({ ms, clock, cancellation, createError }, async (attempt) => {
    try {
      attempt.throwIfCancelled();
      channel ??= await openChannel(options, attempt);
      return await handshake(channel, attempt);
    } catch (error) {
      await channel?.close();
      throw error instanceof McpRuntimeError && error.outcomeUnknown
        ? error.with({ outcomeUnknown: false })
        : error;
    }
  });
}
