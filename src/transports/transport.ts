import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import type { Credentials, RequestCredentials } from "../auth/credentials.js";
import type { ClientKeys } from "../auth/dpop.js";
import type { CallContext } from "../config/call-context.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { JsonObject } from "../json/json.js";
import type { ServerLog } from "../telemetry/logger.js";
import type { RequestId, RpcRequest } from "./json-rpc.js";

/** The content of a progress notification for one request. */
export interface Progress {
  /** Increases with every notification. */
  readonly progress: number;
  /** The value of `progress` at the end, if the server knows it. */
  readonly total?: number | undefined;
  /** A description of the current step. */
  readonly message?: string | undefined;
}

/** How far a request got on its way to the server. */
export interface SendStatus {
  /** True when the server may have received the request. */
  mayHaveBeenSent(): boolean;
}

/** Follows a request. Filled in by the transport, so that the sender can see after a failure how far the request got. */
export interface RequestTracker {
  /** Set when the request is passed to the transport. */
  sendStatus: SendStatus | undefined;
  /** The JSON-RPC id of the message. */
  wireId: RequestId | undefined;
  onProgress?(progress: Progress): void;
}

/** Everything that a transport needs to know about a request besides its message. */
export interface TransportRequestOptions {
  /** Cancels the request: it rejects with the reason, and the server is notified if it may have received it. */
  readonly cancellation: CancelScope;
  /** Extra headers for this request, on transports that have headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The caller, for credentials that depend on it. */
  readonly context?: CallContext | undefined;
  /** No caller waits for the response, so the request must not start a login. */
  readonly isBackground?: boolean | undefined;
  readonly tracker?: RequestTracker | undefined;
  /** Sent as `_meta` of `notifications/cancelled`. */
  readonly cancelMeta?: JsonObject | undefined;
}

/**
 * Sends requests of one session and settles each where its response is read. `CustomTransport` adapts transports that only
 * send and receive messages, such as those of the SDK.
 */
export interface Transport {
  /** Called for every request and notification of the server, except progress. */
  onmessage: ((message: JsonRpcMessage) => void) | undefined;
  /** Called with the notification for the server when a request that it may have received is cancelled. */
  oncancel: ((notification: JsonRpcMessage) => void) | undefined;
  /**
   * Called once when the connection is closed by the server, or here because of what the server sent: then with the failure.
   * Pending requests are rejected before.
   */
  onclose: ((failure?: McpRuntimeError) => void) | undefined;
  /** Called for errors that belong to no request. They are informational. */
  onerror: ((error: Error) => void) | undefined;
  /** The session id assigned by the server; `undefined` for servers without sessions. */
  readonly sessionId?: string | undefined;
  /** `false` when only responses come back. @default true */
  readonly canReceiveUnsolicited?: boolean | undefined;
  /** Opens the connection, once. */
  start(): Promise<void>;
  /** Resolves with the result. Rejects with `McpRuntimeError` or with the reason of the cancellation. */
  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject>;
  /** Sends a notification, or the response to a request of the server. */
  notify(message: JsonRpcMessage): Promise<void>;
  /** Closes the connection; pending requests are rejected with the reason. Idempotent. */
  close(reason: McpRuntimeError): Promise<void>;
  /** Called with the negotiated protocol version after `initialize`. */
  setProtocolVersion?(version: string): void;
  /** Terminates the session at the server. */
  terminateSession?(): Promise<void>;
  /** Opens the stream for unsolicited messages, on transports that need a separate one. */
  openServerStream?(): void | Promise<void>;
  /** Whether listening for unsolicited messages neither keeps the process alive nor delays requests. @default false */
  readonly canListenInBackground?: boolean | undefined;
  /** From now on the stream for unsolicited messages keeps the process alive. */
  holdServerStream?(): void;
  /** What the server wrote outside of the protocol, for the end of an error message. */
  describeOutput?(): string;
  /** After a failed `initialize`: opens the transport that the server supports instead, if there is one. */
  readonly openFallback?:
    | ((failure: McpRuntimeError, cancellation: CancelScope) => Promise<Transport | undefined>)
    | undefined;
}

/** How many errors that belong to no request are reported for a session. A server can cause any number of them. */
export const MAX_REPORTED_ERRORS = 100;

/** The error for a request that was in flight when the transport closed. */
export function connectionLostError(server: string): McpRuntimeError {
  const text = `The connection to server "${server}" was lost before it answered. It may have run the request.`;
  return new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true });
}

export function closedDuringHandshakeError(server: string): McpRuntimeError {
  const text = `Server "${server}" closed the connection during the handshake.`;
  return new McpRuntimeError("connection-lost", text, { server });
}

export function clientClosedError(server: string): McpRuntimeError {
  return new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
}

/** Opens a transport for each session of a client, and owns the resources that they share. */
export interface TransportFactory {
  /** @param resumed - An existing session to continue, if the transport supports it. */
  openTransport(
    credentials: RequestCredentials | undefined,
    resumed: ResumedSession | undefined,
    cancellation: CancelScope,
  ): Promise<Transport>;
  /** Creates the credentials of one identity. Only set if the credentials depend on the identity. */
  createCredentials?: (() => Credentials) | undefined;
  close(): Promise<void>;
}

export interface ResumedSession {
  readonly id: string;
  readonly protocolVersion: string | undefined;
}

export interface TransportDependencies {
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly keys: ClientKeys;
}
