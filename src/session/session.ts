import { z } from "zod";
import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { isPlainObject, type JsonObject, toObject } from "../json/json.js";
import { clientClosedError, type TransportRequestOptions } from "../transports/transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { sanitizeText, truncate } from "../errors/sanitize-text.js";
import type { ServerLog } from "../telemetry/logger.js";
import type { AnswerInputOptions, InputOutcome } from "./server-requests/input-required.js";

/** What a connection, its sessions and their stored state share. */
export interface SessionContext {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  /** Cancelled when the client is closed, never by a single caller: several may wait for a session. */
  readonly cancellation: CancelScope;
}

/** The identity of all callers on a server without an `identity` option. */
export const SHARED_IDENTITY = "";

/**
 * What a server declared in its `initialize` or `server/discover` result. Not available for a session that
 * is resumed by a configured id.
 */
export interface ServerMetadata {
  /** `undefined` when the server does not identify itself. */
  readonly serverInfo:
    | {
        readonly name: string;
        readonly version: string;
        readonly title?: string | undefined;
      }
    | undefined;
  /** The server capabilities in the format of the protocol. */
  readonly capabilities: JsonObject;
  /** How to use the server, for a system prompt. */
  readonly instructions: string | undefined;
  /** The negotiated protocol version, for example `"2025-11-25"`. */
  readonly protocolVersion: string;
}

/** For a system prompt, which a server could otherwise fill. */
const MAX_INSTRUCTIONS_LENGTH = 65_536;

/** The instructions of a server, from the wire or from a store. */
export const INSTRUCTIONS = z.string().transform((text) => truncate(text, MAX_INSTRUCTIONS_LENGTH));

/** Shown to people: without hidden characters and escapes of terminals. */
const label = z.string().transform((text) => sanitizeText(text));

/** How a server identifies itself, from the wire or from a store. */
export const SERVER_INFO = z.object({ name: label, version: label, title: label.optional() });

/** A request on a session. The tracker shows how far it got. */
export interface SessionRequest extends Omit<TransportRequestOptions, "cancelMeta"> {
  readonly method: string;
  readonly params: JsonObject;
  /** Return elicitation requests to the caller as an incomplete result instead of running the handlers. */
  readonly deferInput?: boolean | undefined;
  /** Set once the server has requested input while it was in flight: the result may depend on the answer. */
  hasInput?: boolean | undefined;
}

/** A notification received from the server. */
export interface ServerNotification {
  /** For example `"notifications/tools/list_changed"`. */
  readonly method: string;
  /** The parameters, `{}` if there are none. */
  readonly params: JsonObject;
}

export interface ServerStreamOptions {
  readonly isBackground: boolean;
}

/**
 * One MCP session with a server. It serves any number of concurrent requests, is drained when the server
 * no longer knows it, and is closed with the client.
 */
export interface Session {
  readonly id: string | undefined;
  readonly metadata: ServerMetadata | undefined;
  /** Opened by another process or run and used without a handshake. */
  readonly isResumed: boolean;
  /** True once the server has accepted a handshake or a request. A resumed session may have expired. */
  readonly isConfirmed: boolean;
  /** False once the session is closing or its transport is closed: the next request needs another session. */
  readonly isAlive: boolean;
  readonly inFlight: number;
  /** Returns the result as received. Rejects with `McpRuntimeError` or with the cancellation's reason. */
  request(request: SessionRequest): Promise<unknown>;
  /** Answers the input requests of a task. Only of servers that send them in results. */
  answerInput?(task: JsonObject, options: AnswerInputOptions): Promise<InputOutcome>;
  /**
   * Opens the stream for server-initiated messages. Resolves when it is open or after a short timeout;
   * never rejects. With `isBackground`, it does not keep the process alive, and is not opened where it would.
   */
  openServerStream(options?: ServerStreamOptions): Promise<void>;
  /** Notifies the server that the roots have changed. Only on sessions that have declared it. */
  sendRootsListChanged?(): Promise<void>;
  /** Rejects new requests and closes when the last request in flight has ended. */
  drain(): void;
  close(options: { readonly terminate: boolean }): Promise<void>;
}

/**
 * Why a session does not accept requests.
 * - `draining`: the server no longer knows it, and another session replaces it
 * - `disconnected`: the transport closed unexpectedly
 * - `closed`: the client was closed
 */
export type SessionCloseReason = "draining" | "disconnected" | "closed";

/** The error for a request on a session that is already closed. */
export function sessionClosedError(server: string, reason: SessionCloseReason): McpRuntimeError {
  if (reason === "closed") return clientClosedError(server);
  return new McpRuntimeError("not-sent", `The session with server "${server}" has ended.`, { server });
}

/** Whether a server with sessions accepts tool calls as tasks. */
export function supportsTaskCalls({ tasks }: JsonObject): boolean {
  return toObject(toObject(toObject(tasks)["requests"])["tools"])["call"] !== undefined;
}

/** Whether a server has announced a capability, or an extension of the protocol by its identifier. */
export function hasCapability(capabilities: JsonObject, name: string): boolean {
  const { extensions, [name]: capability } = capabilities;
  return capability !== undefined || (isPlainObject(extensions) && extensions[name] !== undefined);
}
