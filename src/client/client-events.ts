import type { Clock } from "../async/clock.js";
import { assertOptions, optionKeys } from "../config/parse-options.js";
import type { ServerEndpoint } from "../config/server-config.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { MAX_MESSAGE_LENGTH, type Redactor } from "../errors/redaction.js";
import { printValue } from "../errors/sanitize-text.js";
import { type JsonObject, toObject } from "../json/json.js";
import type { ServerNotification, Session } from "../session/session.js";
import {
  createChannels,
  assertListener,
  TypedEmitter,
  type ListenOptions,
} from "../telemetry/typed-emitter.js";
import { WarningLimit } from "../telemetry/warning-limit.js";
import type { Logger, WarningCode } from "../telemetry/logger.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import type { CallerContext } from "./call-options.js";
import type { BreakerState } from "./policies/circuit-breaker.js";

interface SessionEvent {
  /** The name of the server. */
  readonly server: string;
  /** The identity that owns the session; empty without an `identity` option. */
  readonly identity: string;
  /** The number of this session within its identity, starting at 1. */
  readonly generation: number;
}

interface HandshakeEvent {
  /** The same object in both events of one handshake. */
  readonly token: object;
  readonly server: string;
  readonly identity: string;
}

/** The events of a client, by name. Subscribe with `client.on` or, for the whole process, `onMcpEvent`. */
export interface McpClientEvents {
  /** A request is about to be sent. */
  requestStarted: RequestStarted;
  /** A request failed and is retried. */
  requestRetried: RequestRetried;
  /** A request ended, successfully or not. */
  requestEnded: RequestEnded;
  /** A handshake is about to begin. */
  handshakeStarted: HandshakeEvent & {
    /** Adds an entry to the `_meta` of the handshake request. Only effective while the event is emitted. */
    readonly addMeta: (name: string, value: string) => void;
    /** Runs the handshake inside the wrapper, for example in an async context. Only effective while the event is emitted. */
    readonly wrap: (wrapper: RequestWrapper) => void;
  };
  /** `method` is `initialize`, or `server/discover` for a server without sessions. */
  handshakeEnded: HandshakeEvent & { readonly method: "initialize" | "server/discover" } & Pick<
      RequestEnded,
      "latencyMs" | "kind" | "error" | "endpoint" | "sessionId" | "protocolVersion"
    >;
  /**
   * A session is ready, after a handshake or by resuming a stored one. Secret session ids (configured or
   * stored ones) do not appear in any event.
   */
  sessionOpened: SessionEvent & { readonly id: string | undefined; readonly isResumed: boolean };
  /** The server no longer knows a session. `token` belongs to the request that detected it. */
  sessionLost: SessionEvent & { readonly id: string | undefined; readonly token: object };
  /** The connection of a session closed unexpectedly (process exit, broken stream). The next request opens a new one. */
  connectionLost: SessionEvent;
  /** A session ended: lost, disconnected, or closed by the client (`kind` is `undefined`). */
  sessionEnded: SessionEvent &
    Pick<RequestEnded, "kind" | "endpoint" | "sessionId" | "protocolVersion"> & {
      readonly durationMs: number;
    };
  /** A circuit breaker opened, became half-open, or closed. */
  breakerChanged: { readonly server: string; readonly identity: string; readonly state: BreakerState };
  /** A server notification that is not handled by the client itself, without known secret values. */
  notification: ServerNotification;
  /** The server announced that its list of tools changed. */
  toolsChanged: { readonly server: string };
  /** The server announced that its list of resources or resource templates changed. */
  resourcesChanged: { readonly server: string };
  /** The server announced that its list of prompts changed. */
  promptsChanged: { readonly server: string };
  /**
   * A subscribed resource changed. Also emitted after a lost session, because updates may have been missed. `uri` is as it
   * was subscribed; known secret values are removed from any other.
   */
  resourceUpdated: { readonly server: string; readonly identity: string; readonly uri: string };
  /** A problem that did not fail a call. */
  warning: { readonly server: string; readonly message: string; readonly code?: WarningCode };
}

/** Calls `run` inside a context of its own, for example `(run) => storage.run(value, run)`. */
export type RequestWrapper = (run: () => void) => void;

interface RequestEvent {
  /** The same object in all events of one request: use it as a WeakMap key. */
  readonly token: object;
  /** The id from the caller if it passed one, so not necessarily unique. */
  readonly requestId: string;
  /** The name of the server. */
  readonly server: string;
  /** The MCP method: `tools/call`, `tools/list` … */
  readonly method: string;
  /**
   * The called tool, by its name on the server, without known secret values and hidden characters, and truncated to 1,024
   * characters; `undefined` for other requests.
   */
  readonly tool: string | undefined;
  /** The requested prompt, like `tool`. */
  readonly prompt: string | undefined;
  /** The requested resource, without user info, query and fragment. */
  readonly resource: string | undefined;
}

/**
 * A request is about to be sent. Values that may be private are functions, so that logging the event does
 * not log them.
 */
export interface RequestStarted extends RequestEvent {
  /** The identity whose session is used; empty without an `identity` option. */
  readonly identity: string;
  /** The tool arguments without known secret values and sensitive arguments. */
  readonly args: () => JsonObject | undefined;
  /** The `context` that the caller passed. */
  readonly context: () => CallerContext | undefined;
  /** Adds an entry to `_meta`; entries of the caller take precedence. Only effective while the event is emitted. */
  readonly addMeta: (name: string, value: string) => void;
  /** Sends the request inside the wrapper, for example in an async context. Only effective while the event is emitted. */
  readonly wrap: (wrapper: RequestWrapper) => void;
}

/** A request failed and is retried after `waitMs`. */
export interface RequestRetried extends RequestEvent {
  /** How often the request was sent so far. */
  readonly attempts: number;
  /** The kind of the failure. */
  readonly kind: FailureKind;
  /** The delay before the next attempt, in milliseconds. */
  readonly waitMs: number;
}

/** A request ended, successfully or not. */
export interface RequestEnded extends RequestEvent {
  /** Total duration, including handshakes, retries and waits. */
  readonly latencyMs: number;
  /** How often the request was sent; 0 if nothing was sent. */
  readonly attempts: number;
  /** The kind of failure; `tool-error` when the result has `isError`. */
  readonly kind: FailureKind | undefined;
  /** The error that the caller received; `undefined` if it was the reason of the caller's own signal. */
  readonly error: McpRuntimeError | undefined;
  /** The address of the server, without credentials. */
  readonly endpoint: ServerEndpoint;
  /** The session of the last attempt; `undefined` if its id is secret. */
  readonly sessionId: string | undefined;
  /** The protocol version of that session. */
  readonly protocolVersion: string | undefined;
  /** The JSON-RPC id of the last attempt. */
  readonly wireId: string | number | undefined;
  /** The result without known secret values. Strings of more than 65,536 characters are truncated. */
  readonly result: () => unknown;
}

/** Events that are also published on a process-wide diagnostics channel. Server-initiated events are not. */
export const CLIENT_CHANNELS = createChannels<McpClientEvents>([
  "requestStarted",
  "requestRetried",
  "requestEnded",
  "handshakeStarted",
  "handshakeEnded",
  "sessionOpened",
  "sessionLost",
  "connectionLost",
  "sessionEnded",
  "breakerChanged",
  "warning",
]);

/** Events that require an open server stream. */
const SERVER_INITIATED_EVENTS = [
  "notification",
  "toolsChanged",
  "resourcesChanged",
  "promptsChanged",
  "resourceUpdated",
] as const;

export type ServerInitiatedEvent = (typeof SERVER_INITIATED_EVENTS)[number];

/** The names of all client events, sorted. */
export const CLIENT_EVENTS: readonly string[] = [
  ...Object.keys(CLIENT_CHANNELS),
  ...SERVER_INITIATED_EVENTS,
].toSorted();

const LIST_CHANGES: ReadonlyMap<string, "toolsChanged" | "resourcesChanged" | "promptsChanged"> = new Map([
  ["notifications/tools/list_changed", "toolsChanged"],
  ["notifications/resources/list_changed", "resourcesChanged"],
  ["notifications/prompts/list_changed", "promptsChanged"],
]);

const LISTEN_OPTIONS = optionKeys<ListenOptions>({ passive: true });

/** What the parts of one client share. */
export interface ClientContext {
  readonly server: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: ClientEvents;
  readonly metrics: RequestMetrics;
  readonly redactor: Redactor;
}

/** Emits the events of one client; warnings are also logged. */
export class ClientEvents {
  /** For warnings about what the server lists. */
  readonly listWarnings: WarningLimit;
  readonly #emitter: TypedEmitter<McpClientEvents>;
  readonly #logger: Logger;
  readonly #server: string;
  readonly #redactor: Redactor;

  /** `logger` must not throw. */
  constructor(server: string, logger: Logger, redactor: Redactor) {
    this.#server = server;
    this.#logger = logger;
    this.#redactor = redactor;
    this.listWarnings = new WarningLimit(server);
    this.#emitter = new TypedEmitter(
      (error) =>
        this.#logger.error(this.#redact(`A listener of server "${server}" failed: ${printValue(error)}`)),
      CLIENT_CHANNELS,
    );
  }

  get hasServerEventListeners(): boolean {
    return SERVER_INITIATED_EVENTS.some((name) => this.#emitter.hasActiveSubscribers(name));
  }

  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options: ListenOptions = {},
  ): () => void {
    assertListener(name, listener, CLIENT_EVENTS);
    assertOptions(options, LISTEN_OPTIONS, { subject: "The listener", server: this.#server });
    return this.#emitter.on(name, listener, options);
  }

  /** Whether an event has listeners or is written to the debug log. */
  hasListeners(name: keyof McpClientEvents): boolean {
    return this.#emitter.hasListeners(name) || (name in FORMATTERS && this.#isDebug);
  }

  emit<Name extends keyof McpClientEvents>(name: Name, event: McpClientEvents[Name]): void {
    this.#emitter.emit(name, event);
    const format = FORMATTERS[name];
    if (format !== undefined && this.#isDebug) this.debug(format(event));
  }

  warn(text: string, code?: WarningCode): void {
    const message = this.#redact(text);
    this.#logger.warn(message);
    this.#emitter.emit("warning", { server: this.#server, message, ...(code === undefined ? {} : { code }) });
  }

  info(text: string): void {
    this.#logger.info(this.#redact(text));
  }

  debug(text: string): void {
    this.#logger.debug(this.#redact(text));
  }

  /** `isSubscribed` is called with the URI of an updated resource. */
  notify(
    { method, params }: ServerNotification,
    identity: string,
    isSubscribed: (uri: string) => boolean,
  ): void {
    if (this.#emitter.hasListeners("notification")) {
      const redacted = toObject(this.#redactor.redactJson(params));
      this.#emitter.emit("notification", { method: this.#redactor.redact(method), params: redacted });
    }
    const change = LIST_CHANGES.get(method);
    if (change !== undefined) this.#emitter.emit(change, { server: this.#server });
    const { uri } = params;
    if (method !== "notifications/resources/updated" || typeof uri !== "string") return;
    // An application has to recognize the URIs that it has subscribed to.
    this.emitResourceUpdated(identity, isSubscribed(uri) ? uri : this.#redactor.redact(uri));
  }

  emitResourceUpdated(identity: string, uri: string): void {
    this.#emitter.emit("resourceUpdated", { server: this.#server, identity, uri });
  }

  /** Every request is logged if the logger reports that debug is enabled. */
  get #isDebug(): boolean {
    return this.#logger.isDebugEnabled?.() === true;
  }

  #redact(message: string): string {
    return this.#redactor.sanitize(message, MAX_MESSAGE_LENGTH);
  }
}

type EventFormatters = {
  readonly [Name in keyof McpClientEvents]?: (event: McpClientEvents[Name]) => string;
};

/** Debug log lines by event. Events without a formatter are not logged. */
const FORMATTERS: EventFormatters = {
  requestEnded: ({ server, method, tool, kind, latencyMs, attempts }) =>
    `${formatSubject(server, method, tool)} ${kind ?? "ok"} after ${formatMs(latencyMs)}${formatAttempts(attempts)}`,
  requestRetried: ({ server, method, tool, kind, attempts, waitMs }) =>
    `${formatSubject(server, method, tool)} ${kind}, attempt ${attempts}; retrying in ${formatMs(waitMs)}`,
  handshakeEnded: ({ server, kind, latencyMs, protocolVersion }) =>
    `${formatSubject(server, "handshake", undefined)} ${kind ?? "ok"} after ${formatMs(latencyMs)}${formatVersion(protocolVersion)}`,
  sessionLost: ({ server, generation }) => `Server "${server}" lost session ${generation}`,
  sessionEnded: ({ server, generation, durationMs }) =>
    `Server "${server}": session ${generation} ended after ${formatMs(durationMs)}`,
  connectionLost: ({ server, generation }) =>
    `Server "${server}": the connection of session ${generation} was lost`,
  breakerChanged: ({ server, state }) => `Server "${server}": the circuit breaker is ${state}`,
};

function formatSubject(server: string, method: string, tool: string | undefined): string {
  return `Server "${server}": ${tool === undefined ? method : `${method} ${tool}`}`;
}

function formatMs(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function formatAttempts(attempts: number): string {
  return attempts === 1 ? "" : `, ${attempts === 0 ? "not sent" : `${attempts} attempts`}`;
}

function formatVersion(protocolVersion: string | undefined): string {
  return protocolVersion === undefined ? "" : `, protocol ${protocolVersion}`;
}

/** Returns the id of a session, or `undefined` if it is secret (configured or stored). */
export function redactedSessionId(session: Session | undefined, redactor: Redactor): string | undefined {
  const id = session?.id;
  return id === undefined || redactor.containsSecret(id) ? undefined : id;
}
